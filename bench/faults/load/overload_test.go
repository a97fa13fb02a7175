package load

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"mizan/bench/generator"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// scale has the sizes and bounds of an overload.
type scale struct {
	partners    int
	pending     int           // number of notifications to dead receivers
	offering    int           // number of connections that offer payments
	idle, slow  int           // numbers of idle and of slow connections beside them
	round       time.Duration // duration of each round
	repetitions int           // how often the compared rounds are repeated

	minGoodput float64       // least rate of charged payments, as a fraction of the capacity or, if less is offered, of that
	maxAnswer  time.Duration // maximum p99 latency of charged payments, measured by a client on the same busy machine
	maxHealth  time.Duration
	maxMemory  int64
}

// factors are the multiples of the capacity that are offered. Rounds at the last one are repeated.
var factors = []float64{0.5, 1, 2, 5}

var (
	// A test machine has few cores, and other tests run on them, so the bounds are wide.
	testScale = scale{
		partners: 200, pending: 2_000, offering: 1_500, idle: 800, slow: 90, round: 600 * time.Millisecond, repetitions: 1,
		minGoodput: 0.4, maxAnswer: 5 * time.Second, maxHealth: 2 * time.Second, maxMemory: 1 << 30,
	}
	soakScale = scale{
		partners: 10_000, pending: 100_000, offering: 10_000, idle: 9_000, slow: 600, round: 4 * time.Second, repetitions: 3,
		minGoodput: 0.9, maxAnswer: time.Second, maxHealth: 500 * time.Millisecond, maxMemory: 3 << 29,
	}
)

const (
	capacityConnections = 256
	deadPartners        = 40
	answerTimeout       = time.Minute

	// minOffered is the least number of payments a second that a round offers, even if the measured capacity is zero.
	minOffered = 20

	// maxByOthers is the fraction of the machine's processors that other processes may use in a round whose times and rates are
	// judged.
	maxByOthers = 0.1
)

func TestServerSurvivesOverload(t *testing.T) {
	if testing.Short() {
		t.Skip("loads a server for some seconds")
	}
	newOverload(t, testScale).run()
}

// TestSoakOverload is TestServerSurvivesOverload at full size. MIZAN_SOAK has no effect on its length.
func TestSoakOverload(t *testing.T) {
	testseed.SoakTime(t)
	newOverload(t, soakScale).run()
}

// overload is a server and everything that loads it.
type overload struct {
	*testServer
	scale    scale
	keys     []string // API keys of the partners without notifications
	dead     []string // API keys of the partners whose receivers are dead
	dialer   *generator.Dialer
	payments *payments
	memory   *peakMemory
	prober   prober
	merchant *merchant
	crowd    crowd
	next     uint64 // number of the next payment
	rounds   []round
}

// round is the result of one round of load.
type round struct {
	factor  float64 // offered load as a multiple of the capacity; 0: the round has measured the capacity
	offered float64 // payments a second
	outcome generator.Outcome
	slowest time.Duration
	health  distribution
	memory  int64
	used    cpuUse
}

// isUndisturbed tells whether other processes used so little of the processors that times and rates are meaningful.
func (r *round) isUndisturbed() bool { return r.used.byOthers() <= maxByOthers }

func newOverload(t *testing.T, sc scale) *overload {
	t.Helper()
	handles := raiseHandles(t)
	if need := sc.offering + sc.idle + sc.slow + 2_000; handles < need {
		t.Logf("%d open files are allowed here, %d are needed: fewer connections are idle", handles, need)
		sc.idle = max(0, sc.idle-(need-handles))
	}
	dir := filepath.Join(t.TempDir(), "data")
	numbers, keys := addMerchants(t, dir, sc.partners)
	o := &overload{testServer: startServer(t, dir), scale: sc, keys: keys[deadPartners+1:], dead: keys[1 : deadPartners+1]}
	var err error
	if o.dialer, err = generator.NewDialer(o.Sandbox.BaseURL, nil); err != nil {
		t.Fatal(err)
	}
	receivers := deadReceivers(t)
	for i, number := range numbers[1 : deadPartners+1] {
		o.setReceiver(number, receivers[i%len(receivers)])
	}
	o.merchant = &merchant{key: keys[0], receiver: newLivingReceiver(t), charged: make(map[string]time.Time)}
	o.setReceiver(numbers[0], o.merchant.receiver.URL)
	return o
}

