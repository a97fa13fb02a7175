package payment

import "mizan/ledger"

// This file decides on messages from a provider about a transaction whose charge has already ended.

// DecideReversal returns the decision on a chargeback: settled money that the provider has taken back. It marks the
// original transaction as reversed. It also creates a return, a separate transaction for the part of the money that no
// refund had returned before. chargeSeq is the Seq of the event that settled the original transaction. The bool is false
// if no money settled or if all money was refunded. While a refund is under way, it is false too, because the refund's
// outcome has to be recorded first.
func (c DecisionContext) DecideReversal(r *Record, chargeSeq uint64, returnID ledger.ID, why Failure) (Decision, bool) {
	if r.Status != Charged && r.Status != Refunded {
		return Decision{}, false
	}
	unrefunded := must(r.SettledAmount().Sub(r.RefundedAmount))
	if r.Type != Payment || r.ReversalOf != (ledger.ID{}) || r.Op != nil || unrefunded.IsZero() {
		return Decision{}, false
	}
	original := newDecision(r)
	original.Record.ReturnID = returnID
	original.MustRecord = true
	original.move(Reverse, nil)
	original.end(Failure{Code: TakenBack, Detail: why.Detail})

	// Each amount of the return is the charge's amount minus its refunded part.
	returnFlow := r.chargeFlow().minus(r.refundsFlow(r.RefundedAmount, r.RefundedFee))
	returnRecord := Record{ID: returnID, Partner: r.Partner, Status: Absent, ReversalOf: r.ID, Terminal: r.Terminal, Route: r.Route,
		Fees: r.Fees, Fee: returnFlow.fees, AmountWithFee: returnFlow.provider, MerchantAmount: returnFlow.partner, Rate: r.Rate, SettlementAsset: r.SettlementAsset}
	returnRecord.DestAmount, _ = returnFlow.dest.Amount() // zero if dest is negative; the postings use the signed value
	returnRecord.Request = Request{Type: Payout, Amount: unrefunded, Asset: r.Asset, Method: r.Method, CardBIN: r.CardBIN, CardLast4: r.CardLast4,
		MerchantMeta: []byte(`{"reversal_of":"` + r.ID.String() + `"}`)}
	original.Return = &Decision{Record: &returnRecord, MustRecord: true}
	original.Return.move(Return, &ledger.Entry{Phase: ledger.Posted, Reverses: chargeSeq, Postings: r.refundPostings(returnFlow, true)})
	original.Return.IsFinal = true
	return original, true
}

// DecideCorrection returns the decision on a provider's message that corrects an earlier one: a charge that was reported
// as rejected (the payer or the bank declined) has in fact failed (a fault in processing). The bool is false if there is
// nothing to correct, for example because the service itself gave up the charge after the payer did not act in time.
func (c DecisionContext) DecideCorrection(r *Record, why Failure) (Decision, bool) {
	if r.Status != Rejected || r.Terminal == (ledger.ID{}) || r.Op != nil || r.Failure.Code == PayerActionExpired {
		return Decision{}, false
	}
	d := newDecision(r)
	d.MustRecord = true
	d.move(Correct, nil)
	d.Record.OriginalRejection, d.Record.Failure = r.Failure.Code, why.orCode(ProcessingError)
	d.IsFinal = true
	d.Due = c.Due // keep the due instant: the timer may still have to refund money on the suspense account
	return d, true
}

// decideLateAnswer returns the decision on a provider's answer about a charge that has already ended. If the answer says
// that money has moved after all, the money is booked to the suspense account until it is refunded. Otherwise the bool is
// false.
func (c DecisionContext) decideLateAnswer(r *Record, a ProviderAnswer) (Decision, bool) {
	if a.Verdict != VerdictCharged || r.Terminal == (ledger.ID{}) || r.LateSettlement {
		return Decision{}, false
	}
	d := newDecision(r)
	d.MustRecord = true
	d.Record.LateSettlement = true
	if a.RRN != "" {
		d.Record.RRN = a.RRN
	}
	d.Counters = d.Record.reserve(c.Org, nil)
	d.move(SettleLate, d.Record.suspenseEntry(ledger.Debit))
	if r.Type == Payment {
		d.Due = c.fromNow(minRetryDelay) // at that instant, DecideSuspenseRefund refunds the money
	}
	return d, true
}

// hasMoneyInSuspense tells whether money of the payment is still on the suspense account, because neither a refund nor a
// chargeback has returned it.
func (r *Record) hasMoneyInSuspense() bool {
	last := r.LastRefund()
	return r.LateSettlement && r.Type == Payment && !r.LateChargeback && (last == nil || last.Status != RefundSucceeded)
}

// DecideLateReversal returns the decision on a chargeback of money on the suspense account. It books the money off the
// account in the same way as a refund, so there is nothing left to refund. The bool is false if the account has no money
// of the payment. While a refund is under way, it is false too, because the refund's outcome has to be recorded first.
func (c DecisionContext) DecideLateReversal(r *Record) (Decision, bool) {
	if !r.hasMoneyInSuspense() || r.Op != nil {
		return Decision{}, false
	}
	d := newDecision(r)
	d.MustRecord = true
	d.Record.LateChargeback = true
	d.move(ReverseLate, d.Record.suspenseEntry(ledger.Credit))
	return d, true
}

// DecideSuspenseRefund returns the decision to refund the money that the transaction has on the suspense account. The
// bool is false if there is no such money, if the transaction is a payout, which can't be refunded, or if a refund was
// requested before.
func (c DecisionContext) DecideSuspenseRefund(r *Record, request ledger.ID) (Decision, bool) {
	if !r.hasMoneyInSuspense() || r.Op != nil || len(r.Refunds) > 0 {
		return Decision{}, false
	}
	d := newDecision(r)
	d.MustRecord = true
	d.Record.Op = &Op{Kind: OpRefund, ID: request, Amount: r.Amount, FromSuspense: true, From: r.Status}
	d.Record.addRefund(c)
	d.move(RefundSuspense, nil)
	c.submitOp(&d)
	return d, true
}
