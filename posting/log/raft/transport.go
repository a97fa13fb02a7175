package raft

import (
	"errors"
	"fmt"
	"io"
	"time"

	hraft "github.com/hashicorp/raft"
)

// replicaTransport is the transport as a replica's Raft sees it. It notes confirmations, and sends nothing after the replica has
// failed: what Raft has in memory may no longer agree with its log.
type replicaTransport struct {
	Transport
	confirmations *confirmations
	applier       *applier
	closed        <-chan struct{} // closed when the replica is closed
}

func (t *replicaTransport) failure() error {
	if err := t.applier.failure.Load(); err != nil {
		return fmt.Errorf("raft: this replica has failed: %w", *err)
	}
	return nil
}

// AppendEntries implements hraft.Transport. Heartbeats use it, too.
//
// A message must not say that entries are committed which come after those that it compares: a follower may have others there, which
// an earlier leader has left, and would apply them. Version 1.8.0 of hashicorp/raft sends such messages, and applies such entries: it
// decides which entries a message has, then waits because the follower did not answer before, and then adds what is committed by now.
func (t *replicaTransport) AppendEntries(id hraft.ServerID, target hraft.ServerAddress, args *hraft.AppendEntriesRequest, resp *hraft.AppendEntriesResponse) error {
	if err := t.failure(); err != nil {
		return err
	}
	args.LeaderCommitIndex = min(args.LeaderCommitIndex, args.PrevLogEntry+uint64(len(args.Entries)))
	sent := time.Now()
	err := t.Transport.AppendEntries(id, target, args, resp)
	if err == nil && resp.Success && resp.Term == args.Term {
		t.confirmations.note(id, confirmation{sent, args.Term, args.PrevLogEntry + uint64(len(args.Entries))})
	}
	return err
}

// AppendEntriesPipeline implements hraft.Transport. It makes Raft send one request after the other. With several requests under way,
// a follower that refuses one, because it lacks an earlier entry, can block the goroutine that sends, for ever: then the follower
// gets heartbeats and no entries, and Close of the leader does not return.
func (t *replicaTransport) AppendEntriesPipeline(hraft.ServerID, hraft.ServerAddress) (hraft.AppendPipeline, error) {
	return nil, hraft.ErrPipelineReplicationNotSupported
}

// RequestVote implements hraft.Transport.
func (t *replicaTransport) RequestVote(id hraft.ServerID, target hraft.ServerAddress, args *hraft.RequestVoteRequest, resp *hraft.RequestVoteResponse) error {
	if err := t.failure(); err != nil {
		return err
	}
	return t.Transport.RequestVote(id, target, args, resp)
}

// RequestPreVote implements hraft.WithPreVote.
func (t *replicaTransport) RequestPreVote(id hraft.ServerID, target hraft.ServerAddress, args *hraft.RequestPreVoteRequest, resp *hraft.RequestPreVoteResponse) error {
	if err := t.failure(); err != nil {
		return err
	}
	return t.Transport.RequestPreVote(id, target, args, resp)
}

// InstallSnapshot implements hraft.Transport. It ends when the replica is closed: Raft waits for it, and a copy can take minutes.
func (t *replicaTransport) InstallSnapshot(id hraft.ServerID, target hraft.ServerAddress, args *hraft.InstallSnapshotRequest, resp *hraft.InstallSnapshotResponse, data io.Reader) error {
	if err := t.failure(); err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { sent <- t.Transport.InstallSnapshot(id, target, args, resp, data) }()
	select {
	case err := <-sent:
		return err
	case <-t.closed:
		return errors.New("raft: the replica is closed")
	}
}

// Close implements hraft.WithClose. Raft closes its transport when it is shut down.
func (t *replicaTransport) Close() error {
	if c, ok := t.Transport.(hraft.WithClose); ok {
		return c.Close()
	}
	return nil
}
