package payment

import "mizan/ledger"

// This file decides what follows from a provider's later messages about a transaction that was decided before.

// DecideReversal decides on settled money that the provider has taken back. It marks the original transaction reversed and
// adds a return, a transaction of its own, which books back the part that was not refunded yet. charge is the number of the
// entry that settled the original. ok is false if there is nothing to take back, or while a refund is under way,
// because the refund's answer comes first.
func (c DecisionContext) DecideReversal(r *Record, charge uint64, returnID ledger.ID, why Failure) (Decision, bool) {
	if r.Status != Charged && r.Status != Refunded {
		return Decision{}, false
	}
	unrefunded := must(r.Settled().Sub(r.Refunded))
	if r.Type != Payment || r.ReversalOf != (ledger.ID{}) || r.Op != nil || unrefunded.IsZero() {
		return Decision{}, false
	}
	original := next(r)
	original.Record.ReturnID = returnID
	original.Outcome = true
	original.move(Reverse, nil)
	original.end(Failure{Code: TakenBack, Detail: why.Detail})

	// The return has the parts of the charge (fees, the merchant's, the provider's) that no refund has returned.
	parts := r.charge().less(r.refunded(r.Refunded, r.RefundedFee))
	returned := Record{ID: returnID, Partner: r.Partner, Status: Absent, ReversalOf: r.ID, Terminal: r.Terminal, Route: r.Route,
		Fees: r.Fees, Fee: parts.fees, AmountWithFee: parts.provider, Merchant: parts.partner, Rate: r.Rate, SettlementAsset: r.SettlementAsset}
	returned.Dest, _ = parts.dest.Amount() // below zero, nothing arrives at the destination
	returned.Request = Request{Type: Payout, Amount: unrefunded, Asset: r.Asset, Method: r.Method, CardBIN: r.CardBIN, CardLast4: r.CardLast4,
		MerchantMeta: []byte(`{"reversal_of":"` + r.ID.String() + `"}`)}
	original.Return = &Decision{Record: &returned, Outcome: true}
	original.Return.move(Return, &ledger.Entry{Phase: ledger.Posted, Reverses: charge, Postings: r.refundPostings(parts, true)})
	original.Return.Finish = true
	return original, true
}

// DecideCorrection decides on a provider's message that a charge which it had rejected has failed: rejected is the
// payer's or the bank's decision, failed is a fault of the processing. It does not apply to a charge that the service
// gave up because the payer did not act.
func (c DecisionContext) DecideCorrection(r *Record, why Failure) (Decision, bool) {
	if r.Status != Rejected || r.Terminal == (ledger.ID{}) || r.Op != nil || r.Failure.Code == PayerActionExpired {
		return Decision{}, false
	}
	d := next(r)
	d.Outcome = true
	d.move(Correct, nil)
	d.Record.Failure = why.as(ProcessingError)
	d.Finish = true
	d.Due = c.Due // money in suspense still has to be given back
	return d, true
}

// decideLateAnswer decides on an answer about a closed charge. Money that has moved after all is
// booked to suspense until it is given back.
func (c DecisionContext) decideLateAnswer(r *Record, a Answer) (Decision, bool) {
	if a.Verdict != VerdictCharged || r.Terminal == (ledger.ID{}) || r.SettledLate {
		return Decision{}, false
	}
	d := next(r)
	d.Outcome = true
	d.Record.SettledLate = true
	if a.RRN != "" {
		d.Record.RRN = a.RRN
	}
	d.Counters = d.Record.reserve(c.Org, nil)
	d.move(SettleLate, d.Record.suspense(ledger.Debit))
	if r.Type == Payment {
		d.Due = c.after(minAgain) // gives it back then, unless a caller has done so before
	}
	return d, true
}

// DecideGiveBack decides to return money in suspense. ok is false if there is none, or if the
// transaction is a payout, which can't be refunded.
func (c DecisionContext) DecideGiveBack(r *Record, request ledger.ID) (Decision, bool) {
	if !r.SettledLate || r.Type != Payment || r.Op != nil || len(r.Refunds) > 0 {
		return Decision{}, false
	}
	d := next(r)
	d.Outcome = true
	d.Record.Op = &Op{Kind: OpRefund, Request: request, Amount: r.Amount, Late: true, From: r.Status}
	d.Record.addRefund(c)
	d.move(GiveBack, nil)
	c.ask(&d)
	return d, true
}
