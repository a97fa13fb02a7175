package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"mizan/posting/store/badgerfile"
)

// openWithHead makes a store with five groups and closes it, calls change, which may replace HEAD, and opens the
// store again. change gets the hashes of the groups, by number.
func openWithHead(t *testing.T, change func(dir string, hashes map[uint64][32]byte)) (last uint64, err error) {
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
	s, err = Open(Options{Dir: dir, MemTable: minMemTable, Log: discardLog})
	if err != nil {
		return 0, err
	}
	last, _ = s.LastGroup()
	h, err := openHead(filepath.Join(dir, headName))
	if err != nil {
		t.Fatal(err)
	}
	if newest, validSlots, err := h.read(); newest.n != last || validSlots != 2 || err != nil {
		t.Errorf("after it was opened HEAD knows group %d in %d slots, %v", newest.n, validSlots, err)
	}
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	return last, nil
}

// writeHead writes a HEAD with these marks (group numbers and hashes) in its slots. The slot of a nil mark is
// invalid.
func writeHead(t *testing.T, dir string, marks ...*mark) {
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

func TestHeadMustMatchTheLastGroup(t *testing.T) {
	markOfGroup := func(n uint64, hashes map[uint64][32]byte) *mark { return &mark{n, hashes[n]} }
	for name, c := range map[string]struct {
		even, odd uint64 // the group in each slot; 0: the slot is invalid
		wantOpen  bool
	}{
		"at the last group":                             {4, 5, true},
		"one behind: a crash before HEAD":               {4, 3, true},
		"one behind: a crash while HEAD is written":     {4, 0, true},
		"at the last group, and the other slot invalid": {0, 5, true},
		"two behind, because the newer slot is invalid": {0, 3, true},
		"two behind":   {2, 3, false},
		"three behind": {2, 0, false},
		"ahead":        {6, 5, false},
		"far ahead":    {0, 9, false},
	} {
		t.Run(name, func(t *testing.T) {
			last, err := openWithHead(t, func(dir string, hashes map[uint64][32]byte) {
				even, odd := markOfGroup(c.even, hashes), markOfGroup(c.odd, hashes)
				if c.even == 0 {
					even = nil
				}
				if c.odd == 0 {
					odd = nil
				}
				writeHead(t, dir, even, odd)
			})
			var damage *DamageError
			switch {
			case c.wantOpen && (err != nil || last != 5):
				t.Errorf("Open = group %d, %v", last, err)
			case !c.wantOpen && !errors.As(err, &damage):
				t.Errorf("Open = group %d, %v, want a *DamageError", last, err)
			}
		})
	}
}

func TestHeadOfAnotherHistoryIsRefused(t *testing.T) {
	for _, n := range []uint64{4, 5} {
		_, err := openWithHead(t, func(dir string, hashes map[uint64][32]byte) {
			m := mark{n, hashes[n]}
			m.hash[31] ^= 1
			marks := [2]*mark{}
			marks[n%2] = &m
			writeHead(t, dir, marks[:]...)
		})
		var damage *DamageError
		if !errors.As(err, &damage) {
			t.Errorf("Open with another hash of group %d = %v, want a *DamageError", n, err)
		}
	}
}

// A crash while a row is written may leave a row with its length but without its content. Badger would
// allocate memory of that length before it verifies the checksum.
func TestTornRowIsCutOff(t *testing.T) {
	hist := childHistory(seed(t), fewKeys)
	dir := t.TempDir()
	p := startChild(t, dir, hist, 5)
	p.readUntil(t, "done")
	acked := p.kill(t)
	log := badgerfile.LogPath(filepath.Join(dir, storeName), 1)
	// The row that ends a transaction: this key with 8 bytes of version, the version's digits as
	// its value, 4 bytes of checksum.
	const key = "!badger!txn"
	b := readFile(t, log)
	at := bytes.LastIndex(b, []byte(key)) + len(key) + 8
	digits := fmt.Append(nil, version(acked))
	if !bytes.HasPrefix(b[at:], digits) {
		t.Fatalf("the log does not end with group %d", acked)
	}
	f, err := os.OpenFile(log, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	tornRow := []byte{1 << 6, 0, 20, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 'k', 'e', 'y'} // in a transaction, with a value of 4 GiB
	if _, err := f.WriteAt(tornRow, int64(at+len(digits)+4)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if last := wantHistory(t, dir, hist, make(model), 0, acked); last != acked {
		t.Errorf("the last group is %d, acknowledged were %d", last, acked)
	}
}

// Badger creates a log in two steps and deletes one in two steps. A crash between the steps leaves an empty
// log, which Badger can't open.
func TestEmptyLogIsRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	set(t, s, "a", "1")
	closeStore(t, s)
	for _, id := range []uint64{1, 7} {
		if err := os.WriteFile(badgerfile.LogPath(s.path, id), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, Options{Dir: dir, MemTable: minMemTable})
	defer closeStore(t, s)
	if n, _ := s.LastGroup(); n != 1 {
		t.Errorf("the last group is %d", n)
	}
}

// A process that is killed while it replaces a file leaves the new one under a temporary name.
func TestHalfWrittenFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	set(t, s, "a", "1")
	closeStore(t, s)
	var leftovers []string
	for _, name := range []string{headName, identityName, catalogName, damagedFileName, filepath.Join(storeName, badger.ManifestFilename)} {
		leftovers = append(leftovers, filepath.Join(dir, filepath.Dir(name), "."+filepath.Base(name)+".12.tmp"))
	}
	for _, path := range leftovers {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, open(t, Options{Dir: dir, MemTable: minMemTable}))
	for _, path := range leftovers {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}

// Two stores may differ only in their first group, and Open may not check the chain of groups as far back. Each
// table of both stores is sound in itself.
func TestTableOfAnotherStoreIsRefused(t *testing.T) {
	var dirs, paths [2]string
	for i, value := range []string{"1", "2"} {
		dirs[i] = t.TempDir()
		s := open(t, Options{Dir: dirs[i], MemTable: minMemTable})
		set(t, s, "a", value)
		hist := history{seed: 1, rows: 20, value: 4000, keys: manyKeys}
		for n := uint64(2); s.db.Levels()[0].NumTables < levelZeroTables-2; n++ {
			hist.continueTo(t, s, n)
			waitForFlushes(s)
		}
		closeStore(t, s)
		paths[i] = badgerfile.TablePath(s.path, 2) // table 1 has only the schema
	}
	foreignTable := readFile(t, paths[1])
	if err := os.WriteFile(paths[0], foreignTable, 0o600); err != nil {
		t.Fatal(err)
	}
	var damage *DamageError
	if _, err := Open(Options{Dir: dirs[0], MemTable: minMemTable, Log: discardLog}); !errors.As(err, &damage) || damage.Path != paths[0] {
		t.Errorf("Open = %v, want a *DamageError of %s", err, paths[0])
	}
	remove(t, filepath.Join(dirs[0], catalogName)) // then another check notices that the first group is not the one in HEAD
	if _, err := Open(Options{Dir: dirs[0], MemTable: minMemTable, Log: discardLog}); !errors.As(err, &damage) || damage.Path != filepath.Join(dirs[0], headName) {
		t.Errorf("without %s: Open = %v, want a *DamageError of %s", catalogName, err, headName)
	}
}

// forgeRow sets a row, or removes it if value is nil, without a group, but with the version of group n.
func forgeRow(t *testing.T, s *Store, n uint64, key, value []byte) {
	t.Helper()
	txn := s.db.NewTransactionAt(math.MaxUint64, true)
	var err error
	if value == nil {
		err = txn.Delete(key)
	} else {
		err = txn.SetEntry(badger.NewEntry(key, appendChecksum(key, value)))
	}
	if err == nil {
		err = txn.CommitAt(version(n), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestBrokenGroupChainIsRefused(t *testing.T) {
	for name, breakChain := range map[string]func(s *Store){
		"the first is missing":  func(s *Store) { forgeRow(t, s, 5, groupRowKey(1), nil) },
		"one is missing":        func(s *Store) { forgeRow(t, s, 5, groupRowKey(3), nil) },
		"one has another hash":  func(s *Store) { forgeRow(t, s, 5, groupRowKey(3), groupRow{n: 3}.append(nil)) },
		"one has other numbers": func(s *Store) { forgeRow(t, s, 5, groupRowKey(3), groupRow{n: 2}.append(nil)) },
		"one is no group":       func(s *Store) { forgeRow(t, s, 5, groupRowKey(3), []byte("group")) },
		"there is one too many": func(s *Store) { forgeRow(t, s, 5, groupRowKey(6), groupRow{n: 6}.append(nil)) },
		"it has no schema":      func(s *Store) { forgeRow(t, s, 5, []byte(schemaKey), nil) },
	} {
		dir := t.TempDir()
		s := open(t, Options{Dir: dir, MemTable: minMemTable})
		for range 5 {
			set(t, s, "a", "1")
		}
		breakChain(s)
		closeStore(t, s)
		var damage *DamageError
		if _, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: discardLog}); !errors.As(err, &damage) {
			t.Errorf("%s: Open = %v, want a *DamageError", name, err)
		}
	}
}
