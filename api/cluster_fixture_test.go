package api_test

import (
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"

	"mizan/api"
	"mizan/ledger"
)

// fixtureCluster is a cluster of three nodes without stores, for tests of the routes about the cluster. Tests with the processes
// of real nodes are in cmd/mizan/clustering.
type fixtureCluster struct {
	f      *fixture
	own    string // the node whose server is under test
	fronts map[string]*api.Front

	mu        sync.Mutex
	leaders   []string                                  // guarded by mu: the leading node of each shard; empty: none
	members   map[string]string                         // guarded by mu: added nodes, and their addresses
	failure   error                                     // guarded by mu: what a change of a shard fails with; nil: it succeeds
	moves     []api.MoveStatus                          // guarded by mu: of organizations from shard 1, which never end
	listeners map[string]*fasthttputil.InmemoryListener // guarded by mu: of the nodes that run
	down      map[string]bool                           // guarded by mu: nodes that do not answer
}

func newFixtureCluster(f *fixture) *fixtureCluster {
	c := &fixtureCluster{
		f: f, own: "n1", fronts: make(map[string]*api.Front), leaders: []string{"n1", "n2", "n3"}, members: map[string]string{},
		listeners: make(map[string]*fasthttputil.InmemoryListener), down: make(map[string]bool),
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		c.fronts[name] = c.newFront(name)
	}
	listeners := c.listeners // a function of Cleanup is kept, with all that it refers to, until the last parallel test has ended
	f.t.Cleanup(func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	})
	return c
}

func (c *fixtureCluster) front() *api.Front { return c.fronts[c.own] }

func (c *fixtureCluster) newFront(name string) *api.Front {
	return api.NewFront(api.FrontConfig{
		Config: api.Config{Log: slog.New(slog.DiscardHandler), Status: func() api.Status { return api.Status{Core: "ok", DB: "ok"} }},
		Node:   name, Shards: nodeShards{c, name}, MaxPeerConns: 8, Dial: c.dial, Schema: 7, Keyring: strings.Repeat("5a", 16),
		Others: func() (names []string) {
			for _, other := range []string{"n1", "n2", "n3"} {
				if other != name {
					names = append(names, other)
				}
			}
			return names
		},
		NodeStatus: func() api.NodeStatus { return c.status(name) },
		Transfer: func(shard int, to string) error {
			if to == "" { // any other node
				to = map[string]string{"n1": "n2", "n2": "n3", "n3": "n1"}[name]
			}
			return c.change(name, shard, func() { c.leaders[shard] = to })
		},
		AddNode: func(shard int, added, address string, _ bool) error {
			return c.change(name, shard, func() { c.members[added] = address })
		},
		RemoveNode: func(shard int, removed string) error {
			return c.change(name, shard, func() { delete(c.members, removed) })
		},
	})
}

// change carries out a change of a shard on a node, which must lead the shard.
func (c *fixtureCluster) change(node string, shard int, do func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		return c.failure
	}
	if c.leaders[shard] != node {
		return errors.New("this node does not lead the shard")
	}
	do()
	return nil
}

func (c *fixtureCluster) status(name string) api.NodeStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := api.NodeStatus{Name: name, BaseURL: "https://" + name + ".example", State: "ok", Version: "v0.0.0-test"}
	if c.leaders[1] == name {
		s.Moves = slices.Clone(c.moves)
	}
	for shard, leader := range c.leaders {
		r := api.ReplicaStatus{Leader: leader, Term: 2, Applied: 118, Serves: leader == name}
		if r.Serves {
			r.Applied = 120
			r.Organizations = shard // the platform's shard has none
		}
		s.Shards = append(s.Shards, r)
	}
	return s
}

// dial connects to a node, which begins to serve at the first connection.
func (c *fixtureCluster) dial(node string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down[node] {
		return nil, errors.New("the node is down")
	}
	l := c.listeners[node]
	if l == nil {
		l = fasthttputil.NewInmemoryListener()
		c.listeners[node] = l
		go func() { _ = c.fronts[node].ServePeers(l) }() // ends when the listener is closed
	}
	return l.Dial()
}

// fixtureLead is the fixture's server as the server of a shard.
type fixtureLead struct{ *fixtureCluster }

func (l fixtureLead) Server() *api.Server { return l.f.server }
func (fixtureLead) Verify() error         { return nil }
func (fixtureLead) Leave()                {}
func (l fixtureLead) Mover() api.Mover    { return fixtureMover(l) }
func (fixtureLead) IsMoving() bool        { return false }

func (fixtureLead) Locate(ledger.ID) api.Location { return api.Location{Shard: 1} }

// fixtureMover begins moves of organizations from shard 1 that never end. Real moves are tested in cmd/mizan/clustering.
type fixtureMover struct{ *fixtureCluster }

func (m fixtureMover) Start(org ledger.ID, to int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, isKnown := m.f.directory.Organization(org)
	i := slices.IndexFunc(m.moves, func(s api.MoveStatus) bool { return s.Organization == org.String() })
	switch {
	case !isKnown:
		return ledger.Refuse("fixture", ledger.NotFound, "no such organization")
	case to == 1:
		return ledger.Refuse("fixture", ledger.Conflict, "the organization is in shard 1 already")
	case i >= 0 && m.moves[i].To != to:
		return ledger.Refuse("fixture", ledger.Conflict, "the organization is being moved already")
	case i < 0:
		m.moves = append(m.moves, api.MoveStatus{
			Organization: org.String(), From: 1, To: to, State: api.MoveCopying, Rows: 1830, Bytes: 402611, StartedAt: m.f.Clock.Now().UTC().Format(time.RFC3339Nano),
		})
	}
	return nil
}

func (fixtureMover) Receive(api.MoveStep) ([]byte, error) {
	return nil, ledger.Refuse("fixture", ledger.Unavailable, "no organization is received")
}

func (fixtureMover) IsReceiving() bool { return false }

func (m fixtureMover) Moves() []api.MoveStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.moves)
}

// nodeShards are the shards as a node sees them.
type nodeShards struct {
	*fixtureCluster
	node string
}

func (s nodeShards) Count() int            { return 3 }
func (s nodeShards) ShardOf(ledger.ID) int { return 1 }
func (s nodeShards) Leader(shard int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaders[shard]
}

// Enter returns the fixture's server. The node under test always enters the platform's shard, because the server knows the
// administration token.
func (s nodeShards) Enter(shard int) (api.Lead, bool) {
	if shard == 0 {
		return fixtureLead{s.fixtureCluster}, s.node == s.own
	}
	return fixtureLead{s.fixtureCluster}, s.Leader(shard) == s.node
}
