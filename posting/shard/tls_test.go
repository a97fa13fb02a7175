package shard_test

import (
	"net"
	"testing"
	"time"

	"mizan/internal/peer"
	"mizan/posting/log/raft"
)

// machineOf is a node as the other nodes see it: a link with which several shards connect.
type machineOf struct {
	link    *peer.Link
	streams *raft.Streams
}

// Several shards of a node use one listener. Nodes prove to each other who they are. A leader that goes is replaced.
func TestShardsOfANodeShareOneEncryptedListener(t *testing.T) {
	t.Parallel()
	const shards = 2
	dir := t.TempDir()
	names := []string{"n1", "n2", "n3"}
	if err := peer.MakeCertificates(dir, names, time.Now()); err != nil {
		t.Fatal(err)
	}
	machines := make([]machineOf, len(names))
	var members []raft.Member
	for i, name := range names {
		id, err := peer.ReadIdentity(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		link, err := peer.Listen("127.0.0.1:0", id, raft.Protocol)
		if err != nil {
			t.Fatal(err)
		}
		machines[i] = machineOf{link, raft.NewStreams(link.Protocol(raft.Protocol), link.Dialer(raft.Protocol), quiet)}
		members = append(members, raft.Member{Name: name, Address: link.Addr().String()})
	}
	groups := make([]*group, shards)
	for shard := range shards {
		g := &group{t: t}
		for i, m := range members {
			for _, other := range members {
				machines[i].streams.Know(other)
			}
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
		for _, m := range machines {
			if err := m.streams.Close(); err != nil {
				t.Error(err)
			}
			if err := m.link.Close(); err != nil {
				t.Error(err)
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