func (o *overload) setReceiver(partner int64, url string) {
	o.admin(http.MethodPatch, "/api/v1/partners/"+strconv.FormatInt(partner, 10), map[string]any{"notify_url": url, "secret": "s"}, nil)
}

// run loads the server and checks the results.
func (o *overload) run() {
	o.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(1, runtime.NumCPU()/4))) // most cores are the server's
	o.fillNotifications()
	o.payments = newPayments(o.dialer.Host(), &o.Sandbox, "overload-", o.keys)
	o.memory = watchMemory(o.PID())
	defer o.memory.stop()
	ctx, cancel := context.WithCancel(o.Context())
	var companions sync.WaitGroup
	defer func() { cancel(); companions.Wait(); o.crowd.clients.Wait() }()

	open, err := generator.OpenConnections(ctx, o.dialer, o.scale.offering)
	if err != nil {
		o.Fatal(err)
	}
	defer open.Close()
	o.introduce(open)
	o.crowd.idle(ctx, o.testServer, o.scale.idle, o.keys[0])
	o.crowd.slow(ctx, o.testServer, o.scale.slow, o.keys[0])
	companions.Go(func() { o.prober.run(ctx, o.testServer) })
	companions.Go(func() { o.merchant.run(ctx, o.testServer) })
	o.load(0, 0, nil) // a first round warms the server up; its result is dropped
	o.rounds = nil
	for repetition := range o.scale.repetitions {
		capacity := o.load(0, 0, nil)
		offered := factors
		if repetition > 0 {
			offered = factors[len(factors)-1:]
		}
		for _, factor := range offered {
			o.load(factor, max(factor*capacity.PerSecond, minOffered), open)
		}
	}
	o.load(0, 0, nil)
	cancel()
	companions.Wait()
	o.print()
	o.check()
}

// fillNotifications makes payments of the merchants whose receivers are dead.
func (o *overload) fillNotifications() {
	o.Helper()
	began := time.Now()
	p := newPayments(o.dialer.Host(), &o.Sandbox, "dead-", o.dead)
	l := &generator.Load{
		Dialer: o.dialer, NewJob: p.job, Connections: capacityConnections, Limit: uint64(o.scale.pending), Timeout: answerTimeout, Figures: generator.NewFigures(),
	}
	if err := l.Run(o.Context(), 0); err != nil {
		o.Fatal(err)
	}
	outcome := l.Figures.Outcome()
	o.Logf("%d payments of merchants whose receivers are dead, in %.1f s; errors: %s", outcome.Good, time.Since(began).Seconds(), outcome.ErrorText())
}

// introduce makes payments over all open connections, so that the server regards them as connections of active clients.
// Otherwise it would close these connections to make room for the idle and slow ones.
func (o *overload) introduce(open *generator.Connections) {
	o.Helper()
	l := &generator.Load{
		Dialer: o.dialer, NewJob: o.payments.job, Open: open, Limit: 2 * uint64(o.scale.offering), Timeout: answerTimeout, Figures: generator.NewFigures(),
	}
	if err := l.Run(o.Context(), o.next); err != nil {
		o.Fatal(err)
	}
	o.next = l.NextNumber()
}

// load offers payments for one round. If factor is not 0, it offers rate payments a second over the open connections. Otherwise
// it measures the capacity: it opens capacityConnections connections, each of which sends the next payment after a response.
func (o *overload) load(factor, rate float64, open *generator.Connections) generator.Outcome {
	o.Helper()
	o.prober.take()
	o.memory.takePeak()
	o.payments.takeSlowest()
	l := &generator.Load{
		Dialer: o.dialer, NewJob: o.payments.job, Connections: capacityConnections, Open: open, Duration: o.scale.round, Rate: rate,
		Timeout: answerTimeout, Figures: generator.NewFigures(),
	}
	before := o.cpuTimes()
	if err := l.Run(o.Context(), o.next); err != nil {
		o.Fatal(err)
	}
	o.next = l.NextNumber()
	r := round{factor, rate, l.Figures.Outcome(), o.payments.takeSlowest(), o.prober.take(), o.memory.takePeak(), o.cpuTimes().since(before)}
	o.rounds = append(o.rounds, r)
	return r.outcome
}

