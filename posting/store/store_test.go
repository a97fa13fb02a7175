package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mizan/internal/testseed"
	"mizan/posting/store/badgerfile"
)

// set applies a group with these rows, given as keys and values in turn.
func set(t testing.TB, s *Store, rows ...string) {
	t.Helper()
	g := NewGroup(next(s))
	for i := 0; i < len(rows); i += 2 {
		g.Set([]byte(rows[i]), []byte(rows[i+1]))
	}
	g.Seal()
	if err := s.Apply(g); err != nil {
		t.Fatal(err)
	}
}

// next returns the arguments of NewGroup for the next group of the store.
func next(s *Store) (n uint64, previous [32]byte) {
	n, previous = s.LastGroup()
	return n + 1, previous
}

// get returns the value of a key in a snapshot; "-" if there is no such key.
func get(t testing.TB, sn *Snapshot, key string) string {
	t.Helper()
	value, found, err := sn.Get([]byte(key), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return "-"
	}
	return string(value)
}

func TestNewStoreIsEmpty(t *testing.T) {
	s := open(t, Options{Dir: filepath.Join(t.TempDir(), "a", "b")})
	defer closeStore(t, s)
	n, hash := s.LastGroup()
	if n != 0 || hash != [32]byte{} {
		t.Errorf("LastGroup = %d, %x", n, hash)
	}
}

func TestStoreEqualsItsHistoryAfterEachReopening(t *testing.T) {
	hist := history{seed: testseed.Seed(t), rows: 60, value: 3000, keys: 300}
	dir, expected := t.TempDir(), make(model)
	var hash [32]byte
	for n := uint64(0); n <= 120; n += 30 {
		s := open(t, Options{Dir: dir, MemTable: minMemTable})
		last, got := s.LastGroup()
		if last != max(n, 30)-30 || got != hash {
			t.Fatalf("reopened at group %d, not %d, or with another hash", last, max(n, 30)-30)
		}
		hist.continueTo(t, s, n)
		hist.applyTo(expected, last, n)
		if err := hist.differenceFrom(s, expected); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(badgerfile.LogPath(s.path, s.logID.Load())); err != nil {
			t.Errorf("the log that is written is not the one that was synced by name: %v", err)
		}
		if _, err := os.Lstat(badgerfile.LogPath(s.path, s.logID.Load()+1)); err == nil {
			t.Error("a newer log was not noticed")
		}
		_, hash = s.LastGroup()
		closeStore(t, s)
	}
}

func TestSnapshotNeverChanges(t *testing.T) {
	hist := history{seed: testseed.Seed(t), rows: 60, value: 3000, keys: 100}
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	var snapshots []*Snapshot
	var contents []model
	expected := make(model)
	for n := uint64(1); n <= 400; n++ {
		hist.continueTo(t, s, n)
		hist.applyTo(expected, n-1, n)
		if n%50 == 0 {
			snapshots, contents = append(snapshots, s.Snapshot()), append(contents, cloneModel(expected))
		}
	}
	if err := s.db.Flatten(1); err != nil { // compaction must keep what the snapshots see
		t.Fatal(err)
	}
	for i, sn := range snapshots {
		got, err := content(sn)
		if err != nil {
			t.Fatal(err)
		}
		if !equalModel(got, contents[i]) {
			t.Errorf("the snapshot of group %d has changed", sn.GroupNumber())
		}
		sn.Close()
	}
	closeStore(t, s)
}

func cloneModel(m model) model {
	c := make(model, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

func equalModel(a, b model) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

func TestOldVersionsAreDroppedAfterTheirLastSnapshot(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	defer closeStore(t, s)
	flushed := func(value string) {
		set(t, s, "a", value)
		if err := s.flushAll(); err != nil {
			t.Fatal(err)
		}
	}
	flushed("1")
	snapshot1, alsoSnapshot1 := s.Snapshot(), s.Snapshot()
	flushed("2")
	snapshot2 := s.Snapshot()
	flushed("3")
	for _, step := range []struct {
		toClose *Snapshot
		want    []snapshotCount
	}{
		{snapshot1, []snapshotCount{{1, 1}, {2, 1}}},
		{snapshot2, []snapshotCount{{1, 1}}},
		{alsoSnapshot1, nil},
	} {
		step.toClose.Close()
		if len(s.openSnapshots) != len(step.want) || len(s.openSnapshots) > 0 && s.openSnapshots[0] != step.want[0] {
			t.Errorf("openSnapshots = %v, want %v", s.openSnapshots, step.want)
		}
	}
}

func TestGroupIsAppliedOnlyAfterItsPredecessor(t *testing.T) {
	for name, newGroup := range map[string]func(n uint64, h [32]byte) *Group{
		"the last number again": func(n uint64, h [32]byte) *Group { return NewGroup(n-1, h) },
		"a skipped number":      func(n uint64, h [32]byte) *Group { return NewGroup(n+1, h) },
		"another previous hash": func(n uint64, h [32]byte) *Group { h[7] ^= 1; return NewGroup(n, h) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{Dir: t.TempDir()})
			defer abandonStore(t, s)
			set(t, s, "a", "1")
			g := newGroup(next(s))
			g.Set([]byte("a"), []byte("2"))
			g.Seal()
			err := s.Apply(g)
			if err == nil {
				t.Fatal("it was applied")
			}
			validGroup := NewGroup(next(s))
			validGroup.Seal()
			if secondErr := s.Apply(validGroup); secondErr == nil || secondErr.Error() != err.Error() {
				t.Errorf("after an error, Apply = %v, want the first error", secondErr)
			}
			sn := s.Snapshot()
			defer sn.Close()
			if got := get(t, sn, "a"); got != "1" {
				t.Errorf("a = %s", got)
			}
		})
	}
}

