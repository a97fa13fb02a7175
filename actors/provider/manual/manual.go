package manual

import (
	"context"
	"time"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/internal/clock"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Reasons of refusals.
const (
	reasonMoneyIn    = "The provider pays out by hand and takes no payments."
	reasonNoWayBack  = "The payout may have been paid by hand already."
	reasonParameters = "The terminal's parameters can't be read."
)

// resolution is how exactly a time is kept. The instant of submission is a booked time, which is ahead of the clock by a
// microsecond for each event that the organization had at the same instant; and no inquiry comes sooner.
const resolution = time.Millisecond

// Provider answers for the operator. It is safe for concurrent use.
type Provider struct {
	clock clock.Clock
}

var _ actors.Provider = (*Provider)(nil)

// New makes the provider; the clock is the business clock.
func New(c clock.Clock) *Provider { return &Provider{clock: c} }

// Name implements actors.Provider.
func (p *Provider) Name() string { return Name }

// Accepts implements actors.Provider. A payment is routed here too, so that its refusal says why.
func (p *Provider) Accepts(_ actors.Operation, method string) bool {
	_, known := payment.Method([]byte(method))
	return known
}

// Submit implements actors.Provider.
func (p *Provider) Submit(_ context.Context, call *actors.Call) actors.Outcome {
	assert.That(call.Operation >= actors.Pay && call.Operation <= actors.Refund, "manual: operation %d", call.Operation)
	if call.Operation == actors.PayOut && settleAfter(call.Terminal) == 0 {
		return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: processing(reasonParameters)}
	}
	return p.answer(call.Operation, call.Terminal, call.Since)
}

// Inquire implements actors.Provider.
func (p *Provider) Inquire(_ context.Context, q *actors.Question) actors.Outcome {
	return p.answer(q.Operation, q.Terminal, q.Since)
}

// Reports implements actors.Provider: no bank reports anything here.
func (p *Provider) Reports(context.Context, time.Time, time.Time) ([]actors.Report, error) {
	return nil, nil
}

// answer returns what became of an operation on a charge that was submitted at an instant. No payout asks its
// recipient to act, so Complete finds it as it is.
func (p *Provider) answer(operation actors.Operation, terminal *directory.Terminal, since time.Time) actors.Outcome {
	switch operation {
	case actors.Pay:
		return actors.Outcome{Verdict: payment.VerdictRefused, Failure: processing(reasonMoneyIn)}
	case actors.Capture, actors.Void, actors.Refund:
		return actors.Outcome{Verdict: payment.VerdictRefused, Failure: processing(reasonNoWayBack)}
	}
	after := settleAfter(terminal)
	if after == 0 {
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	if left := since.Add(after).Sub(p.clock.Now()); left >= resolution {
		return actors.Outcome{Verdict: payment.VerdictPending, Again: left}
	}
	return actors.Outcome{Verdict: payment.VerdictCharged}
}

func processing(reason string) payment.Failure {
	return payment.Failure{Code: payment.ProcessingError, Detail: reason}
}
