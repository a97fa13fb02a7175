package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"mizan/internal/testseed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// backupRows returns the rows of a backup of the store: all rows if since is 0, otherwise those of an increment since that group.
func backupRows(t testing.TB, s *Store, since uint64) []StoredRow {
	t.Helper()
	sn := s.Snapshot()
	defer sn.Close()
	return readRows(t, sn, since, 1<<30)
}

// readRows returns the rows of a backup. It calls StoredRows several times, for at most limit rows each.
func readRows(t testing.TB, sn *Snapshot, since uint64, limit int) (rows []StoredRow) {
	t.Helper()
	var from []byte
	for more := true; more; {
		n := 0
		more = false
		err := sn.StoredRows(from, since, func(r StoredRow) (bool, error) {
			rows = append(rows, StoredRow{bytes.Clone(r.Key), bytes.Clone(r.Stored), r.Group})
			n++
			more = n == limit
			return !more, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) > 0 {
			from = append(bytes.Clone(rows[len(rows)-1].Key), 0)
		}
	}
	return rows
}

// loadRows makes a store from the rows in the directory. If a Loader refuses the rows, it returns the Loader's error.
func loadRows(t testing.TB, dir string, rows []StoredRow) error {
	t.Helper()
	l, err := NewLoader(Options{Dir: dir, MemTable: minMemTable, Log: discardLog}, 1<<20)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := l.Add(r); err != nil {
			l.Abandon()
			return err
		}
	}
	return l.Finish()
}

// sameRows tells whether two lists of rows are equal. If withGroups is true, it also compares the groups of the rows, which
// differ if the groups were written to Badger in other batches.
func sameRows(a, b []StoredRow, withGroups bool) bool {
	return slices.EqualFunc(a, b, func(x, y StoredRow) bool {
		return bytes.Equal(x.Key, y.Key) && bytes.Equal(x.Stored, y.Stored) && (x.Group == y.Group || !withGroups)
	})
}

// A loaded store equals its source: it has every row and the chain of groups. After
// further groups the two stores are still equal.
func TestLoadedStoreEqualsItsSource(t *testing.T) {
	hist := history{seed: testseed.Seed(t), rows: 60, value: 3000, keys: 300}
	for _, groups := range []uint64{0, 1, 2, 121} {
		s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
		hist.continueTo(t, s, groups)
		rows := backupRows(t, s, 0)
		dir := filepath.Join(t.TempDir(), "loaded")
		if err := loadRows(t, dir, rows); err != nil {
			t.Fatal(err)
		}
		for round := range 2 {
			loaded := open(t, Options{Dir: dir, MemTable: minMemTable})
			n, hash := s.LastGroup()
			if gotN, got := loaded.LastGroup(); gotN != n || got != hash {
				t.Errorf("%d groups: the loaded store ends with group %d", groups, gotN)
			}
			if !sameRows(backupRows(t, loaded, 0), rows, round == 0) {
				t.Errorf("%d groups: the loaded store has other rows", groups)
			}
			if round == 0 {
				hist.continueTo(t, s, groups+20)
				hist.continueTo(t, loaded, groups+20)
				rows = backupRows(t, s, 0)
			}
			closeStore(t, loaded)
		}
		closeStore(t, s)
	}
}

// A load may write more values of a kind than one file of values takes.
func TestLoadFillsFilesOfValues(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	for i := range 100 {
		for _, kind := range "br" {
			set(t, s, fmt.Sprintf("%c%03d", kind, i), strings.Repeat("v", 60_000), fmt.Sprintf("%c%03d short", kind, i), "v", fmt.Sprintf("k%c%03d", kind, i), "v")
		}
	}
	rows := backupRows(t, s, 0)
	dir := filepath.Join(t.TempDir(), "loaded")
	if err := loadRows(t, dir, rows); err != nil {
		t.Fatal(err)
	}
	loaded := open(t, Options{Dir: dir, MemTable: minMemTable})
	defer closeStore(t, loaded)
	if files := loaded.values.Files(); len(files) < 3 {
		t.Errorf("the values are in too few files for this test: %v", files)
	}
	if !sameRows(backupRows(t, loaded, 0), rows, true) {
		t.Error("the loaded store has other rows")
	}
}

