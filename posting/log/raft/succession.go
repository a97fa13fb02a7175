package raft

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	hraft "github.com/hashicorp/raft"
)

// A follower that hears nothing from the leader waits until it may take the leader for dead, and then until enough other followers do
// (see heartbeat). If the leader's process has ended, none of this is necessary: the system closes its connections and refuses new
// ones. So when a connection of the leader ends, a follower tries to connect to it. If the connection is refused, the follower stands
// for election at once, and the others vote for it although they have not missed the leader yet.
//
// This only saves time. A follower that is mistaken becomes the leader of a later term in place of one that works, as after a
// transfer. It is not mistaken again and again, because a leader that can't be reached from it still reaches it, by connections that
// do not end.

// Bounds of the search for a successor.
const (
	goneTries   = 5                     // attempts to connect to a leader whose connection has ended
	goneTry     = 20 * time.Millisecond // between them: a process that ends closes its connections one after the other
	goneTimeout = 500 * time.Millisecond

	// turn is the time between the candidacies of followers, so that they do not ask for each other's votes at the same time. The first
	// one is not elected if it lacks an entry that a majority has.
	turn = 100 * time.Millisecond
)

// incomingConn is a connection that another node has opened. It tells when it has ended.
type incomingConn struct {
	net.Conn
	ended func()
	once  sync.Once
}

// Read implements net.Conn.
func (c *incomingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.once.Do(c.ended)
	}
	return n, err
}

// succeed makes the replica stand for election if the node with the given name leads, and its process has ended. It is called when a
// connection of that node has ended.
func (l *stream) succeed(name string) {
	r := l.replica.Load()
	leader := r.Leader()
	if leader.Name != name || r.applier.failure.Load() != nil || !l.isSucceeding.CompareAndSwap(false, true) {
		return
	}
	defer l.isSucceeding.Store(false)
	term := r.Term()
	place, isVoter := r.place(name, int(l.shard))
	if !isVoter || !l.isGone(r, leader) || !r.pause(time.Duration(place)*turn) {
		return
	}
	if r.Term() == term && r.Leader() == leader {
		_ = r.standForElection(hraft.Server{ID: r.name, Address: r.transport.LocalAddr()}) // if it fails, the replica does so later
	}
}

// isGone returns whether no process listens at the leader's address.
func (l *stream) isGone(r *Replica, leader Member) bool {
	for range goneTries {
		ctx, cancel := context.WithTimeout(context.Background(), goneTimeout)
		conn, err := l.streams.dial(ctx, leader.Name, leader.Address)
		cancel()
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return true
		case err == nil:
			_ = conn.Close()
			return false
		}
		if !r.pause(goneTry) {
			return false
		}
	}
	return false
}

// pause waits, and returns false if the replica is closed.
func (r *Replica) pause(d time.Duration) bool {
	select {
	case <-r.closed:
		return false
	case <-time.After(d):
		return true
	}
}

// place returns this replica's place among the voters that may succeed a leader, beginning with 0. The first one differs from shard to
// shard, so that one node does not get all leads of another. isVoter is false if this replica has no vote.
func (r *Replica) place(leader string, shard int) (place int, isVoter bool) {
	var names []hraft.ServerID
	for _, s := range r.configuration() {
		if s.Suffrage == hraft.Voter && string(s.ID) != leader {
			names = append(names, s.ID)
		}
	}
	slices.Sort(names)
	own := slices.Index(names, r.name)
	if own < 0 {
		return 0, false
	}
	return (own + shard) % len(names), true
}

// dialSelf connects the replica with itself.
func (l *stream) dialSelf() net.Conn {
	ours, theirs := net.Pipe()
	l.streams.mu.Lock()
	l.local = append(l.local, ours)
	l.streams.mu.Unlock()
	l.Hand(theirs)
	return ours
}
