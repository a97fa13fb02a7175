package store

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"mizan/posting/store/badgerfile"
)

// highestTable returns the greatest number of a table in the directory.
func highestTable(t *testing.T, s *Store) (highest uint64) {
	t.Helper()
	for _, name := range files(t, s.path) {
		if id, ok := badgerfile.TableID(name); ok {
			highest = max(highest, id)
		}
	}
	return highest
}

// obstructNextTables creates files with the names of the next n tables, so that Badger can't create these tables. The
// function unblock removes the files.
func obstructNextTables(t *testing.T, s *Store, n uint64) (unblock func()) {
	t.Helper()
	highest := highestTable(t, s)
	for id := highest + 1; id <= highest+n; id++ {
		if err := os.WriteFile(badgerfile.TablePath(s.path, id), []byte("in the way"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for id := highest + 1; id <= highest+n; id++ {
			remove(t, badgerfile.TablePath(s.path, id))
		}
	}
}

// waitForFlushes waits until all memtables but the newest have been flushed into tables.
func waitForFlushes(s *Store) {
	for {
		logs, err := filepath.Glob(filepath.Join(s.path, "*.mem"))
		if err != nil || len(logs) <= 1 {
			return
		}
		runtime.Gosched()
	}
}

// compactLevelZero applies groups until Badger has compacted level 0 into a deeper level and has made new tables in level 0,
// so that another compaction has work to do.
func compactLevelZero(t *testing.T, s *Store, hist history) {
	t.Helper()
	n, _ := s.LastGroup()
	for hasDeepTables, tables := false, 0; !hasDeepTables || tables == 0; n += 10 {
		hist.continueTo(t, s, n+10)
		waitForFlushes(s)
		levels := s.db.Levels()
		tables, hasDeepTables = levels[0].NumTables, false
		for _, l := range levels[1:] {
			hasDeepTables = hasDeepTables || l.NumTables > 0
		}
	}
}

func TestTableLostByCompactionIsDetected(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	hist := history{seed: 1, rows: 20, value: 4000, keys: 4000}
	compactLevelZero(t, s, hist)
	if err := s.db.Flatten(1); err != nil { // afterwards Badger compacts nothing by itself for a while
		t.Fatal(err)
	}
	compactLevelZero(t, s, hist)
	sn := s.Snapshot()
	unblock := obstructNextTables(t, s, 20)
	if err := s.db.Flatten(1); err != nil { // Flatten returns no error although it could not make the new tables
		t.Fatal(err)
	}
	var damage *DamageError
	if _, _, err := sn.Get([]byte("a"), nil); !errors.As(err, &damage) {
		t.Errorf("Get = %v, want a *DamageError", err)
	}
	if err := sn.Ascend(nil, nil, nil); !errors.As(err, &damage) {
		t.Errorf("Ascend = %v, want a *DamageError", err)
	}
	g := NewGroup(next(s))
	g.Seal()
	if err := s.Apply(g); !errors.As(err, &damage) {
		t.Errorf("Apply = %v, want a *DamageError", err)
	}
	sn.Close()
	unblock()
	abandonStore(t, s)
	if _, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: discardLog}); !errors.As(err, &damage) || unclear(err) != nil {
		t.Errorf("Open = %v, want a *DamageError", err)
	}
}

func TestCompactionWithoutLossIsNoDamage(t *testing.T) {
	hist, m := history{seed: 1, rows: 20, value: 4000, keys: 500}, make(model)
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	for range 3 {
		compactLevelZero(t, s, hist)
		if err := s.db.Flatten(1); err != nil {
			t.Fatal(err)
		}
	}
	n, _ := s.LastGroup()
	hist.applyTo(m, 0, n)
	if err := hist.differenceFrom(s, m); err != nil {
		t.Error(err)
	}
	// This check would also pass if the audit of compactions could never fail; TestTableLostByCompactionIsDetected shows that
	// it can.
	if err := s.Failure(); err != nil {
		t.Error(err)
	}
	closeStore(t, s)
}

// countVersions returns the number of stored versions of a key.
func countVersions(s *Store, key string) (n int) {
	txn := s.db.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	it := txn.NewKeyIterator([]byte(key), badger.IteratorOptions{})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		n++
	}
	return n
}

