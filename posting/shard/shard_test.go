package shard_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	hraft "github.com/hashicorp/raft"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/log/raft"
	"mizan/posting/shard"
	"mizan/posting/store"
)

var (
	org   = uuid.MustParse("0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01")
	usd   = money.Asset{Currency: "USD", Env: money.Prod}
	start = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)
	quiet = slog.New(slog.DiscardHandler)
)

// group is the nodes of one shard. The connections between them are in memory.
type group struct {
	t     *testing.T
	nodes []*node
}

// heartbeat is the time without a message from the leader after which a follower seeks a new one.
const heartbeat = 3 * time.Second

// node is a node with a replica of the shard.
type node struct {
	t           *testing.T
	name, dir   string
	members     []raft.Member
	transport   *hraft.InmemTransport // nil: network is used
	network     raft.Transport
	wrap        func(raft.Transport) raft.Transport // nil: the transport is used as it is
	segmentSize int                                 // of Raft's log; 0: as in a server
	failed      chan error                          // receives the error with which the process would end

	*shard.Shard
	mu      sync.Mutex
	journal *posting.Journal // guarded by mu; nil: the node does not lead
	lost    chan error       // receives the error with which the journal has failed
}

// newGroup starts a shard with so many nodes.
func newGroup(t *testing.T, count int) *group {
	t.Helper()
	g := &group{t: t}
	var members []raft.Member
	for i := range count {
		name := fmt.Sprint("n", i+1)
		members = append(members, raft.Member{Name: name, Address: name})
	}
	for i := range members {
		g.nodes = append(g.nodes, &node{t: t, name: members[i].Name, dir: t.TempDir(), members: members})
	}
	for _, n := range g.nodes {
		n.connect()
	}
	g.join()
	for _, n := range g.nodes {
		n.start()
	}
	t.Cleanup(func() {
		for _, n := range g.nodes {
			n.stop()
		}
	})
	return g
}

func (n *node) connect() {
	_, n.transport = hraft.NewInmemTransportWithTimeout(hraft.ServerAddress(n.name), 20*time.Second)
}

// join connects every node with every other.
func (g *group) join() {
	for _, a := range g.nodes {
		for _, b := range g.nodes {
			if a != b && a.transport != nil && b.transport != nil {
				a.transport.Connect(b.transport.LocalAddr(), b.transport)
			}
		}
	}
}

// isolate cuts the connections of a node.
func (g *group) isolate(n *node) {
	n.transport.DisconnectAll()
	for _, other := range g.nodes {
		if other != n {
			other.transport.Disconnect(n.transport.LocalAddr())
		}
	}
}

func (n *node) start() {
	n.t.Helper()
	if err := n.open(); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) open() (err error) {
	n.failed = make(chan error, 1)
	if n.transport != nil {
		n.network = n.transport
		if n.wrap != nil {
			n.network = n.wrap(n.transport)
		}
	}
	n.Shard, err = shard.Open(shard.Options{
		Dir: n.dir, Name: n.name, Transport: n.network, Members: n.members, Joins: n.members == nil, Tuning: raft.Tuning{Heartbeat: heartbeat, Trailing: 2, SegmentSize: n.segmentSize}, Log: quiet,
		Store: store.Options{MemTable: 8 << 20, Log: quiet}, Keyring: [32]byte{7}, Fatal: func(err error) { n.failed <- err },
	})
	return err
}

// stop closes the node's journal and shard, if they are open.
func (n *node) stop() {
	n.t.Helper()
	if n.Shard == nil {
		return
	}
	n.drop()
	if err := n.Close(); err != nil {
		n.t.Error(err)
	}
	n.Shard = nil
}

// drop ends the journal of a node that leads or has led.
func (n *node) drop() {
	n.mu.Lock()
	j := n.journal
	n.journal = nil
	n.mu.Unlock()
	if j == nil {
		return
	}
	select {
	case <-n.lost:
		j.Drop()
	default:
		if err := j.Close(); err != nil {
			n.t.Error(err)
		}
	}
}

// wait waits until a condition holds.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("no %s", what)
		}
	}
}

// lead waits until one of the nodes leads the shard, and opens a journal on it.
func (g *group) lead(among ...*node) *node {
	g.t.Helper()
	var leader *node
	wait(g.t, "leader", func() bool {
		for _, n := range among {
			if n.Shard != nil && n.lead() == nil {
				leader = n
				return true
			}
		}
		return false
	})
	return leader
}

func (n *node) lead() error {
	lost := make(chan error, 1)
	j, err := n.Lead(posting.Options{Clock: clock.NewManual(start), Log: quiet, Fatal: func(err error) { lost <- err }}, time.Second)
	if err == nil {
		n.mu.Lock()
		n.journal, n.lost = j, lost
		n.mu.Unlock()
	}
	return err
}

// pay books a transfer, and returns the receipt. lost tells that the journal has failed, and that the result is unknown.
func (n *node) pay(amount uint64) (receipt posting.Receipt, lost error) {
	receipts := make(chan posting.Receipt, 1)
	n.journal.Submit(transfer(amount), func(r posting.Receipt) { receipts <- r })
	select {
	case receipt = <-receipts:
		return receipt, nil
	case err := <-n.lost:
		n.lost <- err
		return receipt, err
	}
}

