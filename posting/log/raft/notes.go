package raft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"

	"mizan/internal/durable"
	"mizan/posting/log"
)

// Names of files in a replica's directory.
const (
	noteName     = "SNAPSHOT" // the last note
	receivedName = "received" // a copy of another node's machine while it arrives
	aheadName    = "AHEAD"    // see notes.ahead
	sentName     = "sent-*"   // a copy of this node's machine while it is sent
)

// note says that the machine has all frames up to an index of Raft's log (invariant 3 of the package).
type note struct {
	ID                 string
	Index, Term        uint64
	Configuration      hraft.Configuration
	ConfigurationIndex uint64
	Last               uint64 // number of the machine's last frame at that time
	Origin             Origin // what the group began with
}

func (n *note) meta() *hraft.SnapshotMeta {
	return &hraft.SnapshotMeta{
		Version: hraft.SnapshotVersionMax, ID: n.ID, Index: n.Index, Term: n.Term, Configuration: n.Configuration, ConfigurationIndex: n.ConfigurationIndex,
	}
}

// notes is the store of snapshots that Raft uses. It keeps the last note in a file. When Raft opens the note, to send the
// machine to another replica, notes makes a copy of the machine.
type notes struct {
	dir       string
	machine   Machine
	lastIndex func() (uint64, error) // of Raft's log
	keeping   sync.Mutex             // held while a note is made durable
	sent      atomic.Uint64          // copies that were made for other replicas
	loaded    atomic.Uint64          // received copies that the machine has loaded
	hold      hold

	mu   sync.Mutex
	last *note // nil: none
	// ahead is the number of the machine's last frame when a process began after one that had ended while it took over another
	// replica's machine. Then the machine may have more than the last note and the log say. It is kept in a file, because several
	// processes may end before there is a note about the copy.
	ahead uint64

	// renew makes a later note. It is called when a copy for the last note is sent again: the receiver may have refused it (see
	// mayReceive). It does not wait. nil: Raft has not begun.
	renew    func()
	lastSent string // identifier of the note for which the last copy was made

	received *note // the content is in the file receivedName, and the machine does not have it yet
	size     int64 // length of that file
}

// openNotes reads the last note and removes unfinished copies.
func openNotes(dir string, m Machine) (*notes, error) {
	n := &notes{dir: dir, machine: m}
	if err := n.noteAhead(); err != nil {
		return nil, err
	}
	sent, err := filepath.Glob(filepath.Join(dir, sentName))
	if err != nil {
		return nil, fmt.Errorf("raft: %w", err)
	}
	for _, path := range append(sent, filepath.Join(dir, receivedName)) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("raft: %w", err)
		}
	}
	durable.RemoveLeftovers(dir, noteName, aheadName)
	path := filepath.Join(dir, noteName)
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return n, nil
	case err != nil:
		return nil, fmt.Errorf("raft: %w", err)
	}
	n.last = new(note)
	if err := json.Unmarshal(b, n.last); err != nil {
		return nil, fmt.Errorf("raft: %s is damaged: %w", path, err)
	}
	if have := m.Last().N; have < n.last.Last {
		return nil, fmt.Errorf("raft: the store ends with group %d, and %s says that it had group %d: its files were lost or set back", have, path, n.last.Last)
	}
	return n, nil
}

// noteAhead sets and keeps n.ahead.
func (n *notes) noteAhead() error {
	path := filepath.Join(n.dir, aheadName)
	b, err := os.ReadFile(path)
	if err == nil {
		n.ahead, err = strconv.ParseUint(string(b), 10, 64)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("raft: %s: %w", path, err)
	}
	if _, err := os.Lstat(filepath.Join(n.dir, receivedName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	n.ahead = n.machine.Last().N
	if err := durable.Replace(path, 0o600, strconv.AppendUint(nil, n.ahead, 10)); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	return nil
}

// keep makes a note durable, unless there is a later one: while this replica makes a note, it may take over another replica's
// machine. If the earlier note were kept then, entries would be missing between the note and the beginning of Raft's log.
func (n *notes) keep(next *note) error {
	n.keeping.Lock()
	defer n.keeping.Unlock()
	n.mu.Lock()
	isOld := n.last != nil && n.last.Index > next.Index
	n.mu.Unlock()
	if isOld {
		return nil
	}
	b, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	if err := durable.Replace(filepath.Join(n.dir, noteName), 0o600, b); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = next
	return nil
}

// keepReceived makes the note of the received copy durable after the machine has loaded the copy. If that fails, the file with the
// copy stays, so that the next process knows that the machine may be ahead of the log (see notes.ahead).
func (n *notes) keepReceived(last log.Mark, origin Origin) error {
	n.mu.Lock()
	received := n.received
	n.received = nil
	n.mu.Unlock()
	received.Last, received.Origin = last.N, origin
	n.loaded.Add(1)
	if err := n.keep(received); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(n.dir, receivedName)); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	return nil
}

// origin returns what the group began with.
func (n *notes) origin() (o Origin) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last != nil {
		o = n.last.Origin
	}
	return o
}

