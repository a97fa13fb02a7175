package raft

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"mizan/posting/log"
)

// Machine applies the committed frames on one node. Apply, Load and Last are called by one goroutine at a time; Dump may be
// called at the same time as Apply.
type Machine interface {
	// Last returns the number and hash of the last applied frame.
	Last() log.Mark
	// Apply applies a frame, which follows the last one. It may return before the frame is durable in the machine. After an error
	// the machine takes no further frame, and the replica must be closed.
	Apply(f log.Frame) error
	// Sync makes all frames durable in the machine whose Apply has returned. It may be called at the same time as the other methods.
	Sync() error
	// Dump writes a copy of the machine, with all frames up to some frame that is at least as late as the last one at the time
	// of the call.
	Dump(w io.Writer) error
	// Load replaces the machine's content by a copy that Dump has written. After an error the machine has its old content or
	// the new one.
	Load(r io.Reader) error
}

// applier gives the committed entries of Raft's log to the machine. Raft calls its methods on one goroutine.
type applier struct {
	machine Machine
	notes   *notes
	fatal   func(error) // called once, with the machine's first error
	failure atomic.Pointer[error]
}

// applied is what the proposer of an entry gets.
type applied struct {
	begun time.Time // when the committed entry came to the machine
	err   error
}

// Apply applies a committed entry. The result is of type applied.
func (a *applier) Apply(entry *hraft.Log) any {
	begun := time.Now()
	return applied{begun, a.apply(entry)}
}

func (a *applier) apply(entry *hraft.Log) error {
	if err := a.failure.Load(); err != nil {
		return *err
	}
	f, err := decode(entry.Data)
	if err != nil {
		return a.fail(fmt.Errorf("raft: entry %d: %w", entry.Index, err))
	}
	switch last := a.machine.Last(); {
	case f.Mark == last:
		return nil // applied before a restart
	case f.N > last.N+1:
		return a.fail(fmt.Errorf("raft: frame %d is committed, but this node has no frame after %d: its files are incomplete", f.N, last.N))
	case f.N <= last.N:
		return ErrFenced
	case f.Previous != last.Hash:
		// A writer proposes a frame only after its replica has applied the one before. So every machine of the group that has a
		// frame with that number has the same one.
		return a.fail(fmt.Errorf("raft: frame %d is committed, and does not follow this node's frame %d: the node's files belong to another history", f.N, last.N))
	}
	if err := a.machine.Apply(f); err != nil {
		return a.fail(err)
	}
	return nil
}

func (a *applier) fail(err error) error {
	if a.failure.CompareAndSwap(nil, &err) {
		a.fatal(err)
	}
	return err
}

// Snapshot returns what a note of the machine's state says (invariant 3 of the package).
func (a *applier) Snapshot() (hraft.FSMSnapshot, error) {
	if err := a.failure.Load(); err != nil {
		return nil, *err
	}
	return &noteContent{a.machine, a.machine.Last()}, nil
}

// Restore replaces the machine's content by the copy that another replica has sent.
func (a *applier) Restore(content io.ReadCloser) error {
	var origin Origin
	_, err := io.ReadFull(content, origin[:])
	if err == nil {
		err = a.machine.Load(content)
	}
	if err == nil {
		err = a.notes.keepReceived(a.machine.Last(), origin)
	}
	if err != nil {
		return a.fail(fmt.Errorf("raft: taking over a copy of another node: %w", err))
	}
	return nil
}

// noteContent is the last frame that the machine had when Raft asked for a snapshot.
type noteContent struct {
	machine Machine
	last    log.Mark
}

// Persist hands the mark to the note that Raft is making, when the machine has the frame durably: Raft then removes it from its log.
func (c *noteContent) Persist(sink hraft.SnapshotSink) error {
	n, ok := sink.(*noteSink)
	if !ok {
		return errors.New("raft: this is no note")
	}
	if err := c.machine.Sync(); err != nil {
		return err
	}
	n.note.Last = c.last.N
	return n.Close()
}

// Release does nothing: a note holds no resources.
func (*noteContent) Release() {}