// goodput returns a ratio for each round at the factor: its charged payments a second, divided by the capacity. The capacity is
// the mean of those measured before and after the round. goodput also returns whether all these rounds were undisturbed.
func (o *overload) goodput(factor float64) (ratios []float64, isUndisturbed bool) {
	isUndisturbed = true
	for i := range o.rounds {
		if o.rounds[i].factor != factor {
			continue
		}
		before, after := i, i
		for o.rounds[before].factor != 0 {
			before--
		}
		for o.rounds[after].factor != 0 {
			after++
		}
		ratios = append(ratios, 2*o.rounds[i].outcome.PerSecond/(o.rounds[before].outcome.PerSecond+o.rounds[after].outcome.PerSecond))
		isUndisturbed = isUndisturbed && o.rounds[i].isUndisturbed() && o.rounds[before].isUndisturbed() && o.rounds[after].isUndisturbed()
	}
	slices.Sort(ratios)
	return ratios, isUndisturbed
}

func (o *overload) print() {
	o.Helper()
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "offered\tper second\tcharged/s\tCPU µs each\tp99, slowest ms\thealth p50, p99, max ms\tmemory MiB\tother processes\tnot charged")
	for _, r := range o.rounds {
		name := "capacity"
		if r.factor > 0 {
			name = fmt.Sprintf("%g x", r.factor)
		}
		_, _ = fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t%.0f, %.0f\t%v\t%d\t%.0f%%\t%s\n", name, r.offered, r.outcome.PerSecond, r.used.server.Seconds()*1e6/float64(max(r.outcome.Good, 1)), r.outcome.SinceSentP99, milliseconds(r.slowest), r.health, r.memory>>20, 100*r.used.byOthers(), r.outcome.ErrorText())
	}
	_ = w.Flush()
	o.Logf("\n%s", &text)
	for _, factor := range factors {
		ratios, isUndisturbed := o.goodput(factor)
		o.Logf("%g x: %.2f of the capacity around it are charged; undisturbed: %v", factor, ratios, isUndisturbed)
	}
	o.Logf("of %d charged payments %d were answered later than %v", o.payments.charged.Load(), o.payments.late.Load(), maxAnswerTime)
	o.Logf("%d idle and slow connections opened, %d closed by the server; the merchant with a receiver: %d charged, %d refused, %d not yet notified, delays %v ms",
		o.crowd.opened.Load(), o.crowd.closed.Load(), len(o.merchant.charged), o.merchant.refused, o.merchant.missing(), o.merchant.delays())
}

// check checks the invariants in doc.go.
func (o *overload) check() {
	o.Helper()
	for _, factor := range factors {
		want := o.scale.minGoodput * min(factor, 1)
		if ratios, isUndisturbed := o.goodput(factor); isUndisturbed && ratios[len(ratios)/2] < want {
			o.Errorf("if %g times the capacity are offered, %.2f of the capacity are charged, want %.2f", factor, ratios, want)
		}
	}
	for i := range o.rounds {
		r := &o.rounds[i]
		if r.memory > o.scale.maxMemory {
			o.Errorf("%g x: %d MiB of anonymous memory", r.factor, r.memory>>20)
		}
		if !r.isUndisturbed() {
			continue
		}
		if r.outcome.SinceSentP99 > milliseconds(o.scale.maxAnswer) {
			o.Errorf("%g x: the p99 of charged payments is %.0f ms", r.factor, r.outcome.SinceSentP99)
		}
		if r.health.p99 > o.scale.maxHealth {
			o.Errorf("%g x: the health check's p99 is %v", r.factor, r.health.p99)
		}
	}
	if len(o.prober.wrong) > 0 {
		o.Errorf("%d health checks failed, for example %s", len(o.prober.wrong), o.prober.wrong[0])
	}
	testkit.WaitUntil(o, "the merchant with a receiver is notified of each charged payment", func() bool { return o.merchant.missing() == 0 })
	o.stopAndVerify()
}