// Create begins a note, or a file for a copy that another replica sends.
func (n *notes) Create(_ hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, configurationIndex uint64, _ hraft.Transport) (hraft.SnapshotSink, error) {
	return &noteSink{notes: n, note: &note{
		ID: fmt.Sprintf("%d-%d", term, index), Index: index, Term: term, Configuration: c, ConfigurationIndex: configurationIndex, Origin: n.origin(),
	}}, nil
}

// List returns the last note.
func (n *notes) List() ([]*hraft.SnapshotMeta, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		return nil, nil
	}
	return []*hraft.SnapshotMeta{n.last.meta()}, nil
}

// mayReceive refuses a copy with frames up to an index of Raft's log that this replica's log or note already exceeds. Such a copy was
// on its way for long, or comes from a leader that does not know yet what this replica has. Raft would remove the later entries,
// which this replica has confirmed, and would still count them: version 1.8.0 removes all entries after a copy, but remembers the
// last one. The leader tries again, and makes a later note first.
func (n *notes) mayReceive(index uint64) error {
	have, err := n.lastIndex()
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last != nil {
		have = max(have, n.last.Index)
	}
	if have > index {
		return fmt.Errorf("raft: a copy ends with entry %d, and this replica has entry %d", index, have)
	}
	return nil
}

// Open returns the content of a received copy, or else makes a copy of the machine for another replica.
func (n *notes) Open(id string) (*hraft.SnapshotMeta, io.ReadCloser, error) {
	n.mu.Lock()
	received, last, size := n.received, n.last, n.size
	n.mu.Unlock()
	if received != nil && received.ID == id {
		f, err := os.Open(filepath.Join(n.dir, receivedName))
		if err != nil {
			return nil, nil, fmt.Errorf("raft: %w", err)
		}
		meta := received.meta()
		meta.Size = size
		return meta, f, nil
	}
	if last == nil || last.ID != id {
		return nil, nil, fmt.Errorf("raft: there is no snapshot %s", id)
	}
	return n.copyMachine(last)
}

// copyMachine writes the group's origin and a copy of the machine to a file, because Raft must know the length before it sends
// the copy.
func (n *notes) copyMachine(last *note) (meta *hraft.SnapshotMeta, copied io.ReadCloser, err error) {
	f, err := os.CreateTemp(n.dir, sentName)
	if err != nil {
		return nil, nil, fmt.Errorf("raft: %w", err)
	}
	sent := temporaryFile{f, n.hold.begin()}
	defer func() {
		if err != nil {
			_ = sent.Close()
		}
	}()
	n.mu.Lock()
	if n.lastSent == last.ID && n.renew != nil {
		n.renew()
	}
	n.lastSent = last.ID
	n.mu.Unlock()
	if _, err := f.Write(last.Origin[:]); err != nil {
		return nil, nil, fmt.Errorf("raft: %w", err)
	}
	if err := n.machine.Dump(f); err != nil {
		return nil, nil, fmt.Errorf("raft: copying the store for another node: %w", err)
	}
	meta = last.meta()
	if meta.Size, err = f.Seek(0, io.SeekCurrent); err != nil {
		return nil, nil, fmt.Errorf("raft: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, nil, fmt.Errorf("raft: %w", err)
	}
	n.sent.Add(1)
	return meta, sent, nil
}

// temporaryFile is a copy while it is sent. It is removed when it is closed.
type temporaryFile struct {
	*os.File
	end func() // ends the hold for the copy
}

func (f temporaryFile) Close() error {
	f.end()
	return errors.Join(f.File.Close(), os.Remove(f.Name()))
}

// noteSink is a note while Raft makes it. If another replica sends its machine, the content goes to a file.
type noteSink struct {
	notes  *notes
	note   *note
	file   *os.File // nil: nothing was written
	closed bool
}

// ID returns the identifier of the snapshot.
func (s *noteSink) ID() string { return s.note.ID }

// Write receives a part of another replica's machine.
func (s *noteSink) Write(b []byte) (int, error) {
	if s.file == nil {
		err := s.notes.mayReceive(s.note.Index)
		if err != nil {
			return 0, err
		}
		if s.file, err = os.OpenFile(filepath.Join(s.notes.dir, receivedName), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return 0, fmt.Errorf("raft: %w", err)
		}
	}
	return s.file.Write(b)
}

// Close keeps a note. The content of a received copy waits until the machine has loaded it, and its note becomes durable only then.
func (s *noteSink) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.file == nil {
		return s.notes.keep(s.note)
	}
	size, err := s.file.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, s.file.Close(), durable.SyncDir(s.notes.dir)); err != nil { // the file's name must survive: see notes.ahead
		return fmt.Errorf("raft: %w", err)
	}
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	s.notes.received, s.notes.size = s.note, size
	return nil
}

// Cancel drops the snapshot.
func (s *noteSink) Cancel() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
