package cluster_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/internal/peer"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/cluster"
	"mizan/posting/log/raft"
	"mizan/posting/store"
)

var quiet = slog.New(slog.DiscardHandler)

// engine counts how many engines of a shard run on one node.
type engine struct {
	node    *member
	shard   int
	journal *posting.Journal
}

func (e *engine) Quit() {}

func (e *engine) Stop() {
	e.node.mu.Lock()
	defer e.node.mu.Unlock()
	e.node.running[e.shard]--
}

// member is a node of the cluster under test.
type member struct {
	*cluster.Node
	link *peer.Link

	mu      sync.Mutex
	running map[int]int // guarded by mu: engines by shard
}

const shards = 4

// newCluster starts three nodes.
func newCluster(t *testing.T) (nodes []*member) {
	t.Helper()
	dir := t.TempDir()
	names := []string{"n1", "n2", "n3"}
	if err := peer.MakeCertificates(dir, names, time.Now()); err != nil {
		t.Fatal(err)
	}
	var members []raft.Member
	for _, name := range names {
		id, err := peer.ReadIdentity(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		link, err := peer.Listen("127.0.0.1:0", id, raft.Protocol)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, &member{link: link, running: make(map[int]int)})
		members = append(members, raft.Member{Name: name, Address: link.Addr().String()})
	}
	for i, m := range nodes {
		var err error
		m.Node, err = cluster.Open(cluster.Options{
			Dir: t.TempDir(), Name: names[i], Address: members[i].Address, Members: members, Shards: shards, Transports: raft.NewStreams(m.link.Protocol(raft.Protocol), m.link.Dialer(raft.Protocol), quiet), Store: store.Options{MemTable: 8 << 20, Log: quiet},
			Keyring: [32]byte{7}, Journal: posting.Options{Clock: clock.Real{}, Log: quiet}, Tuning: raft.Tuning{Heartbeat: 2 * time.Second}, Log: quiet,
			Start: m.startEngine, Fatal: func(err error) { t.Errorf("node %s: %v", names[i], err) },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, m := range nodes {
			m.stop(t)
		}
	})
	return nodes
}

func (m *member) startEngine(l *cluster.Lead) (cluster.Engine, error) {
	shard := l.Shard()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running[shard]++; m.running[shard] != 1 {
		return nil, fmt.Errorf("shard %d has %d engines", shard, m.running[shard])
	}
	return &engine{m, shard, l.Journal()}, nil
}

func (m *member) stop(t *testing.T) {
	t.Helper()
	if m.Node == nil {
		return
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := m.link.Close(); err != nil {
		t.Error(err)
	}
	m.Node = nil
	m.mu.Lock()
	defer m.mu.Unlock()
	for shard, n := range m.running {
		if n != 0 {
			t.Errorf("%d engines of shard %d are left", n, shard)
		}
	}
}

// leader waits until one of the nodes serves the shard.
func leader(t *testing.T, nodes []*member, shard int) (m *member, l *cluster.Lead) {
	t.Helper()
	testkit.WaitUntil(t, fmt.Sprintf("a node serves shard %d", shard), func() bool {
		for _, m = range nodes {
			if m.Node == nil {
				continue
			}
			var serves bool
			if l, serves = m.Enter(shard); serves {
				if l.Verify() == nil {
					return true
				}
				l.Leave()
			}
		}
		return false
	})
	return m, l
}

// pay moves money in an organization of the shard.
func pay(l *cluster.Lead) error {
	usd := money.Asset{Currency: "USD", Env: money.Test}
	line := func(path ledger.Path, side ledger.Side) ledger.Posting {
		return ledger.Posting{Account: path, Asset: usd, Side: side, Amount: money.FromUint64(7)}
	}
	answer := make(chan posting.Receipt, 1)
	l.Engine.(*engine).journal.Submit(&posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{{
		Org: ledger.ID{1}, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()},
		Events: []ledger.Event{{Name: "move", To: "done", Entry: &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			line("A:bank", ledger.Debit), line(ledger.PartnerAvailable(1), ledger.Credit),
		}}}},
	}}}, func(r posting.Receipt) { answer <- r })
	return (<-answer).Err
}

