package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/testseed"
	"mizan/posting/log"
	"mizan/posting/store/badgerfile"
)

// reopen opens a store with the smallest memtables, closes it, and returns its last group.
func reopen(dir string) (last uint64, err error) {
	s, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: discardLog})
	if err != nil {
		return 0, err
	}
	last, _ = s.LastGroup()
	return last, s.Close()
}

// A group that is not in the log must not be in Badger, because Badger's tables would then have rows that were never
// acknowledged.
func TestGroupIsInTheLogBeforeItIsInTables(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer abandonStore(t, s)
	set(t, s, "a", "1")
	if err := s.groups.Close(); err != nil { // nothing can be appended any more
		t.Fatal(err)
	}
	g := NewGroup(next(s))
	g.Set([]byte("a"), []byte("2"))
	g.Seal()
	if err := s.Apply(g); err == nil {
		t.Fatal("a group was acknowledged without the log")
	}
	txn := s.db.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	if _, err := txn.Get(groupRowKey(2)); !errors.Is(err, badger.ErrKeyNotFound) {
		t.Errorf("the group is in Badger: %v", err)
	}
	waitForReleases(s) // background work that began when the store was opened uses the log too
	var err error
	if s.groups, err = log.Open(s.logOptions()); err != nil { // for abandonStore
		t.Fatal(err)
	}
}

// The log checks only the checksum of a frame. The hash of the group tells whether the rows in the frame are those of the
// group.
func TestRowsOfTheLogMustHaveTheirGroupsHash(t *testing.T) {
	for name, payload := range map[string][]byte{
		"other rows":             {opSet, 0, 0, 0, 1, 0, 0, 0, 0, 'a'},
		"an unknown operation":   {9, 0, 0, 0, 1, 0, 0, 0, 0, 'a'},
		"a row that is cut off":  {opSet, 0, 0, 0, 1, 0, 0, 0, 9, 'a'},
		"the beginning of a row": {opSet, 0, 0},
		"a key that is too long": {opSet, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 'a'},
	} {
		dir := t.TempDir()
		s := open(t, Options{Dir: dir, MemTable: minMemTable})
		set(t, s, "a", "1")
		last := s.last
		closeStore(t, s)
		l, err := log.Open(s.logOptions())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Replay(last.N+1, nil); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(log.Mark{N: last.N + 1, Hash: [32]byte{1}}, append(make([]byte, log.HeaderSize), payload...)); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		openRefused(t, name, dir)
	}
}

func TestLogIsUsedAgain(t *testing.T) {
	dir := t.TempDir()
	for range 20 { // each fills a good half of a segment, and no memtable
		s := open(t, Options{Dir: dir, MemTable: minMemTable})
		for range 150 {
			set(t, s, "a", "1")
		}
		closeStore(t, s)
	}
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	wantSegments := func(most int) {
		t.Helper()
		waitForReleases(s)
		if count := len(segments(t, dir)); count > most {
			t.Errorf("the log has %d segments", count)
		}
	}
	wantSegments(1) // all groups were in tables when the store was closed
	hist := history{seed: 1, rows: 20, value: 4000, keys: fewKeys}
	n, _ := s.LastGroup()
	hist.continueTo(t, s, n+400)
	wantSegments(8)
	closeStore(t, s)
}

// As soon as the log's spare segment is in use, the next one is made in the background, so that no group has to wait for it.
func TestNextSegmentIsMadeInTheBackground(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	for n := range 400 { // the groups fill a segment, but no memtable
		set(t, s, "a", "1")
		if waitForReleases(s); !s.groups.HasSpare() {
			t.Fatalf("after group %d there is no segment for later ones", n+1)
		}
	}
}

// A segment is not made in advance if the disk has no room for both the segment and the bytes that Badger still has to write.
func TestNextSegmentNeedsRoom(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	waitForReleases(s)
	s.makingSpare.Store(true) // as if a segment were being made
	for s.groups.HasSpare() {
		set(t, s, "a", "1")
	}
	unflushed := s.unflushedBytes.Load()
	for _, c := range []struct {
		unflushed uint64
		want      bool
	}{{math.MaxUint64 / 2, false}, {unflushed, true}} {
		s.unflushedBytes.Store(c.unflushed)
		if err := s.makeSpare(); err != nil || s.groups.HasSpare() != c.want {
			t.Errorf("with %d unflushed bytes there is a segment: %v, %v", c.unflushed, s.groups.HasSpare(), err)
		}
	}
}

// If somebody replaces the last segment by an older copy, the marks in the copy agree with its frames, but the file of
// confirmations does not.
func TestStaleSegmentIsRefused(t *testing.T) {
	dir, killedDir := t.TempDir(), t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	confirm := func() {
		if err := s.Confirm(); err != nil {
			t.Fatal(err)
		}
	}
	set(t, s, "a", "1")
	confirm()
	stale := readFile(t, segments(t, dir)[0])
	set(t, s, "a", "2")
	confirm()
	copyTree(t, dir, killedDir)
	closeStore(t, s)
	if err := os.WriteFile(segments(t, killedDir)[0], stale, 0o600); err != nil {
		t.Fatal(err)
	}
	openRefused(t, "a stale segment", killedDir)
}

