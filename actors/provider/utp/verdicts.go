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

// payerInquiryInterval is the time between inquiries about a charge that waits for its payer: the payer may have
// returned to the other platform and never to us.
const payerInquiryInterval = time.Minute

// pageAddressLife is how long payers are sent to one address of the other platform's page before a new address is
// requested. An address is valid for about 15 minutes.
const pageAddressLife = 10 * time.Minute

// chargeOutcome returns the transaction's verdict on the charge, and until when its page's address is used.
func (p *Provider) chargeOutcome(tx *transaction, state *actors.ChargeState) actors.Outcome {
	o := tx.chargeOutcome(state)
	if o.Action != nil && o.Action.Page != "" {
		o.Action.PageUntil = ledger.MicrosOf(p.clock.Now().Add(pageAddressLife))
	}
	return o
}

// chargeOutcome returns the transaction's verdict on the charge. An inquiry passes the charge's stored state; for
// a call the state is nil, and the outcome always has the payer's action.
func (tx *transaction) chargeOutcome(state *actors.ChargeState) actors.Outcome {
	lastRefundID := ""
	if state != nil {
		_, lastRefundID = storedIDs(state.Meta)
	}
	o := actors.Outcome{Meta: tx.idsToStore(lastRefundID)}
	switch {
	case tx.hasSettled():
		o.Verdict, o.RRN = payment.VerdictCharged, tx.rrn
	case tx.isHeld():
		o.Verdict, o.RRN = payment.VerdictHeld, tx.rrn
	case tx.status == statusRejected:
		o.Verdict, o.Failure = payment.VerdictRefused, tx.failure(payment.CardDeclined, reasonRejected)
	case tx.status == statusFailed:
		o.Verdict, o.Failure = payment.VerdictFailed, tx.failure(payment.ProcessingError, reasonFailed)
	case tx.status == statusAction:
		o.Verdict, o.InquireAfter = payment.VerdictAction, payerInquiryInterval
		if state == nil || !state.ActionKnown {
			o.Action = tx.action()
		}
	default:
		o.Verdict, o.Status = payment.VerdictPending, payment.Status(tx.status)
	}
	return o
}

// sharedCodes are the error codes that mean the same to our merchant as to us. Codes about limits, routing and
// balances at the other platform concern only us: our merchant sees a refusal by the provider.
var sharedCodes = []payment.Code{
	payment.CardDeclined, payment.InsufficientFunds, payment.ExpiredCard, payment.AuthenticationFailed, payment.PayerActionExpired,
	payment.ProcessingError,
}

// failure returns why the transaction did not succeed. One of sharedCodes is passed on, and our service words it in
// the merchant's language; for other codes the other platform's words are passed on. Platforms without
// error_code may have the code in error_description.
func (tx *transaction) failure(defaultCode payment.Code, defaultDetail string) payment.Failure {
	for _, code := range []payment.Code{payment.Code(tx.code), payment.Code(tx.reason)} {
		if slices.Contains(sharedCodes, code) {
			return payment.Failure{Code: code}
		}
	}
	return payment.Failure{Code: defaultCode, Detail: cmp.Or(tx.reason, defaultDetail)}
}

// processingError returns a processing error with our own words.
func processingError(detail string) payment.Failure {
	return payment.Failure{Code: payment.ProcessingError, Detail: detail}
}

// action returns the action that the other platform requires of our payer. The other platform's page
// can handle every action, so our page sends the payer there.
func (tx *transaction) action() *payment.Action {
	a := &payment.Action{}
	if tx.authAction != nil {
		a = tx.authAction
	}
	a.Page, a.Material, a.Requires, a.Destinations = tx.pageURL, tx.material, tx.requiredMembers, tx.destinations
	if !tx.expiresAt.IsZero() {
		a.ExpiresAt = ledger.MicrosOf(tx.expiresAt)
	}
	return a
}

// operationOutcome returns the outcome of an operation, as the transaction shows it; VerdictCharged means that the
// operation was carried out. If the transaction shows no effect of the operation, the operation is in progress (in
// the response to it), or never arrived (in a later inquiry).
func (p *Provider) operationOutcome(tx *transaction, s *subject, isResponse bool) actors.Outcome {
	_, lastRefundID := storedIDs(s.Meta)
	o := actors.Outcome{Verdict: payment.VerdictNotFound, Meta: tx.idsToStore(lastRefundID)}
	if isResponse {
		o.Verdict = payment.VerdictPending
	}
	switch s.operation {
	case actors.Capture:
		p.captureOutcome(tx, s, isResponse, &o)
	case actors.Void:
		switch {
		case tx.endedUnpaid():
			o.Verdict = payment.VerdictCharged
		case tx.hasSettled():
			o.Verdict, o.Failure = payment.VerdictRefused, processingError(reasonCharged)
		}
	case actors.Refund:
		p.refundOutcome(tx, s, lastRefundID, &o)
	}
	return o
}

func (p *Provider) captureOutcome(tx *transaction, s *subject, isResponse bool, o *actors.Outcome) {
	switch {
	case tx.hasSettled():
		o.Verdict, o.RRN = payment.VerdictCharged, tx.rrn
		if tx.capturedAmount != nil && *tx.capturedAmount != s.amount {
			p.logDifference(tx, s)
		}
	case tx.endedUnpaid():
		o.Verdict, o.Failure = payment.VerdictFailed, tx.failure(payment.ProcessingError, reasonFailed)
	case tx.isHeld() && isResponse && tx.reason != "":
		o.Verdict, o.Failure = payment.VerdictRefused, tx.failure(payment.ProcessingError, reasonNotDone)
	}
}

// refundOutcome recognises our refund by a refund id that differs from the id of the last finished refund,
// and by the total amount returned, if the platform shows it.
func (p *Provider) refundOutcome(tx *transaction, s *subject, lastRefundID string, o *actors.Outcome) {
	if tx.refundID == "" || tx.refundID == lastRefundID {
		return // the id belongs to an earlier refund: the platform does not know ours
	}
	refundedAfter, err := s.Refunded.Add(s.amount)
	isAmountShown := tx.refundedAmount != nil && err == nil
	switch {
	case tx.status == statusRefunding:
		o.Verdict, o.Status = payment.VerdictPending, statusRefunding
		return
	case isAmountShown && !tx.refundedAmount.Less(refundedAfter), !isAmountShown && tx.status == statusRefunded:
		o.Verdict = payment.VerdictCharged
		if isAmountShown && *tx.refundedAmount != refundedAfter {
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

// logDifference logs that the other platform has moved another amount than requested. The protocol
// permits this: the amount of a partial refund is only a request. Our ledger has the requested amount;
// the difference appears in the settlement.
func (p *Provider) logDifference(tx *transaction, s *subject) {
	moved := money.Amount{}
	if tx.refundedAmount != nil && s.operation == actors.Refund {
		moved = *tx.refundedAmount
	} else if tx.capturedAmount != nil {
		moved = *tx.capturedAmount
	}
	p.log.Error("a platform has moved another amount than it was asked to", "reference", s.reference.String(),
		"terminal", s.terminal.ID.String(), "operation", s.operation.String(), "asked", s.amount.String(), "before", s.Refunded.String(),
		slog.String("in_all", moved.String()))
}
