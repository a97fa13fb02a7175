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
	"mizan/bench/server"
	"mizan/internal/testkit"
)

// scale is how large an overload is.
type scale struct {
	partners    int
	pending     int           // notifications to dead receivers
	offering    int           // connections that offer payments
	idle, slow  int           // connections beside them
	round       time.Duration // of each load
	repetitions int           // of the rounds that are compared

	minGoodput float64       // at five times the capacity, as a fraction of it
	maxAnswer  time.Duration // of 99% of the charged payments of each load, as measured by a client on the same busy machine
	maxHealth  time.Duration
	maxMemory  int64
}

var (
	// A test machine has few cores, and other tests run on them, so the bounds are wide.
	testScale = scale{
		partners: 200, pending: 2_000, offering: 1_500, idle: 800, slow: 90, round: 600 * time.Millisecond, repetitions: 1,
		minGoodput: 0.4, maxAnswer: 5 * time.Second, maxHealth: 2 * time.Second, maxMemory: 1 << 30,
	}
	soakScale = scale{
		partners: 10_000, pending: 100_000, offering: 10_000, idle: 9_000, slow: 600, round: 6 * time.Second, repetitions: 3,
		minGoodput: 0.9, maxAnswer: time.Second, maxHealth: 500 * time.Millisecond, maxMemory: 3 << 29,
	}
)

const (
	capacityConnections = 256
	deadPartners        = 40
	answerTimeout       = time.Minute
)

func TestServerSurvivesOverload(t *testing.T) {
	if testing.Short() {
		t.Skip("loads a server for some seconds")
	}
	newOverload(t, testScale).run()
}

// TestSoakOverload is the same at full size. MIZAN_SOAK has no effect on its length.
func TestSoakOverload(t *testing.T) {
	if soakTime(t) == 0 {
		t.Skip("MIZAN_SOAK=10m makes it run")
	}
	newOverload(t, soakScale).run()
}

// overload is a server and everything that loads it.
type overload struct {
	*testServer
	scale    scale
	keys     []string // of the partners that pay without notifications
	dead     []string // of those whose receivers are dead
	dialer   *generator.Dialer
	payments *payments
	memory   *peakMemory
	prober   prober
	merchant *merchant
	crowd    crowd
	next     uint64 // number of the next payment
	rounds   []round
}

// round is the result of a load.
type round struct {
	factor  float64 // of the capacity; 0: the capacity itself
	offered float64 // payments a second
	outcome generator.Outcome
	slowest time.Duration
	health  distribution
	memory  int64
	cpu     time.Duration // of the server
}

// perSecond returns the charged payments a second.
func (r *round) perSecond() float64 { return r.outcome.PerSecond }

// perCPU returns the charged payments in a second of the server's CPU time. It hardly depends on what else the machine does, but
// shows how much of its time the server loses to what it refuses.
func (r *round) perCPU() float64 { return float64(r.outcome.Good) / r.cpu.Seconds() }