func (n *node) mustPay(amount uint64) {
	n.t.Helper()
	if receipt, lost := n.pay(amount); receipt.Err != nil || lost != nil {
		n.t.Fatal(receipt.Err, lost)
	}
}

func transfer(amount uint64) *posting.Change {
	line := func(path ledger.Path, side ledger.Side) ledger.Posting {
		return ledger.Posting{Account: path, Asset: usd, Side: side, Amount: money.FromUint64(amount)}
	}
	return &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()},
		Events: []ledger.Event{{Name: "move", To: "done", Entry: &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			line("A:bank", ledger.Debit), line(ledger.PartnerAvailable(1), ledger.Credit),
		}}}},
	}}}
}

// last returns the number of the last group of a node's store.
func (n *node) last() uint64 {
	last, _ := n.Store().LastGroup()
	return last
}

// wantEqual waits until the nodes have applied as many groups, and compares all rows of their stores.
func (g *group) wantEqual(nodes ...*node) {
	g.t.Helper()
	g.t.Cleanup(func() {
		if g.t.Failed() {
			for _, n := range g.nodes {
				if n.Shard != nil {
					g.t.Logf("%s: group %d, %+v, leader %+v", n.name, n.last(), n.Replica.Progress(), n.Replica.Leader())
				}
			}
		}
	})
	furthest := slices.MaxFunc(nodes, func(a, b *node) int { return int(a.last()) - int(b.last()) }).last()
	wait(g.t, fmt.Sprintf("store of every node with group %d", furthest), func() bool {
		for _, n := range nodes {
			select {
			case err := <-n.failed:
				g.t.Fatalf("%s has failed: %v", n.name, err)
			default:
			}
		}
		return !slices.ContainsFunc(nodes, func(n *node) bool { return n.last() != furthest })
	})
	want := rows(g.t, nodes[0])
	for _, n := range nodes[1:] {
		got := rows(g.t, n)
		for i := range max(len(want), len(got)) {
			if i >= len(want) || i >= len(got) || got[i] != want[i] {
				g.t.Errorf("%s has another row %d than %s", n.name, i, nodes[0].name)
				break
			}
		}
	}
}

func rows(t *testing.T, n *node) (rows []string) {
	t.Helper()
	sn := n.Store().Snapshot()
	defer sn.Close()
	if err := sn.StoredRows(nil, 0, func(r store.StoredRow) (bool, error) {
		rows = append(rows, string(r.Key)+"="+string(r.Stored))
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	return rows
}

// events returns the number of the organization's events in a node's journal.
func (n *node) events() uint64 {
	n.t.Helper()
	v := n.journal.View()
	defer v.Close()
	size, _, err := v.Head(org)
	if err != nil {
		n.t.Fatal(err)
	}
	return size
}

// confirmed returns the content of the file in which a node's store confirms its last group.
func (n *node) confirmed() []byte {
	n.t.Helper()
	b, err := os.ReadFile(filepath.Join(n.dir, "store", "log", "confirmed"))
	if err != nil {
		n.t.Fatal(err)
	}
	return b
}

func others(g *group, n *node) (others []*node) {
	for _, other := range g.nodes {
		if other != n {
			others = append(others, other)
		}
	}
	return others
}

func TestEveryNodeGetsTheSameGroups(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3)
	leader := g.lead(g.nodes...)
	var paid sync.WaitGroup
	for i := range 50 {
		paid.Go(func() { leader.mustPay(uint64(i + 1)) })
	}
	paid.Wait()
	if got := leader.events(); got != 50 {
		t.Errorf("%d events", got)
	}
	g.wantEqual(g.nodes...)
	before := make(map[*node][]byte)
	for _, n := range g.nodes {
		before[n] = n.confirmed()
	}
	leader.mustPay(51)
	for _, n := range g.nodes {
		wait(t, "confirmed group on "+n.name, func() bool { return !bytes.Equal(n.confirmed(), before[n]) })
	}
	for _, n := range others(g, leader) {
		if err := n.lead(); !errors.Is(err, raft.ErrNotLeader) {
			t.Errorf("a journal on a follower: %v", err)
		}
	}
}

// The nodes continue with everything that was acknowledged after the leader has gone, and again when it has come back.
func TestNextLeaderHasEverythingAcknowledged(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3)
	leader := g.lead(g.nodes...)
	for i := range 10 {
		leader.mustPay(uint64(i + 1))
	}
	leader.stop()
	next := g.lead(others(g, leader)...)
	if got := next.events(); got != 10 {
		t.Fatalf("the next leader has %d events", got)
	}
	next.mustPay(11)
	leader.connect()
	g.join()
	leader.start()
	g.wantEqual(g.nodes...)
}

