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

// flaky wraps the simulator. Its Submit never returns, as if the process had died: either before the
// call reaches the simulator, or after that.
type flaky struct {
	actors.Provider
	before, after bool
	reached       chan ledger.ID // gets the reference of the call that does not return
	forever       chan struct{}  // closed at the end of the test
	change        func(*paymentactor.Create)
}

func (provider *flaky) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	if provider.before {
		provider.reached <- call.Reference
		<-provider.forever
	}
	o := provider.Provider.Submit(ctx, call)
	if provider.after {
		provider.reached <- call.Reference
		<-provider.forever
	}
	return o
}

// killAndReopen abandons the runtime, applies configure to the fixture and opens the store again, as after a
// kill.
func (f *fixture) killAndReopen(configure func(*fixture)) {
	f.t.Helper()
	f.witness.dead.Store(true)
	if err := f.Journal.Close(); err != nil {
		f.t.Fatal(err)
	}
	if err := f.simulator.Close(); err != nil {
		f.t.Fatal(err)
	}
	f.abandonedRuntimes = append(f.abandonedRuntimes, f.Runtime)
	configure(f)
	f.start()
}

func openWithLostCall(t *testing.T, kind payment.Type, provider *flaky) (*fixture, ledger.ID) {
	return openFixtureWithLostCall(t, kind, provider, unchanged, func(f *fixture) { f.wrapProvider = nil })
}

// openFixtureWithLostCall opens a fixture, which the function configure prepares, and loses a call in it. Then
// the function reconfigure changes the fixture, which starts again as after a kill.
func openFixtureWithLostCall(t *testing.T, kind payment.Type, provider *flaky, configure, reconfigure func(*fixture)) (*fixture, ledger.ID) {
	f := openWith(t, configure)
	provider.reached, provider.forever = make(chan ledger.ID, 1), make(chan struct{})
	t.Cleanup(func() { close(provider.forever) })
	f.stop()
	f.wrapProvider = func(p actors.Provider) actors.Provider { provider.Provider = p; return provider }
	f.start()
	go func() {
		c := request(kind, "4242424242424242", 70, "lost")
		c.Partner = f.partner
		if provider.change != nil {
			provider.change(&c)
		}
		_, _ = f.Create(c) // the request gets no reply, because its process dies before
	}()
	id := <-provider.reached
	f.killAndReopen(reconfigure)
	f.Runtime.Quiesce()
	return f, id
}

func TestCallThatNeverArrivedIsInquiredTwiceAndInterrupted(t *testing.T) {
	for _, kind := range []payment.Type{payment.Payment, payment.Payout} {
		f, id := openWithLostCall(t, kind, &flaky{before: true})
		if r := f.readRecord(id); r.Status != payment.Authorizing || r.NotFoundAnswers != 1 {
			t.Fatalf("%v: right after the restart: %s, %d unknown references", kind, r.Status, r.NotFoundAnswers)
		}
		f.advance(9 * time.Second)
		if got := f.readRecord(id).Status; got != payment.Authorizing {
			t.Errorf("%v: %s before the provider time-out has passed", kind, got)
		}
		f.advance(time.Second)
		if r := f.readRecord(id); r.Status != payment.Failed || r.Failure.Code != payment.Interrupted {
			t.Errorf("%v: %s %q", kind, r.Status, failureText(r.Failure))
		}
		if got := f.balance(); got != "100000 / 0" {
			t.Errorf("%v: balance %s", kind, got)
		}
		if n := f.callCount(id); n != 0 {
			t.Errorf("%v: %d provider calls", kind, n)
		}
	}
}

func TestCallWhoseAnswerWasLostIsInquiredAndNeverRepeated(t *testing.T) {
	for kind, want := range map[payment.Type]string{payment.Payment: "100070 / 0", payment.Payout: "99930 / 0"} {
		f, id := openWithLostCall(t, kind, &flaky{after: true})
		if got := f.readRecord(id).Status; got != payment.Charged {
			t.Errorf("%v: %s", kind, got)
		}
		if got := f.balance(); got != want {
			t.Errorf("%v: balance %s, want %s", kind, got, want)
		}
		if n := f.callCount(id); n != 1 {
			t.Errorf("%v: %d provider calls", kind, n)
		}
		// A repeated create with the txid gets the transaction's result.
		if r := f.create(kind, "4242424242424242", 70, "lost"); !r.Replay || r.Record.ID != id {
			t.Errorf("%v: the txid answers %v, replay %v", kind, r.Record.ID, r.Replay)
		}
	}
}

// panickingProvider panics after a call has reached the simulator.
type panickingProvider struct{ actors.Provider }

func (b panickingProvider) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	b.Provider.Submit(ctx, call)
	panic("adapter bug")
}

func (b panickingProvider) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	return b.Provider.Inquire(ctx, q)
}

func TestPanickingAdapterGivesAnUnknownOutcomeAndIsInquired(t *testing.T) {
	f := open(t)
	f.stop()
	f.wrapProvider = func(p actors.Provider) actors.Provider { return panickingProvider{p} }
	f.start()
	r := f.create(payment.Payment, "4242424242424242", 70, "").Record
	if r.Status != payment.Charging {
		t.Fatalf("%s %q", r.Status, failureText(r.Failure))
	}
	f.advance(10 * time.Second)
	if got := f.readRecord(r.ID).Status; got != payment.Charged || f.callCount(r.ID) != 1 {
		t.Errorf("%s after %d calls", got, f.callCount(r.ID))
	}
}

func TestDelayedOutcomeSurvivesARestart(t *testing.T) {
	f := open(t)
	r := f.create(payment.Payment, "4000000000000077", 70, "").Record
	f.restart()
	if got := f.readRecord(r.ID).Status; got != payment.Charging {
		t.Errorf("%s right after the restart", got)
	}
	f.advance(5 * time.Second)
	if got := f.readRecord(r.ID).Status; got != payment.Charged {
		t.Errorf("%s after 5 s", got)
	}
}
