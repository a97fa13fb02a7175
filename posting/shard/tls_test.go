package shard_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"mizan/internal/peer"
	"mizan/posting/log/raft"
)

// machineOf is a node as the other nodes see it: a link with which several shards connect.
type machineOf struct {
	link    *peer.Link
	streams *raft.Streams
	opened  *connections
}

// connections are those that a node has opened.
type connections struct {
	mu   sync.Mutex
	list []net.Conn
}

// dialer returns the dialer of a link, which remembers the connections.
func (c *connections) dialer(link *peer.Link) raft.Dialer {
	dial := link.Dialer(raft.Protocol)
	return func(ctx context.Context, name, address string) (net.Conn, error) {
		conn, err := dial(ctx, name, address)
		if err == nil {
			c.mu.Lock()
			c.list = append(c.list, conn)
			c.mu.Unlock()
		}
		return conn, err
	}
}

// close closes the connections that the node has opened.
func (m *machineOf) close() {
	m.opened.mu.Lock()
	defer m.opened.mu.Unlock()
	for _, conn := range m.opened.list {
		_ = conn.Close()
	}
}

// newMachines makes nodes that know each other. They are closed at the end of the test, after its nodes.
func newMachines(t *testing.T, log *slog.Logger, names ...string) (machines []machineOf, members []raft.Member) {
	t.Helper()
	dir := t.TempDir()
	if err := peer.MakeCertificates(dir, names, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		id, err := peer.ReadIdentity(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		link, err := peer.Listen("127.0.0.1:0", id, raft.Protocol)
		if err != nil {
			t.Fatal(err)
		}
		opened := new(connections)
		m := machineOf{link, raft.NewStreams(link.Protocol(raft.Protocol), opened.dialer(link), log), opened}
		t.Cleanup(func() {
			if err := m.streams.Close(); err != nil {
				t.Error(err)
			}
			if err := m.link.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		})
		machines = append(machines, m)
		members = append(members, raft.Member{Name: name, Address: link.Addr().String()})
	}
	for _, m := range machines {
		for _, other := range members {
			m.streams.Know(other)
		}
	}
	return machines, members
}

// Several shards of a node use one listener. Nodes prove to each other who they are. A leader that goes is replaced.
func TestShardsOfANodeShareOneEncryptedListener(t *testing.T) {
	t.Parallel()
	const shards = 2
	machines, members := newMachines(t, slog.New(slog.DiscardHandler), "n1", "n2", "n3")
	groups := make([]*group, shards)
	for shard := range shards {
		g := &group{t: t}
		for i, m := range members {
			n := &node{t: t, name: m.Name, dir: t.TempDir(), members: members, network: machines[i].streams.Transport(uint32(shard), m.Address)}
			g.nodes = append(g.nodes, n)
		}
		groups[shard] = g
	}
	for _, g := range groups {
		for _, n := range g.nodes {
			n.start()
		}
	}
	t.Cleanup(func() {
		for _, g := range groups {
			for _, n := range g.nodes {
				n.stop()
			}
		}
	})
	for shard, g := range groups {
		leader := g.lead(g.nodes...)
		for i := range 5 {
			leader.mustPay(uint64(10*shard + i + 1))
		}
		g.wantEqual(g.nodes...)
		leader.stop()
		next := g.lead(others(g, leader)...)
		next.mustPay(100)
		if got := next.events(); got != 6 {
			t.Errorf("shard %d has %d events", shard, got)
		}
	}
}

// If the process of a leader has ended, the others elect a leader at once: they do not wait until they miss its messages. While its
// process still listens, they wait.
func TestLeaderWhoseProcessHasEndedIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	machines, members := newMachines(t, quiet, "n1", "n2", "n3")
	g := &group{t: t}
	for i := range members {
		n := &node{t: t, name: members[i].Name, dir: t.TempDir(), members: members, network: machines[i].streams.Transport(1, members[i].Address)}
		g.nodes = append(g.nodes, n)
		n.start()
	}
	t.Cleanup(func() {
		for _, n := range g.nodes {
			n.stop()
		}
	})
	leader := g.lead(g.nodes...)
	leader.mustPay(1)
	g.wantEqual(g.nodes...)
	m, term := machines[slices.Index(g.nodes, leader)], leader.Replica.Term()
	m.close()
	leader.mustPay(2) // by new connections
	if leader.Replica.Term() != term {
		t.Error("a leader that only lost its connections was replaced")
	}
	g.wantEqual(g.nodes...)
	if err := m.link.Close(); err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	m.close()
	next := g.lead(others(g, leader)...)
	if took := time.Since(ended); took > heartbeat*3/4 {
		t.Errorf("the leader was replaced after %v", took)
	}
	next.mustPay(3)
	g.wantEqual(others(g, leader)...)
}

// A connection that names a shard which the node does not have is closed. So is one that says nothing.
func TestConnectionOfAnUnknownShardIsClosed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := raft.NewStreams(listener, nil, quiet)
	transport := s.Transport(1, listener.Addr().String())
	for _, head := range [][]byte{{0, 0, 0, 9}, {0, 0}} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(head); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("%x: %d bytes, %v", head, n, err)
		}
		_ = conn.Close()
	}
	if err := transport.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// While a lead is being handed over, proposals wait. If that fails, because the other node does not answer, they are carried out.
func TestProposalsWaitForATransfer(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3)
	leader := g.lead(g.nodes...)
	leader.mustPay(1)
	g.wantEqual(g.nodes...)
	away := others(g, leader)[0]
	away.stop()
	leader.mustPay(2) // an entry that the other node lacks
	to := raft.Member{Name: away.name, Address: away.name}
	ended := make(chan error, 1)
	go func() { ended <- leader.Replica.Transfer(to) }()
	longest := time.Duration(0)
	for isEnded := false; !isEnded; {
		begun := time.Now()
		leader.mustPay(3)
		longest = max(longest, time.Since(begun))
		select {
		case err := <-ended:
			if isEnded = true; err == nil {
				t.Error("the lead was handed to a node that does not run")
			}
		default:
		}
	}
	if longest < 500*time.Millisecond { // a transfer takes a second
		t.Errorf("the longest proposal took %v: none has waited for the transfer", longest)
	}
}
