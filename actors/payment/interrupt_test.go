package payment_test

import (
	"context"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// flaky wraps the simulator and loses a call, or its answer, as a process that dies does: nothing
// ever returns.
type flaky struct {
	actors.Provider
	before, after bool
	reached       chan ledger.ID
	forever       chan struct{}
	change        func(*paymentactor.Create)
}

func (f *flaky) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	if f.before {
		f.reached <- call.Reference
		<-f.forever
	}
	o := f.Provider.Submit(ctx, call)
	if f.after {
		f.reached <- call.Reference
		<-f.forever
	}
	return o
}

// dieAnd abandons the runtime and opens the store again, as after a kill, with the changes of set.
func (h *fixture) dieAnd(set func(*fixture)) {
	h.t.Helper()
	h.witness.dead.Store(true)
	if err := h.Journal.Close(); err != nil {
		h.t.Fatal(err)
	}
	if err := h.simulator.Close(); err != nil {
		h.t.Fatal(err)
	}
	h.dead = append(h.dead, h.Runtime)
	set(h)
	h.start()
}

func lost(t *testing.T, kind payment.Type, f *flaky) (*fixture, ledger.ID) {
	return lostOn(t, kind, f, plain, func(h *fixture) { h.wrap = nil })
}

// lostOn loses a call in a fixture that set has set up, and restarts it with the changes of next.
func lostOn(t *testing.T, kind payment.Type, f *flaky, set, next func(*fixture)) (*fixture, ledger.ID) {
	h := openAs(t, set)
	f.reached, f.forever = make(chan ledger.ID, 1), make(chan struct{})
	t.Cleanup(func() { close(f.forever) })
	h.stop()
	h.wrap = func(p actors.Provider) actors.Provider { f.Provider = p; return f }
	h.start()
	go func() {
		c := request(kind, "4242424242424242", 70, "lost")
		c.Partner = h.partner
		if f.change != nil {
			f.change(&c)
		}
		_, _ = h.Create(c) // its process dies before it answers
	}()
	id := <-f.reached
	h.dieAnd(next)
	h.Runtime.Quiesce()
	return h, id
}

func TestACallThatNeverArrivedIsInquiredTwiceAndInterrupted(t *testing.T) {
	for _, kind := range []payment.Type{payment.Payment, payment.Payout} {
		h, id := lost(t, kind, &flaky{before: true})
		if r := h.read(id); r.Status != payment.Authorizing || r.NotFoundAnswers != 1 {
			t.Fatalf("%v: right after the restart: %s, unheard %d", kind, r.Status, r.NotFoundAnswers)
		}
		h.advance(9 * time.Second)
		if got := h.read(id).Status; got != payment.Authorizing {
			t.Errorf("%v: %s before the provider time-out has passed", kind, got)
		}
		h.advance(time.Second)
		if r := h.read(id); r.Status != payment.Failed || r.Failure.Code != payment.Interrupted {
			t.Errorf("%v: %s %q", kind, r.Status, why(r.Failure))
		}
		if got := h.balance(); got != "100000 / 0" {
			t.Errorf("%v: balance %s", kind, got)
		}
		if n := h.calls(id); n != 0 {
			t.Errorf("%v: %d provider calls", kind, n)
		}
	}
}

func TestACallWhoseAnswerWasLostIsInquiredAndNeverRepeated(t *testing.T) {
	for kind, want := range map[payment.Type]string{payment.Payment: "100070 / 0", payment.Payout: "99930 / 0"} {
		h, id := lost(t, kind, &flaky{after: true})
		if got := h.read(id).Status; got != payment.Charged {
			t.Errorf("%v: %s", kind, got)
		}
		if got := h.balance(); got != want {
			t.Errorf("%v: balance %s, want %s", kind, got, want)
		}
		if n := h.calls(id); n != 1 {
			t.Errorf("%v: %d provider calls", kind, n)
		}
		// The txid answers with the transaction's result.
		if r := h.create(kind, "4242424242424242", 70, "lost"); !r.Replay || r.Record.ID != id {
			t.Errorf("%v: the txid answers %v, replay %v", kind, r.Record.ID, r.Replay)
		}
	}
}

// broken panics in the middle of a call.
type broken struct{ actors.Provider }

func (b broken) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	b.Provider.Submit(ctx, call)
	panic("adapter bug")
}

func (b broken) Inquire(ctx context.Context, q *actors.Question) actors.Outcome {
	return b.Provider.Inquire(ctx, q)
}

func TestAnAdapterThatPanicsHasVerdictUnknownAndIsInquired(t *testing.T) {
	h := open(t)
	h.stop()
	h.wrap = func(p actors.Provider) actors.Provider { return broken{p} }
	h.start()
	r := h.create(payment.Payment, "4242424242424242", 70, "").Record
	if r.Status != payment.Charging {
		t.Fatalf("%s %q", r.Status, why(r.Failure))
	}
	h.advance(10 * time.Second)
	if got := h.read(r.ID).Status; got != payment.Charged || h.calls(r.ID) != 1 {
		t.Errorf("%s after %d calls", got, h.calls(r.ID))
	}
}

func TestADelayedOutcomeSurvivesARestart(t *testing.T) {
	h := open(t)
	r := h.create(payment.Payment, "4000000000000077", 70, "").Record
	h.restart()
	if got := h.read(r.ID).Status; got != payment.Charging {
		t.Errorf("%s right after the restart", got)
	}
	h.advance(5 * time.Second)
	if got := h.read(r.ID).Status; got != payment.Charged {
		t.Errorf("%s after 5 s", got)
	}
}
