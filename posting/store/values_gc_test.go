package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/testseed"
	"mizan/posting/store/values"
)

// storeWithValues returns a store with a hundred replaceable values in one file, and these values. The rows of all values are
// in Badger.
func storeWithValues(t *testing.T, o Options) (*Store, []liveValue) {
	t.Helper()
	o.Dir, o.MemTable = t.TempDir(), minMemTable
	s := open(t, o)
	for i := range 100 {
		set(t, s, fmt.Sprintf("r%03d", i), strings.Repeat("v", 1000+i))
	}
	if err := s.flushAll(); err != nil {
		t.Fatal(err)
	}
	var all []liveValue
	err := s.values.Entries(s.values.Files()[0], 0, func(e values.Entry) error {
		all = append(all, liveValue{bytes.Clone(e.Key), bytes.Clone(e.Stored), e.Place})
		return nil
	})
	if err != nil || len(all) != 100 {
		t.Fatalf("%d values: %v", len(all), err)
	}
	return s, all
}

// mustMove moves values. It fails the test if the last group has no version left.
func mustMove(t *testing.T, s *Store, batch []liveValue) {
	t.Helper()
	if done, err := s.tryMove(batch, nil); err != nil || !done {
		t.Fatalf("moved %v: %v", done, err)
	}
}

// versionsOf returns the versions that Badger has of a row, the newest first.
func versionsOf(s *Store, key []byte) (all []uint64) {
	txn := s.db.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	it := txn.NewKeyIterator(key, badger.IteratorOptions{AllVersions: true})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		all = append(all, it.Item().Version())
	}
	return all
}

// If two transactions had the same version, Badger would not know which one's rows are newer. So each move has a version of its
// own, even if no group comes between two moves, or if the store was opened again. When the versions of a group are used up,
// moving waits for the next group.
func TestEachMoveHasAVersionOfItsOwn(t *testing.T) {
	s, all := storeWithValues(t, Options{})
	dir, row := s.options.Dir, valuesKey(1)
	before := versionsOf(s, row)
	for i := range 3 {
		mustMove(t, s, all[i:i+1])
	}
	want := append([]uint64{before[0] + 3, before[0] + 2, before[0] + 1}, before...)
	if got := versionsOf(s, row); !slices.Equal(got, want) {
		t.Errorf("the row of the file has the versions %d, want %d", got, want)
	}
	mustMove(t, s, all[:1]) // the value was moved already, so this move changes nothing and needs no version
	closeStore(t, s)

	s = open(t, Options{Dir: dir, MemTable: minMemTable})
	defer closeStore(t, s)
	mustMove(t, s, all[3:4])
	if got := versionsOf(s, row); got[0] != want[0]+1 {
		t.Errorf("after another opening a move has the version %d, want %d", got[0], want[0]+1)
	}
	s.flusher.moveCount = versionsOfGroup - 1
	if done, err := s.tryMove(all[4:5], nil); done || err != nil {
		t.Errorf("without a version left: %v, %v", done, err)
	}
	set(t, s, "rother", strings.Repeat("x", 300))
	if err := s.flushAll(); err != nil {
		t.Fatal(err)
	}
	mustMove(t, s, all[4:5])
}

// A move changes no row, so an increment since the last group does not contain the moved rows.
func TestMovedValuesAreNotInAnIncrement(t *testing.T) {
	s, all := storeWithValues(t, Options{})
	defer closeStore(t, s)
	last, _ := s.LastGroup()
	rows := backupRows(t, s, 0)
	mustMove(t, s, all)
	for _, r := range backupRows(t, s, last) {
		if !IncludedInEveryIncrement(r.Key) {
			t.Errorf("the increment has the row %q", r.Key)
		}
	}
	if !sameRows(backupRows(t, s, 0), rows, false) {
		t.Error("the rows have changed")
	}
}

// After a failure nothing more is written, because a file of values may have grown without its row.
func TestNothingIsWrittenAfterAFailure(t *testing.T) {
	s, all := storeWithValues(t, Options{})
	files := s.values.Files()
	s.fail(errors.New("a failure of the test"))
	if _, err := s.tryMove(all, nil); err == nil {
		t.Error("values were moved")
	}
	if err := s.write(s.recent, s.last.N); err == nil {
		t.Error("groups were written")
	}
	if got := s.values.Files(); !reflect.DeepEqual(got, files) || s.values.PendingBytes() != 0 {
		t.Errorf("the files are %v, and were %v", got, files)
	}
	settle(s)
}