func TestUnsealedGroupIsRefused(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	defer abandonStore(t, s)
	if err := s.Apply(NewGroup(next(s))); err == nil {
		t.Error("it was applied")
	}
}

func TestLargestGroupsAreAccepted(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	rows, size := s.MaxGroup()
	for round := range 4 { // in one of the rounds the memtable is nearly full before the groups are applied
		manyRows := NewGroup(next(s))
		for i := range rows {
			manyRows.Set([]byte{'m', byte(i >> 8), byte(i)}, []byte{byte(round)})
		}
		manyRows.Seal()
		if err := s.Apply(manyRows); err != nil {
			t.Fatal(err)
		}
		manyBytes := NewGroup(next(s))
		for i := 0; ; i++ {
			key := []byte{'l', byte(i >> 8), byte(i)}
			if remaining := size - manyBytes.Bytes() - len(key) - checksumSize - rowOverhead; remaining <= 64<<10 {
				manyBytes.Set(key, make([]byte, remaining))
				break
			}
			manyBytes.Set(key, make([]byte, 64<<10))
		}
		if manyBytes.Bytes() != size {
			t.Fatalf("the group has %d bytes, not %d", manyBytes.Bytes(), size)
		}
		manyBytes.Seal()
		if err := s.Apply(manyBytes); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGroupWithTooManyRowsIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	defer abandonStore(t, s)
	rows, _ := s.MaxGroup()
	g := NewGroup(next(s))
	for i := range rows + 1 {
		g.Set([]byte{'m', byte(i >> 8), byte(i)}, nil)
	}
	g.Seal()
	if err := s.Apply(g); err == nil || !strings.Contains(err.Error(), "rows") {
		t.Errorf("Apply = %v", err)
	}
}

func TestLargestValueIsStoredInTables(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	set(t, s, "a", string(make([]byte, MaxValue)))
	closeStore(t, s)
	files, err := filepath.Glob(filepath.Join(s.path, "*.vlog"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() > 20 { // 20 bytes of header and no value
			t.Errorf("%s holds %d bytes: %v", f, info.Size(), err)
		}
	}
}

func TestOnlyOneProcessOpensTheStore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	if _, err := Open(Options{Dir: dir, Log: discardLog}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second Open = %v, want ErrLocked", err)
	}
	closeStore(t, s)
	closeStore(t, open(t, Options{Dir: dir}))
}

// If LOCK, the store's own lock file, is deleted, Badger's lock keeps a second process out before that process
// changes any file of the store.
func TestBadgersOwnLockIsReportedAsErrLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	set(t, s, "a", "b")
	s.tables.Wait() // TABLES is written in the background
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, dir)
	if _, err := Open(Options{Dir: dir, Log: discardLog}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second Open = %v, want ErrLocked", err)
	}
	if after := filesOf(t, dir); !slices.Equal(after, before) {
		t.Errorf("after the second Open the files are\n%v\nand were\n%v", after, before)
	}
	set(t, s, "c", "d")
	closeStore(t, s)
	reopened := open(t, Options{Dir: dir})
	sn := reopened.Snapshot()
	if got := get(t, sn, "c"); got != "d" {
		t.Errorf("what was written after the second Open is %q", got)
	}
	sn.Close()
	closeStore(t, reopened)
}

// filesOf lists the files of a data directory except LOCK. Each entry has the file's inode and size, which show whether the
// file was replaced or written.
func filesOf(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == filepath.Join(dir, lockName) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		files = append(files, fmt.Sprintln(path, stat.Ino, info.Size()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestErrorNamesDirectoryThatCannotBeCreated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "under")} {
		if _, err := Open(Options{Dir: dir, Log: discardLog}); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("Open(%s) = %v", dir, err)
		}
	}
}

func TestCloseFailsWhileASnapshotIsOpen(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	sn := s.Snapshot()
	if err := s.Close(); err == nil {
		t.Error("it was closed under an open snapshot")
	}
	sn.Close()
	closeStore(t, s)
}

func TestClosedStoreReturnsErrClosed(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	closeStore(t, s)
	closeStore(t, s)
	g := NewGroup(next(s))
	g.Seal()
	if err := s.Apply(g); !errors.Is(err, ErrClosed) {
		t.Errorf("Apply = %v", err)
	}
	sn := s.Snapshot()
	defer sn.Close()
	if _, _, err := sn.Get([]byte("a"), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Get = %v", err)
	}
	if _, _, _, err := sn.Last([]byte("a"), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Last = %v", err)
	}
}

func TestSizeCountsDiskUsage(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	before := s.Size()
	for range 20 {
		set(t, s, "a", string(make([]byte, MaxValue)))
	}
	if grown := s.Size() - before; grown < 20*MaxValue || grown > 60*MaxValue {
		t.Errorf("20 values of %d bytes took %d bytes", MaxValue, grown)
	}
}
