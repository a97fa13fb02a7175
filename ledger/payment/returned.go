package payment

import "mizan/ledger/money"

// SubmittedAmount returns the amount that the provider was asked to move: what the payer pays, or what the
// payee receives. After a partial capture it is the captured part.
func (r *Record) SubmittedAmount() money.Amount {
	if r.Type == Payout {
		return r.DestAmount
	}
	return r.AmountWithFee
}

// ReturnedAmount returns how much the provider has returned in refunds, including fees that the payer had paid on top.
func (r *Record) ReturnedAmount() money.Amount {
	return r.refundsFlow(r.Refunded, r.RefundedFee).provider
}

// ReturningAmounts returns which part of the amount has gone back to the payer or is on its way back, and what the payer gets
// with it, fees included. A refund is on its way once the rail has it, in status refunding.
func (r *Record) ReturningAmounts() (amount, toPayer money.Amount) {
	switch {
	case r.Status == Reversed:
		return r.Settled(), r.AmountWithFee
	case r.Status == Refunding && r.Op != nil:
		amount = plus(r.Refunded, r.Op.Amount)
		return amount, r.refundsFlow(amount, plus(r.RefundedFee, r.Op.RefundedFee)).provider
	}
	return r.Refunded, r.ReturnedAmount()
}

// ReturnedToPayer returns how much of what the payer paid has gone back: in refunds, or in a chargeback, which takes
// whatever no refund had returned. The amount is in the transaction's asset.
func (r *Record) ReturnedToPayer() money.Amount {
	if r.Status == Reversed {
		return r.AmountWithFee
	}
	return r.ReturnedAmount()
}
