package raft

import (
	"fmt"

	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// watchedFiles is Raft's log and its votes on the disk. If one of them cannot be written, the replica fails for good: Raft itself
// would only give up the lead, and go on without being able to store anything.
type watchedFiles struct {
	*wal.WAL
	applier *applier
}

func (w *watchedFiles) watch(err error) error {
	if err != nil {
		_ = w.applier.fail(fmt.Errorf("raft: writing the log: %w", err))
	}
	return err
}

// StoreLog implements hraft.LogStore.
func (w *watchedFiles) StoreLog(l *hraft.Log) error { return w.watch(w.WAL.StoreLog(l)) }

// StoreLogs implements hraft.LogStore.
func (w *watchedFiles) StoreLogs(l []*hraft.Log) error { return w.watch(w.WAL.StoreLogs(l)) }

// DeleteRange implements hraft.LogStore.
func (w *watchedFiles) DeleteRange(from, to uint64) error {
	return w.watch(w.WAL.DeleteRange(from, to))
}

// Set implements hraft.StableStore.
func (w *watchedFiles) Set(key, value []byte) error { return w.watch(w.WAL.Set(key, value)) }

// SetUint64 implements hraft.StableStore.
func (w *watchedFiles) SetUint64(key []byte, value uint64) error {
	return w.watch(w.WAL.SetUint64(key, value))
}
