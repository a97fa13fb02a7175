package providersuite

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

// disturber says what the tracer does to the calls of one test.
type disturber struct {
	killAt      int  // the process is killed when it passes this point; 0: never
	doubled     bool // each submission is made twice
	panicAt     int  // the adapter panics at this call, counted from 1; 0: never
	panicsAfter bool // the panic comes after the call
}

// tracer stands between the core and the adapter in every process of a test. It counts the points between two steps: each call
// and inquiry has one before and one after it, and each durable change of a status has one.
type tracer struct {
	tb      testing.TB
	disturb disturber
	reached chan struct{} // receives a value when the point of the kill is reached
	forever chan struct{} // closed at the end of the test

	mu        sync.Mutex
	points    int    // guarded by mu
	calls     int    // guarded by mu
	request   string // guarded by mu: the goroutine of the request, which may run the transaction's actor
	onRequest func() // guarded by mu: called when the request's goroutine is stopped
	present   *traced
	releaseMu sync.Once
}

func newTracer(tb testing.TB, d *disturber) *tracer {
	t := &tracer{tb: tb, reached: make(chan struct{}), forever: make(chan struct{})}
	if d != nil {
		t.disturb = *d
	}
	return t
}

// release lets the goroutines of killed processes end.
func (t *tracer) release() { t.releaseMu.Do(func() { close(t.forever) }) }

// setRequest records that the calling goroutine is the goroutine of the request.
func (t *tracer) setRequest(onStop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.request, t.onRequest = goroutineID(), onStop
}

func goroutineID() string {
	var trace [64]byte
	return strings.Fields(string(trace[:runtime.Stack(trace[:], false)]))[1]
}

// passPoint stops the goroutine for ever if the process is killed here.
func (t *tracer) passPoint() {
	t.mu.Lock()
	t.points++
	isKillPoint, onStop := t.points == t.disturb.killAt, func() {}
	if isKillPoint && goroutineID() == t.request {
		onStop = t.onRequest
	}
	t.mu.Unlock()
	if !isKillPoint {
		return
	}
	select {
	case t.reached <- struct{}{}:
		onStop()
		<-t.forever
	case <-t.forever:
	}
}

func (t *tracer) pointsPassed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.points
}

// bury ends the effects of the present process: its further calls don't reach the adapter.
func (t *tracer) bury() { t.present.isDead.Store(true) }

// around returns the adapter of a new process, as the core sees it.
func (t *tracer) around(adapter actors.Provider, j *posting.Journal) actors.Provider {
	t.present = &traced{Provider: adapter, tracer: t, journal: j}
	if reissuer, can := adapter.(paymentactor.Reissuer); can {
		return struct {
			*traced
			paymentactor.Reissuer
		}{t.present, reissuer}
	}
	return t.present
}

// traced is an adapter with the tracer's points around its calls.
type traced struct {
	actors.Provider
	tracer  *tracer
	journal *posting.Journal
	isDead  atomic.Bool
}

var unknown = actors.Outcome{Verdict: payment.VerdictUnknown}

// Submit implements actors.Provider.
func (p *traced) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	p.tracer.passPoint()
	if p.isDead.Load() {
		return unknown
	}
	p.requireIntent(call)
	p.panicIf(false)
	copies := *call
	copies.Card = copyOf(call.Card)
	o := p.Provider.Submit(ctx, call)
	if p.tracer.disturb.doubled {
		o = p.Provider.Submit(ctx, &copies)
	}
	p.panicIf(true)
	p.tracer.passPoint()
	return o
}

// copyOf returns a copy of a card with memory of its own.
func copyOf(card *secret.Card) *secret.Card {
	if card == nil {
		return nil
	}
	c := *card
	for _, part := range []*[]byte{&c.Number, &c.Holder, &c.ExpMonth, &c.ExpYear, &c.CVV, &c.IBAN} {
		*part = append([]byte(nil), *part...)
	}
	return &c
}

// panicIf panics if the test wants it at this call. A submission is counted once, before it.
func (p *traced) panicIf(isAfter bool) {
	t := p.tracer
	t.mu.Lock()
	if !isAfter {
		t.calls++
	}
	panics := t.calls == t.disturb.panicAt && t.disturb.panicsAfter == isAfter
	t.mu.Unlock()
	if panics {
		panic("the adapter has a fault")
	}
}

// requireIntent checks that a call was announced durably before it is made.
func (p *traced) requireIntent(call *actors.Call) {
	v := p.journal.View()
	defer v.Close()
	found := false
	err := v.SourceEvents(call.Org, ledger.Source{Kind: ledger.Transaction, ID: call.Reference}, func(ledger.Event) (bool, error) {
		found = true
		return false, nil
	})
	if err != nil || !found {
		p.tracer.tb.Errorf("%v of %v is made without an intent (%v)", call.Operation, call.Reference, err)
	}
}

// Inquire implements actors.Provider.
func (p *traced) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	p.tracer.passPoint()
	if p.isDead.Load() {
		return unknown
	}
	o := p.Provider.Inquire(ctx, q)
	p.tracer.passPoint()
	return o
}

// Reports implements actors.Provider. Each report is delivered twice.
func (p *traced) Reports(ctx context.Context, since, until time.Time) ([]actors.Report, error) {
	if p.isDead.Load() {
		return nil, nil
	}
	reports, err := p.Provider.Reports(ctx, since, until)
	return append(reports, reports...), err
}

// NextReport returns when the adapter wants to be polled.
func (p *traced) NextReport(since time.Time) (time.Time, bool) {
	scheduled, can := p.Provider.(interface {
		NextReport(since time.Time) (time.Time, bool)
	})
	if !can {
		return time.Time{}, false
	}
	return scheduled.NextReport(since)
}

// IsLocal implements actors.LocalProvider.
func (p *traced) IsLocal(operation actors.Operation) bool {
	local, can := p.Provider.(actors.LocalProvider)
	return can && local.IsLocal(operation)
}

// InquireReport implements ReportInquirer of actors/payment.
func (p *traced) InquireReport(ctx context.Context, q *actors.Inquiry) (actors.Report, bool) {
	inquirer, can := p.Provider.(paymentactor.ReportInquirer)
	if !can || p.isDead.Load() {
		return actors.Report{}, false
	}
	return inquirer.InquireReport(ctx, q)
}
