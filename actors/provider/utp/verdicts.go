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

// payerInquiryInterval is the time between inquiries about a charge that waits for its payer. The inquiries are
// needed because a payer may return to the other platform and never to us.
const payerInquiryInterval = time.Minute

// pageAddressLife is the time for which one address of the other platform's page is used before a new address is
// requested. An address is valid for about 15 minutes.
const pageAddressLife = 10 * time.Minute

// chargeOutcome returns the charge's outcome according to the transaction, and sets the time until which the address
// of the payer's page is used.
func (p *Provider) chargeOutcome(tx *transaction, state *actors.ChargeState) actors.Outcome {
	o := tx.chargeOutcome(state)
	if o.Action != nil && o.Action.Page != "" {
		o.Action.PageUntil = ledger.MicrosOf(p.clock.Now().Add(pageAddressLife))
	}
	return o
}

// chargeOutcome returns the charge's outcome according to the transaction. For an inquiry, state is the charge's
// stored state. For a call, state is nil, and the outcome always contains the payer's action.
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

// sharedCodes are the error codes of the other platform that are passed on to our merchant, because they mean
// the same there and here. Codes about limits, routing and balances at the other platform concern only us, so
// our merchant sees only that the provider refused.
var sharedCodes = []payment.Code{
	payment.CardDeclined, payment.InsufficientFunds, payment.ExpiredCard, payment.AuthenticationFailed, payment.PayerActionExpired,
	payment.ProcessingError,
}

// failure returns the reason why the transaction did not succeed. If the code is one of sharedCodes, it is passed
// on, and our service explains it in the merchant's language. Otherwise the other platform's text is passed on.
// Platforms that do not send error_code may send the code in error_description.
func (tx *transaction) failure(defaultCode payment.Code, defaultDetail string) payment.Failure {
	for _, code := range []payment.Code{payment.Code(tx.code), payment.Code(tx.reason)} {
		if slices.Contains(sharedCodes, code) {
			return payment.Failure{Code: code}
		}
	}
	return payment.Failure{Code: defaultCode, Detail: cmp.Or(tx.reason, defaultDetail)}
}

// processingError returns a processing error with a text of ours.
func processingError(detail string) payment.Failure {
	return payment.Failure{Code: payment.ProcessingError, Detail: detail}
}

// action returns the action that the other platform requires of our payer. The page of the other
// platform can handle every action, so our own page sends the payer to that page.
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

// operationOutcome returns the outcome of an operation according to the transaction. VerdictCharged means that the
// operation was carried out. If the transaction does not show the operation, the verdict depends on isResponse: in
// the response to the operation, the operation is still in progress; in a later inquiry, it never arrived.
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

// refundOutcome recognises our refund by two signs: the refund id differs from the id of the last finished
// refund, and the total amount refunded (if the platform shows it) includes our refund.
func (p *Provider) refundOutcome(tx *transaction, s *subject, lastRefundID string, o *actors.Outcome) {
	if tx.refundID == "" || tx.refundID == lastRefundID {
		return // the id belongs to an earlier refund, so the platform does not know our refund
	}
	refundedAfter, err := s.RefundedAmount.Add(s.amount)
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

// logDifference logs that the other platform has moved a different amount than we requested. The
// protocol permits this, because the amount of a partial refund is only a request. Our ledger contains
// the requested amount; the difference appears in the settlement.
func (p *Provider) logDifference(tx *transaction, s *subject) {
	moved := money.Amount{}
	if tx.refundedAmount != nil && s.operation == actors.Refund {
		moved = *tx.refundedAmount
	} else if tx.capturedAmount != nil {
		moved = *tx.capturedAmount
	}
	p.log.Error("a platform has moved another amount than it was asked to", "reference", s.reference.String(),
		"terminal", s.terminal.ID.String(), "operation", s.operation.String(), "asked", s.amount.String(), "before", s.RefundedAmount.String(),
		slog.String("in_all", moved.String()))
}