func TestCompactionDropsInvisibleVersions(t *testing.T) {
	hist := history{seed: 1, rows: 20, value: 4000, keys: 500}
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	set(t, s, "hot", "1", "dead", "1")
	snapshot := s.Snapshot()
	set(t, s, "hot", "2", "dead", "2")
	set(t, s, "hot", "3")
	g := NewGroup(next(s))
	g.Delete([]byte("dead"))
	g.Seal()
	if err := s.Apply(g); err != nil {
		t.Fatal(err)
	}
	compact := func() {
		compactLevelZero(t, s, hist)
		if err := s.db.Flatten(1); err != nil {
			t.Fatal(err)
		}
	}
	compact()
	if get(t, snapshot, "hot") != "1" || get(t, snapshot, "dead") != "1" {
		t.Error("compaction removed a row that a snapshot sees")
	}
	snapshot.Close()
	compact()
	if hot, dead := countVersions(s, "hot"), countVersions(s, "dead"); hot != 1 || dead != 0 {
		t.Errorf("there are %d versions of a row and %d of a deleted one", hot, dead)
	}
}

func TestCompactionDropsOldVersionsIfNoSnapshotWasOpened(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	set(t, s, "hot", "1")
	set(t, s, "hot", "2")
	compactLevelZero(t, s, history{seed: 1, rows: 20, value: 4000, keys: 500})
	if err := s.db.Flatten(1); err != nil {
		t.Fatal(err)
	}
	if hot := countVersions(s, "hot"); hot != 1 {
		t.Errorf("there are %d versions of a row", hot)
	}
}

// After a failed flush Badger would try again and append to its list of tables, although the list may end with
// half a record. So the store stops at the first failure.
func TestFailedFlushStopsTheStore(t *testing.T) {
	hist := history{seed: 1, rows: 20, value: 4000, keys: 500}
	dir, err := os.MkdirTemp("", "store-") // not t.TempDir, because Badger is never closed and keeps using the directory
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	hist.continueTo(t, s, 10)
	obstructNextTables(t, s, 1)
	g, acked := new(Group), uint64(10)
	for n, hash := next(s); err == nil; n++ {
		g.Reset(n, hash)
		hist.fill(g)
		hash = g.Seal()
		if err = s.Apply(g); err == nil {
			acked = n
		}
	}
	if !strings.Contains(err.Error(), "flushing a memtable") || !strings.Contains(err.Error(), "file exists") {
		t.Errorf("Apply = %v", err)
	}
	stacks := make([]byte, 1<<20)
	if stacks = stacks[:runtime.Stack(stacks, true)]; !bytes.Contains(stacks, []byte("(*badgerLog).stop")) {
		t.Error("Badger will try again")
	}
	if closeErr := s.Close(); closeErr == nil || closeErr.Error() != err.Error() {
		t.Errorf("Close = %v, want the same error", closeErr)
	}
	s.tables.Wait()
	copyDir := t.TempDir() // the state that the next process would find
	copyTree(t, dir, copyDir)
	s = open(t, Options{Dir: copyDir, MemTable: minMemTable})
	n, _ := s.LastGroup()
	if n < acked || n > acked+1 {
		t.Errorf("the last group is %d, the last acknowledged one %d", n, acked)
	}
	m := make(model)
	hist.applyTo(m, 0, n)
	if err := hist.differenceFrom(s, m); err != nil {
		t.Error(err)
	}
	closeStore(t, s)
}

// Badger removes a write-ahead log when all its rows are in tables. Such a log is left only if the process has ended just
// before Badger removed it, or if somebody has put it back. If this log were replayed, rows that were deleted later could
// reappear, because compaction may have dropped their deletions.
func TestFlushedLogIsNotReplayed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	set(t, s, "dead", "old")
	log := badgerfile.LogPath(s.path, s.logID.Load())
	oldLog := readFile(t, log)
	g := NewGroup(next(s))
	g.Delete([]byte("dead"))
	g.Seal()
	if err := s.Apply(g); err != nil {
		t.Fatal(err)
	}
	compactLevelZero(t, s, history{seed: 1, rows: 20, value: 4000, keys: 500})
	if err := s.db.Flatten(1); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if err := os.WriteFile(log, oldLog, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{Dir: dir, MemTable: minMemTable})
	defer closeStore(t, s)
	sn := s.Snapshot()
	defer sn.Close()
	if got := get(t, sn, "dead"); got != "-" {
		t.Errorf("the deleted row is back: %s", got)
	}
}
