package crash

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/bench/orders"
	"mizan/bench/server"
	"mizan/internal/testkit"
)

const (
	maxReadyTime  = 5 * time.Second // a slower start breaks invariant 3 in doc.go
	readyTimeout  = 2 * time.Minute // after this time the server counts as hanging
	loadTimeout   = 5 * time.Minute // longest wait for the responses that precede a kill
	finishTimeout = 5 * time.Minute // longest wait until every transaction is final

	// Bounds of the random moment of a kill. A loaded server is killed after a number of responses, a server in recovery after a
	// time since its start.
	minAnswers, maxAnswers           = 20, 1_000
	minRecoveryTime, maxRecoveryTime = 5 * time.Millisecond, 300 * time.Millisecond
)

// campaign kills one server again and again on one data directory.
type campaign struct {
	t               *testing.T
	random          *rand.Rand
	seed            uint64
	kills           int
	manualClock     bool
	checksReadyTime bool // a slow start fails the test; true if the machine does nothing else meanwhile

	dir           string // the server's data directory
	canariesFile  string // path of the file with the texts of canaries
	log           *os.File
	book          *orders.Book      // the clients' requests and responses
	openingTotals map[string]totals // env → the partner's totals before the first order
	fastestStart  time.Duration     // duration of the fastest start
	slowestStart  time.Duration
}

func newCampaign(t *testing.T, seed uint64, kills int, manualClock bool) *campaign {
	t.Helper()
	t.Logf("MIZAN_SEED=%d repeats this campaign's choices", seed)
	root, err := os.MkdirTemp("", "mizan-crash-")
	if err != nil {
		t.Fatal(err)
	}
	c := &campaign{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), seed: seed, kills: kills, manualClock: manualClock,
		dir: filepath.Join(root, "data"), canariesFile: filepath.Join(root, "canaries"), openingTotals: make(map[string]totals),
	}
	if c.book, err = orders.Open(filepath.Join(root, "answers"), "crash"); err != nil {
		t.Fatal(err)
	}
	if c.log, err = os.Create(filepath.Join(root, "server.log")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.canariesFile, []byte(strings.Join(canaries(), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = c.book.Close(), c.log.Close()
		if t.Failed() {
			t.Logf("what is left is in %s", root)
			return
		}
		_ = os.RemoveAll(root)
	})
	return c
}

// canaries returns texts that must not be in any file: the cardholder and the card numbers.
func canaries() []string {
	list := []string{orders.Cardholder}
	for card := range orders.Outcomes {
		list = append(list, card)
	}
	slices.Sort(list)
	return list
}

func (c *campaign) run() {
	c.open()
	for kill := range c.kills {
		if kill%2 == 1 {
			c.killDuringRecovery()
		} else {
			c.killUnderLoad(kill)
		}
		c.inspect()
	}
	c.finish()
	n := c.book.Counts()
	c.t.Logf("%d kills, %d orders, %d answers, %d requests without one, ended as %v, ready after %v to %v",
		c.kills, n.Orders, n.Answered, n.Unanswered, n.Statuses,
		c.fastestStart.Round(time.Millisecond), c.slowestStart.Round(time.Millisecond))
}

// launch starts the server without waiting until it is ready.
func (c *campaign) launch() *server.Server {
	c.t.Helper()
	args := []string{"--log-level", "warn", "--provider-timeout", "1s", "--create-wait", "2s"}
	if c.manualClock {
		args = append(args, "--clock", "manual")
	}
	s, err := server.Start(server.Options{Binary: testkit.Binary(c.t), Dir: c.dir, TLS: "off", Args: args, Log: c.log})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		select {
		case <-s.Exited():
		default:
			_ = s.Kill()
		}
	})
	return s
}

// start starts the server and waits until the server is ready.
func (c *campaign) start() *server.Server {
	c.t.Helper()
	s := c.launch()
	ctx, cancel := context.WithTimeout(c.t.Context(), readyTimeout)
	defer cancel()
	if err := s.WaitReady(ctx); err != nil {
		c.t.Fatal(err)
	}
	if c.fastestStart == 0 || s.ReadyAfter < c.fastestStart {
		c.fastestStart = s.ReadyAfter
	}
	if c.slowestStart = max(c.slowestStart, s.ReadyAfter); c.checksReadyTime && s.ReadyAfter > maxReadyTime {
		c.t.Errorf("ready after %v, more than %v", s.ReadyAfter, maxReadyTime)
	}
	return s
}

func (c *campaign) stop(s *server.Server) {
	c.t.Helper()
	if err := s.Stop(time.Minute); err != nil {
		c.t.Fatal(err)
	}
}

func (c *campaign) kill(s *server.Server) {
	c.t.Helper()
	if err := s.Kill(); err != nil {
		c.t.Fatal(err)
	}
}

// open creates the store and reads the partner's totals before the first order.
func (c *campaign) open() {
	c.t.Helper()
	s := c.start()
	c.book.Organization = s.Sandbox.OrganizationID
	c.openingTotals = c.totals(s)
	c.stop(s)
}

