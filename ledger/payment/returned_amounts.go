package payment

import "mizan/ledger/money"

// SubmittedAmount returns the amount that the provider was asked to move. For a payment, this includes the fee that the
// payer pays. For a payout, it is the amount that the payee receives. After a partial capture, only the captured part
// counts.
func (r *Record) SubmittedAmount() money.Amount {
	if r.Type == Payout {
		return r.DestAmount
	}
	return r.AmountWithFee
}

// ReturnedAmount returns how much the provider has returned in refunds, including the fees that the payer had paid on top
// of the amount.
func (r *Record) ReturnedAmount() money.Amount {
	return r.refundsFlow(r.RefundedAmount, r.RefundedFee).provider
}

// ReturningAmounts returns the part of the transaction's amount that was returned or is being returned, and the sum that
// the payer gets back for it, fees included. A refund counts as being returned as soon as the status is refunding.
func (r *Record) ReturningAmounts() (amount, toPayer money.Amount) {
	switch {
	case r.Status == Reversed:
		return r.SettledAmount(), r.AmountWithFee
	case r.Status == Refunding && r.Op != nil:
		amount = plus(r.RefundedAmount, r.Op.Amount)
		return amount, r.refundsFlow(amount, plus(r.RefundedFee, r.Op.RefundedFee)).provider
	}
	return r.RefundedAmount, r.ReturnedAmount()
}

// ReturnedToPayer returns how much of the payer's money was returned by refunds or a chargeback. A chargeback returns
// everything that no refund has returned before. The amount is in the transaction's asset.
func (r *Record) ReturnedToPayer() money.Amount {
	if r.Status == Reversed {
		return r.AmountWithFee
	}
	return r.ReturnedAmount()
}
