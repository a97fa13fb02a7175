package payment

import "mizan/ledger/money"

// Submitted is what the record's provider was asked to move: what the payer pays,
// or what arrives. After a capture of a part it is that part.
func (r *Record) Submitted() money.Amount {
	if r.Type == Payout {
		return r.Dest
	}
	return r.WithFee
}

// Returned is what the provider has returned of a charge, as it counts it.
func (r *Record) Returned() money.Amount {
	return r.refunded(r.Refunded, r.FeeBack).provider
}
