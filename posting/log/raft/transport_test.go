package raft

import (
	"testing"

	hraft "github.com/hashicorp/raft"
)

// sentMessages keeps the messages that are sent through it.
type sentMessages struct {
	Transport
	last hraft.AppendEntriesRequest
}

func (s *sentMessages) AppendEntries(_ hraft.ServerID, _ hraft.ServerAddress, args *hraft.AppendEntriesRequest, _ *hraft.AppendEntriesResponse) error {
	s.last = *args
	return nil
}

// A follower must not learn that more is committed than the message compares: its entries after that may be those of an earlier
// leader.
func TestMessagesCommitOnlyWhatTheyCompare(t *testing.T) {
	t.Parallel()
	sent := new(sentMessages)
	transport := &replicaTransport{Transport: sent, confirmations: newConfirmations(), applier: new(applier)}
	for _, c := range []struct {
		previous        uint64
		entries         int
		committed, want uint64
	}{
		{168, 0, 170, 168}, // the case that simulations have found: the follower applied its own entry 169
		{168, 1, 170, 169},
		{100, 16, 170, 116},
		{168, 4, 170, 170},
		{168, 0, 150, 150},
		{0, 0, 0, 0}, // a heartbeat
	} {
		args := &hraft.AppendEntriesRequest{PrevLogEntry: c.previous, Entries: make([]*hraft.Log, c.entries), LeaderCommitIndex: c.committed}
		if err := transport.AppendEntries("", "", args, new(hraft.AppendEntriesResponse)); err != nil {
			t.Fatal(err)
		}
		if got := sent.last.LeaderCommitIndex; got != c.want {
			t.Errorf("%+v: the message says that entry %d is committed", c, got)
		}
	}
}
