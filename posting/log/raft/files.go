package raft

import (
	"errors"
	"fmt"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// watchedFiles is Raft's log and its votes on the disk. If one of them cannot be written, the replica fails for good: Raft itself
// would only give up the lead, and go on without being able to store anything.
type watchedFiles struct {
	*wal.WAL
	applier *applier
	hold    *hold
	stored  atomic.Uint64 // calls that add entries

	// turn has a value while nobody writes. It is a channel, and not a lock, because a simulation must be able to tell that a
	// goroutine waits for the disk.
	turn chan struct{}
}

func newWatchedFiles(w *wal.WAL, a *applier) *watchedFiles {
	f := &watchedFiles{WAL: w, applier: a, hold: new(hold), turn: make(chan struct{}, 1)}
	if a.notes != nil {
		f.hold = &a.notes.hold
	}
	f.turn <- struct{}{}
	return f
}

// write carries out a write. After the log is closed, it never returns: Raft has ended then, except perhaps for a message that
// the transport still handles, and Raft panics if a write fails there.
func (w *watchedFiles) write(fn func() error) error {
	<-w.turn
	err := fn()
	w.turn <- struct{}{}
	if err != nil {
		_ = w.applier.fail(fmt.Errorf("raft: writing the log: %w", err))
	}
	return err
}

// writeEntries is write for what Raft may refuse. After a failed write nothing more is written: the place in the file is uncertain.
func (w *watchedFiles) writeEntries(fn func() error) error {
	return w.write(func() error {
		if err := w.applier.failure.Load(); err != nil {
			return *err
		}
		return fn()
	})
}

// GetLog implements hraft.LogStore. Raft removes entries that the leader overrules, and then stores the leader's. If the second
// write fails, Raft forgets that the first one was made, and panics when it does not find such an entry. The replica has failed
// then: it applies nothing more and sends nothing (see replicaTransport). So GetLog returns an entry without effect, and the
// process can end in order.
func (w *watchedFiles) GetLog(index uint64, l *hraft.Log) error {
	err := w.WAL.GetLog(index, l)
	if !errors.Is(err, hraft.ErrLogNotFound) || w.applier.failure.Load() == nil {
		return err
	}
	if last, lastErr := w.LastIndex(); lastErr != nil || index <= last { // it was removed because a snapshot has it
		return err
	}
	*l = hraft.Log{Index: index, Type: hraft.LogNoop}
	return nil
}

// StoreLog implements hraft.LogStore.
func (w *watchedFiles) StoreLog(l *hraft.Log) error {
	w.stored.Add(1)
	return w.writeEntries(func() error { return w.WAL.StoreLog(l) })
}

// StoreLogs implements hraft.LogStore.
func (w *watchedFiles) StoreLogs(l []*hraft.Log) error {
	w.stored.Add(1)
	return w.writeEntries(func() error { return w.WAL.StoreLogs(l) })
}

// DeleteRange implements hraft.LogStore. Raft removes the first entries after a snapshot; DeleteRange then does nothing while a
// member needs them after a copy.
func (w *watchedFiles) DeleteRange(from, to uint64) error {
	last, err := w.LastIndex()
	if err != nil {
		return err
	}
	if to < last && w.hold.holds(last-from+1) {
		return nil
	}
	return w.writeEntries(func() error { return w.WAL.DeleteRange(from, to) })
}

// Set implements hraft.StableStore.
func (w *watchedFiles) Set(key, value []byte) error {
	return w.write(func() error { return w.WAL.Set(key, value) })
}

// SetUint64 implements hraft.StableStore.
func (w *watchedFiles) SetUint64(key []byte, value uint64) error {
	return w.write(func() error { return w.WAL.SetUint64(key, value) })
}

// Close waits for the write that is under way, lets no other one begin, and closes the log.
func (w *watchedFiles) Close() error {
	<-w.turn
	return w.WAL.Close()
}
