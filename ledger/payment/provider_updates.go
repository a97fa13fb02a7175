package payment

import "mizan/ledger"

// This file decides on late messages from a provider, about a transaction whose charge has already ended.

// DecideReversal decides on a chargeback: settled money that the provider has taken back. It marks the original
// transaction as reversed and adds a return, a separate transaction that reverses the part that was not refunded yet.
// chargeSeq is the Seq of the event that settled the original. The second result is false if nothing settled or
// everything was refunded. It is also false while a refund is under way, because the refund's outcome has to be
// recorded first.
func (c DecisionContext) DecideReversal(r *Record, chargeSeq uint64, returnID ledger.ID, why Failure) (Decision, bool) {
	if r.Status != Charged && r.Status != Refunded {
		return Decision{}, false
	}
	unrefunded := must(r.Settled().Sub(r.Refunded))
	if r.Type != Payment || r.ReversalOf != (ledger.ID{}) || r.Op != nil || unrefunded.IsZero() {
		return Decision{}, false
	}
	original := newDecision(r)
	original.Record.ReturnID = returnID
	original.MustRecord = true
	original.move(Reverse, nil)
	original.end(Failure{Code: TakenBack, Detail: why.Detail})

	// The return has the part of each amount of the charge that no refund has returned.
	returnFlow := r.chargeFlow().minus(r.refundsFlow(r.Refunded, r.RefundedFee))
	returnRecord := Record{ID: returnID, Partner: r.Partner, Status: Absent, ReversalOf: r.ID, Terminal: r.Terminal, Route: r.Route,
		Fees: r.Fees, Fee: returnFlow.fees, AmountWithFee: returnFlow.provider, MerchantAmount: returnFlow.partner, Rate: r.Rate, SettlementAsset: r.SettlementAsset}
	returnRecord.DestAmount, _ = returnFlow.dest.Amount() // zero for a negative part; the postings use the signed part
	returnRecord.Request = Request{Type: Payout, Amount: unrefunded, Asset: r.Asset, Method: r.Method, CardBIN: r.CardBIN, CardLast4: r.CardLast4,
		MerchantMeta: []byte(`{"reversal_of":"` + r.ID.String() + `"}`)}
	original.Return = &Decision{Record: &returnRecord, MustRecord: true}
	original.Return.move(Return, &ledger.Entry{Phase: ledger.Posted, Reverses: chargeSeq, Postings: r.refundPostings(returnFlow, true)})
	original.Return.IsFinal = true
	return original, true
}

// DecideCorrection decides on a provider's message that a charge, which was reported as rejected, has in fact failed.
// Rejected means that the payer or the bank declined; failed means a fault in processing. A charge that the service
// itself gave up, because the payer did not act in time, is not corrected.
func (c DecisionContext) DecideCorrection(r *Record, why Failure) (Decision, bool) {
	if r.Status != Rejected || r.Terminal == (ledger.ID{}) || r.Op != nil || r.Failure.Code == PayerActionExpired {
		return Decision{}, false
	}
	d := newDecision(r)
	d.MustRecord = true
	d.move(Correct, nil)
	d.Record.Failure = why.orCode(ProcessingError)
	d.IsFinal = true
	d.Due = c.Due // unchanged: the timer may still have to refund money on the suspense account
	return d, true
}

// decideLateAnswer decides on a provider's answer about a charge that has already ended. If money has moved after
// all, it is booked to the suspense account until it is refunded.
func (c DecisionContext) decideLateAnswer(r *Record, a Answer) (Decision, bool) {
	if a.Verdict != VerdictCharged || r.Terminal == (ledger.ID{}) || r.SettledLate {
		return Decision{}, false
	}
	d := newDecision(r)
	d.MustRecord = true
	d.Record.SettledLate = true
	if a.RRN != "" {
		d.Record.RRN = a.RRN
	}
	d.Counters = d.Record.reserve(c.Org, nil)
	d.move(SettleLate, d.Record.suspenseEntry(ledger.Debit))
	if r.Type == Payment {
		d.Due = c.fromNow(minRetryDelay) // the timer refunds it, unless a caller has done so before
	}
	return d, true
}

// hasMoneyInSuspense tells whether the suspense account has money of the payment that has gone back neither in a refund
// nor in a chargeback.
func (r *Record) hasMoneyInSuspense() bool {
	last := r.LastRefund()
	return r.SettledLate && r.Type == Payment && !r.TakenBackLate && (last == nil || last.Status != RefundSucceeded)
}

// DecideLateReversal decides on a chargeback of money on the suspense account. The money leaves the account as in a refund,
// and nothing is left to return. The second result is false if the account has no money of the payment. It is also false
// while a refund is under way, because the refund's outcome has to be recorded first.
func (c DecisionContext) DecideLateReversal(r *Record) (Decision, bool) {
	if !r.hasMoneyInSuspense() || r.Op != nil {
		return Decision{}, false
	}
	d := newDecision(r)
	d.MustRecord = true
	d.Record.TakenBackLate = true
	d.move(TakeBackLate, d.Record.suspenseEntry(ledger.Credit))
	return d, true
}

// DecideSuspenseRefund decides to refund the transaction's money on the suspense account. The second result is false
// if the suspense account has no unreturned money of the transaction, or if the transaction is a payout, which can't be
// refunded.
func (c DecisionContext) DecideSuspenseRefund(r *Record, request ledger.ID) (Decision, bool) {
	if !r.hasMoneyInSuspense() || r.Op != nil || len(r.Refunds) > 0 {
		return Decision{}, false
	}
	d := newDecision(r)
	d.MustRecord = true
	d.Record.Op = &Op{Kind: OpRefund, ID: request, Amount: r.Amount, Late: true, From: r.Status}
	d.Record.addRefund(c)
	d.move(GiveBack, nil)
	c.submitOp(&d)
	return d, true
}
