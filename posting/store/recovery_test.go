package store

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/testseed"
	"mizan/posting/log"
	"mizan/posting/store/badgerfile"
)

// killed returns the directory of a store with groups that was killed, and the last group.
func killed(t *testing.T, groups uint64) (dir string, hist history, acked uint64) {
	t.Helper()
	hist, dir = childHistory(testseed.Seed(t), fewKeys), t.TempDir()
	p := startChild(t, dir, hist, groups)
	p.readUntil(t, "done")
	return dir, hist, p.kill(t)
}

// openRefused opens the store in a directory. It fails the test unless Open reports damage, and returns the path in this
// error.
func openRefused(t *testing.T, what, dir string) (path string) {
	t.Helper()
	var damage *DamageError
	if _, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: discardLog}); !errors.As(err, &damage) || unclear(err) != nil {
		t.Fatalf("%s: Open = %v, want a *DamageError", what, err)
	}
	return damage.Path
}

// Badger's own write-ahead logs were never synced, so Open does not read them. The store's own log has all their rows.
func TestLogsOfBadgerAreNotBelieved(t *testing.T) {
	for _, harm := range []func(path string) error{
		os.Remove,
		func(path string) error { return os.Truncate(path, 1000) },
		func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		dir, hist, acked := killed(t, 60)
		logs, err := filepath.Glob(filepath.Join(dir, storeName, "*.mem"))
		if err != nil || len(logs) == 0 {
			t.Fatal(logs, err)
		}
		for _, path := range logs {
			if err := harm(path); err != nil {
				t.Fatal(err)
			}
		}
		if last := wantHistory(t, dir, hist, make(model), 0, acked); last != acked {
			t.Errorf("the last group is %d, the last acknowledged one %d", last, acked)
		}
	}
}

// replaceLog replaces the log of a store by a log without groups.
func replaceLog(t *testing.T, dir string, after log.Mark) {
	t.Helper()
	path := filepath.Join(dir, logName)
	dropTree(t, path)
	if err := log.Create(log.Options{Dir: path, SegmentSize: minMemTable}, after); err != nil {
		t.Fatal(err)
	}
}

// The groups that no table has are in the log. If the log lacks them or has other groups instead, that is damage.
func TestLogMustContinueTheTables(t *testing.T) {
	o := Options{MemTable: minMemTable, Log: discardLog}
	closed, open5 := t.TempDir(), t.TempDir() // the same store with all groups in tables, and with the last groups only in the log
	o.Dir = closed
	s := open(t, o)
	for range 5 {
		set(t, s, "a", "1")
	}
	copyTree(t, closed, open5)
	last := s.last
	closeStore(t, s)
	logOf := func(dir string) string { return filepath.Join(dir, logName) }
	for name, c := range map[string]struct {
		from string
		harm func(dir string)
	}{
		"the log is missing":                  {closed, func(dir string) { dropTree(t, logOf(dir)) }},
		"the log is empty":                    {closed, func(dir string) { replaceLog(t, dir, log.Mark{}) }},
		"the log ends before the tables":      {closed, func(dir string) { replaceLog(t, dir, log.Mark{N: last.N - 1, Hash: last.Hash}) }},
		"the log begins behind the tables":    {open5, func(dir string) { replaceLog(t, dir, last) }},
		"the log continues another history":   {closed, func(dir string) { replaceLog(t, dir, log.Mark{N: last.N, Hash: [32]byte{1}}) }},
		"the tables are those of a new store": {closed, func(dir string) { dropTree(t, filepath.Join(dir, storeName)) }},
	} {
		dir := t.TempDir()
		copyTree(t, c.from, dir)
		c.harm(dir)
		openRefused(t, name, dir)
	}
	// Before there were files of values, versions were smaller. So the tables of an old store seem to end with an earlier
	// group.
	older := t.TempDir()
	copyTree(t, open5, older)
	replaceLog(t, older, last)
	dropTree(t, filepath.Join(older, storeName, valuesName))
	if _, err := Open(Options{Dir: older, MemTable: minMemTable, Log: discardLog}); !errors.Is(err, ErrOlderSchema) {
		t.Errorf("without files of values: Open = %v, want ErrOlderSchema", err)
	}
	o.Dir = open5
	s = open(t, o)
	if s.last != last {
		t.Errorf("the last group is %d", s.last.N)
	}
	closeStore(t, s)
}

// A store from before there was a log has a file HEAD.
func TestStoreWithoutALogIsOfAnOlderRelease(t *testing.T) {
	o := Options{Dir: t.TempDir(), MemTable: minMemTable, Log: discardLog}
	closeStore(t, open(t, o))
	dropTree(t, filepath.Join(o.Dir, logName))
	if err := os.WriteFile(filepath.Join(o.Dir, oldHeadName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o); !errors.Is(err, ErrOlderSchema) || unclear(err) != nil {
		t.Errorf("Open = %v, want ErrOlderSchema", err)
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

// If a process is killed while it replaces a file, the new file is left under a temporary name.
func TestHalfWrittenFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	set(t, s, "a", "1")
	closeStore(t, s)
	var leftovers []string
	for _, name := range []string{identityName, catalogName, damagedFileName, filepath.Join(storeName, badger.ManifestFilename)} {
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
		hist := history{seed: 1, rows: 3, value: 38_000, keys: manyKeys}
		for n := uint64(2); s.db.Levels()[0].NumTables < levelZeroTables-2; n++ {
			hist.continueTo(t, s, n)
			waitForFlushes(s)
		}
		closeStore(t, s)
		paths[i] = badgerfile.TablePath(s.path, 2) // table 1 has only the schema's row, so take table 2
	}
	foreignTable := readFile(t, paths[1])
	if err := os.WriteFile(paths[0], foreignTable, 0o600); err != nil {
		t.Fatal(err)
	}
	var damage *DamageError
	if _, err := Open(Options{Dir: dirs[0], MemTable: minMemTable, Log: discardLog}); !errors.As(err, &damage) || damage.Path != paths[0] {
		t.Errorf("Open = %v, want a *DamageError of %s", err, paths[0])
	}
	remove(t, filepath.Join(dirs[0], catalogName)) // then a check of the first group and IDENTITY detects it
	if path := openRefused(t, "without "+catalogName, dirs[0]); path != filepath.Join(dirs[0], identityName) {
		t.Errorf("without %s: the error names %s, not %s", catalogName, path, identityName)
	}
}

// forgeRow sets a row directly in Badger, or removes it if value is nil. The row gets the version of group n, but is in no
// group.
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
		if err := s.flushAll(); err != nil {
			t.Fatal(err)
		}
		breakChain(s)
		closeStore(t, s)
		var damage *DamageError
		if _, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: discardLog}); !errors.As(err, &damage) {
			t.Errorf("%s: Open = %v, want a *DamageError", name, err)
		}
	}
}