// killUnderLoad kills the server while all clients send requests, some of them concurrent creates.
func (c *campaign) killUnderLoad(kill int) {
	c.t.Helper()
	s := c.start()
	noDelays := kill*3 > c.kills*2 // in the last third of the kills: an order that is delayed could end after the campaign
	clientPool, err := orders.NewPool(c.book, &s.Sandbox, noDelays)
	if err != nil {
		c.t.Fatal(err)
	}
	defer clientPool.Close()
	answers := minAnswers + c.random.IntN(maxAnswers-minAnswers)
	enoughAnswers := c.book.AfterResponses(answers)
	startRace := c.book.AfterResponses(max(1, answers-c.random.IntN(orders.ConcurrentCreates)))

	ctx, cancel := context.WithTimeout(c.t.Context(), loadTimeout)
	defer cancel()
	var workers sync.WaitGroup
	for i := range orders.Clients {
		random := rand.New(rand.NewPCG(c.seed, uint64(kill*orders.Clients+i+1)))
		workers.Go(func() { clientPool.Work(ctx, random) })
	}
	workers.Go(func() {
		random := rand.New(rand.NewPCG(c.seed, uint64(kill+1)<<32))
		select {
		case <-startRace:
			clientPool.Race(ctx, random)
		case <-ctx.Done():
		}
	})
	if c.manualClock {
		workers.Go(func() { c.moveClock(ctx, clientPool, kill) })
	}
	select {
	case <-enoughAnswers:
	case <-s.Exited():
		c.t.Errorf("the server ended by itself:\n%s", s.StderrEnd())
	case <-ctx.Done():
		c.t.Errorf("%d answers did not come within %v", answers, loadTimeout)
	}
	if !c.t.Failed() {
		c.kill(s)
	}
	cancel()
	workers.Wait()
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// moveClock occasionally moves a manual clock during the load.
func (c *campaign) moveClock(ctx context.Context, clientPool *orders.Pool, kill int) {
	random := rand.New(rand.NewPCG(c.seed, uint64(kill+1)<<48))
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.book.AfterResponses(50 + random.IntN(100)):
		}
		if err := clientPool.Advance(ctx, 1+random.IntN(5)); err != nil {
			c.t.Error(err)
			return
		}
	}
}

// killDuringRecovery kills the server shortly after its start.
func (c *campaign) killDuringRecovery() {
	c.t.Helper()
	s := c.launch()
	maxWait := maxRecoveryTime
	if c.random.IntN(2) == 0 { // a short wait, so that the kill certainly comes before the server is ready
		maxWait = max(min(maxWait, c.fastestStart), 2*minRecoveryTime)
	}
	wait := minRecoveryTime + time.Duration(c.random.Int64N(int64(maxWait-minRecoveryTime)))
	select {
	case <-s.Exited():
		c.t.Fatalf("the server ended by itself while it started:\n%s", s.StderrEnd())
	case <-time.After(wait):
	}
	c.kill(s)
}

// finish waits until every transaction is final, and compares the orders with the ledger, the stored transactions and
// the provider's log.
func (c *campaign) finish() {
	c.t.Helper()
	s := c.start()
	clientPool, err := orders.NewPool(c.book, &s.Sandbox, true)
	if err != nil {
		c.t.Fatal(err)
	}
	defer clientPool.Close()
	ctx, cancel := context.WithTimeout(c.t.Context(), finishTimeout)
	defer cancel()

	b := c.book
	c.repeatWhile(ctx, "answered", func(r *orders.State) bool { return r.ID == "" }, func(list []*orders.Order) {
		clientPool.Each(list, func(o *orders.Order) { clientPool.Create(ctx, o) })
	})
	c.repeatWhile(ctx, "final", func(r *orders.State) bool { return !r.Final() }, func(list []*orders.Order) {
		if c.manualClock {
			if err := clientPool.Advance(ctx, 5); err != nil {
				c.t.Fatal(err)
			}
		}
		clientPool.Each(list, func(o *orders.Order) { clientPool.Read(ctx, o) })
	})
	unansweredBefore := b.Counts().Unanswered
	clientPool.Each(b.Matching(func(*orders.State) bool { return true }), func(o *orders.Order) { clientPool.Read(ctx, o) })
	if b.Counts().Unanswered != unansweredBefore {
		c.t.Errorf("%d of the last reads had no answer", b.Counts().Unanswered-unansweredBefore)
	}
	c.compareTotals(c.totals(s))
	c.stop(s)
	c.inspect()
	c.compareStore()
	c.searchLog()
}

// repeatWhile calls fn with the list of orders whose last state matches, again and again, until no order's state matches. goal
// is an adjective for the error message: what all orders should be in the end.
func (c *campaign) repeatWhile(ctx context.Context, goal string, matches func(*orders.State) bool, fn func(list []*orders.Order)) {
	c.t.Helper()
	for list := c.book.Matching(matches); len(list) > 0; list = c.book.Matching(matches) {
		fn(list)
		if errs := c.book.TakeErrors(); len(errs) > 0 {
			c.t.Fatalf("%d wrong responses, for example %v", len(errs), errs[0])
		}
		select {
		case <-ctx.Done():
			c.t.Fatalf("%d orders are not %s after %v, for example %s: %s", len(list), goal, finishTimeout, list[0].TxID, orders.StateText(&list[0].Last))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
