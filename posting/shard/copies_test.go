package shard_test

import (
	"io"
	"sync/atomic"
	"testing"

	hraft "github.com/hashicorp/raft"

	"mizan/posting/log/raft"
)

// slowCopies is a transport that calls onCopy before it sends a copy.
type slowCopies struct {
	raft.Transport
	onCopy func()
}

func (s slowCopies) InstallSnapshot(id hraft.ServerID, target hraft.ServerAddress, args *hraft.InstallSnapshotRequest, resp *hraft.InstallSnapshotResponse, data io.Reader) error {
	s.onCopy()
	return s.Transport.InstallSnapshot(id, target, args, resp, data)
}

// While a copy is on its way, the shard gets more groups, and Raft shortens its log. The node that gets the copy still catches up with
// the log, and does not need a copy again and again.
func TestNodeCatchesUpAfterACopyThatTookLong(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3)
	var leader *node
	var paid atomic.Uint64
	pay := func(count int) {
		for range count {
			leader.mustPay(paid.Add(1))
		}
		if err := leader.Replica.Snapshot(); err != nil {
			t.Error(err)
		}
	}
	for _, n := range g.nodes {
		n.stop()
		n.segmentSize = 4 << 10 // entries can be read as long as their segment gets further ones
		n.wrap = func(inner raft.Transport) raft.Transport { return slowCopies{inner, func() { pay(10) }} }
		n.connect()
	}
	g.join()
	for _, n := range g.nodes {
		n.start()
	}
	leader = g.lead(g.nodes...)
	behind := others(g, leader)[0]
	behind.stop()
	pay(30)
	behind.connect()
	g.join()
	behind.start()
	wait(t, "the node has the groups that were written during the copy", func() bool { return behind.last() > 30 && behind.last() == leader.last() })
	g.wantEqual(g.nodes...)
	if sent := leader.Replica.Progress().CopiesSent; sent != 1 {
		t.Errorf("the leader has sent %d copies", sent)
	}
	if got := leader.events(); got != 40 {
		t.Errorf("%d events", got)
	}
}

// A node can be stopped while it sends a copy to a node that takes very long.
func TestNodeIsClosedWhileItSendsACopy(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3)
	sending, end := make(chan struct{}, 100), make(chan struct{})
	defer close(end)
	for _, n := range g.nodes {
		n.stop()
		n.segmentSize = 4 << 10
		n.wrap = func(inner raft.Transport) raft.Transport {
			return slowCopies{inner, func() { sending <- struct{}{}; <-end }}
		}
		n.connect()
	}
	g.join()
	for _, n := range g.nodes {
		n.start()
	}
	leader := g.lead(g.nodes...)
	behind := others(g, leader)[0]
	behind.stop()
	for i := range 30 {
		leader.mustPay(uint64(i + 1))
	}
	if err := leader.Replica.Snapshot(); err != nil {
		t.Fatal(err)
	}
	behind.connect()
	g.join()
	behind.start()
	<-sending
	leader.stop()
}
