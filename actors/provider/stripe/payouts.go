package stripe

import (
	"context"
	"time"

	"github.com/stripe/stripe-go/v85"

	"mizan/actors"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

const (
	// maxPayouts is the number of payouts in which one is searched. An account makes few of them.
	maxPayouts = 10_000

	// payoutInquiryInterval is the time between inquiries about a payout, which takes some days.
	payoutInquiryInterval = time.Hour
)

// payOut pays to the account's own bank account. The idempotency key is our reference; a payout whose key is too old is not sent.
func (p *Provider) payOut(ctx context.Context, call *actors.Call, s *subject) actors.Outcome {
	if call.Hold {
		return refused(payment.ProcessingError) // Stripe's payouts cannot be held first
	}
	amount, isExact := stripeAmount(call.Amount, call.Asset, true)
	if !isExact {
		return refused(payment.AmountOutOfRange)
	}
	if call.Repetition > 0 {
		if o := p.inquirePayout(ctx, s); o.Verdict != payment.VerdictNotFound {
			return o
		}
	}
	if !p.mayUseKeySince(s, s.SubmittedSince) {
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	made, f := do(ctx, p.clientOf(s), func(ctx context.Context, c *client) (*stripe.Payout, error) {
		params := &stripe.PayoutCreateParams{Amount: &amount, Currency: stripe.String(currencyCode(call.Asset)), Metadata: s.metadata()}
		params.IdempotencyKey = s.key("payout", s.reference.String())
		return c.V1Payouts.Create(ctx, params)
	})
	switch {
	case f == nil && s.isPayout(made):
		return p.payoutOutcome(s, made)
	case f == nil:
		p.logOther(s, made.ID)
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	case f.isDefinite() && call.Repetition == 0:
		p.logFault(s, f, "payout")
		return actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payoutFailure(f)}}
	}
	return p.notRefused(call, s, f, "payout")
}

// payoutFailure returns the reason for which Stripe has refused a payout.
func payoutFailure(f *fault) payment.Code {
	if f.code() == string(stripe.ErrorCodeBalanceInsufficient) {
		return payment.InsufficientFunds
	}
	return payment.ProcessingError
}

func (s *subject) isPayout(made *stripe.Payout) bool {
	return isID(made.ID, "po_") && made.Metadata[metaReference] == s.reference.String()
}

// inquirePayout searches the payout in the account's list.
func (p *Provider) inquirePayout(ctx context.Context, s *subject) actors.Outcome {
	found, f := findInList(ctx, p.clientOf(s), maxPayouts,
		func(ctx context.Context, c *client, after *string) *stripe.V1List[*stripe.Payout] {
			params := &stripe.PayoutListParams{CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: s.SubmittedSince.Add(-skew).Unix()}}
			params.Limit, params.StartingAfter, params.Single = stripe.Int64(pageSize), after, true
			return c.V1Payouts.List(ctx, params)
		},
		func(made *stripe.Payout) (string, bool) { return made.ID, s.isPayout(made) })
	switch {
	case f != nil:
		p.logFault(s, f, "payouts")
		return unknown(f)
	case found == nil:
		return actors.Outcome{Verdict: payment.VerdictNotFound}
	}
	return p.payoutOutcome(s, found)
}

// payoutOutcome returns the outcome of a payout according to its status.
func (p *Provider) payoutOutcome(s *subject, made *stripe.Payout) actors.Outcome {
	asset := money.Asset{Currency: money.Currency(upper(made.Currency)), Env: s.terminal.Env}
	if minor, ok := stripeAmount(s.ChargedAmount, asset, true); !ok || minor != made.Amount {
		p.log.Error("Stripe pays out another amount than it was asked to", "reference", s.reference.String(), "terminal", s.terminal.ID.String(),
			"asked", s.ChargedAmount.String(), "currency", string(made.Currency), "paid_minor_units", made.Amount)
	}
	o := actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: payoutInquiryInterval, Meta: encodeMeta(chargeMeta{Payout: made.ID})}
	switch made.Status {
	case stripe.PayoutStatusPaid:
		o.Verdict = payment.VerdictCharged
	case stripe.PayoutStatusFailed, stripe.PayoutStatusCanceled:
		o.Verdict, o.Failure = payment.VerdictFailed, payment.Failure{Code: payment.ProcessingError}
	}
	return o
}
