package cluster

import (
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// kind is a kind of fault.
type kind struct {
	name   string
	needs  func(equipment) error // why this machine cannot have it; nil: every machine can
	inject func(*campaign, *scene)
}

// scene is a fault under way. inject has the values above the empty line; it sets the others if they differ from their first values.
type scene struct {
	tn        *tenant
	leader    string // of the tenant's shard
	follower  string // one of the others
	followers []string
	lasts     time.Duration // how long the fault lasts, if it does not end by itself
	restart   time.Duration // how long an ended node stays away
	random    *rand.Rand

	began    time.Time
	isEnough func(node string) bool // whether a payment that this node has accepted ends the outage; first: any node
	mend     func()                 // called when the shard has accepted a payment; ends the fault
}

// Names of kinds that tests choose.
const (
	killLeader      = "leader killed"
	pauseLeader     = "leader paused 1 to 4 s"
	replaceFollower = "follower replaced by an empty node"
)

const (
	minLast        = time.Second
	maxLast        = 4 * time.Second
	maxRestartWait = time.Second
)

// kinds are the kinds of faults.
var kinds = slices.Concat(processFaults, moveFaults, networkFaults, diskFaults, clockFaults)

var processFaults = []kind{
	{killLeader, nil, func(c *campaign, s *scene) { c.killOne(s, s.leader); s.isEnough = isNot(s.leader) }},
	{"follower killed", nil, func(c *campaign, s *scene) { c.killOne(s, s.follower) }},
	{pauseLeader, nil, func(c *campaign, s *scene) {
		ended := c.pauseOne(s, s.leader)
		s.isEnough = otherOrAfter(s.leader, ended) // if the pause is too short for an election, the leader continues
	}},
	{"follower paused 1 to 4 s", nil, func(c *campaign, s *scene) { c.pauseOne(s, s.follower) }},
	{"lead transferred", nil, (*campaign).transferLead},
	{"leader stopped in order", nil, (*campaign).stopLeader},
	{replaceFollower, nil, (*campaign).replaceFollower},
	{"leader killed while its followers are paused", nil, (*campaign).killWithoutMajority},
	{"leader paused, then asked for what is new", nil, func(c *campaign, s *scene) {
		c.pause(s.leader)
		s.isEnough = isNot(s.leader)
		s.mend = func() { c.askFormer(s, func() { c.fleet.signal(s.leader, syscall.SIGCONT) }) }
	}},
}

func isNot(name string) func(string) bool { return func(node string) bool { return node != name } }

// kindsVariable is an environment variable with a regular expression that selects kinds of faults; empty: all.
const kindsVariable = "MIZAN_KINDS"

// campaign injects faults into one cluster, and judges it at the end.
type campaign struct {
	*fleet
	*pool
	t      *testing.T
	kinds  []kind // that this machine can have
	random *rand.Rand
	report *report
	seed   uint64
}

// newCampaign starts a cluster of the given number of nodes, which run the given program.
func newCampaign(t *testing.T, size int, program string, seed uint64, r *report) *campaign {
	t.Helper()
	f := startFleet(t, size, program)
	f.awaitWhole(1000)
	c := &campaign{fleet: f, pool: newPool(f, seed), t: t, random: rand.New(rand.NewPCG(seed, 0)), report: r, seed: seed}
	selected, err := regexp.Compile(os.Getenv(kindsVariable))
	if err != nil {
		t.Fatalf("%s: %v", kindsVariable, err)
	}
	for _, k := range kinds {
		if selected.MatchString(k.name) && (k.needs == nil || k.needs(parts()) == nil) {
			c.kinds = append(c.kinds, k)
		}
	}
	if len(c.kinds) == 0 {
		t.Fatalf("%s selects no kind of fault", kindsVariable)
	}
	r.update(func() { r.campaigns++ })
	return c
}

// killShare: one of so many faults is a kill of a leader, in addition to those that are among all kinds.
const killShare = 4

// run injects faults while the clients work. Every kind comes as often as the others, except that leaders are killed more often. The
// end comes after the given number of faults.
func (c *campaign) run(count int) {
	stop := c.load(c.seed)
	var deck []kind
	for range count {
		if len(deck) == 0 {
			deck = slices.Clone(c.kinds)
			for range len(c.kinds) / killShare { // none if few kinds are selected
				deck = append(deck, c.kind(killLeader))
			}
			c.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		c.inject(deck[0])
		deck = deck[1:]
		if c.t.Failed() || c.hasComplaint() {
			break
		}
		<-time.After(c.duration(0, 500*time.Millisecond))
		c.awaitWhole(1000)
	}
	stop()
	c.judge()
}

// kind returns the kind of fault with a name.
func (c *campaign) kind(name string) kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	c.t.Fatalf("there is no kind of fault %q", name)
	return kind{}
}

// duration draws a time.
func (c *campaign) duration(from, to time.Duration) time.Duration {
	return from + time.Duration(c.random.Int64N(int64(to-from)))
}

// inject injects one fault into a node that leads or follows a shard, and measures how long the shard accepts nothing.
func (c *campaign) inject(k kind) {
	s := &scene{tn: c.tenants[c.random.IntN(len(c.tenants))], lasts: c.duration(minLast, maxLast), restart: c.duration(0, maxRestartWait)}
	which := c.random.Uint64()
	s.random = rand.New(rand.NewPCG(c.seed, c.random.Uint64()))
	s.leader, s.followers = c.roles(s.tn.shard())
	s.follower = s.followers[which%uint64(len(s.followers))]
	s.isEnough, s.mend = func(string) bool { return true }, func() {}
	s.began = time.Now()
	k.inject(c, s)
	first, isAccepted, wait := c.probe(s.tn, s.random, maxOutage, s.isEnough)
	outage := maxOutage
	if isAccepted {
		outage = first.at.Sub(s.began)
	}
	c.report.add(k.name, outage, isAccepted)
	c.t.Logf("%s: %s: shard %d, leader %s, follower %s: accepted by %s after %v", s.began.Format("15:04:05.000"), k.name, s.tn.shard(), s.leader, s.follower, first.node, outage.Round(time.Millisecond))
	if !isAccepted {
		c.t.Errorf("%s: shard %d has accepted nothing for %v", k.name, s.tn.shard(), maxOutage)
	}
	s.mend()
	wait()
}

// killOne kills a node, and starts it again.
func (c *campaign) killOne(s *scene, name string) {
	c.kill(name)
	s.mend = func() { <-time.After(s.restart); c.start(name) }
}

// pauseOne pauses a node for a time. The channel is closed when it continues.
func (c *campaign) pauseOne(s *scene, name string) (ended <-chan struct{}) {
	n, done := c.node(name), make(chan struct{})
	n.signal(syscall.SIGSTOP)
	time.AfterFunc(s.lasts, func() {
		n.signal(syscall.SIGCONT)
		close(done)
	})
	s.mend = func() { <-done }
	return done
}

// transferLead hands the lead to a follower. The cluster may refuse, for example while the node is too busy to catch up.
func (c *campaign) transferLead(s *scene) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		body := map[string]any{"shard": s.tn.shard(), "node": s.follower}
		if err := c.ask(c.node(s.leader), http.MethodPost, "/cluster/transfer", body, new(any)); err != nil {
			c.t.Logf("the lead of shard %d from %s to %s was not transferred: %v", s.tn.shard(), s.leader, s.follower, err)
			c.count("transfer refused")
		}
	}()
	s.mend = func() { <-ended }
	s.isEnough = otherOrAfter(s.leader, ended) // if the transfer is refused, the leader continues
}

