package utp

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// askPayer is how often a charge that waits for its payer is inquired: the payer may have returned
// to the other platform and never to us.
const askPayer = time.Minute

// pageLife is how long payers are sent to the other platform's page before its address is requested
// again. The address is valid for about 15 minutes.
const pageLife = 10 * time.Minute

// chargeOutcome returns the transaction's verdict on the charge, with the expiry of its page.
func (p *Provider) chargeOutcome(tx *transaction, state *actors.ChargeState) actors.Outcome {
	o := tx.chargeOutcome(state)
	if o.Action != nil && o.Action.Page != "" {
		o.Action.PageUntil = ledger.MicrosOf(p.clock.Now().Add(pageLife))
	}
	return o
}

// chargeOutcome returns the transaction's verdict on the charge. An inquiry passes the charge's stored state; for
// a call the state is nil, and the outcome always has the payer's action.
func (tx *transaction) chargeOutcome(state *actors.ChargeState) actors.Outcome {
	refund := ""
	if state != nil {
		_, refund = storedIDs(state.Meta)
	}
	o := actors.Outcome{Meta: tx.idsToStore(refund)}
	switch {
	case tx.settled():
		o.Verdict, o.RRN = payment.VerdictCharged, tx.rrn
	case tx.held():
		o.Verdict, o.RRN = payment.VerdictHeld, tx.rrn
	case tx.status == statusRejected:
		o.Verdict, o.Failure = payment.VerdictRefused, tx.failure(payment.CardDeclined, reasonRejected)
	case tx.status == statusFailed:
		o.Verdict, o.Failure = payment.VerdictFailed, tx.failure(payment.ProcessingError, reasonFailed)
	case tx.status == statusAction:
		o.Verdict, o.Again = payment.VerdictAction, askPayer
		if state == nil || !state.ActionKnown {
			o.Action = tx.action()
		}
	default:
		o.Verdict, o.Status = payment.VerdictPending, payment.Status(tx.status)
	}
	return o
}

// aboutPayer are the codes that mean the same to our merchant as to us. Limits, routing and balances at
// the other platform concern only us: our merchant sees them as a refusal of the rail.
var aboutPayer = []payment.Code{
	payment.CardDeclined, payment.InsufficientFunds, payment.ExpiredCard, payment.AuthenticationFailed, payment.PayerActionExpired,
	payment.ProcessingError,
}

// failure returns why the transaction did not succeed. A code that means the same to our merchant
// is passed on, with the catalogue's sentence in the merchant's language; for other codes the other
// platform's words are passed on. Platforms without error_code may have such a code in
// error_description.
func (tx *transaction) failure(otherwise payment.Code, detail string) payment.Failure {
	for _, code := range []payment.Code{payment.Code(tx.code), payment.Code(tx.reason)} {
		if slices.Contains(aboutPayer, code) {
			return payment.Failure{Code: code}
		}
	}
	return payment.Failure{Code: otherwise, Detail: cmp.Or(tx.reason, detail)}
}

// processing returns a processing error with our own words.
func processing(detail string) payment.Failure {
	return payment.Failure{Code: payment.ProcessingError, Detail: detail}
}

// action returns what our payer has to do, as the other platform publishes it. The other platform's
// page can handle every action, so our page sends the payer there.
func (tx *transaction) action() *payment.Action {
	a := &payment.Action{}
	if tx.auth != nil {
		a = tx.auth
	}
	a.Page, a.Material, a.Requires, a.Destinations = tx.page, tx.material, tx.requires, tx.destinations
	if !tx.expires.IsZero() {
		a.ExpiresAt = ledger.MicrosOf(tx.expires)
	}
	return a
}

// operationOutcome returns the outcome of an operation, as the transaction shows it. If the operation
// has no visible effect, it is in progress in the response to the operation itself; in a later inquiry,
// it never arrived.
func (p *Provider) operationOutcome(tx *transaction, s *subject, isResponse bool) actors.Outcome {
	_, refund := storedIDs(s.Meta)
	o := actors.Outcome{Verdict: payment.VerdictNotFound, Meta: tx.idsToStore(refund)}
	if isResponse {
		o.Verdict = payment.VerdictPending
	}
	switch s.operation {
	case actors.Capture:
		p.captureOutcome(tx, s, isResponse, &o)
	case actors.Void:
		switch {
		case tx.ended():
			o.Verdict = payment.VerdictCharged
		case tx.settled():
			o.Verdict, o.Failure = payment.VerdictRefused, processing(reasonCharged)
		}
	case actors.Refund:
		p.refundOutcome(tx, s, refund, &o)
	}
	return o
}

func (p *Provider) captureOutcome(tx *transaction, s *subject, isResponse bool, o *actors.Outcome) {
	switch {
	case tx.settled():
		o.Verdict, o.RRN = payment.VerdictCharged, tx.rrn
		if tx.captured != nil && *tx.captured != s.amount {
			p.logDifference(tx, s)
		}
	case tx.ended():
		o.Verdict, o.Failure = payment.VerdictFailed, tx.failure(payment.ProcessingError, reasonFailed)
	case tx.held() && isResponse && tx.reason != "":
		o.Verdict, o.Failure = payment.VerdictRefused, tx.failure(payment.ProcessingError, reasonNotDone)
	}
}

// refundOutcome recognises our refund by the other platform's refund id, which differs from that of the last
// finished refund, and by the amount returned if the platform shows it.
func (p *Provider) refundOutcome(tx *transaction, s *subject, before string, o *actors.Outcome) {
	if tx.refundID == "" || tx.refundID == before {
		return // it is an earlier refund; ours is not known there
	}
	refundedAfter, err := s.Returned.Add(s.amount)
	isShown := tx.refunded != nil && err == nil
	switch {
	case tx.status == statusRefunding:
		o.Verdict, o.Status = payment.VerdictPending, statusRefunding
		return
	case isShown && !tx.refunded.Less(refundedAfter), !isShown && tx.status == statusRefunded:
		o.Verdict = payment.VerdictCharged
		if isShown && *tx.refunded != refundedAfter {
			p.logDifference(tx, s)
		}
	case tx.refundMsg != "":
		o.Verdict, o.Failure = payment.VerdictRefused, payment.Failure{Code: payment.RefundDeclined, Detail: tx.refundMsg}
	default:
		o.Verdict = payment.VerdictPending
		return
	}
	o.Meta = tx.idsToStore(tx.refundID)
}

// logDifference logs that the other platform has moved another amount than requested, which the protocol
// permits: the amount of a partial refund is only a request. Our books have the requested amount; the
// difference appears in the settlement.
func (p *Provider) logDifference(tx *transaction, s *subject) {
	moved := money.Amount{}
	if tx.refunded != nil && s.operation == actors.Refund {
		moved = *tx.refunded
	} else if tx.captured != nil {
		moved = *tx.captured
	}
	p.log.Error("a platform has moved another amount than it was asked to", "reference", s.reference.String(),
		"terminal", s.terminal.ID.String(), "operation", s.operation.String(), "asked", s.amount.String(), "before", s.Returned.String(),
		slog.String("in_all", moved.String()))
}
