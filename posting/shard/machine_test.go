package shard

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/posting/log"
	"mizan/posting/store"
)

var options = store.Options{MemTable: 8 << 20, Log: slog.New(slog.DiscardHandler)}

// openTestMachine opens the machine in a directory. It is closed by the test.
func openTestMachine(t *testing.T, dir string) *machine {
	t.Helper()
	m, err := openMachine(dir, options, [32]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) mustClose(t *testing.T) {
	t.Helper()
	if err := m.current().Close(); err != nil {
		t.Fatal(err)
	}
}

// applyGroups applies as many groups, each with a row of its own.
func (m *machine) applyGroups(t *testing.T, count int) {
	t.Helper()
	for range count {
		last := m.Last()
		g := store.NewGroup(last.N+1, last.Hash)
		g.Set([]byte{'k', byte(g.N())}, bytes.Repeat([]byte{byte(g.N())}, 3_000))
		if err := m.Apply(g.Frame()); err != nil {
			t.Fatal(err)
		}
	}
}

// A copy for another node, which goes to a file first, must not fill the disk of the node that serves.
func TestCopyNeedsFreeRoom(t *testing.T) {
	m := openTestMachine(t, t.TempDir())
	defer m.mustClose(t)
	m.applyGroups(t, 2)
	free, err := m.current().Free()
	if err != nil {
		t.Fatal(err)
	}
	var copied bytes.Buffer
	m.options.MinFree = 2 * free
	if err := m.Dump(&copied); err == nil || !strings.Contains(err.Error(), "have to stay free") || copied.Len() > 0 {
		t.Errorf("without room: %v, %d bytes were copied", err, copied.Len())
	}
	m.options.MinFree = 0
	if err := m.Dump(&copied); err != nil || copied.Len() == 0 {
		t.Errorf("with room: %v, %d bytes were copied", err, copied.Len())
	}
}

// A process that ends while the store is replaced leaves the old store or the new one.
func TestReplacementThatIsCutOffLeavesAStore(t *testing.T) {
	for name, c := range map[string]struct {
		rename   [][2]string // renames since the copy was loaded
		wantLast uint64
	}{
		"before the replacement": {wantLast: 2},
		"between the renames":    {rename: [][2]string{{storeName, oldName}}, wantLast: 2},
		"after the replacement":  {rename: [][2]string{{storeName, oldName}, {newName, storeName}}, wantLast: 5},
	} {
		t.Run(name, func(t *testing.T) {
			dir, source := t.TempDir(), openTestMachine(t, t.TempDir())
			source.applyGroups(t, 5)
			m := openTestMachine(t, dir)
			m.applyGroups(t, 2)
			var copied bytes.Buffer
			if err := source.Dump(&copied); err != nil {
				t.Fatal(err)
			}
			o := options
			o.Dir = m.path(newName)
			if err := readCopy(&copied, o); err != nil {
				t.Fatal(err)
			}
			m.mustClose(t)
			source.mustClose(t)
			for _, names := range c.rename {
				if err := os.Rename(m.path(names[0]), m.path(names[1])); err != nil {
					t.Fatal(err)
				}
			}
			m = openTestMachine(t, dir)
			if got := m.Last().N; got != c.wantLast {
				t.Errorf("the store ends with group %d, want %d", got, c.wantLast)
			}
			m.applyGroups(t, 1)
			m.mustClose(t)
			for _, name := range []string{newName, oldName} {
				if _, err := os.Lstat(m.path(name)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is left: %v", name, err)
				}
			}
		})
	}
}

// A copy that is cut off or changed makes no store, and the old store stays.
func TestDamagedCopyIsRefused(t *testing.T) {
	source := openTestMachine(t, t.TempDir())
	source.applyGroups(t, 5)
	var whole bytes.Buffer
	if err := source.Dump(&whole); err != nil {
		t.Fatal(err)
	}
	source.mustClose(t)
	m := openTestMachine(t, t.TempDir())
	m.applyGroups(t, 2)
	size := whole.Len()
	for _, at := range []int{0, 1, size / 3, size / 2, size - 33, size - 1} {
		if err := m.Load(bytes.NewReader(whole.Bytes()[:at])); !errors.Is(err, errCutCopy) {
			t.Errorf("a copy of %d of %d bytes: %v", at, size, err)
		}
		changed := bytes.Clone(whole.Bytes())
		changed[at] ^= 0x40
		if err := m.Load(bytes.NewReader(changed)); err == nil {
			t.Errorf("a copy whose byte %d of %d was changed is taken", at, size)
		}
		if got := m.Last().N; got != 2 {
			t.Fatalf("the store ends with group %d", got)
		}
	}
	if err := m.Load(&whole); err != nil || m.Last().N != 5 {
		t.Errorf("the whole copy: group %d, %v", m.Last().N, err)
	}
	m.mustClose(t)
}

// The last group of a node is confirmed also if the node has never led, so that the next start detects its loss.
func TestEveryNodeConfirmsItsLastGroup(t *testing.T) {
	dir := t.TempDir()
	m := openTestMachine(t, dir)
	m.applyGroups(t, 3)
	if last, err := m.confirm(0); err != nil || last != 3 {
		t.Fatal(last, err)
	}
	before := confirmed(t, m)
	if last, err := m.confirm(3); err != nil || last != 3 || !bytes.Equal(confirmed(t, m), before) {
		t.Errorf("a confirmed group is confirmed again: %d, %v", last, err)
	}
	m.applyGroups(t, 1)
	if last, err := m.confirm(3); err != nil || last != 4 || bytes.Equal(confirmed(t, m), before) {
		t.Errorf("a further group is not confirmed: %d, %v", last, err)
	}
	m.mustClose(t)
}

func confirmed(t *testing.T, m *machine) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(m.path(storeName), "log", "confirmed"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A group that does not follow the last one is refused, whoever proposes it.
func TestGroupOfAnotherChainIsRefused(t *testing.T) {
	m := openTestMachine(t, t.TempDir())
	m.applyGroups(t, 2)
	g := store.NewGroup(3, [32]byte{1})
	g.Set([]byte("kx"), []byte("x"))
	if err := m.Apply(g.Frame()); err == nil || m.Last() == (log.Mark{N: 3, Hash: g.Seal()}) {
		t.Errorf("a group of another chain: %v", err)
	}
}
