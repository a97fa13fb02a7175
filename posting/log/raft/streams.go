package raft

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"mizan/internal/assert"
	"mizan/internal/peer"
)

// Protocol is the name of the protocol that nodes agree on for a connection of Raft (see package peer). A connection begins with
// the number of its shard, as 4 bytes, big-endian, and the origin of the sender's group. The receiver answers with one byte:
// whether it belongs to the same group. Raft's own messages follow.
const Protocol = "mizan-raft/2"

// headSize is the number of bytes with which a connection begins.
const headSize = 4 + len(Origin{})

// Answers to the beginning of a connection.
const (
	sameGroup  = 'y'
	otherGroup = 'n'
)

// otherGroupReason says why two nodes do not work together.
const otherGroupReason = "it was restored from another backup than this node, or started for the first time with other nodes: empty the data directory of one of them, and restore or add it again"

// Bounds of connections.
const (
	headTime    = 5 * time.Second  // for the number of the shard
	messageTime = 10 * time.Second // for one message of Raft; for a copy of a store, for each 256 KiB of it
	maxPool     = 3                // unused connections to each node that a shard keeps
	maxUnread   = 16               // connections to a shard that wait for Accept
)

// Dialer connects to the node with the given name. The connection is one of Protocol.
type Dialer func(ctx context.Context, name, address string) (net.Conn, error)

// Streams shares one listener among the shards of a node.
type Streams struct {
	listener net.Listener
	dial     Dialer
	log      *slog.Logger
	refusals peer.Refusals
	running  sync.WaitGroup
	seek     func() // nil: none

	mu     sync.Mutex
	shards map[uint32]*stream // guarded by mu
	names  map[string]string  // guarded by mu; maps the addresses of nodes to their names
}

// NewStreams begins to accept the connections of a listener of Protocol.
func NewStreams(listener net.Listener, dial Dialer, log *slog.Logger) *Streams {
	s := &Streams{
		listener: listener, dial: dial, log: log, refusals: peer.Refusals{Log: log}, shards: make(map[uint32]*stream), names: make(map[string]string),
	}
	s.running.Go(s.accept)
	return s
}

// Know tells at which address a node listens. Raft connects by address, and the connection must be to the node with this name.
func (s *Streams) Know(m Member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[m.Address] = m.Name
}

// Seek sets a function that is called if no node is known at an address. It may call Know.
func (s *Streams) Seek(seek func()) { s.seek = seek }

// nameAt returns the name of the node that listens at an address.
func (s *Streams) nameAt(address string) (string, error) {
	for range 2 {
		s.mu.Lock()
		name, isKnown := s.names[address]
		s.mu.Unlock()
		if isKnown {
			return name, nil
		}
		if s.seek != nil {
			s.seek()
		}
	}
	return "", fmt.Errorf("raft: no node is known at %s", address)
}

// ShardTransport carries the messages of one shard.
type ShardTransport struct {
	*hraft.NetworkTransport
	layer *stream
}

// Transport returns the transport of a shard. address is where other nodes reach this one. The transport must be closed after
// the shard's replica.
func (s *Streams) Transport(shard uint32, address string) ClosingTransport {
	layer := &stream{Handover: peer.NewHandover(nodeAddress(address), maxUnread), streams: s, shard: shard}
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.That(s.shards[shard] == nil, "shard %d has a transport", shard)
	s.shards[shard] = layer
	return &ShardTransport{hraft.NewNetworkTransportWithConfig(&hraft.NetworkTransportConfig{
		Stream: layer, MaxPool: maxPool, Timeout: messageTime, Logger: newLogger(s.log),
	}), layer}
}

func (s *Streams) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		s.running.Go(func() { s.admit(conn) })
	}
}

// admit reads the beginning of a connection, and gives the connection to the shard.
func (s *Streams) admit(conn net.Conn) {
	var head [headSize]byte
	err := conn.SetDeadline(time.Now().Add(headTime))
	if err == nil {
		_, err = io.ReadFull(conn, head[:])
	}
	shard := binary.BigEndian.Uint32(head[:])
	s.mu.Lock()
	layer := s.shards[shard]
	s.mu.Unlock()
	if err != nil || layer == nil {
		_ = conn.Close()
		return
	}
	replica := layer.replica.Load()
	if replica == nil { // the replica is being opened; the other node tries again
		_ = conn.Close()
		return
	}
	if !replica.belongsTo(Origin(head[4:])) {
		_, _ = conn.Write([]byte{otherGroup}) // the connection ends in any case
		_ = conn.Close()
		s.refusals.Note(peer.NameOf(conn), fmt.Sprintf("shard %d: %s", shard, otherGroupReason))
		return
	}
	if _, err = conn.Write([]byte{sameGroup}); err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = conn.Close()
		return
	}
	name := peer.NameOf(conn)
	layer.Hand(&incomingConn{Conn: conn, ended: func() { go layer.succeed(name) }})
}

// Close ends the listener. The transports must be closed before.
func (s *Streams) Close() error {
	err := s.listener.Close()
	s.running.Wait()
	return err
}

// stream has the connections of one shard. It implements hraft.StreamLayer.
type stream struct {
	*peer.Handover
	streams      *Streams
	shard        uint32
	replica      atomic.Pointer[Replica] // nil: it is being opened
	isSucceeding atomic.Bool             // whether succeed is running
	local        []net.Conn              // guarded by streams.mu: connections of the replica with itself
}

// Dial connects to the shard's replica at an address.
func (l *stream) Dial(address hraft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if address == hraft.ServerAddress(l.Addr().String()) {
		return l.dialSelf(), nil
	}
	name, err := l.streams.nameAt(string(address))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := l.streams.dial(ctx, name, string(address))
	if err != nil {
		return nil, err
	}
	if err = conn.SetDeadline(time.Now().Add(timeout)); err == nil {
		err = l.introduce(conn, name)
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("raft: %w", err)
	}
	return conn, nil
}

// introduce begins a connection to a node.
func (l *stream) introduce(conn net.Conn, name string) error {
	replica := l.replica.Load()
	if replica == nil {
		return errOpening
	}
	origin := replica.notes.origin()
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, l.shard), origin[:]...)); err != nil {
		return err
	}
	var answer [1]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	if answer[0] != sameGroup {
		l.streams.refusals.Note(name, fmt.Sprintf("shard %d: %s", l.shard, otherGroupReason))
		return fmt.Errorf("node %s is not of the same group: %s", name, otherGroupReason)
	}
	return nil
}

var errOpening = errors.New("the replica is being opened")

// Close ends the shard's listener.
func (l *stream) Close() error {
	l.streams.mu.Lock()
	delete(l.streams.shards, l.shard)
	local := l.local
	l.streams.mu.Unlock()
	for _, conn := range local {
		_ = conn.Close()
	}
	return l.Handover.Close()
}

// nodeAddress is the address of a node, as the other nodes write it.
type nodeAddress string

func (nodeAddress) Network() string  { return "tcp" }
func (a nodeAddress) String() string { return string(a) }
