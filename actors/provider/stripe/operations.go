package stripe

import (
	"context"

	"github.com/stripe/stripe-go/v85"

	"mizan/actors"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// operate submits a Capture or a Void. Both can be executed only once, because the intent's status changes.
func (p *Provider) operate(ctx context.Context, call *actors.Call, s *subject) actors.Outcome {
	if s.intent == "" {
		return p.withoutIntent(s)
	}
	amount := int64(0)
	if call.Operation == actors.Capture {
		isExact := false
		if amount, isExact = stripeAmount(call.Amount, call.Asset, false); !isExact {
			return refused(payment.AmountOutOfRange)
		}
	}
	if call.Repetition > 0 {
		if o := p.inquireOperation(ctx, s); o.Verdict != payment.VerdictNotFound {
			return o
		}
	}
	in, f := p.sendOperation(ctx, s, amount)
	switch {
	case f == nil:
		return p.operationOutcome(s, in, true)
	case !f.isDefinite():
		return p.notRefused(call, s, f, "operation")
	}
	// The refusal may only mean that the operation was executed before. Therefore the intent's present status decides.
	o := p.inquireOperation(ctx, s)
	if o.Verdict == payment.VerdictNotFound {
		p.logFault(s, f, "operation")
		return refused(payment.ProcessingError)
	}
	return o
}

// withoutIntent is the outcome of an operation on a charge without an intent: nothing can have been charged, and nothing will. A payout
// has no intent either; it is never cancelled, because Stripe may have begun to pay it.
func (p *Provider) withoutIntent(s *subject) actors.Outcome {
	if s.operation == actors.Void && s.terminal.Type == directory.PaymentTerminal {
		return actors.Outcome{Verdict: payment.VerdictCharged}
	}
	return refused(payment.ProcessingError)
}

func (p *Provider) sendOperation(ctx context.Context, s *subject, amount int64) (*stripe.PaymentIntent, *fault) {
	if s.operation == actors.Void {
		return p.cancel(ctx, s, p.windowKey(s, "void"))
	}
	in, f := do(ctx, p.clientOf(s), func(ctx context.Context, c *client) (*stripe.PaymentIntent, error) {
		params := &stripe.PaymentIntentCaptureParams{AmountToCapture: &amount}
		params.IdempotencyKey = p.windowKey(s, "capture")
		return c.V1PaymentIntents.Capture(ctx, s.intent, params)
	})
	return p.ownIntent(s, in, f)
}

// inquireOperation returns the outcome of a Capture or a Void according to the intent.
func (p *Provider) inquireOperation(ctx context.Context, s *subject) actors.Outcome {
	if s.intent == "" {
		return p.withoutIntent(s)
	}
	in, f := p.read(ctx, s)
	if f != nil {
		return unknown(f)
	}
	return p.operationOutcome(s, in, false)
}

// operationOutcome returns the outcome of a Capture or a Void. VerdictCharged means that it was carried out. If the intent does not
// show it, the verdict depends on isResponse: in the response to the operation it is still in progress; in an inquiry it never
// arrived.
func (p *Provider) operationOutcome(s *subject, in *stripe.PaymentIntent, isResponse bool) actors.Outcome {
	isCapture := s.operation == actors.Capture
	switch {
	case in.Status == stripe.PaymentIntentStatusSucceeded && isCapture:
		p.checkReceived(s, in)
		return actors.Outcome{Verdict: payment.VerdictCharged, Token: savedCard(in)}
	case in.Status == stripe.PaymentIntentStatusSucceeded:
		return refused(payment.ProcessingError) // it was charged before it could be voided
	case in.Status == stripe.PaymentIntentStatusCanceled && isCapture:
		return actors.Outcome{Verdict: payment.VerdictFailed, Failure: cancelFailure(in)}
	case in.Status == stripe.PaymentIntentStatusCanceled:
		return actors.Outcome{Verdict: payment.VerdictCharged}
	case isResponse || in.Status == stripe.PaymentIntentStatusProcessing && isCapture:
		return actors.Outcome{Verdict: payment.VerdictPending}
	}
	return actors.Outcome{Verdict: payment.VerdictNotFound}
}

// Bounds of the lists in which an operation is searched.
const (
	pageSize   = 100 // Stripe's maximum
	maxRefunds = 10 * payment.MaxRefunds
)

// refund submits a refund. Before it is submitted once more, the list of the intent's refunds is read. A refund whose key is too
// old is not sent: only an operator can decide whether to make it.
func (p *Provider) refund(ctx context.Context, call *actors.Call, s *subject) actors.Outcome {
	if s.intent == "" {
		return refused(payment.RefundDeclined)
	}
	amount, isExact := stripeAmount(call.Amount, call.Asset, false)
	if !isExact {
		return refused(payment.RefundDeclined)
	}
	if call.Repetition > 0 {
		if o := p.inquireRefund(ctx, s); o.Verdict != payment.VerdictNotFound {
			return o
		}
	}
	if !p.mayUseKeySince(s, s.RequestedAt) {
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	made, f := do(ctx, p.clientOf(s), func(ctx context.Context, c *client) (*stripe.Refund, error) {
		params := &stripe.RefundCreateParams{
			PaymentIntent: &s.intent, Amount: &amount, Metadata: map[string]string{metaReference: s.request.String(), metaTerminal: s.terminal.ID.String()},
		}
		params.IdempotencyKey = s.key("refund", s.request.String())
		return c.V1Refunds.Create(ctx, params)
	})
	switch {
	case f == nil && s.isRefund(made):
		return p.refundOutcome(s, made)
	case f == nil:
		p.logOther(s, made.ID)
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	case !f.isDefinite():
		return p.notRefused(call, s, f, "refund")
	}
	// The refusal may only mean that the refund was made before, so the list decides.
	o := p.inquireRefund(ctx, s)
	if o.Verdict == payment.VerdictNotFound {
		p.logFault(s, f, "refund")
		return refused(payment.RefundDeclined)
	}
	return o
}

// isRefund tells whether a refund is the subject's. Partial captures and cancellations of holds also make refunds at Stripe, which
// have no reference.
func (s *subject) isRefund(r *stripe.Refund) bool {
	return r.ID != "" && r.Metadata[metaReference] == s.request.String()
}

// inquireRefund searches the refund in the list of the intent's refunds. The list, unlike Stripe's search, is up to date.
func (p *Provider) inquireRefund(ctx context.Context, s *subject) actors.Outcome {
	if s.intent == "" {
		return actors.Outcome{Verdict: payment.VerdictNotFound}
	}
	found, f := p.find(ctx, s)
	switch {
	case f != nil:
		p.logFault(s, f, "refunds")
		return unknown(f)
	case found == nil:
		return actors.Outcome{Verdict: payment.VerdictNotFound}
	}
	return p.refundOutcome(s, found)
}

// find returns the refund from the list, or nil if the whole list does not contain it.
func (p *Provider) find(ctx context.Context, s *subject) (*stripe.Refund, *fault) {
	return findInList(ctx, p.clientOf(s), maxRefunds,
		func(ctx context.Context, c *client, after *string) *stripe.V1List[*stripe.Refund] {
			params := &stripe.RefundListParams{PaymentIntent: &s.intent}
			params.Limit, params.StartingAfter, params.Single = stripe.Int64(pageSize), after, true
			return c.V1Refunds.List(ctx, params)
		},
		func(r *stripe.Refund) (string, bool) { return r.ID, s.isRefund(r) })
}

// findInList reads a list page by page, newest first, until an element is the wanted one. It returns the zero value if no element
// is. list requests the page after an id; identify returns an element's id and whether it is wanted.
func findInList[T any](ctx context.Context, c *client, bound int, list func(context.Context, *client, *string) *stripe.V1List[T], identify func(T) (string, bool)) (T, *fault) {
	var none T
	var after *string
	for range (bound + pageSize - 1) / pageSize {
		page, f := do(ctx, c, func(ctx context.Context, c *client) (*stripe.V1List[T], error) {
			page := list(ctx, c, after)
			return page, page.Err()
		})
		if f != nil {
			return none, f
		}
		for _, element := range page.Data() {
			id, isWanted := identify(element)
			if isWanted {
				return element, nil
			}
			after = &id
		}
		if !page.Meta().HasMore || len(page.Data()) == 0 {
			return none, nil
		}
	}
	return none, &fault{mayHaveArrived: true, status: 200, cause: "the list has too many pages"}
}

// refundOutcome returns the outcome of a refund according to its status.
func (p *Provider) refundOutcome(s *subject, r *stripe.Refund) actors.Outcome {
	asset := money.Asset{Currency: money.Currency(upper(r.Currency)), Env: s.terminal.Env}
	if minor, ok := stripeAmount(s.amount, asset, false); !ok || minor != r.Amount {
		p.log.Error("Stripe has refunded another amount than it was asked to", "reference", s.reference.String(), "request", s.request.String(),
			"terminal", s.terminal.ID.String(), "asked", s.amount.String(), "currency", string(r.Currency), "refunded_minor_units", r.Amount)
	}
	switch r.Status {
	case stripe.RefundStatusSucceeded:
		return actors.Outcome{Verdict: payment.VerdictCharged}
	case stripe.RefundStatusFailed, stripe.RefundStatusCanceled:
		return refused(payment.RefundDeclined)
	}
	return actors.Outcome{Verdict: payment.VerdictPending, Status: payment.Refunding} // pending, or the payer has to act
}
