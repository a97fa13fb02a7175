package raft

import (
	"fmt"
	"sync"

	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// watchedFiles is Raft's log and its votes on the disk. If one of them cannot be written, the replica fails for good: Raft itself
// would only give up the lead, and go on without being able to store anything.
type watchedFiles struct {
	*wal.WAL
	applier *applier

	mu       sync.RWMutex // held for reading during a write
	isClosed bool         // guarded by mu
}

// write carries out a write. After the log is closed, it never returns: Raft has ended then, except perhaps for a message that
// the transport still handles, and Raft panics if a write fails there.
func (w *watchedFiles) write(fn func() error) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.isClosed {
		w.mu.RUnlock()
		select {}
	}
	err := fn()
	if err != nil {
		_ = w.applier.fail(fmt.Errorf("raft: writing the log: %w", err))
	}
	return err
}

// StoreLog implements hraft.LogStore.
func (w *watchedFiles) StoreLog(l *hraft.Log) error {
	return w.write(func() error { return w.WAL.StoreLog(l) })
}

// StoreLogs implements hraft.LogStore.
func (w *watchedFiles) StoreLogs(l []*hraft.Log) error {
	return w.write(func() error { return w.WAL.StoreLogs(l) })
}

// DeleteRange implements hraft.LogStore.
func (w *watchedFiles) DeleteRange(from, to uint64) error {
	return w.write(func() error { return w.WAL.DeleteRange(from, to) })
}

// Set implements hraft.StableStore.
func (w *watchedFiles) Set(key, value []byte) error {
	return w.write(func() error { return w.WAL.Set(key, value) })
}

// SetUint64 implements hraft.StableStore.
func (w *watchedFiles) SetUint64(key []byte, value uint64) error {
	return w.write(func() error { return w.WAL.SetUint64(key, value) })
}

// Close waits for writes, and closes the log.
func (w *watchedFiles) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isClosed = true
	return w.WAL.Close()
}
