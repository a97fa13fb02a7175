package cluster

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"mizan/internal/testkit"
)

// maxOutage is the longest time for which a fault may keep a shard from accepting payments. The time usually is about a second;
// the bound leaves room for a busy machine.
const maxOutage = 15 * time.Second

// The kinds of faults.
const (
	killLeader     = "leader killed"
	killFollower   = "follower killed"
	pauseLeader    = "leader paused 1 to 4 s"
	pauseFollower  = "follower paused 1 to 4 s"
	transferLead   = "lead transferred"
	stopLeader     = "leader stopped in order"
	killCutOff     = "leader killed while its followers are paused"
	askOldLeader   = "leader paused, then asked for what is new"
	minPause       = time.Second
	maxPause       = 4 * time.Second
	maxRestartWait = time.Second
)

var kinds = []string{killLeader, killFollower, pauseLeader, pauseFollower, transferLead, stopLeader, killCutOff, askOldLeader}

// report has the times until shards accepted payments again, by kind of fault.
type report struct {
	mu      sync.Mutex
	outages map[string][]time.Duration
	failed  map[string]int
	totals  map[string]int // answers by kind of request and outcome
}

func newReport() *report {
	return &report{outages: make(map[string][]time.Duration), failed: make(map[string]int), totals: make(map[string]int)}
}

func (r *report) add(kind string, outage time.Duration, isAccepted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outages[kind] = append(r.outages[kind], outage)
	if !isAccepted {
		r.failed[kind]++
	}
}

// print logs the table of all faults, and the numbers of answers.
func (r *report) print(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "fault\ttried\tfirst accepted write: p50\tp99\tmax\tnot within "+maxOutage.String())
	for _, kind := range kinds {
		list := slices.Clone(r.outages[kind])
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		at := func(q float64) time.Duration { return list[int(q*float64(len(list)-1)+0.5)].Round(time.Millisecond) }
		fmt.Fprintf(columns, "%s\t%d\t%v\t%v\t%v\t%d\n", kind, len(list), at(0.5), at(0.99), at(1), r.failed[kind])
	}
	_ = columns.Flush() // a strings.Builder returns no error
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range r.totals {
			if !yield(name) {
				return
			}
		}
	}) {
		fmt.Fprintf(&text, "%s %d\n", name, r.totals[name])
	}
	t.Logf("\n%s", text.String())
}

// campaign injects faults into one cluster, and judges it at the end.
type campaign struct {
	*sandbox
	*pool
	t      *testing.T
	random *rand.Rand
	report *report
	seed   uint64
}

func newCampaign(t *testing.T, seed uint64, r *report) *campaign {
	t.Helper()
	s := startSandbox(t)
	s.awaitWhole(nodes, 1000)
	return &campaign{sandbox: s, pool: newPool(s, seed), t: t, random: rand.New(rand.NewPCG(seed, 0)), report: r, seed: seed}
}

