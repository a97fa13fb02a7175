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
	files := &watchedFiles{WAL: log, applier: &applier{fatal: func(err error) { fatal = err }}}
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
