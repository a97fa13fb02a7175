package payment

import "mizan/ledger/money"

// SubmittedAmount returns the amount that the provider was asked to move. For a payment it includes the fee that the payer
// pays; for a payout it is the amount that the payee receives. After a partial capture it is the captured part.
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

// ReturningAmounts returns the part of the amount that was returned to the payer or is being returned, and what the payer
// gets for it, fees included. A refund counts as being returned from the status refunding on, when the rail has it.
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

// ReturnedToPayer returns the part of the payer's payment that refunds or a chargeback have returned. A chargeback returns
// everything that no refund had returned. The amount is in the transaction's asset.
func (r *Record) ReturnedToPayer() money.Amount {
	if r.Status == Reversed {
		return r.AmountWithFee
	}
	return r.ReturnedAmount()
}