func TestAllNodesRestart(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3)
	leader := g.lead(g.nodes...)
	for i := range 5 {
		leader.mustPay(uint64(i + 1))
	}
	if err := leader.Replica.Snapshot(); err != nil {
		t.Fatal(err)
	}
	leader.mustPay(6)
	for _, n := range g.nodes {
		n.stop()
	}
	for _, n := range g.nodes {
		n.connect()
	}
	g.join()
	for _, n := range g.nodes {
		n.start()
	}
	leader = g.lead(g.nodes...)
	if got := leader.events(); got != 6 {
		t.Errorf("%d events after the restart", got)
	}
	leader.mustPay(7)
	g.wantEqual(g.nodes...)
}

// A leader that is cut off acknowledges nothing more. What it proposed meanwhile changes nothing on the other side, and nothing
// in its own store after the connections are there again.
func TestLeaderThatIsCutOffAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3)
	leader := g.lead(g.nodes...)
	leader.mustPay(1)
	g.isolate(leader)
	if receipt, lost := leader.pay(1_000_000); lost == nil {
		t.Fatalf("a leader without followers has acknowledged: %+v", receipt)
	}
	next := g.lead(others(g, leader)...)
	next.mustPay(2)
	if got := next.events(); got != 2 {
		t.Errorf("the next leader has %d events", got)
	}
	leader.drop()
	if leader.last() != 1 {
		t.Errorf("the store of the former leader has group %d, which was never committed", leader.last())
	}
	g.join()
	g.wantEqual(g.nodes...)
	leader.stop()
	leader.connect()
	leader.start() // what it had proposed was removed from its log, which can still be read
}

// A journal that does not know of another leader's groups is fenced, even if its node leads again.
func TestJournalOfAnEarlierTermIsFenced(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3)
	first := g.lead(g.nodes...)
	first.mustPay(1)
	if err := first.Replica.Transfer(raft.Member{}); err != nil {
		t.Fatal(err)
	}
	second := g.lead(others(g, first)...)
	second.mustPay(2)
	wait(t, "transfer back", func() bool {
		return second.Replica.Transfer(raft.Member{Name: first.name, Address: first.name}) == nil
	})
	wait(t, "leader", func() bool { return first.Replica.CatchUp(time.Second) == nil })
	if receipt, lost := first.pay(3); !errors.Is(lost, raft.ErrFenced) {
		t.Fatalf("the journal of an earlier term: %+v, %v", receipt, lost)
	}
	first.drop()
	if err := first.lead(); err != nil {
		t.Fatal(err)
	}
	first.mustPay(4)
	if got := first.events(); got != 3 {
		t.Errorf("%d events", got)
	}
	g.wantEqual(g.nodes...)
}

// A node that needs groups which the leader's Raft log no longer has gets a copy of the leader's store. So does a new node.
func TestNodeThatIsFarBehindGetsACopy(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3)
	leader := g.lead(g.nodes...)
	leader.mustPay(1)
	behind := others(g, leader)[0]
	behind.stop()
	for i := range 30 {
		leader.mustPay(uint64(i + 2))
	}
	if err := leader.Replica.Snapshot(); err != nil {
		t.Fatal(err)
	}
	behind.connect()
	g.join()
	behind.start()
	g.wantEqual(g.nodes...)

	added := &node{t: t, name: "n4", dir: t.TempDir()}
	g.nodes = append(g.nodes, added)
	added.connect()
	g.join()
	added.start()
	if err := leader.Replica.Add(raft.Member{Name: "n4", Address: "n4"}, true, time.Minute); err != nil {
		t.Fatal(err)
	}
	leader.mustPay(100)
	g.wantEqual(g.nodes...)
	behind.stop()
	behind.connect()
	g.join()
	behind.start() // its log and its store begin after the copy
	leader.mustPay(101)
	g.wantEqual(g.nodes...)
	if got := leader.events(); got != 33 {
		t.Errorf("%d events", got)
	}
}

// A store that was set back to an earlier state is refused, because its node could help to elect a leader without the groups
// that it has acknowledged.
func TestStoreThatWasSetBackIsRefused(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 1)
	n := g.lead(g.nodes...)
	n.mustPay(1)
	n.stop()
	earlier := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(earlier, os.DirFS(filepath.Join(n.dir, "store"))); err != nil {
		t.Fatal(err)
	}
	n.connect()
	n.start()
	g.lead(n).mustPay(2)
	if err := n.Replica.Snapshot(); err != nil {
		t.Fatal(err)
	}
	n.stop()
	if err := os.RemoveAll(filepath.Join(n.dir, "store")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(n.dir, "store"), os.DirFS(earlier)); err != nil {
		t.Fatal(err)
	}
	n.connect()
	if err := n.open(); err == nil || !bytes.Contains([]byte(err.Error()), []byte("lost or set back")) {
		t.Errorf("a store that was set back: %v", err)
	}
	n.Shard = nil
	// Without Raft's files the node does not know for whom it has voted.
	if err := os.RemoveAll(filepath.Join(n.dir, "raft")); err != nil {
		t.Fatal(err)
	}
	n.connect()
	if err := n.open(); err == nil || !bytes.Contains([]byte(err.Error()), []byte("Raft's files were lost")) {
		t.Errorf("a store without Raft's files: %v", err)
	}
	n.Shard = nil
}
