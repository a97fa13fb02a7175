package simulation

import (
	"context"
	"fmt"
	"sync"
	"time"

	"mizan/actors"
	"mizan/actors/provider/simulator"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// rail is the provider, together with the network between the service and the provider. The provider is the sandbox's
// simulator. It outlives every process of the service, because a real provider is another company. rail records the calls that
// reached the provider, because these calls determine where the money is.
type rail struct {
	world *world
	inner *simulator.Simulator

	mu    sync.Mutex
	calls []railCall // calls that reached the provider, oldest first
}

// railLink is the connection of one process to the provider.
type railLink struct {
	*rail
	*scheduler // of the process
}

// railCall is a call that reached the provider.
type railCall struct {
	reference ledger.ID
	amount    string
	operation actors.Operation
	verdict   payment.Verdict
}

// Name implements actors.Provider.
func (r *rail) Name() string { return r.inner.Name() }

// Accepts implements actors.Provider.
func (r *rail) Accepts(o actors.Operation, method string) bool { return r.inner.Accepts(o, method) }

// unreachable returns the outcome of a call whose answer never arrives.
func unreachable() actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictUnknown, Unreachable: true}
}

// callKey identifies a call by its amount. The ids of a call can't be used, because they differ in a replay. The amount can be
// used, because no two orders of a world have the same amount.
func callKey(operation actors.Operation, amount, charged string) string {
	return fmt.Sprint(operation, " of ", amount, " ", charged)
}

// Submit implements actors.Provider.
func (r *railLink) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	key := callKey(call.Operation, call.Amount.String(), call.ChargedAmount.String())
	times := 1
	switch r.await(waitCall, key) {
	case verdictDead, verdictFail:
		return unreachable()
	case verdictTwice:
		times = 2
	}
	var outcome actors.Outcome
	for i := range times {
		if again := r.inner.Submit(ctx, call); i == 0 {
			outcome = again
		}
	}
	r.rail.mu.Lock()
	r.calls = append(r.calls, railCall{call.Reference, call.Amount.String(), call.Operation, outcome.Verdict})
	r.rail.mu.Unlock()
	if v := r.await(waitAnswer, key); v == verdictDead || v == verdictFail {
		return unreachable()
	}
	if ctx.Err() != nil { // the answer arrived after the service's time-out, so it is lost
		r.world.book.disturb()
		return unreachable()
	}
	return outcome
}

// Inquire implements actors.Provider.
func (r *railLink) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	key := "inquiry about " + callKey(q.Operation, q.Amount.String(), q.ChargedAmount.String())
	if v := r.await(waitCall, key); v == verdictDead || v == verdictFail {
		return unreachable()
	}
	outcome := r.inner.Inquire(ctx, q)
	if v := r.await(waitAnswer, key); v == verdictDead || v == verdictFail {
		return unreachable()
	}
	return outcome
}

// Reissue implements the interface Reissuer of package actors/payment.
func (r *railLink) Reissue(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	if v := r.await(waitCall, "reissue for "+callKey(q.Operation, q.Amount.String(), q.ChargedAmount.String())); v == verdictDead || v == verdictFail {
		return unreachable()
	}
	return r.inner.Reissue(ctx, q)
}

// Challenge implements checkout.Challenges.
func (r *rail) Challenge(terminal, reference ledger.ID, token string) (simulator.Challenge, error) {
	return r.inner.Challenge(terminal, reference, token)
}

// Decide implements checkout.Challenges.
func (r *railLink) Decide(terminal, reference ledger.ID, token string, approve bool) (returnURL string, org ledger.ID, err error) {
	if r.isKilled() {
		return "", ledger.ID{}, context.DeadlineExceeded
	}
	return r.inner.Decide(terminal, reference, token, approve)
}

// NextReport returns the time at which the service has to ask for the next report about reversals.
func (r *rail) NextReport(since time.Time) (time.Time, bool) { return r.inner.NextReport(since) }

// Reports implements actors.Provider.
func (r *railLink) Reports(ctx context.Context, since, until time.Time) ([]actors.Report, error) {
	if r.isKilled() {
		return nil, context.DeadlineExceeded
	}
	return r.inner.Reports(ctx, since, until)
}
