package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// headOf opens a directory whose store is at group 5, after HEAD was changed.
func headOf(t *testing.T, change func(dir string, hashes map[uint64][32]byte)) (last uint64, err error) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	hashes := map[uint64][32]byte{0: {}}
	for range 5 {
		set(t, s, "a", "1")
		n, hash := s.LastGroup()
		hashes[n] = hash
	}
	closeStore(t, s)
	change(dir, hashes)
	s, err = Open(Options{Dir: dir, MemTable: minMemTable, Log: quiet})
	if err != nil {
		return 0, err
	}
	last, _ = s.LastGroup()
	h, err := openHead(filepath.Join(dir, headName))
	if err != nil {
		t.Fatal(err)
	}
	if newest, valid, err := h.read(); newest.n != last || valid != 2 || err != nil {
		t.Errorf("after it was opened HEAD knows group %d in %d slots, %v", newest.n, valid, err)
	}
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	return last, nil
}

// slots writes a HEAD with the given marks; a nil mark is a broken slot.
func slots(t *testing.T, dir string, marks ...*mark) {
	t.Helper()
	buf := make([]byte, 2*slotSize)
	for i, m := range marks {
		if m != nil {
			fillSlot(buf[i*slotSize:(i+1)*slotSize], *m, identity{})
		}
	}
	if err := os.WriteFile(filepath.Join(dir, headName), buf, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhereHeadMayStand(t *testing.T) {
	at := func(n uint64, hashes map[uint64][32]byte) *mark { return &mark{n, hashes[n]} }
	for name, c := range map[string]struct {
		even, odd uint64 // groups in the slots; 0: broken
		opens     bool
	}{
		"at the last group":                         {4, 5, true},
		"one behind: a crash before HEAD":           {4, 3, true},
		"one behind: a crash while HEAD is written": {4, 0, true},
		"at the last group, the other slot broken":  {0, 5, true},
		"two behind, as the newer slot is broken":   {0, 3, true},
		"two behind":   {2, 3, false},
		"three behind": {2, 0, false},
		"ahead":        {6, 5, false},
		"far ahead":    {0, 9, false},
	} {
		t.Run(name, func(t *testing.T) {
			last, err := headOf(t, func(dir string, hashes map[uint64][32]byte) {
				even, odd := at(c.even, hashes), at(c.odd, hashes)
				if c.even == 0 {
					even = nil
				}
				if c.odd == 0 {
					odd = nil
				}
				slots(t, dir, even, odd)
			})
			var damage *DamageError
			switch {
			case c.opens && (err != nil || last != 5):
				t.Errorf("Open = group %d, %v", last, err)
			case !c.opens && !errors.As(err, &damage):
				t.Errorf("Open = group %d, %v, want a *DamageError", last, err)
			}
		})
	}
}

func TestHeadOfAnotherHistoryIsRefused(t *testing.T) {
	for _, n := range []uint64{4, 5} {
		_, err := headOf(t, func(dir string, hashes map[uint64][32]byte) {
			m := mark{n, hashes[n]}
			m.hash[31] ^= 1
			marks := [2]*mark{}
			marks[n%2] = &m
			slots(t, dir, marks[:]...)
		})
		var damage *DamageError
		if !errors.As(err, &damage) {
			t.Errorf("Open with another hash of group %d = %v, want a *DamageError", n, err)
		}
	}
}

// A crash in the middle of a row leaves its length, and Badger would allocate that much memory
// before it checks the checksum.
func TestATornRowIsCutOff(t *testing.T) {
	st := childStory(seed(t), fewKeys)
	dir := t.TempDir()
	p := startChild(t, dir, st, 5)
	p.until(t, "done")
	acked := p.kill(t)
	log := logPath(filepath.Join(dir, storeName), 1)
	l, err := readWAL(log)
	if err != nil || l.last != version(acked) {
		t.Fatalf("the log ends with version %d: %v", l.last, err)
	}
	f, err := os.OpenFile(log, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	torn := []byte{walTxn, 0, 20, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 'k', 'e', 'y'} // a value of 4 GiB
	if _, err := f.WriteAt(torn, l.end); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if last := audit(t, dir, st, make(model), 0, acked); last != acked {
		t.Errorf("the last group is %d, acknowledged were %d", last, acked)
	}
}

// Badger creates a log in two steps, and deletes one in two; it can't open the log that a crash
// between them leaves.
func TestAnEmptyLogIsRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	set(t, s, "a", "1")
	closeStore(t, s)
	for _, id := range []uint64{1, 7} {
		if err := os.WriteFile(logPath(s.path, id), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, Options{Dir: dir, MemTable: minMemTable})
	defer closeStore(t, s)
	if n, _ := s.LastGroup(); n != 1 {
		t.Errorf("the last group is %d", n)
	}
}

// Two stores differ only in their first group, which is further back than the chain of groups is
// checked. Each of their tables is sound in itself.
func TestATableOfAnotherStoreIsRefused(t *testing.T) {
	var dirs, paths [2]string
	for i, value := range []string{"1", "2"} {
		dirs[i] = t.TempDir()
		s := open(t, Options{Dir: dirs[i], MemTable: minMemTable})
		set(t, s, "a", value)
		st := story{seed: 1, rows: 20, value: 4000, keys: manyKeys}
		for n := uint64(2); s.db.Levels()[0].NumTables < levelZeroTables-2; n++ {
			st.continueTo(t, s, n)
			settle(s)
		}
		closeStore(t, s)
		paths[i] = tablePath(s.path, 2) // the first has the schema
	}
	foreign := readFile(t, paths[1])
	if err := os.WriteFile(paths[0], foreign, 0o600); err != nil {
		t.Fatal(err)
	}
	var damage *DamageError
	if _, err := Open(Options{Dir: dirs[0], MemTable: minMemTable, Log: quiet}); !errors.As(err, &damage) || damage.Path != paths[0] {
		t.Errorf("Open = %v, want a *DamageError of %s", err, paths[0])
	}
	remove(t, filepath.Join(dirs[0], catalogName)) // the check that noticed it: now the first group differs from HEAD's
	if _, err := Open(Options{Dir: dirs[0], MemTable: minMemTable, Log: quiet}); !errors.As(err, &damage) || damage.Path != filepath.Join(dirs[0], headName) {
		t.Errorf("without %s: Open = %v, want a *DamageError of %s", catalogName, err, headName)
	}
}

// forge changes a row without the store's knowledge, at the version of group n.
func forge(t *testing.T, s *Store, n uint64, key, value []byte) {
	t.Helper()
	txn := s.db.NewTransactionAt(math.MaxUint64, true)
	var err error
	if value == nil {
		err = txn.Delete(key)
	} else {
		err = txn.SetEntry(badger.NewEntry(key, sealValue(key, value)))
	}
	if err == nil {
		err = txn.CommitAt(version(n), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestABrokenChainOfGroupsIsRefused(t *testing.T) {
	for name, breakIt := range map[string]func(s *Store){
		"the first is missing":  func(s *Store) { forge(t, s, 5, groupRowKey(1), nil) },
		"one is missing":        func(s *Store) { forge(t, s, 5, groupRowKey(3), nil) },
		"one has another hash":  func(s *Store) { forge(t, s, 5, groupRowKey(3), groupRow{n: 3}.append(nil)) },
		"one has other numbers": func(s *Store) { forge(t, s, 5, groupRowKey(3), groupRow{n: 2}.append(nil)) },
		"one is no group":       func(s *Store) { forge(t, s, 5, groupRowKey(3), []byte("group")) },
		"there is one too many": func(s *Store) { forge(t, s, 5, groupRowKey(6), groupRow{n: 6}.append(nil)) },
		"it has no schema":      func(s *Store) { forge(t, s, 5, []byte(schemaKey), nil) },
	} {
		dir := t.TempDir()
		s := open(t, Options{Dir: dir, MemTable: minMemTable})
		for range 5 {
			set(t, s, "a", "1")
		}
		breakIt(s)
		closeStore(t, s)
		var damage *DamageError
		if _, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: quiet}); !errors.As(err, &damage) {
			t.Errorf("%s: Open = %v, want a *DamageError", name, err)
		}
	}
}

func TestABlockInAnothersPlaceIsNoticed(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	rows := make([]string, 0, 80)
	for i := range 40 { // one row per block, all of one size
		rows = append(rows, fmt.Sprintf("k%02d", i), strings.Repeat("x", 3000))
	}
	set(t, s, rows...)
	closeStore(t, s)
	path := tablePath(s.path, highestTable(t, s))
	if _, err := readTable(path); err != nil {
		t.Fatal(err)
	}
	b := readFile(t, path)
	one, two := bytes.Index(b, []byte("k10")), bytes.Index(b, []byte("k20"))
	size := (two - one) / 10
	first := bytes.Clone(b[one-4 : one-4+size]) // a block begins 4 bytes before its key
	copy(b[one-4:], b[two-4:two-4+size])
	copy(b[two-4:], first)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var damage *DamageError
	if _, err := readTable(path); !errors.As(err, &damage) || !strings.Contains(damage.What, "block") {
		t.Errorf("readTable = %v, want a *DamageError of a block", err)
	}
}

// walBytes returns the bytes of transactions in Badger's form.
func walBytes(versions ...uint64) []byte {
	b := make([]byte, walHeader)
	add := func(meta byte, key, value []byte) {
		from := len(b)
		b = append(b, meta, 0, byte(len(key)), byte(len(value)), 0)
		b = append(append(b, key...), value...)
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
	}
	for _, v := range versions {
		add(walTxn, binary.BigEndian.AppendUint64([]byte("a"), ^v), []byte("1"))
		add(walTxn, binary.BigEndian.AppendUint64([]byte("b"), ^v), []byte("2"))
		add(walFinTxn, binary.BigEndian.AppendUint64([]byte("!badger!txn"), ^v), fmt.Append(nil, v))
	}
	return b
}

func TestWhatALogHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "00001.mem")
	read := func(b []byte) (walLog, error) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return readWAL(path)
	}
	whole := walBytes(7, 8, 9)
	ends := []int{len(walBytes()), len(walBytes(7)), len(walBytes(7, 8)), len(whole)}
	for n := walHeader; n <= len(whole); n++ { // cut anywhere, and filled with zeros
		l, err := read(append(bytes.Clone(whole[:n]), make([]byte, 100)...))
		groups := 0
		for groups+1 < len(ends) && ends[groups+1] <= n {
			groups++
		}
		if err != nil || l.end != int64(ends[groups]) || groups > 0 && (l.first != 7 || l.last != 6+uint64(groups)) {
			t.Fatalf("cut to %d bytes: versions %d to %d, end %d, %v", n, l.first, l.last, l.end, err)
		}
	}
	for at := walHeader; at < len(whole); at++ { // after a flipped bit the log ends before that transaction
		b := bytes.Clone(whole)
		b[at] ^= 1
		l, err := read(b)
		groups := 0
		for ends[groups+1] <= at {
			groups++
		}
		if err != nil || l.end != int64(ends[groups]) {
			t.Fatalf("byte %d flipped: end %d, not %d, %v", at, l.end, ends[groups], err)
		}
	}
	var damage *DamageError
	if _, err := read(walBytes(7, 9)); !errors.As(err, &damage) {
		t.Errorf("with a gap: %v, want a *DamageError", err)
	}
	if _, err := read(walBytes(7, 7)); !errors.As(err, &damage) {
		t.Errorf("with one twice: %v, want a *DamageError", err)
	}
}
