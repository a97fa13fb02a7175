package simulator

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger/payment"
)

func TestCallsFromManyGoroutinesAreEachLoggedOnce(t *testing.T) {
	const workers, calls = 8, 200
	cardNumbers := []string{"4242424242424242", "4000000000000002", "4000000000000077", chargebackCard}
	b := open(t)
	b.index.bound = 64
	b.chargebacks.bound = 16
	b.log.chunk = 4096
	var running sync.WaitGroup
	for w := range uint64(workers) {
		running.Go(func() {
			for i := range uint64(calls) {
				n := w*calls + i
				answer := b.submit(cardCall(n, actors.Pay, cardNumbers[n%4]))
				if again := b.inquire(n); !reflect.DeepEqual(again, answer) {
					t.Errorf("call %d: answered %+v, inquired %+v", n, answer, again)
				}
				if i%50 == 0 {
					if _, err := b.Reports(context.Background(), time.Time{}, chargedBackAt(1)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	running.Wait()
	count := make(map[string]int)
	for _, record := range b.logLines() {
		count[record["reference"]]++
	}
	for n := range uint64(workers * calls) {
		if count[id(n).String()] != 1 {
			t.Errorf("call %d has %d lines", n, count[id(n).String()])
		}
	}
	b.advance(time.Minute)
	list, err := b.Reports(context.Background(), time.Time{}, chargedBackAt(1))
	if err != nil || len(list) != workers*calls/4 {
		t.Errorf("%d reports, %v, want %d", len(list), err, workers*calls/4)
	}
}

func TestConcurrentCallsOfOneReferenceHaveOneOutcome(t *testing.T) {
	const workers = 32
	b := open(t)
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			number := []string{"4242424242424242", "4000000000000002"}[w%2]
			b.submit(cardCall(1, actors.Pay, number))
		})
	}
	running.Wait()
	lines := b.logLines()
	if len(lines) != workers {
		t.Errorf("%d lines, want %d", len(lines), workers)
	}
	for _, record := range lines {
		if record["outcome"] != lines[0]["outcome"] {
			t.Errorf("outcomes %s and %s", lines[0]["outcome"], record["outcome"])
		}
	}
}

// submitAll makes all calls concurrently and returns their verdicts in the calls' order.
func (b *bench) submitAll(calls ...*actors.Call) []payment.Verdict {
	verdicts := make([]payment.Verdict, len(calls))
	var running sync.WaitGroup
	for i, call := range calls {
		running.Go(func() { verdicts[i] = b.submit(call).Verdict })
	}
	running.Wait()
	return verdicts
}

func count(verdicts []payment.Verdict, verdict payment.Verdict) int {
	n := 0
	for _, v := range verdicts {
		if v == verdict {
			n++
		}
	}
	return n
}

func TestConcurrentCapturesAndVoidsAreExclusive(t *testing.T) {
	const callsEach = 8
	for round := range uint64(20) {
		b := open(t)
		b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
		if round%2 == 0 {
			b.forget() // so that the first call has to search the log
		}
		var calls []*actors.Call
		for n := range uint64(callsEach) {
			calls = append(calls, followUpCall(1, actors.Capture, n, 1000), followUpCall(1, actors.Void, 100+n, 0))
		}
		var captures, voids []payment.Verdict
		for i, v := range b.submitAll(calls...) {
			if i%2 == 0 {
				captures = append(captures, v)
			} else {
				voids = append(voids, v)
			}
		}
		captured, voided := count(captures, payment.VerdictCharged), count(voids, payment.VerdictCharged)
		after := b.inquire(1).Verdict
		if !(captured == 1 && voided == 0 && after == payment.VerdictCharged || captured == 0 && voided == callsEach && after == payment.VerdictRefused) {
			t.Fatalf("%d captures and %d voids were granted, and the charge is %v", captured, voided, after)
		}
		if n := len(b.logLines()); n != 1+2*callsEach {
			t.Fatalf("%d lines, want %d", n, 1+2*callsEach)
		}
	}
}

func TestConcurrentRefundsReturnAtMostTheCharge(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	var calls []*actors.Call
	for n := range uint64(24) {
		calls = append(calls, followUpCall(1, actors.Refund, n%12, 100)) // each request twice
	}
	if n := count(b.submitAll(calls...), payment.VerdictCharged); n != 20 {
		t.Errorf("%d calls were granted, want 20, which are 10 requests", n)
	}
	if n := len(b.logLines()); n != 25 {
		t.Errorf("%d lines, want 25", n)
	}
	b.expect("one more", b.submit(followUpCall(1, actors.Refund, 99, 1)), refusedOutcome("amount_above_charge"))
}

// gated is a file whose next read waits; reading is closed when the read has begun.
type gated struct {
	file
	begun         atomic.Bool
	reading, open chan struct{}
}

func (g *gated) ReadAt(p []byte, offset int64) (int, error) {
	if g.begun.CompareAndSwap(false, true) {
		close(g.reading)
		<-g.open
	}
	return g.file.ReadAt(p, offset)
}

// gate makes the next read of the log wait until the gate's open is closed.
func (b *bench) gate() *gated {
	g := &gated{file: b.log.file, reading: make(chan struct{}), open: make(chan struct{})}
	b.log.file = g
	return g
}

func TestCallThatReadsTheLogDelaysOnlyItsCharge(t *testing.T) {
	for what, work := range map[string]func(b *bench){
		"capture":  func(b *bench) { b.submit(followUpCall(1, actors.Capture, 2, 10)) },
		"repeat":   func(b *bench) { b.submit(cardCall(1, actors.Pay, redirectCard)) },
		"decision": func(b *bench) { b.decideOn(true) },
	} {
		b := open(t)
		b.submit(cardCall(1, actors.Pay, redirectCard))
		other := uint64(2)
		turnOf := func(n uint64) uint64 { return b.index.hash(appendKey(nil, id(7), id(n))) % turns }
		for turnOf(other) == turnOf(1) {
			other++
		}
		g := b.gate()
		var running sync.WaitGroup
		running.Go(func() { work(b) })
		<-g.reading
		if b.turns[turnOf(1)].TryLock() {
			t.Errorf("%s: another call of the charge could go on", what)
		}
		b.expect("another charge's call", b.submit(cardCall(other, actors.Pay, "4242424242424242")), chargedOutcome(other))
		close(g.open)
		running.Wait()
	}
}

// TestInquiryUsesTheTimeAtWhichItStarted voids a slow charge, and advances the clock past the time at which it
// would be charged, while an inquiry reads its line.
func TestInquiryUsesTheTimeAtWhichItStarted(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4000000000000077"))
	g := b.gate()
	var outcomes actors.Outcome
	var running sync.WaitGroup
	running.Go(func() { outcomes = b.inquire(1) })
	<-g.reading
	b.expect("void", b.submit(followUpCall(1, actors.Void, 2, 0)), isGranted)
	b.advance(time.Minute)
	close(g.open)
	running.Wait()
	b.expect("the inquiry", outcomes, pendingOutcome(5*time.Second))
	b.expect("a later inquiry", b.inquire(1), voided)
}

func TestFirstOfConcurrentDecisionsCounts(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, redirectCard))
	var running sync.WaitGroup
	for n := range 16 {
		running.Go(func() {
			if _, _, err := b.Decide(id(7), id(1), token1(), n%2 == 0); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if n := b.countLines(1, "challenge"); n != 1 {
		t.Errorf("%d decisions were logged", n)
	}
	want := chargedOutcome(1)
	if b.logLines()[1]["outcome"] == "refused" {
		want = unpaid
	}
	b.expect("complete", b.submit(completeCall(1, 2, redirectCard)), want)
}

func TestInquiriesNeverContradictEarlierOnes(t *testing.T) {
	for range 20 {
		b := open(t)
		b.submit(cardCall(1, actors.Pay, "4000000000000077"))
		b.advance(5*time.Second - 2*time.Microsecond)
		var running sync.WaitGroup
		var granted payment.Verdict
		running.Go(func() { granted = b.submit(followUpCall(1, actors.Void, 2, 0)).Verdict })
		running.Go(func() {
			for range 4 {
				b.advance(time.Microsecond)
			}
		})
		var outcomes []payment.Verdict
		running.Go(func() {
			for range 50 {
				outcomes = append(outcomes, b.inquire(1).Verdict)
			}
		})
		running.Wait()
		last := map[payment.Verdict]payment.Verdict{payment.VerdictCharged: payment.VerdictRefused, payment.VerdictRefused: payment.VerdictCharged}[granted]
		if got := b.inquire(1).Verdict; got != last {
			t.Errorf("the void was %v, and the charge is %v", granted, got)
		}
		for _, v := range outcomes {
			if v != payment.VerdictPending && v != last {
				t.Errorf("an inquiry said %v of what became %v: %v", v, last, outcomes)
			}
		}
	}
}