// A node that closes hands its shards over; the others serve them with everything that was acknowledged. Only one engine of a
// shard runs at a time.
func TestShardsAreHandedOver(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t)
	for shard := range shards {
		m, l := leader(t, nodes, shard)
		if err := pay(l); err != nil {
			t.Errorf("shard %d on %s: %v", shard, m.Name(), err)
		}
		l.Leave()
	}
	first, l := leader(t, nodes, 1)
	l.Leave()
	before := first.Status()[1]
	first.stop(t)
	for shard := range shards {
		m, l := leader(t, nodes, shard)
		if err := pay(l); err != nil {
			t.Errorf("shard %d on %s: %v", shard, m.Name(), err)
		}
		l.Leave()
		if now := m.Status()[shard]; shard == 1 && now.LastGroup != before.LastGroup+1 {
			t.Errorf("shard 1 has %d groups, and had %d before it got one more", now.LastGroup, before.LastGroup)
		}
	}
}

// After a transfer the old leader has no engine, and its engine's journal refuses changes.
func TestTransferEndsTheEngine(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t)
	old, l := leader(t, nodes, 2)
	engineBefore := l.Engine
	l.Leave()
	var to string
	for _, m := range nodes {
		if m != old {
			to = m.Name()
		}
	}
	if err := old.Transfer(t.Context(), 2, to); err != nil {
		t.Fatal(err)
	}
	testkit.WaitUntil(t, "the other node serves the shard", func() bool {
		m, l := leader(t, nodes, 2)
		defer l.Leave()
		return m.Name() == to && l.Engine != engineBefore
	})
	testkit.WaitUntil(t, "the old engine has ended", func() bool {
		old.mu.Lock()
		defer old.mu.Unlock()
		return old.running[2] == 0
	})
	if err := old.Transfer(t.Context(), 2, to); err == nil {
		t.Error("a node that does not lead hands over the lead")
	}
	if err := old.Transfer(t.Context(), 2, "n9"); err == nil {
		t.Error("the lead goes to a node that does not exist")
	}
}

// A node whose confirmations do not count gets no lead.
func TestNodeWithoutAVoteIsNotAskedToLead(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t)
	m, l := leader(t, nodes, 1)
	defer l.Leave()
	other := "n1"
	if m.Name() == other {
		other = "n2"
	}
	if err := m.Add(1, raft.Member{Name: "n4", Address: "127.0.0.1:1"}, false); err != nil {
		t.Fatal(err)
	}
	if m.MayTakeOver("n4") || !m.MayTakeOver(other) {
		t.Errorf("n4 may take over: %v; %s: %v", m.MayTakeOver("n4"), other, m.MayTakeOver(other))
	}
	if err := m.Transfer(t.Context(), 1, "n4"); err == nil || !strings.Contains(err.Error(), "has no vote in shard 1 yet") {
		t.Errorf("the lead goes to a node without a vote: %v", err)
	}
	if err := l.Verify(); err != nil {
		t.Errorf("the leader has lost its lead: %v", err)
	}
}

// A node that hears no leader and leads nothing is cut off.
func TestNodeThatIsAloneIsCutOff(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t)
	for _, m := range nodes {
		testkit.WaitUntil(t, "node "+m.Name()+" knows a leader", func() bool { return !m.IsCutOff() })
	}
	for _, m := range nodes[1:] {
		m.stop(t)
	}
	testkit.WaitUntil(t, "the node is cut off", nodes[0].IsCutOff)
}

// A node that is alone does not lead, even if it has led until now.
func TestLeadIsVerified(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t)
	m, l := leader(t, nodes, 3)
	defer l.Leave()
	if err := l.MayAct(); err != nil {
		t.Errorf("the leader may not act: %v", err)
	}
	if l.EarlierCallsHaveEnded(time.Hour) {
		t.Error("a call of an hour has ended, although the lead has just begun")
	}
	testkit.WaitUntil(t, "calls of an earlier leader have ended", func() bool { return l.EarlierCallsHaveEnded(time.Millisecond) })
	for _, other := range nodes {
		if other != m {
			other.stop(t)
		}
	}
	if l.Verify() == nil {
		t.Error("a node that is alone leads")
	}
	testkit.WaitUntil(t, "a node that is alone may not act, as soon as its last proof is old", func() bool { return l.MayAct() != nil })
}

// Each organization belongs to a shard other than the platform's, and the shards have about as many.
func TestOrganizationsAreSpread(t *testing.T) {
	t.Parallel()
	counts := make([]int, shards)
	for range 3000 {
		counts[cluster.ShardOf(uuid.New(), shards)]++
	}
	for shard, n := range counts {
		if (n == 0) != (shard == cluster.Platform) || shard != cluster.Platform && (n < 800 || n > 1200) {
			t.Errorf("shard %d has %d of 3000 organizations", shard, n)
		}
	}
	if id := cluster.NewOrganizationID(2, shards); cluster.ShardOf(id, shards) != 2 {
		t.Error("an id for shard 2 belongs to another shard")
	}
}