func (c *campaign) stopLeader(s *scene) {
	c.fleet.signal(s.leader, syscall.SIGTERM)
	s.isEnough = isNot(s.leader)
	s.mend = func() {
		n := c.node(s.leader)
		testkit.WaitUntil(c.t, "node "+s.leader+" has stopped", func() bool { return !n.runs() })
		<-time.After(s.restart)
		c.start(s.leader)
	}
}

// payersOfOne is how many requests a node gets that must not acknowledge any, or whose answers must not be stale.
const payersOfOne = 8

// readsOfEach is how many requests read each payment through a former leader at once, so that some are faster than Raft's news.
const readsOfEach = 8

// killWithoutMajority pauses the followers of a leader, sends payments to the leader, and kills it. The leader must acknowledge
// none of the payments, because only its own disk has them. Then the followers continue.
func (c *campaign) killWithoutMajority(s *scene) {
	for _, f := range s.followers {
		c.pause(f)
	}
	var sending sync.WaitGroup
	node := slices.Index(c.names, s.leader)
	for range payersOfOne {
		pm := c.add(s.tn, s.random)
		sending.Go(func() {
			if a := c.create(pm, node, 0); a.status == http.StatusCreated {
				c.complain("txid %s: %s has acknowledged a payment while all other nodes were paused", pm.txid, s.leader)
			}
		})
	}
	<-time.After(s.lasts / 2)
	c.kill(s.leader)
	for _, f := range s.followers {
		c.fleet.signal(f, syscall.SIGCONT)
	}
	s.began, s.isEnough = time.Now(), isNot(s.leader)
	s.mend = func() { c.start(s.leader); sending.Wait() }
}

// askFormer refunds payments through another node than the former leader of a shard, and then asks the former leader for these
// payments, while release lets it take part again. It must answer as the others would, or with 503.
func (c *campaign) askFormer(s *scene, release func()) {
	var asking sync.WaitGroup
	old := slices.Index(c.names, s.leader)
	other := slices.Index(c.names, s.followers[len(s.followers)-1])
	payments := s.tn.all()
	for i, asked := len(payments)-1, 0; i >= 0 && asked < payersOfOne; i-- {
		pm := payments[i]
		if pm.shown().Status != "charged" {
			continue
		}
		if a := c.giveBack(pm, other); a.status != http.StatusOK || a.view().Status != "refunded" {
			continue
		}
		asked++
		for range readsOfEach {
			c.count("asked a former leader")
			asking.Go(func() {
				if a := c.read(pm, old); a.status == http.StatusOK && a.view().Status != "refunded" {
					c.complain("txid %s: %s, which led before another node, answers with the status %s of before", pm.txid, s.leader, a.view().Status)
				}
			})
		}
	}
	<-time.After(100 * time.Millisecond) // the requests are in the buffers of a paused node
	release()
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
