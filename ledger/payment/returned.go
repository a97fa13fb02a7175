package payment

import "mizan/ledger/money"

// Submitted returns the amount that the provider was asked to move: what the payer pays, or what the payee
// receives. After a partial capture it is the captured part.
func (r *Record) SubmittedAmount() money.Amount {
	if r.Type == Payout {
		return r.DestAmount
	}
	return r.AmountWithFee
}

// Returned returns how much the provider has returned in refunds, including fees that the payer had paid on top.
func (r *Record) Returned() money.Amount {
	return r.refundsFlow(r.Refunded, r.RefundedFee).provider
}