// An increment is a backup of what was written after a given group of changes. It has the rows written after that group, and
// all rows of the kinds that can be removed.
func TestIncrementHasNewerRowsAndAllRowsOfRemovableKinds(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	set(t, s, "r1", "old", "r2", "old", "x1", "kept", "d1", "gone", "y1", "gone", "w1", "kept", "mdue", "1", "n1", "1")
	set(t, s, "r2", "new", "r3", "new", "n1", "2")
	g := NewGroup(next(s))
	g.Delete([]byte("d1"))
	g.Delete([]byte("y1"))
	g.Set([]byte("n1"), []byte("3"))
	g.Seal()
	if err := s.Apply(g); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range backupRows(t, s, 1) {
		if r.Key[0] != prefixGroup {
			got += fmt.Sprintf("%s@%d ", r.Key, r.Group)
		}
	}
	if want := "mdue@1 mschema@0 n1@3 r2@2 r3@2 w1@1 x1@1 "; got != want {
		t.Errorf("the increment since group 1 has %s, want %s", got, want)
	}
}

func TestIncrementRefusesRemovalsOfOtherKinds(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	set(t, s, "r1", "old")
	g := NewGroup(next(s))
	g.Delete([]byte("r1"))
	g.Seal()
	if err := s.Apply(g); err != nil {
		t.Fatal(err)
	}
	sn := s.Snapshot()
	defer sn.Close()
	err := sn.StoredRows(nil, 1, func(StoredRow) (bool, error) { return true, nil })
	if err == nil || !strings.Contains(err.Error(), "was removed") {
		t.Errorf("an increment over a removed record: %v", err)
	}
}

// A row that was damaged on the disk is never copied into a backup as if it were sound.
func TestDamagedRowIsNotBackedUp(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	set(t, s, "r1", "value")
	set(t, s, "r2", "value")
	if err := s.flushAll(); err != nil {
		t.Fatal(err)
	}
	txn := s.db.NewTransactionAt(math.MaxUint64, true)
	defer txn.Discard()
	stored := appendChecksum([]byte("r1"), []byte("value"))
	stored[0] ^= 1
	if err := errors.Join(txn.SetEntry(badger.NewEntry([]byte("r1"), stored)), txn.CommitAt(version(2), nil)); err != nil {
		t.Fatal(err)
	}
	sn := s.Snapshot()
	defer sn.Close()
	for _, since := range []uint64{0, 1} {
		var damage *DamageError
		if err := sn.StoredRows(nil, since, func(StoredRow) (bool, error) { return true, nil }); !errors.As(err, &damage) {
			t.Errorf("since %d: a damaged row is read as %v, want *DamageError", since, err)
		}
	}
}

// A snapshot can be read in several calls of StoredRows. These calls see the same rows, although further groups are applied,
// flushed and compacted between them.
func TestRepeatedStoredRowsShowOneGroup(t *testing.T) {
	hist := history{seed: testseed.Seed(t), rows: 60, value: 3000, keys: 300}
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	hist.continueTo(t, s, 60)
	sn := s.Snapshot()
	defer sn.Close()
	want := readRows(t, sn, 0, 1<<30)
	hist.continueTo(t, s, 200)
	random := rand.New(rand.NewPCG(hist.seed, 1))
	for range 3 {
		if !sameRows(readRows(t, sn, 0, 1+random.IntN(200)), want, true) {
			t.Error("a later call has rows of another group")
		}
	}
}

