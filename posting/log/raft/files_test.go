package raft

import (
	"errors"
	"testing"

	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// A write that fails ends the replica for good.
func TestFailedWriteOfTheLogIsFatal(t *testing.T) {
	t.Parallel()
	log, err := wal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var fatal error
	files := newWatchedFiles(log, &applier{fatal: func(err error) { fatal = err }})
	if err := files.StoreLog(&hraft.Log{Index: 1, Term: 1, Data: []byte("x")}); err != nil || fatal != nil {
		t.Fatal(err, fatal)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := files.StoreLog(&hraft.Log{Index: 2, Term: 1, Data: []byte("y")}); err == nil || !errors.Is(fatal, err) {
		t.Errorf("the write failed with %v, and the replica with %v", err, fatal)
	}
}

// After the leader's entries could not be stored in place of a follower's own, Raft asks for entries that are gone. It must not end
// the process, and must not get an entry that a snapshot has.
func TestFailedReplicaHasEntriesWithoutEffect(t *testing.T) {
	t.Parallel()
	log, err := wal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := newWatchedFiles(log, &applier{fatal: func(error) {}})
	for index := uint64(1); index <= 9; index++ {
		if err := files.StoreLog(&hraft.Log{Index: index, Term: 1, Data: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.DeleteRange(1, 3), files.DeleteRange(8, 9)); err != nil {
		t.Fatal(err)
	}
	var entry hraft.Log
	if err := files.GetLog(9, &entry); !errors.Is(err, hraft.ErrLogNotFound) {
		t.Errorf("a removed entry of a replica that works: %v", err)
	}
	cause := errors.New("no more room")
	_ = files.applier.fail(cause)
	if err := files.GetLog(9, &entry); err != nil || entry.Index != 9 || entry.Type != hraft.LogNoop || entry.Term != 0 {
		t.Errorf("a removed entry of a replica that has failed: %v, %v", entry, err)
	}
	if err := files.GetLog(2, &entry); !errors.Is(err, hraft.ErrLogNotFound) {
		t.Errorf("an entry that a snapshot has: %v", err)
	}
	if err := files.StoreLog(&hraft.Log{Index: 8, Term: 2, Data: []byte("y")}); !errors.Is(err, cause) {
		t.Errorf("a replica that has failed stores an entry: %v", err)
	}
	transport := &replicaTransport{applier: files.applier} // it has nothing to send with
	if err := transport.AppendEntries("", "", nil, nil); !errors.Is(err, cause) {
		t.Errorf("a replica that has failed sends entries: %v", err)
	}
	if err := transport.RequestVote("", "", nil, nil); !errors.Is(err, cause) {
		t.Errorf("a replica that has failed asks for votes: %v", err)
	}
	if err := transport.RequestPreVote("", "", nil, nil); !errors.Is(err, cause) {
		t.Errorf("a replica that has failed asks for votes: %v", err)
	}
	if err := transport.InstallSnapshot("", "", nil, nil, nil); !errors.Is(err, cause) {
		t.Errorf("a replica that has failed sends a copy: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}