func newOverload(t *testing.T, sc scale) *overload {
	t.Helper()
	handles := raiseHandles(t)
	if need := sc.offering + sc.idle + sc.slow + 1_000; handles < need {
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

	o.crowd.idle(ctx, o.testServer, o.scale.idle, o.keys[0])
	o.crowd.slow(ctx, o.testServer, o.scale.slow, o.keys[0])
	companions.Go(func() { o.prober.run(ctx, o.testServer) })
	companions.Go(func() { o.merchant.run(ctx, o.testServer) })
	open, err := generator.OpenConnections(ctx, o.dialer, o.scale.offering)
	if err != nil {
		o.Fatal(err)
	}
	defer open.Close()

	o.load(0, 0, nil) // warms up
	o.rounds = nil
	for repetition := range o.scale.repetitions {
		capacity := o.load(0, 0, nil)
		factors := []float64{5}
		if repetition == 0 {
			factors = []float64{0.5, 1, 2, 5}
		}
		for _, factor := range factors {
			o.load(factor, factor*capacity.PerSecond, open)
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

// load offers payments for a round: a number a second over the open connections, or as many as the server answers over
// capacityConnections of its own.
func (o *overload) load(factor, rate float64, open *generator.Connections) generator.Outcome {
	o.Helper()
	o.prober.take()
	o.memory.takePeak()
	o.payments.takeSlowest()
	l := &generator.Load{
		Dialer: o.dialer, NewJob: o.payments.job, Connections: capacityConnections, Open: open, Duration: o.scale.round, Rate: rate,
		Timeout: answerTimeout, Figures: generator.NewFigures(),
	}
	before := o.cpu()
	if err := l.Run(o.Context(), o.next); err != nil {
		o.Fatal(err)
	}
	o.next = l.NextNumber()
	r := round{factor, rate, l.Figures.Outcome(), o.payments.takeSlowest(), o.prober.take(), o.memory.takePeak(), o.cpu() - before}
	o.rounds = append(o.rounds, r)
	return r.outcome
}

// cpu returns the server's CPU time so far.
func (o *overload) cpu() time.Duration {
	o.Helper()
	usage, err := server.UsageOf(o.PID())
	if err != nil {
		o.Fatal(err)
	}
	return usage.CPU
}

// goodput returns a measure of each round at the factor as a fraction of the capacity's, which is the mean of the rounds
// before and after it in which the capacity was measured.
func (o *overload) goodput(factor float64, measure func(*round) float64) (ratios []float64) {
	for i := range o.rounds {
		if o.rounds[i].factor != factor {
			continue
		}
		before, after := o.capacitiesAround(i)
		ratios = append(ratios, 2*measure(&o.rounds[i])/(measure(before)+measure(after)))
	}
	slices.Sort(ratios)
	return ratios
}

// capacitiesAround returns the rounds before and after the i-th one in which the capacity was measured.
func (o *overload) capacitiesAround(i int) (before, after *round) {
	b, a := i, i
	for o.rounds[b].factor != 0 {
		b--
	}
	for o.rounds[a].factor != 0 {
		a++
	}
	return &o.rounds[b], &o.rounds[a]
}

// isSteady tells whether the capacity was the same before and after each round, within a tenth. If it was not, something else uses
// the machine, and payments a second tell nothing.
func (o *overload) isSteady() bool {
	for i := range o.rounds {
		before, after := o.capacitiesAround(i)
		if ratio := before.perSecond() / after.perSecond(); ratio < 0.9 || ratio > 1/0.9 {
			return false
		}
	}
	return true
}

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

func (o *overload) print() {
	o.Helper()
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "offered\tper second\tcharged/s\tCPU µs each\tp99, slowest ms\thealth p50, p99, max ms\tmemory MiB\tnot charged")
	for _, r := range o.rounds {
		name := "capacity"
		if r.factor > 0 {
			name = fmt.Sprintf("%g x", r.factor)
		}
		_, _ = fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t%.0f, %.0f\t%v\t%d\t%s\n", name, r.offered, r.outcome.PerSecond, 1e6/r.perCPU(), r.outcome.SinceSentP99, milliseconds(r.slowest), r.health, r.memory>>20, r.outcome.ErrorText())
	}
	_ = w.Flush()
	o.Logf("\n%s", &text)
	for name, measure := range map[string]func(*round) float64{"a second": (*round).perSecond, "a second of the server's CPU": (*round).perCPU} {
		o.Logf("charged in %s, as a fraction of the capacity around it: 0.5 x %.2f, 1 x %.2f, 2 x %.2f, 5 x %.2f",
			name, o.goodput(0.5, measure), o.goodput(1, measure), o.goodput(2, measure), o.goodput(5, measure))
	}
	o.Logf("of %d charged payments %d were answered later than %v", o.payments.charged.Load(), o.payments.late.Load(), maxAnswerTime)
	o.Logf("%d idle and slow connections opened, %d closed by the server; the merchant with a receiver: %d charged, %d refused, %d not yet notified, delays %v ms",
		o.crowd.opened.Load(), o.crowd.closed.Load(), len(o.merchant.charged), o.merchant.refused, o.merchant.missing(), o.merchant.delays())
}

// check checks the promises.
func (o *overload) check() {
	o.Helper()
	if ratios := o.goodput(5, (*round).perCPU); median(ratios) < o.scale.minGoodput {
		o.Errorf("at five times the capacity a second of CPU charges %.2f of what it does at the capacity, want %.2f", ratios, o.scale.minGoodput)
	}
	switch ratios := o.goodput(5, (*round).perSecond); {
	case !o.isSteady():
		o.Log("the capacity changed while it was measured: payments a second are not compared")
	case median(ratios) < o.scale.minGoodput:
		o.Errorf("at five times the capacity %.2f of it are charged, want %.2f", ratios, o.scale.minGoodput)
	}
	for _, r := range o.rounds {
		if r.outcome.SinceSentP99 > milliseconds(o.scale.maxAnswer) {
			o.Errorf("%g x: the p99 of charged payments is %.0f ms", r.factor, r.outcome.SinceSentP99)
		}
		if r.health.p99 > o.scale.maxHealth {
			o.Errorf("%g x: the health check's p99 is %v", r.factor, r.health.p99)
		}
		if r.memory > o.scale.maxMemory {
			o.Errorf("%g x: %d MiB of anonymous memory", r.factor, r.memory>>20)
		}
	}
	if len(o.prober.wrong) > 0 {
		o.Errorf("%d health checks failed, for example %s", len(o.prober.wrong), o.prober.wrong[0])
	}
	testkit.WaitUntil(o, "the merchant with a receiver is notified of each charged payment", func() bool { return o.merchant.missing() == 0 })
	o.stopAndVerify()
}
