package raft

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"

	"mizan/posting/log"
)

// A crash may come after the last entries of a segment and the segment's index were written, and before the list of segments says
// so. Part of that write may be lost, too.
func TestLogContinuesAfterACrashWhileASegmentWasSealed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		minus uint64 // entries that are lost
		tear  func(t *testing.T, path string)
	}{
		{"the segment is sealed", 0, func(*testing.T, string) {}},
		{"the end of the last write is lost", 1, func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b[bytes.LastIndex(b, []byte("entry"))+4] ^= 1 // the checksum of the last entries no longer agrees
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			last := sealWithoutList(t, dir) - c.minus
			c.tear(t, filepath.Join(dir, "00000000000000000001-0000000000000000.wal"))
			for range 2 { // opened twice, so that the mended segment is read again
				opened, err := openFiles(&Options{Dir: dir, Tuning: Tuning{SegmentSize: 4 << 10}}, newLogger(quiet), &applier{fatal: func(err error) { t.Error(err) }})
				if err != nil {
					t.Fatal(err)
				}
				if n, err := opened.LastIndex(); err != nil || n != last {
					t.Fatalf("the last entry is %d, %v; want %d", n, err, last)
				}
				last++
				if err := opened.StoreLog(&hraft.Log{Index: last, Term: 1, Data: fmt.Append(nil, "entry ", last)}); err != nil {
					t.Fatal(err)
				}
				for index := uint64(1); index <= last; index++ {
					var entry hraft.Log
					if err := opened.GetLog(index, &entry); err != nil || !bytes.HasPrefix(entry.Data, fmt.Append(nil, "entry ", index)) {
						t.Errorf("entry %d: %.20q, %v", index, entry.Data, err)
					}
				}
				if err := opened.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// sealWithoutList fills and seals the first segment of a log, but does not change the list of segments. It returns the number of
// entries.
func sealWithoutList(t *testing.T, dir string) (count uint64) {
	t.Helper()
	info := types.SegmentInfo{BaseIndex: 1, MinIndex: 1, SizeLimit: 4 << 10, Codec: wal.CodecBinaryV1, CreateTime: time.Now()}
	var meta metadb.BoltMetaDB
	if _, err := meta.Load(dir); err != nil {
		t.Fatal(err)
	}
	if err := meta.CommitState(types.PersistentState{NextSegmentID: 1, Segments: []types.SegmentInfo{info}}); err != nil {
		t.Fatal(err)
	}
	if err := meta.Close(); err != nil {
		t.Fatal(err)
	}
	w, err := segment.NewFiler(dir, fs.New()).Create(info)
	if err != nil {
		t.Fatal(err)
	}
	for isSealed := false; !isSealed; {
		count++
		var b bytes.Buffer
		if err := (&wal.BinaryCodec{}).Encode(&hraft.Log{Index: count, Term: 1, Data: append(fmt.Append(nil, "entry ", count), make([]byte, 300)...)}, &b); err != nil {
			t.Fatal(err)
		}
		if err := w.Append([]types.LogEntry{{Index: count, Data: b.Bytes()}}); err != nil {
			t.Fatal(err)
		}
		if isSealed, _, err = w.Sealed(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return count
}

// While a replica makes a note, it may take over another replica's machine. The note about that is the later one.
func TestAnEarlierNoteDoesNotReplaceALaterOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n, err := openNotes(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range []uint64{100, 90} {
		if err := n.keep(&note{ID: fmt.Sprint(index), Index: index}); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openNotes(dir, emptyMachine{})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := again.List(); err != nil || len(list) != 1 || list[0].Index != 100 {
		t.Errorf("%v, %v", list, err)
	}
}

type emptyMachine struct{ Machine }

func (emptyMachine) Last() (m log.Mark) { return m }

var quiet = slog.New(slog.DiscardHandler)

// syncedFiles records which files were synced after they were opened for writing or made.
type syncedFiles struct {
	*fs.FS
	synced map[string]bool
}

type syncedFile struct {
	types.WritableFile
	note func()
}

func (f syncedFile) Sync() error {
	f.note()
	return f.WritableFile.Sync()
}

func (s syncedFiles) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := s.FS.OpenWriter(dir, name)
	return syncedFile{f, func() { s.synced[name] = true }}, err
}

func (s syncedFiles) Create(dir, name string, size uint64) (types.WritableFile, error) {
	f, err := s.FS.Create(dir, name, size)
	return syncedFile{f, func() { s.synced["new "+name] = true }}, err
}

// A process may have ended because a sync of the last entries failed. No later sync makes them durable, so the next process writes
// them once more, to another file.
func TestOpeningTheLogWritesTheLastEntriesAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range uint64(3) {
		before, _ := os.Stat(filepath.Join(dir, listName))
		files := syncedFiles{fs.New(), make(map[string]bool)}
		opened, err := openFiles(&Options{Dir: dir, Tuning: Tuning{SegmentSize: 4 << 10, Files: files}}, newLogger(quiet), &applier{fatal: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		if after, err := os.Stat(filepath.Join(dir, listName)); err != nil || before != nil && os.SameFile(before, after) {
			t.Errorf("start %d: the file with the votes is no copy (%v)", n+1, err)
		}
		var meta metadb.BoltMetaDB
		if last, err := opened.LastIndex(); err != nil || last != n {
			t.Errorf("the last entry is %d, %v; want %d", last, err, n)
		}
		if wantID := n; n > 0 && !files.synced[fmt.Sprintf("new %020d-%016x.wal", 1, wantID)] {
			t.Errorf("start %d: synced are %v", n+1, files.synced)
		}
		err = errors.Join(opened.StoreLog(&hraft.Log{Index: n + 1, Term: 1, Data: make([]byte, 100)}), opened.Close())
		if err != nil {
			t.Fatal(err)
		}
		state, err := meta.Load(dir)
		if err := errors.Join(err, meta.Close()); err != nil || len(state.Segments) != 1 || state.Segments[0].ID != n || state.Segments[0].SizeLimit != 4<<10 {
			t.Errorf("start %d: segments %+v, %v", n+1, state.Segments, err)
		}
	}
}

// A process that was killed may have left entries that were written but not synced. The next one must not count on them before
// they are durable.
func TestOpeningTheLogMakesItsFilesDurable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sealWithoutList(t, dir)
	files := syncedFiles{fs.New(), make(map[string]bool)}
	opened, err := openFiles(&Options{Dir: dir, Tuning: Tuning{SegmentSize: 4 << 10, Files: files}}, newLogger(quiet), &applier{fatal: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	if name := "00000000000000000001-0000000000000000.wal"; !files.synced[name] {
		t.Errorf("%s was not synced; %v were", name, files.synced)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
}

// A process may end after it has noted a copy that it received, and before it has removed the entries that the copy replaces. The
// next start removes them, so that the entry that follows the copy can be stored.
func TestEntriesBeforeAReceivedCopyAreRemoved(t *testing.T) {
	t.Parallel()
	opened, err := openFiles(&Options{Dir: t.TempDir(), Tuning: Tuning{SegmentSize: 4 << 10}}, newLogger(quiet), &applier{fatal: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	store := func(index uint64) {
		t.Helper()
		if err := opened.StoreLog(&hraft.Log{Index: index, Term: 1, Data: make([]byte, 100)}); err != nil {
			t.Fatal(err)
		}
	}
	for index := uint64(1); index <= 80; index++ {
		store(index)
	}
	r := &Replica{files: opened}
	for _, c := range []struct{ note, first, last uint64 }{{50, 1, 80}, {80, 1, 80}, {500, 0, 0}} {
		r.notes = &notes{last: &note{Index: c.note}}
		if err := r.removeSuperseded(); err != nil {
			t.Fatal(err)
		}
		first, firstErr := opened.FirstIndex()
		last, lastErr := opened.LastIndex()
		if first != c.first || last != c.last || firstErr != nil || lastErr != nil {
			t.Errorf("after a note of entry %d the log has the entries %d to %d (%v, %v)", c.note, first, last, firstErr, lastErr)
		}
	}
	store(501)
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
}

// A copy that comes late must not remove entries that this replica has confirmed since.
func TestCopyThatEndsBeforeTheLogIsRefused(t *testing.T) {
	t.Parallel()
	n, err := openNotes(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(250)
	n.lastIndex = func() (uint64, error) { return last, nil }
	for _, c := range []struct {
		index, last, note uint64
		isRefused         bool
	}{
		{240, 250, 0, true},
		{250, 250, 0, false},
		{260, 250, 0, false},
		{260, 0, 300, true}, // the log is empty after another copy
		{300, 0, 300, false},
	} {
		last, n.last = c.last, nil
		if c.note > 0 {
			n.last = &note{Index: c.note}
		}
		sink, err := n.Create(hraft.SnapshotVersionMax, c.index, 1, hraft.Configuration{}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sink.Write([]byte("x")); (err != nil) != c.isRefused {
			t.Errorf("%+v: %v", c, err)
		}
		if err := sink.Cancel(); err != nil {
			t.Fatal(err)
		}
	}
}

// replacedMachine is a machine that takes over a copy, and cannot open it.
type replacedMachine struct {
	Machine
	frames uint64
}

func (m *replacedMachine) Last() log.Mark { return log.Mark{N: m.frames} }

func (m *replacedMachine) Load(io.Reader) error {
	m.frames = 99
	return errors.New("the disk is full")
}

// A process ends after its machine was replaced by a copy, and before there is a note about that. So does the next one. Each later
// start still knows that the machine is ahead of the log.
func TestMachineThatWasReplacedStaysKnownAsAhead(t *testing.T) {
	t.Parallel()
	dir, m := t.TempDir(), &replacedMachine{frames: 3}
	n, err := openNotes(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	n.lastIndex = func() (uint64, error) { return 4, nil }
	sink, err := n.Create(hraft.SnapshotVersionMax, 120, 1, hraft.Configuration{}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sink.Write(make([]byte, len(Origin{})+10)); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	_, content, err := n.Open(sink.ID())
	if err != nil {
		t.Fatal(err)
	}
	var failure error
	a := &applier{machine: m, notes: n, fatal: func(err error) { failure = err }}
	if a.Restore(content) == nil || failure == nil {
		t.Fatal("the replica goes on after a copy that it could not open")
	}
	if err := content.Close(); err != nil { // as Raft does
		t.Fatal(err)
	}
	for start := range 3 {
		m.frames = 99 + uint64(start) // later frames come from the log
		if n, err = openNotes(dir, m); err != nil {
			t.Fatal(err)
		}
		if n.ahead != 99 {
			t.Errorf("start %d: the machine is ahead with frame %d, want 99", start, n.ahead)
		}
	}
}

// dumpedMachine is a machine that can be copied.
type dumpedMachine struct{ Machine }

func (dumpedMachine) Last() log.Mark       { return log.Mark{N: 7} }
func (dumpedMachine) Dump(io.Writer) error { return nil }

// A replica may refuse a copy because its log ends later. If the leader made no later note, it would send the same copy for ever.
func TestCopyThatIsSentAgainMakesALaterNote(t *testing.T) {
	t.Parallel()
	n, err := openNotes(t.TempDir(), dumpedMachine{})
	if err != nil {
		t.Fatal(err)
	}
	renewals := 0
	n.renew = func() { renewals++ }
	for i, c := range []struct {
		index uint64
		want  int
	}{{5, 0}, {5, 1}, {5, 2}, {9, 2}, {9, 3}} {
		next := &note{ID: fmt.Sprint("note-", c.index), Index: c.index, Last: 7}
		if err := n.keep(next); err != nil {
			t.Fatal(err)
		}
		_, content, err := n.Open(next.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := content.Close(); err != nil {
			t.Fatal(err)
		}
		if renewals != c.want {
			t.Errorf("copy %d: %d later notes, want %d", i, renewals, c.want)
		}
	}
}

// unsyncedMachine is a machine whose disk fails.
type unsyncedMachine struct{ Machine }

var errSync = errors.New("the disk has failed")

func (unsyncedMachine) Last() log.Mark { return log.Mark{N: 7} }
func (unsyncedMachine) Sync() error    { return errSync }

// A note lets Raft remove frames from its log. So there is none before the machine has these frames durably.
func TestNoteWaitsForTheMachine(t *testing.T) {
	t.Parallel()
	m := unsyncedMachine{}
	n, err := openNotes(t.TempDir(), m)
	if err != nil {
		t.Fatal(err)
	}
	content, err := (&applier{machine: m, notes: n}).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	sink, err := n.Create(hraft.SnapshotVersionMax, 9, 1, hraft.Configuration{}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := content.Persist(sink); !errors.Is(err, errSync) {
		t.Errorf("%v", err)
	}
	if n.last != nil {
		t.Errorf("the note %+v", n.last)
	}
}

// A process ends after it has kept the note with which a group begins, and before it has kept the term. The next one does that.
func TestGroupIsFormedInSpiteOfAKill(t *testing.T) {
	t.Parallel()
	o := &Options{Dir: t.TempDir(), Machine: emptyMachine{}, Members: []Member{{"n1", "n1"}, {"n2", "n2"}}, Tuning: Tuning{SegmentSize: 4 << 10}}
	n, err := openNotes(o.Dir, o.Machine)
	if err != nil {
		t.Fatal(err)
	}
	files, err := openFiles(o, newLogger(quiet), &applier{fatal: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	r := &Replica{files: files, notes: n}
	if err := r.begin(o.Members, Origin{}, 0); err != nil {
		t.Fatal(err)
	}
	if err := r.form(o); err != nil {
		t.Fatal(err)
	}
	if term, err := files.GetUint64(currentTermKey); err != nil || term != firstTerm {
		t.Errorf("the term is %d (%v), want %d", term, err, firstTerm)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
}

// A transfer goes to the member that has the most entries, if it has all of them by messages of the present term.
func TestTransferGoesToTheFurthestMember(t *testing.T) {
	t.Parallel()
	c := newConfirmations()
	at := time.Now()
	note := func(id hraft.ServerID, after time.Duration, term, last uint64) {
		c.note(id, confirmation{at.Add(after), term, last})
	}
	servers := []hraft.Server{{ID: "n1"}, {ID: "n2"}}
	want := func(term, index uint64, id hraft.ServerID, hasAll bool) {
		t.Helper()
		if got, all := c.furthest(servers, term, index); got.ID != id || all != hasAll {
			t.Errorf("term %d, index %d: %q %v, want %q %v", term, index, got.ID, all, id, hasAll)
		}
	}
	want(3, 0, "", false)
	note("n1", 1, 3, 10)
	note("n2", 1, 3, 12)
	want(3, 12, "n2", true)
	want(3, 13, "n2", false)
	want(4, 10, "", false)
	note("n2", 2, 3, 0) // a heartbeat
	note("n2", 1, 3, 13)
	want(3, 13, "n2", true)
	note("n2", 3, 4, 0) // nothing is known of the new term
	note("n1", 3, 4, 11)
	want(4, 11, "n1", true)
}
