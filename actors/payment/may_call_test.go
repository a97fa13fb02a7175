package payment_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// A node that may have lost the lead sends nothing to a provider. The outcome counts as unknown, so the provider is asked later.
func TestNothingIsSentWithoutTheLead(t *testing.T) {
	t.Parallel()
	f := openWith(t, func(f *fixture) { f.mayCall = func(ledger.ID) error { return errors.New("another node leads") } })
	tx := f.create(payment.Payment, "4242424242424242", 100, "t-1")
	f.Runtime.Quiesce()
	if n := f.callCount(tx.Record.ID); n != 0 {
		t.Errorf("%d operations were sent", n)
	}
	if status := f.readRecord(tx.Record.ID).Status; status != payment.Charging {
		t.Errorf("the transaction is %s", status)
	}
}

// Another node has sent a call and lost the lead. While that call may still arrive, the provider's answer that it does not know the
// payment ends nothing, however often it comes and whatever the clock says. Afterwards it counts as always.
func TestUnknownReferenceEndsNothingWhileACallMayArrive(t *testing.T) {
	t.Parallel()
	var counts atomic.Bool
	provider := &flaky{before: true}
	f, id := openFixtureWithLostCall(t, payment.Payment, provider, unchanged, func(f *fixture) {
		f.wrapProvider, f.notFoundCounts = nil, func(ledger.ID) bool { return counts.Load() }
	})
	for range 5 {
		f.advance(10 * time.Second)
		if r := f.readRecord(id); r.Status.IsFinal() || r.NotFoundAnswers != 1 {
			t.Fatalf("the transaction is %s after %d unknown references", r.Status, r.NotFoundAnswers)
		}
	}
	counts.Store(true)
	f.advance(10 * time.Second) // the provider is not asked later because it was asked often
	if r := f.readRecord(id); r.Status != payment.Failed || r.Failure.Code != payment.Interrupted {
		t.Errorf("the transaction is %s %q", r.Status, failureText(r.Failure))
	}
}

// silentProvider never answers a submission.
type silentProvider struct {
	actors.Provider
	called chan struct{}
}

func (p *silentProvider) Submit(ctx context.Context, _ *actors.Call) actors.Outcome {
	p.called <- struct{}{}
	<-ctx.Done()
	return actors.Outcome{Verdict: payment.VerdictUnknown, Unreachable: true}
}

// A node that has lost the lead does not wait for a provider that does not answer: the commands that wait get their responses, and
// another node asks for the outcome.
func TestCancelledCallsEndWhatWaitsForThem(t *testing.T) {
	t.Parallel()
	provider := &silentProvider{called: make(chan struct{}, 1)}
	f := openWith(t, func(f *fixture) {
		f.providerTimeout = time.Hour
		f.wrapProvider = func(p actors.Provider) actors.Provider { provider.Provider = p; return provider }
	})
	result := make(chan paymentactor.Result)
	go func() { result <- f.create(payment.Payment, "4242424242424242", 100, "t-1") }()
	<-provider.called
	f.Runtime.CancelCalls()
	select {
	case r := <-result:
		if r.Record.Status != payment.Charging {
			t.Errorf("the transaction is %s", r.Record.Status)
		}
	case <-time.After(patience / 4):
		t.Error("the create still waits for the provider")
	}
}
