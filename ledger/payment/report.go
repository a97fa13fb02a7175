package payment

import (
	"mizan/internal/assert"
	"mizan/ledger"
)

// Reversed decides on settled money that the rail took back. The original transaction is
// reversed, and the return is a transaction of its own that books back the part that was not
// refunded. ok is false if there is nothing to take back, or while a refund is under way,
// because the refund's answer comes first.
func (c DecisionContext) Reversed(r *Record, charge uint64, returnID ledger.ID, why Failure) (Decision, bool) {
	left := r.Settled()
	if r.Status == Charged || r.Status == Refunded {
		left = must(left.Sub(r.Refunded))
	} else {
		return Decision{}, false
	}
	if r.Type != Payment || r.ReversalOf != (ledger.ID{}) || r.Op != nil || left.IsZero() {
		return Decision{}, false
	}
	rest := r.charge().less(r.refunded(r.Refunded, r.FeeBack))
	d := next(r)
	d.Record.ReturnID = returnID
	d.Outcome = true
	d.move(Reverse, nil)
	d.end(Failure{Code: TakenBack, Detail: why.Detail})

	back := Record{ID: returnID, Partner: r.Partner, Status: Absent, ReversalOf: r.ID, Terminal: r.Terminal, Route: r.Route,
		Fees: r.Fees, Fee: rest.fees, WithFee: rest.provider, Merchant: rest.partner, Rate: r.Rate, Settles: r.Settles}
	back.Dest, _ = rest.dest.Amount() // below zero, nothing arrives at the destination
	back.Request = Request{Type: Payout, Amount: left, Asset: r.Asset, Method: r.Method, CardBIN: r.CardBIN, CardLast4: r.CardLast4,
		MerchantMeta: []byte(`{"reversal_of":"` + r.ID.String() + `"}`)}
	ret := Decision{Record: &back, Outcome: true}
	ret.move(Return, &ledger.Entry{Phase: ledger.Posted, Reverses: charge, Postings: r.back(rest, true)})
	ret.Finish = true
	d.Return = &ret
	return d, true
}

// Corrected decides on a rail's correction that a refused charge has failed instead. It does not
// apply to a charge that the service gave up because the payer did not act.
func (c DecisionContext) Corrected(r *Record, why Failure) (Decision, bool) {
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

// late decides on an answer about a closed charge. Money that has moved after all is booked to
// suspense until it is given back.
func (c DecisionContext) late(r *Record, a Answer) (Decision, bool) {
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
		d.Due = c.after(minAgain) // if no caller gives it back before
	}
	return d, true
}

// GiveBack decides to return money in suspense. ok is false if there is none, or if the
// transaction is a payout, which can't be refunded.
func (c DecisionContext) GiveBack(r *Record, request ledger.ID) (Decision, bool) {
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

// assertPriced asserts that an amount that was priced before can be priced again.
func assertPriced(refused Code) { assert.That(refused == "", "payment: %s", refused) }