// run injects faults while the clients work. Each kind comes as often as the others. The test's own end comes after all faults,
// or after the time.
func (c *campaign) run(count int) {
	stop := c.load(c.seed)
	var deck []string
	for range count {
		if len(deck) == 0 {
			deck = slices.Clone(kinds)
			c.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		c.inject(deck[0])
		deck = deck[1:]
		if c.t.Failed() {
			break
		}
		<-time.After(time.Duration(c.random.Int64N(int64(500 * time.Millisecond))))
		c.awaitWhole(nodes, 1000)
	}
	stop()
	c.judge()
}

// duration draws a time.
func (c *campaign) duration(from, to time.Duration) time.Duration {
	return from + time.Duration(c.random.Int64N(int64(to-from)))
}

// inject injects one fault into a node that leads or follows a shard, and measures how long the shard accepts nothing.
func (c *campaign) inject(kind string) {
	tn := c.tenants[c.random.IntN(len(c.tenants))]
	pause, restart := c.duration(minPause, maxPause), c.duration(0, maxRestartWait)
	which := c.random.IntN(nodes - 1)
	probes := rand.New(rand.NewPCG(c.seed, c.random.Uint64()))
	leader, followers := c.roles(tn.shard)
	follower := followers[which%len(followers)]
	began := time.Now()
	mend := func() {} // ends the fault
	isEnough := func(node string) bool { return node != leader }
	anyNode := func(string) bool { return true }
	switch kind {
	case killLeader:
		c.kill(leader)
		mend = func() { <-time.After(restart); c.sandbox.start(leader) }
	case killFollower:
		c.kill(follower)
		mend, isEnough = func() { <-time.After(restart); c.sandbox.start(follower) }, anyNode
	case pauseLeader, pauseFollower:
		paused := leader
		if kind == pauseFollower {
			paused, isEnough = follower, anyNode
		}
		c.sandbox.signal(paused, syscall.SIGSTOP)
		ended := c.resumeAfter(pause, paused)
		mend = func() { <-ended }
		if kind == pauseLeader { // if the pause was too short for an election, the leader continues
			isEnough = otherOrAfter(leader, ended)
		}
	case transferLead:
		ended := make(chan struct{})
		go func() { defer close(ended); c.transfer(tn.shard, leader, follower) }()
		mend = func() { <-ended }
		isEnough = otherOrAfter(leader, ended) // if the transfer is refused, the leader continues
	case stopLeader:
		m := c.member(leader)
		m.signal(syscall.SIGTERM)
		mend = func() {
			testkit.WaitUntil(c.t, "node "+leader+" has stopped", func() bool { return !m.runs() })
			<-time.After(restart)
			c.sandbox.start(leader)
		}
	case killCutOff:
		answered := c.killWithoutMajority(tn, leader, followers, pause/2)
		began = time.Now()
		mend = func() { c.sandbox.start(leader); answered() }
	case askOldLeader:
		c.sandbox.pause(leader)
		mend = func() { c.askPaused(tn, leader) }
	}
	first, isAccepted, wait := c.probe(tn, probes, maxOutage, isEnough)
	outage := maxOutage
	if isAccepted {
		outage = first.at.Sub(began)
	}
	c.report.add(kind, outage, isAccepted)
	c.t.Logf("%s: shard %d, leader %s, follower %s: accepted by %s after %v", kind, tn.shard, leader, follower, first.node, outage.Round(time.Millisecond))
	if !isAccepted {
		c.t.Errorf("%s: shard %d has accepted nothing for %v", kind, tn.shard, maxOutage)
	}
	mend()
	wait()
}

// payersOfOne is how many requests a node gets that must not acknowledge any, or whose answers must not be stale.
const payersOfOne = 8

// killWithoutMajority pauses the followers of a leader, sends payments to the leader, and kills it. The leader must acknowledge
// none of the payments, because only its own disk has them. Then the followers continue. answered waits for the last answers.
func (c *campaign) killWithoutMajority(tn *tenant, leader string, followers []string, pause time.Duration) (answered func()) {
	for _, f := range followers {
		c.sandbox.pause(f)
	}
	var sending sync.WaitGroup
	node := slices.Index(c.names, leader)
	random := rand.New(rand.NewPCG(c.seed, c.random.Uint64()))
	for range payersOfOne {
		pm := c.add(tn, random)
		sending.Go(func() {
			if a := c.create(pm, node, 0); a.status == http.StatusCreated {
				c.complain("txid %s: %s has acknowledged a payment while both other nodes were paused", pm.txid, leader)
			}
		})
	}
	<-time.After(pause)
	c.kill(leader)
	for _, f := range followers {
		c.sandbox.signal(f, syscall.SIGCONT)
	}
	return sending.Wait
}

// askPaused refunds payments while a former leader is paused, sends it requests for these payments, and then lets it continue. It
// must answer as the others would, or with 503.
func (c *campaign) askPaused(tn *tenant, paused string) {
	var asking sync.WaitGroup
	old := slices.Index(c.names, paused)
	other := (old + 1) % len(c.names)
	payments := tn.all()
	for i, asked := len(payments)-1, 0; i >= 0 && asked < payersOfOne; i-- {
		pm := payments[i]
		if pm.shown().Status != "charged" {
			continue
		}
		if a := c.giveBack(pm, other); a.status != http.StatusOK || a.view().Status != "refunded" {
			continue
		}
		asked++
		c.count("asked a paused leader")
		asking.Go(func() {
			if a := c.read(pm, old); a.status == http.StatusOK && a.view().Status != "refunded" {
				c.complain("txid %s: %s, which was paused while another node led, answers with the status %s of before", pm.txid, paused, a.view().Status)
			}
		})
	}
	<-time.After(100 * time.Millisecond) // the requests are in the buffers of the paused node
	c.sandbox.signal(paused, syscall.SIGCONT)
	asking.Wait()
}

// otherOrAfter returns a function that is true for all nodes but one, and after the channel is closed for all.
func otherOrAfter(one string, ended <-chan struct{}) func(string) bool {
	return func(node string) bool {
		select {
		case <-ended:
			return true
		default:
			return node != one
		}
	}
}

// resumeAfter continues a paused node after a time. The channel is closed then.
func (s *sandbox) resumeAfter(pause time.Duration, name string) <-chan struct{} {
	m, ended := s.member(name), make(chan struct{})
	time.AfterFunc(pause, func() {
		m.signal(syscall.SIGCONT)
		close(ended)
	})
	return ended
}

// transfer hands the lead of a shard to a node. The cluster may refuse, for example while the node is too busy to catch up.
func (c *campaign) transfer(shard int, from, to string) {
	m := c.member(from)
	body := map[string]any{"shard": shard, "node": to}
	if err := c.sandbox.ask(&m, http.MethodPost, "/cluster/transfer", body, new(any)); err != nil {
		c.t.Logf("the lead of shard %d from %s to %s was not transferred: %v", shard, from, to, err)
		c.count("transfer refused")
	}
}
