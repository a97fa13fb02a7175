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
	sim := open(t)
	sim.index.bound = 64
	sim.chargebacks.bound = 16
	sim.log.chunkSize = 4096
	var running sync.WaitGroup
	for worker := range uint64(workers) {
		running.Go(func() {
			for i := range uint64(calls) {
				n := worker*calls + i
				answer := sim.submit(cardCall(n, actors.Pay, cardNumbers[n%4]))
				if again := sim.inquire(n); !reflect.DeepEqual(again, answer) {
					t.Errorf("call %d: answered %+v, inquired %+v", n, answer, again)
				}
				if i%50 == 0 {
					if _, err := sim.Reports(context.Background(), time.Time{}, chargedBackAt(1)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	running.Wait()
	linesOf := make(map[string]int)
	for _, line := range sim.logLines() {
		linesOf[line["reference"]]++
	}
	for n := range uint64(workers * calls) {
		if linesOf[id(n).String()] != 1 {
			t.Errorf("call %d has %d lines", n, linesOf[id(n).String()])
		}
	}
	sim.advance(time.Minute)
	list, err := sim.Reports(context.Background(), time.Time{}, chargedBackAt(1))
	if err != nil || len(list) != workers*calls/4 {
		t.Errorf("%d reports, %v, want %d", len(list), err, workers*calls/4)
	}
}

func TestConcurrentCallsOfOneReferenceHaveOneOutcome(t *testing.T) {
	const workers = 32
	sim := open(t)
	var running sync.WaitGroup
	for worker := range workers {
		running.Go(func() {
			number := []string{"4242424242424242", "4000000000000002"}[worker%2]
			sim.submit(cardCall(1, actors.Pay, number))
		})
	}
	running.Wait()
	lines := sim.logLines()
	if len(lines) != workers {
		t.Errorf("%d lines, want %d", len(lines), workers)
	}
	for _, line := range lines {
		if line["outcome"] != lines[0]["outcome"] {
			t.Errorf("outcomes %s and %s", lines[0]["outcome"], line["outcome"])
		}
	}
}

// submitAll makes all calls concurrently and returns their verdicts in the calls' order.
func (sim *testSimulator) submitAll(calls ...*actors.Call) []payment.Verdict {
	verdicts := make([]payment.Verdict, len(calls))
	var running sync.WaitGroup
	for i, call := range calls {
		running.Go(func() { verdicts[i] = sim.submit(call).Verdict })
	}
	running.Wait()
	return verdicts
}

func countVerdicts(verdicts []payment.Verdict, verdict payment.Verdict) int {
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
		sim := open(t)
		sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
		if round%2 == 0 {
			sim.forget() // so that the first call has to search the log
		}
		var calls []*actors.Call
		for n := range uint64(callsEach) {
			calls = append(calls, followUpCall(1, actors.Capture, n, 1000), followUpCall(1, actors.Void, 100+n, 0))
		}
		var captureVerdicts, voidVerdicts []payment.Verdict
		for i, v := range sim.submitAll(calls...) {
			if i%2 == 0 {
				captureVerdicts = append(captureVerdicts, v)
			} else {
				voidVerdicts = append(voidVerdicts, v)
			}
		}
		captured, voided := countVerdicts(captureVerdicts, payment.VerdictCharged), countVerdicts(voidVerdicts, payment.VerdictCharged)
		after := sim.inquire(1).Verdict
		if !(captured == 1 && voided == 0 && after == payment.VerdictCharged || captured == 0 && voided == callsEach && after == payment.VerdictRefused) {
			t.Fatalf("%d captures and %d voids were granted, and the charge is %v", captured, voided, after)
		}
		if n := len(sim.logLines()); n != 1+2*callsEach {
			t.Fatalf("%d lines, want %d", n, 1+2*callsEach)
		}
	}
}

func TestConcurrentRefundsReturnAtMostTheCharge(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	var calls []*actors.Call
	for n := range uint64(24) {
		calls = append(calls, followUpCall(1, actors.Refund, n%12, 100)) // each request twice
	}
	if n := countVerdicts(sim.submitAll(calls...), payment.VerdictCharged); n != 20 {
		t.Errorf("%d calls were granted, want 20, which are 10 requests", n)
	}
	if n := len(sim.logLines()); n != 25 {
		t.Errorf("%d lines, want 25", n)
	}
	sim.expect("one more", sim.submit(followUpCall(1, actors.Refund, 99, 1)), refusedOutcome("amount_above_charge"))
}

// gatedFile is a file whose first read closes readBegun and then waits until readMayEnd is closed.
type gatedFile struct {
	file
	hasRead               atomic.Bool
	readBegun, readMayEnd chan struct{}
}

func (gate *gatedFile) ReadAt(p []byte, offset int64) (int, error) {
	if gate.hasRead.CompareAndSwap(false, true) {
		close(gate.readBegun)
		<-gate.readMayEnd
	}
	return gate.file.ReadAt(p, offset)
}

// gateNextRead makes the next read of the log wait until the result's readMayEnd is closed.
func (sim *testSimulator) gateNextRead() *gatedFile {
	gate := &gatedFile{file: sim.log.file, readBegun: make(chan struct{}), readMayEnd: make(chan struct{})}
	sim.log.file = gate
	return gate
}

func TestCallThatReadsTheLogDelaysOnlyItsCharge(t *testing.T) {
	for what, work := range map[string]func(sim *testSimulator){
		"capture":  func(sim *testSimulator) { sim.submit(followUpCall(1, actors.Capture, 2, 10)) },
		"repeat":   func(sim *testSimulator) { sim.submit(cardCall(1, actors.Pay, redirectCard)) },
		"decision": func(sim *testSimulator) { sim.decideOnPage(true) },
	} {
		sim := open(t)
		sim.submit(cardCall(1, actors.Pay, redirectCard))
		otherCharge := uint64(2)
		lockOf := func(n uint64) uint64 { return sim.index.hash(appendKey(nil, id(7), id(n))) % lockCount }
		for lockOf(otherCharge) == lockOf(1) {
			otherCharge++
		}
		gate := sim.gateNextRead()
		var running sync.WaitGroup
		running.Go(func() { work(sim) })
		<-gate.readBegun
		if sim.chargeLocks[lockOf(1)].TryLock() {
			t.Errorf("%s: another call of the charge could go on", what)
		}
		sim.expect("another charge's call", sim.submit(cardCall(otherCharge, actors.Pay, "4242424242424242")), chargedOutcome(otherCharge))
		close(gate.readMayEnd)
		running.Wait()
	}
}

// TestInquiryUsesTheTimeAtWhichItStarted voids a slow charge, and advances the clock past the time at which it
// would be charged, while an inquiry reads the charge's line.
func TestInquiryUsesTheTimeAtWhichItStarted(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4000000000000077"))
	gate := sim.gateNextRead()
	var outcome actors.Outcome
	var running sync.WaitGroup
	running.Go(func() { outcome = sim.inquire(1) })
	<-gate.readBegun
	sim.expect("void", sim.submit(followUpCall(1, actors.Void, 2, 0)), grantedOutcome)
	sim.advance(time.Minute)
	close(gate.readMayEnd)
	running.Wait()
	sim.expect("the inquiry", outcome, pendingOutcome(5*time.Second))
	sim.expect("a later inquiry", sim.inquire(1), voidedOutcome)
}

func TestFirstOfConcurrentDecisionsCounts(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, redirectCard))
	var running sync.WaitGroup
	for n := range 16 {
		running.Go(func() {
			if _, _, err := sim.Decide(id(7), id(1), tokenOfCharge1(), n%2 == 0); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if n := sim.countLines(1, "challenge"); n != 1 {
		t.Errorf("%d decisions were logged", n)
	}
	want := chargedOutcome(1)
	if sim.logLines()[1]["outcome"] == "refused" {
		want = unpaidOutcome
	}
	sim.expect("complete", sim.submit(completeCall(1, 2, redirectCard)), want)
}

func TestInquiriesNeverContradictEarlierOnes(t *testing.T) {
	for range 20 {
		sim := open(t)
		sim.submit(cardCall(1, actors.Pay, "4000000000000077"))
		sim.advance(5*time.Second - 2*time.Microsecond)
		var running sync.WaitGroup
		var voidVerdict payment.Verdict
		running.Go(func() { voidVerdict = sim.submit(followUpCall(1, actors.Void, 2, 0)).Verdict })
		running.Go(func() {
			for range 4 {
				sim.advance(time.Microsecond)
			}
		})
		var inquiryVerdicts []payment.Verdict
		running.Go(func() {
			for range 50 {
				inquiryVerdicts = append(inquiryVerdicts, sim.inquire(1).Verdict)
			}
		})
		running.Wait()
		finalVerdict := map[payment.Verdict]payment.Verdict{payment.VerdictCharged: payment.VerdictRefused, payment.VerdictRefused: payment.VerdictCharged}[voidVerdict]
		if got := sim.inquire(1).Verdict; got != finalVerdict {
			t.Errorf("the void was %v, and the charge is %v", voidVerdict, got)
		}
		for _, v := range inquiryVerdicts {
			if v != payment.VerdictPending && v != finalVerdict {
				t.Errorf("an inquiry said %v of what became %v: %v", v, finalVerdict, inquiryVerdicts)
			}
		}
	}
}
