package shard_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/posting/log"
	"mizan/posting/log/raft"
)

// backedUp is a store that a backup contains.
type backedUp struct {
	store string // its data directory
	last  log.Mark
}

// backUp makes a store with as many payments.
func backUp(t *testing.T, payments int) (b backedUp) {
	t.Helper()
	g := newGroup(t, 1)
	n := g.lead(g.nodes...)
	for i := range payments {
		n.mustPay(uint64(i + 1))
	}
	b.store = filepath.Join(n.dir, "store")
	b.last.N, b.last.Hash = n.Store().LastGroup()
	n.stop()
	return b
}

// restore makes a node's files from a backup.
func (b *backedUp) restore(n *node, backup byte) {
	n.t.Helper()
	if err := os.CopyFS(filepath.Join(n.dir, "store"), os.DirFS(b.store)); err != nil {
		n.t.Fatal(err)
	}
	if err := raft.PrepareRestored(filepath.Join(n.dir, "raft"), [32]byte{backup}, b.last); err != nil {
		n.t.Fatal(err)
	}
}

// Nodes that were restored from one backup form a group that continues after it. A node that joins later gets a copy.
func TestRestoredNodesFormAGroup(t *testing.T) {
	t.Parallel()
	b := backUp(t, 3)
	machines, members := newMachines(t, quiet, "n1", "n2", "n3", "n4", "n5", "n6")
	first := members[:5]
	g := &group{t: t}
	for i := range first {
		n := &node{t: t, name: members[i].Name, dir: t.TempDir(), members: first, network: machines[i].streams.Transport(1, members[i].Address)}
		b.restore(n, 1)
		g.nodes = append(g.nodes, n)
	}
	t.Cleanup(func() {
		for _, n := range g.nodes {
			n.stop()
		}
	})
	for _, n := range g.nodes {
		n.start()
	}
	leader := g.lead(g.nodes...)
	leader.mustPay(4)
	g.wantEqual(g.nodes...)
	if got := leader.events(); got != 4 {
		t.Errorf("%d events", got)
	}
	added := &node{t: t, name: "n6", dir: t.TempDir(), network: machines[5].streams.Transport(1, members[5].Address)}
	g.nodes = append(g.nodes, added)
	added.start()
	if err := leader.Replica.Add(members[5], true, time.Minute); err != nil {
		t.Fatal(err)
	}
	leader.mustPay(5)
	g.wantEqual(g.nodes...)
	added.stop()
	added.network = machines[5].streams.Transport(1, members[5].Address)
	added.start() // with the origin that came with the copy
	leader.stop()
	next := g.lead(others(g, leader)...)
	next.mustPay(6)
	g.wantEqual(others(g, leader)...)
}

// A node that was restored from another backup, or that began with other members, gets no messages and its vote does not count,
// although its store has the same groups. Both sides say so once.
func TestNodeOfAnotherGroupIsRefused(t *testing.T) {
	t.Parallel()
	b := backUp(t, 2)
	for name, begin := range map[string]func(n *node, isOther bool){
		"another backup": func(n *node, isOther bool) { b.restore(n, map[bool]byte{true: 2, false: 1}[isOther]) },
		"other members": func(n *node, isOther bool) {
			if isOther {
				n.members = append(slices.Clone(n.members), raft.Member{Name: "n4", Address: "127.0.0.1:1"})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := new(testkit.Output)
			machines, members := newMachines(t, slog.New(slog.NewTextHandler(out, nil)), "n1", "n2", "n3")
			g := &group{t: t}
			for i := range members {
				n := &node{t: t, name: members[i].Name, dir: t.TempDir(), members: members, network: machines[i].streams.Transport(1, members[i].Address)}
				begin(n, i == 2)
				g.nodes = append(g.nodes, n)
				n.start()
			}
			t.Cleanup(func() {
				for _, n := range g.nodes {
					n.stop()
				}
			})
			other := g.nodes[2]
			had := other.last()
			leader := g.lead(g.nodes[:2]...)
			leader.mustPay(3)
			g.wantEqual(g.nodes[:2]...)
			wait(t, "the log of both sides", func() bool {
				return strings.Contains(out.String(), `node=n3`) && strings.Contains(out.String(), `node=`+leader.name)
			})
			if got := other.last(); got != had {
				t.Errorf("the node of another group has group %d, had %d", got, had)
			}
			if n := strings.Count(out.String(), "msg=\"a node is refused\""); n > 6 {
				t.Errorf("%d lines:\n%s", n, out)
			}
			others(g, leader)[0].stop()
			wait(t, "no majority without the other node of the same group", func() bool { return !leader.Replica.IsLeader() && !other.Replica.IsLeader() })
		})
	}
}

// A store that does not end as the backup did is refused. So are restored files that were used before.
func TestRestoredFilesThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	b, other := backUp(t, 2), backUp(t, 3)
	g := newGroup(t, 1)
	n := g.nodes[0]
	n.stop()
	n.dir = t.TempDir()
	n.connect()
	b.last = other.last
	b.restore(n, 1)
	if err := n.open(); err == nil || !strings.Contains(err.Error(), "belongs to another restore") {
		t.Errorf("another store: %v", err)
	}
	n.Shard = nil
	n.dir = t.TempDir()
	n.connect()
	other.restore(n, 1)
	if err := raft.PrepareRestored(filepath.Join(n.dir, "raft"), [32]byte{1}, other.last); err == nil {
		t.Error("a directory was prepared twice")
	}
	n.start()
	if got := g.lead(n).events(); got != 3 {
		t.Errorf("%d events", got)
	}
}