func TestLoaderRefusesImpossibleRows(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	for i := range 4 {
		set(t, s, fmt.Sprintf("r%d", i), "value")
	}
	rows := backupRows(t, s, 0)
	otherStore := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, otherStore)
	for i := range 4 {
		set(t, otherStore, fmt.Sprintf("r%d", i), "another value")
	}
	otherRows := backupRows(t, otherStore, 0)
	groupRows := slices.IndexFunc(rows, func(r StoredRow) bool { return r.Key[0] == prefixGroup }) // index of the first
	for name, spoil := range map[string]func([]StoredRow) []StoredRow{
		"a value changed":        func(r []StoredRow) []StoredRow { r[len(r)-1].Stored[0] ^= 1; return r },
		"a middle group missing": func(r []StoredRow) []StoredRow { return slices.Delete(r, groupRows+1, groupRows+2) },
		"the first group missing": func(r []StoredRow) []StoredRow {
			return slices.Delete(r, groupRows, groupRows+1)
		},
		"the last group missing":      func(r []StoredRow) []StoredRow { return slices.Delete(r, groupRows+3, groupRows+4) },
		"another store's last group":  func(r []StoredRow) []StoredRow { r[groupRows+3] = otherRows[groupRows+3]; return r },
		"another store's first group": func(r []StoredRow) []StoredRow { r[groupRows] = otherRows[groupRows]; return r },
		"a group twice":               func(r []StoredRow) []StoredRow { return slices.Insert(r, 1, r[0]) },
		"a row twice":                 func(r []StoredRow) []StoredRow { return append(r, r[len(r)-1]) },
		"two groups swapped":          func(r []StoredRow) []StoredRow { r[0], r[1] = r[1], r[0]; return r },
		"two rows swapped": func(r []StoredRow) []StoredRow {
			slices.Reverse(r[len(r)-2:])
			return r
		},
		"a row of a later group": func(r []StoredRow) []StoredRow { r[len(r)-1].Group = 9; return r },
		"a row of a file of values": func(r []StoredRow) []StoredRow {
			key := valuesKey(1)
			return append(r, StoredRow{Key: key, Stored: appendChecksum(key, []byte("1")), Group: 1})
		},
	} {
		spoiled := make([]StoredRow, len(rows))
		for i, r := range rows {
			spoiled[i] = StoredRow{r.Key, bytes.Clone(r.Stored), r.Group}
		}
		dir := filepath.Join(t.TempDir(), "loaded")
		if err := loadRows(t, dir, spoil(spoiled)); err == nil {
			t.Errorf("%s: loaded", name)
		}
		if _, err := os.Stat(filepath.Join(dir, storeName)); err == nil {
			t.Errorf("%s: there is a store", name)
		}
	}
}

// A load that was abandoned leaves no store. The next load into the same directory makes a store. Then a further load is
// refused, because it would overwrite that store.
func TestUnfinishedLoadIsNoStore(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	set(t, s, "r1", "value")
	dir := t.TempDir()
	l, err := NewLoader(Options{Dir: dir, MemTable: minMemTable, Log: discardLog}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewLoader(Options{Dir: dir, MemTable: minMemTable, Log: discardLog}, 0); !errors.Is(err, ErrLocked) {
		t.Errorf("a second loader of the directory: %v", err)
	}
	for _, r := range backupRows(t, s, 0) {
		if err := l.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := l.LastGroup(); n != 1 {
		t.Errorf("the rows end with group %d", n)
	}
	l.Abandon()
	if err := loadRows(t, dir, backupRows(t, s, 0)); err != nil {
		t.Fatal(err)
	}
	want := backupRows(t, s, 0)
	set(t, s, "r1", "later")
	if err := loadRows(t, dir, backupRows(t, s, 0)); err == nil {
		t.Error("loaded over a store")
	}
	loaded := open(t, Options{Dir: dir, MemTable: minMemTable})
	defer closeStore(t, loaded)
	if !sameRows(backupRows(t, loaded, 0), want, true) {
		t.Error("a load over a store has changed it")
	}
}

// NewLoader requires as much free space as is needed to open the loaded store.
func TestLoaderNeedsFreeSpaceToOpenItsStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "loaded")
	free, err := freeBytes(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewLoader(Options{Dir: dir, MemTable: int64(free), Log: discardLog}, 0); !errors.Is(err, ErrNoSpace) {
		t.Errorf("a load of nothing, to be opened with all that is free: %v", err)
	}
}

func TestLoaderNeedsFreeSpace(t *testing.T) {
	dir := t.TempDir()
	free, err := freeBytes(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewLoader(Options{Dir: dir, Log: discardLog}, free); !errors.Is(err, ErrNoSpace) {
		t.Errorf("a load of all that is free: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, buildName)); err == nil {
		t.Errorf("something was begun: %v", entries)
	}
}