// If a write or a move fails, the store fails before another goroutine can write.
func TestFailedMoveFailsTheStore(t *testing.T) {
	s, all := storeWithValues(t, Options{})
	if err := s.values.Close(); err != nil { // from now on the files of values can't be written
		t.Fatal(err)
	}
	if _, err := s.tryMove(all, nil); err == nil || s.Failure() == nil {
		t.Errorf("the move has the error %v, the store %v", err, s.Failure())
	}
	settle(s)
}

// While space is low, values are not moved, because moving takes space before it frees any.
func TestValuesAreNotMovedInLowSpace(t *testing.T) {
	s, all := storeWithValues(t, Options{MinFree: math.MaxUint64})
	defer closeStore(t, s)
	files := s.values.Files()
	if err := s.move(all, nil); !errors.Is(err, ErrNoSpace) {
		t.Errorf("move = %v, want ErrNoSpace", err)
	}
	if err := s.collect(); err != nil || s.Failure() != nil {
		t.Errorf("collect = %v, the store has failed: %v", err, s.Failure())
	}
	if got := s.values.Files(); !reflect.DeepEqual(got, files) {
		t.Errorf("the files are %v, and were %v", got, files)
	}
}

// Values are durable before Badger has their places: if their sync fails, the process ends, and nothing is lost.
func TestFailedSyncOfValuesLosesNothing(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("NOT TRIED: strace is not installed here")
	}
	hist := childHistory(testseed.Seed(t), fewKeys)
	for _, fault := range []string{"fdatasync:error=EIO:when=1", "fdatasync:error=EIO:when=4+", "pwrite64:error=ENOSPC:when=3"} {
		t.Run(fault, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, Options{Dir: dir, MemTable: minMemTable})
			hist.continueTo(t, s, 3)
			closeStore(t, s)
			path := filepath.Join(dir, storeName, valuesName, "000001.values")
			if _, err := os.Stat(path); err != nil {
				t.Fatal(err)
			}
			p := startFaulty(t, dir, hist, 1<<40, strace, "-f", "-qqq", "-o", os.DevNull, "-P", path, "-e", "trace=fdatasync,pwrite64", "-e", "inject="+fault)
			wantNoLoss(t, p, dir, hist)
			if !strings.Contains(p.failure, path) {
				t.Errorf("it failed in something else: %s", p.failure)
			}
		})
	}
}

// A collected file is removed only when two conditions hold. The tables have a later group, because a start may need the file
// until then. And no snapshot reads an earlier state.
func TestCollectedFileGoesWhenNobodyNeedsIt(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	s.stopMaintenance()  // the test collects and removes files itself
	for i := range 100 { // the values fill a file
		set(t, s, fmt.Sprintf("r%03d", i), strings.Repeat("v", 50_000))
	}
	if err := s.flushAll(); err != nil {
		t.Fatal(err)
	}
	file := s.values.Files()[0]
	if !s.values.IsFull(file) {
		t.Fatalf("the file has %d bytes", file.Length)
	}
	earlier := s.Snapshot()
	if err := s.collectFile(file); err != nil {
		t.Fatal(err)
	}
	after, _ := s.LastGroup()
	set(t, s, "rother", "x")
	if err := s.flushAll(); err != nil {
		t.Fatal(err)
	}
	later := s.Snapshot()
	defer later.Close()
	exists := func() bool { return slices.Contains(valueFiles(t, s), filepath.Base(s.values.Path(file.Number))) }
	remove := func(inTables uint64) {
		t.Helper()
		if err := s.removeFiles(inTables); err != nil {
			t.Fatal(err)
		}
	}
	if remove(after + 1); !exists() {
		t.Fatal("the file went while a snapshot reads an earlier state")
	}
	if got := get(t, earlier, "r000"); len(got) != 50_000 {
		t.Errorf("the earlier snapshot has %d bytes", len(got))
	}
	earlier.Close()
	if remove(after); !exists() {
		t.Fatal("the file went before tables have a later group")
	}
	if remove(after + 1); exists() {
		t.Error("the file stays")
	}
	if got := get(t, later, "r000"); len(got) != 50_000 {
		t.Errorf("a later snapshot has %d bytes", len(got))
	}
}