// If the log can't be replayed, Open returns an error before it removes files of values that no row refers to.
func TestRefusalLeavesTheValues(t *testing.T) {
	dir, killedDir := t.TempDir(), t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	for i := range 3 {
		set(t, s, fmt.Sprintf("r%03d", i), strings.Repeat("v", 5000))
	}
	if err := s.flushAll(); err != nil {
		t.Fatal(err)
	}
	copyTree(t, dir, killedDir)
	file := readFile(t, s.values.Path(1))
	path := strings.Replace(s.values.Path(1), dir, killedDir, 1)
	closeStore(t, s)
	segment := segments(t, killedDir)[0]
	b := readFile(t, segment)
	harmed := bytes.Clone(b)
	harmed[bytes.Index(b, []byte("r000vvvv"))+10] ^= 1
	if err := os.WriteFile(segment, harmed, 0o600); err != nil {
		t.Fatal(err)
	}
	openRefused(t, "a damaged group", killedDir)
	if !bytes.Equal(readFile(t, path), file) {
		t.Error("the file of values has changed")
	}
	if err := os.WriteFile(segment, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{Dir: killedDir, MemTable: minMemTable})
	if got := valueFiles(t, s); len(got) != 0 {
		t.Errorf("there are still %v", got)
	}
	closeStore(t, s)
}

// Open refuses a truncated list of tables before Badger deletes the tables that are missing from the list.
func TestRefusalLeavesTheTables(t *testing.T) {
	hist := history{seed: 1, rows: 20, value: 4000, keys: manyKeys}
	dir, killedDir := t.TempDir(), t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	list := badgerfile.ManifestPath(s.path)
	var stale []byte
	for n := uint64(10); s.db.Levels()[0].NumTables < levelZeroTables-2; n += 10 {
		hist.continueTo(t, s, n)
		waitForFlushes(s)
		if stale == nil && s.db.Levels()[0].NumTables >= 2 {
			stale = readFile(t, list)
		}
	}
	waitForReleases(s)
	copyTree(t, dir, killedDir)
	closeStore(t, s)
	list = badgerfile.ManifestPath(filepath.Join(killedDir, storeName))
	right := readFile(t, list)
	if err := os.WriteFile(list, stale, 0o600); err != nil {
		t.Fatal(err)
	}
	openRefused(t, "a stale list of tables", killedDir)
	if err := os.WriteFile(list, right, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := reopen(killedDir); err != nil {
		t.Errorf("with the right list again: %v", err)
	}
}

// A store without groups may be bound to another keyring. If the process ends in the middle of Bind, the next start completes it.
func TestInterruptedBindIsCompleted(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	if err := s.Bind([32]byte{1}); err != nil {
		t.Fatal(err)
	}
	s.id.keyring = [32]byte{2}
	if err := s.writeIdentity(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	s = open(t, Options{Dir: dir, MemTable: minMemTable})
	if s.BoundKeyring() != [32]byte{2} || s.groups.Owner() != [32]byte{2} {
		t.Errorf("bound to %x, the log to %x", s.BoundKeyring(), s.groups.Owner())
	}
	closeStore(t, s)
}

// A process is killed in the middle of an append. The next process finds the frame in the page cache and fails to sync it.
// Then the power is cut. The group was never acknowledged, so no mark and no confirmation may name it.
func TestFailedSyncOfRecoveryLeavesNoTrace(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("NOT TRIED: strace is not installed here")
	}
	hist := childHistory(testseed.Seed(t), fewKeys)
	dir, lost, found := t.TempDir(), t.TempDir(), t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	hist.continueTo(t, s, 5)
	copyTree(t, dir, lost) // without group 6
	hist.continueTo(t, s, 6)
	copyTree(t, dir, found)
	closeStore(t, s)
	segment := segments(t, found)[0]
	p := startFaulty(t, found, hist, 6, strace, "-f", "-qqq", "-o", os.DevNull, "-P", segment, "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=1")
	p.readUntil(t, "")
	_ = p.cmd.Wait()
	if p.failure == "" {
		t.Fatal("the end of the log was not synced: ", p.output)
	}
	if err := os.WriteFile(segment, readFile(t, segments(t, lost)[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	if last, err := reopen(found); last != 5 || err != nil {
		t.Errorf("the last group is %d, %v", last, err)
	}
}

// If the creation of a store was interrupted, the next start removes the store's log. This removal may be interrupted too.
func TestCreationIsInterruptedTwice(t *testing.T) {
	hist := childHistory(1, fewKeys)
	for changes := range 12 {
		dir := t.TempDir()
		closeStore(t, open(t, Options{Dir: dir, MemTable: minMemTable}))
		for _, name := range []string{storeName, identityName, catalogName} { // as after a kill before the store got its name
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		p := startChild(t, dir, hist, 0)
		p.waitForChanges(t, dir, changes)
		p.kill(t)
		if last, err := reopen(dir); last != 0 || err != nil {
			t.Errorf("killed after %d changes: group %d, %v", changes, last, err)
		}
	}
}
