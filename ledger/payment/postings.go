package payment

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
)

// price works out what the terminal's fee makes of the amount (DECISIONS,
// "Payments": fee = floor(amount × bps / 10000) + fixed). It returns why the
// transaction is rejected; empty: it is not.
func (r *Record) price(t Terms) string {
	fee, err := r.Amount.Portion(t.FeeBps)
	if err == nil {
		fee, err = fee.Add(t.FeeFixed)
	}
	if err != nil || ledger.MaxAmount.Less(fee) {
		return AmountOutOfRange
	}
	r.Fee = fee
	r.WithFee, r.Merchant = r.Amount, money.Difference(r.Amount, fee)
	if t.FeeOnTop {
		if r.WithFee, err = r.Amount.Add(fee); err != nil {
			return AmountOutOfRange
		}
		r.Merchant = money.Difference(r.Amount, money.Amount{})
	}
	r.Dest = money.Amount{}
	if !r.Merchant.Negative {
		r.Dest = r.Merchant.Abs
	}
	if r.Type == Payout && r.Dest.IsZero() {
		return FeeExceedsAmount
	}
	return ""
}

// unpriced shows the amount where no terminal has set a fee.
func (r *Record) unpriced() {
	r.Fee, r.WithFee, r.Dest = money.Amount{}, r.Amount, r.Amount
	r.Merchant = money.Difference(r.Amount, money.Amount{})
}

// reserve is what the transaction could add to any one total.
func (r *Record) reserve() money.Amount {
	sum, err := r.WithFee.Add(r.Fee)
	assert.NoError(err) // both are at most a few MaxAmount
	return sum
}

// settlement is the entry that a confirmation books.
func (r *Record) settlement() *ledger.Entry {
	if r.Type == Payout {
		held := r.payoutPostings()
		return &ledger.Entry{Phase: ledger.Capture, Postings: held, Released: r.payoutPostings()}
	}
	return &ledger.Entry{Phase: ledger.Posted, Postings: r.chargePostings()}
}

// release is the entry that gives back what is held; nil if nothing is.
func (r *Record) release() *ledger.Entry {
	if r.Type != Payout {
		return nil
	}
	return &ledger.Entry{Phase: ledger.Void, Postings: r.payoutPostings()}
}

// chargePostings: Dr provider amount_with_fee / Cr partner merchant_amount, Cr
// fees. A partner's credit first pays off what it owes; where the fee is more
// than the amount the partner's line is a debit.
func (r *Record) chargePostings() []ledger.Posting {
	postings := make([]ledger.Posting, 0, 3)
	postings = append(postings, r.posting(ledger.ProviderReceivable(r.Terminal), ledger.Debit, r.WithFee))
	if !r.Merchant.Abs.IsZero() {
		side := ledger.Credit
		if r.Merchant.Negative {
			side = ledger.Debit
		}
		p := r.posting(ledger.PartnerAvailable(r.Partner), side, r.Merchant.Abs)
		p.Spill = ledger.PartnerReceivable(r.Partner)
		postings = append(postings, p)
	}
	if !r.Fee.IsZero() {
		postings = append(postings, r.posting(ledger.Fees, ledger.Credit, r.Fee))
	}
	return postings
}

// payoutPostings: Dr partner amount_with_fee / Cr provider amount_dest, Cr fees.
func (r *Record) payoutPostings() []ledger.Posting {
	postings := make([]ledger.Posting, 0, 3)
	postings = append(postings,
		r.posting(ledger.PartnerAvailable(r.Partner), ledger.Debit, r.WithFee),
		r.posting(ledger.ProviderReceivable(r.Terminal), ledger.Credit, r.Dest))
	if !r.Fee.IsZero() {
		postings = append(postings, r.posting(ledger.Fees, ledger.Credit, r.Fee))
	}
	return postings
}

func (r *Record) posting(account ledger.Path, side ledger.Side, amount money.Amount) ledger.Posting {
	return ledger.Posting{Account: account, Asset: r.Asset, Side: side, Amount: amount}
}

// mirror turns every posting to the other side.
func mirror(postings []ledger.Posting) []ledger.Posting {
	for i := range postings {
		postings[i].Side = postings[i].Side.Opposite()
	}
	return postings
}
