package shard_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	hraft "github.com/hashicorp/raft"

	"mizan/internal/testkit"
	"mizan/posting/log/raft"
)

// lateTransport holds answers of followers back, and can refuse to send further messages.
type lateTransport struct {
	raft.Transport
	holds, refuses atomic.Bool
	held           atomic.Int32
	release        chan struct{}
}

var errRefused = errors.New("refused")

func (l *lateTransport) AppendEntries(id hraft.ServerID, target hraft.ServerAddress, args *hraft.AppendEntriesRequest, resp *hraft.AppendEntriesResponse) error {
	if l.refuses.Load() {
		return errRefused
	}
	err := l.Transport.AppendEntries(id, target, args, resp)
	if l.holds.Load() {
		l.held.Add(1)
		<-l.release
	}
	return err
}

// A follower's answer to a message that was sent before the question does not show that the leader still leads, even if the answer
// arrives after the question.
func TestLateAnswerIsNoConfirmation(t *testing.T) {
	g := newGroup(t, 3)
	late := make(map[string]*lateTransport)
	for _, n := range g.nodes {
		n.stop()
		n.connect()
	}
	g.join()
	for _, n := range g.nodes {
		n.wrap = func(inner raft.Transport) raft.Transport {
			late[n.name] = &lateTransport{Transport: inner, release: make(chan struct{})}
			return late[n.name]
		}
		n.start()
	}
	leads := g.lead(g.nodes...)
	if err := leads.Replica.Verify(); err != nil {
		t.Fatal(err)
	}
	l := late[leads.name]
	end := sync.OnceFunc(func() { close(l.release) })
	defer end()
	l.holds.Store(true)
	testkit.WaitUntil(t, "an answer of each follower is held back", func() bool { return l.held.Load() >= 2 })
	l.refuses.Store(true)
	result := make(chan error, 1)
	asked := make(chan struct{})
	go func() { close(asked); result <- leads.Replica.Verify() }()
	<-asked
	end()
	if err := <-result; !errors.Is(err, raft.ErrNotLeader) {
		t.Errorf("a leader that reaches nobody is told %v", err)
	}
}
