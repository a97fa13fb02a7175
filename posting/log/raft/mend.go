package raft

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/types"

	"mizan/internal/durable"
)

// syncSegments makes what the files of the log show durable, except for the last entries (see mendTail). A process that was killed
// may have left entries that were written but not synced. Package raft-wal takes them for stored, and Raft then tells the leader so;
// a power cut could still lose them.
func syncSegments(dir string, files types.VFS) error {
	names, err := files.ListDir(dir)
	if err != nil {
		return err
	}
	isSegment := func(name string) bool { return filepath.Ext(name) == segmentEnd }
	list := filepath.Join(dir, listName)
	content, err := os.ReadFile(list)
	switch {
	case err == nil:
		if err := durable.Replace(list, listMode, content); err != nil { // a copy, as in mendTail
			return err
		}
	case !errors.Is(err, os.ErrNotExist):
		return err
	case slices.ContainsFunc(names, isSegment):
		return fmt.Errorf("%s is missing: it has the node's last vote", list)
	}
	for _, name := range names {
		if !isSegment(name) {
			continue
		}
		f, err := files.OpenWriter(dir, name)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return durable.SyncDir(dir)
}

// listName is the name of the file with the list of the log's segments, and with Raft's term and vote.
const (
	listName = "wal-meta.db"
	listMode = 0o600
)

// segmentEnd is the end of the names of the log's files.
const segmentEnd = ".wal"

// mendTail copies the entries of the log's last segment to a new segment, and then puts the new one into the list in place of the
// old one. If the process ends before, the next start does the same again. Opening the log removes the segment that is not in the
// list. There are two reasons:
//
//   - The process may have ended because a sync failed. The system then still shows what was written, and takes it for clean, so no
//     later sync makes it durable: only another write does. Nothing is written over the old bytes, because they may be durable, and
//     acknowledged.
//   - The process may have ended after the segment was sealed (its last entries and its index were written), and before the list
//     said so, or while that write was under way. Version 0.4.1 of raft-wal opens such a log, and then refuses every entry with the
//     error "segment is sealed".
func mendTail(dir string, filer types.SegmentFiler) (err error) {
	var meta metadb.BoltMetaDB
	state, err := meta.Load(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, meta.Close()) }()
	last := len(state.Segments) - 1
	if last < 0 || !state.Segments[last].SealTime.IsZero() {
		return nil
	}
	old := state.Segments[last]
	tail, err := filer.RecoverTail(old)
	if errors.Is(err, os.ErrNotExist) {
		return nil // opening the log makes it
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tail.Close()) }()
	isSealed, _, err := tail.Sealed()
	if err != nil {
		return err
	}
	entries, size, err := entriesOf(tail, old.MinIndex)
	if err != nil || !isSealed && len(entries) == 0 {
		return err
	}
	next := old
	next.BaseIndex = old.MinIndex
	next.ID, next.CreateTime = state.NextSegmentID, time.Now()
	if isSealed {
		next.SizeLimit += size // so large that it is not sealed at once
	}
	if err := filer.Delete(next.BaseIndex, next.ID); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // an earlier attempt has left it
	}
	copied, err := filer.Create(next)
	if err == nil && len(entries) > 0 {
		err = copied.Append(entries)
	}
	if err != nil {
		return err
	}
	if err := copied.Close(); err != nil {
		return err
	}
	state.NextSegmentID++
	state.Segments[last] = next
	return meta.CommitState(state)
}

// entriesOf returns the entries of a segment, and the bytes that they take with their headers at most.
func entriesOf(tail types.SegmentWriter, first uint64) (entries []types.LogEntry, size uint32, err error) {
	const around = 64 // bytes of an entry's header, of its place in the index, and of padding, at most
	for index := first; index <= tail.LastIndex(); index++ {
		b, err := tail.GetLog(index)
		if err != nil {
			return nil, 0, fmt.Errorf("entry %d: %w", index, err)
		}
		entries = append(entries, types.LogEntry{Index: index, Data: append([]byte(nil), b.Bs...)})
		size += uint32(len(b.Bs)) + around
		if err := b.Close(); err != nil {
			return nil, 0, err
		}
	}
	return entries, size, nil
}
