package payment

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
)

// moneyFlow holds the amounts that a payment, or the return of its money, moves between the provider, the partner and the
// institution that earns the fees. All amounts are in the transaction's asset, except dest. A payment debits the
// provider's account and credits the accounts of the partner and of the fees; a return does the opposite.
type moneyFlow struct {
	provider money.Amount
	partner  money.Signed
	fees     money.Amount
	dest     money.Signed // partner, converted into the asset that the partner gets
}

// chargeFlow returns the amounts that a settled payment moved.
func (r *Record) chargeFlow() moneyFlow {
	return moneyFlow{provider: r.AmountWithFee, partner: r.MerchantAmount, fees: r.Fee, dest: money.Signed{Abs: r.DestAmount}}
}

// refundsFlow returns the amounts that all refunds together move. amount is the sum of the refunded amounts, and fee the
// sum of the returned fees. If the payer paid the fee on top of the amount, the provider returns amount and fee to the
// payer.
func (r *Record) refundsFlow(amount, fee money.Amount) moneyFlow {
	f := moneyFlow{fees: fee, provider: amount, partner: money.Difference(amount, fee)}
	if r.Fees.OnTop {
		f.provider = plus(amount, fee)
		f.partner = money.Difference(amount, money.Amount{})
	}
	if r.Rate.IsZero() || r.crossesExchange() {
		f.dest = money.Signed{Abs: must(r.convert(f.partner))}
	}
	return f
}

// minus subtracts each amount of other from f.
func (f moneyFlow) minus(other moneyFlow) moneyFlow {
	return moneyFlow{
		provider: must(f.provider.Sub(other.provider)),
		partner:  must(f.partner.Add(other.partner.Neg())),
		fees:     must(f.fees.Sub(other.fees)),
		dest:     must(f.dest.Add(other.dest.Neg())),
	}
}

// refundedFee returns how much of the fee is returned together with refunds of the given total: floor(fee × refunded ÷
// amount). It returns zero if the terminal does not return fees.
func (r *Record) refundedFee(refunded money.Amount) money.Amount {
	if !r.Fees.Refundable || refunded.IsZero() {
		return money.Amount{}
	}
	return must(r.Fee.MulDivFloor(refunded, r.SettledAmount()))
}

// paymentPostings returns the postings of incoming money: debit provider, credit partner, credit fees. If splits is true,
// the partner's credit first pays the partner's debt. If the fee is higher than the amount, the partner is debited
// instead.
func (r *Record) paymentPostings(f moneyFlow, splits bool) []ledger.Posting {
	return r.postings(f, ledger.Debit, splits)
}

// refundPostings returns the postings of money that is returned to the payer: the same as in paymentPostings, but with
// debit and credit exchanged.
func (r *Record) refundPostings(f moneyFlow, splits bool) []ledger.Posting {
	return r.postings(f, ledger.Credit, splits)
}

// postings returns the postings of a flow. The provider's posting is on the given side, and the others are on the opposite
// side.
func (r *Record) postings(f moneyFlow, side ledger.Side, splits bool) []ledger.Posting {
	l := r.newPostings()
	l.add(ledger.ProviderReceivable(r.Terminal), r.Asset, side, f.provider)
	opposite := side.Opposite()
	if !r.crossesExchange() {
		l.addPartner(r.Partner, r.Asset, opposite, f.partner, splits)
	} else {
		l.addSigned(ledger.FXPosition, r.Asset, opposite, f.partner)
		l.addSigned(ledger.FXPosition, r.SettlementAsset, side, f.dest)
		l.addPartner(r.Partner, r.SettlementAsset, opposite, f.dest, splits)
	}
	l.add(ledger.Fees, r.Asset, opposite, f.fees)
	return l.postings
}

// crossesExchange tells whether a payment's money is converted, so that it is booked through the exchange position. It is
// false if the fee takes the whole amount, because then nothing is left to convert.
func (r *Record) crossesExchange() bool {
	return !r.Rate.IsZero() && !r.MerchantAmount.Negative && !r.MerchantAmount.IsZero()
}

// payoutPostings returns a payout's postings: debit partner (amount_with_fee), credit provider (amount_dest), credit fees. If
// the payout is converted, the exchange position has postings too.
func (r *Record) payoutPostings() []ledger.Posting {
	l := r.newPostings()
	l.add(ledger.PartnerAvailable(r.Partner), r.Asset, ledger.Debit, r.AmountWithFee)
	if r.Rate.IsZero() {
		l.add(ledger.ProviderReceivable(r.Terminal), r.Asset, ledger.Credit, r.DestAmount)
	} else {
		l.addSigned(ledger.FXPosition, r.Asset, ledger.Credit, r.MerchantAmount)
		l.add(ledger.FXPosition, r.SettlementAsset, ledger.Debit, r.DestAmount)
		l.add(ledger.ProviderReceivable(r.Terminal), r.SettlementAsset, ledger.Credit, r.DestAmount)
	}
	l.add(ledger.Fees, r.Asset, ledger.Credit, r.Fee)
	return l.postings
}

// holdEntry returns the entry that holds a charge's money. The money of a payout is held before the call to the provider.
// The money of a two-phase payment is held once the provider has authorised it.
func (r *Record) holdEntry() *ledger.Entry {
	if r.Type == Payout {
		return &ledger.Entry{Phase: ledger.Pending, Postings: r.payoutPostings()}
	}
	return &ledger.Entry{Phase: ledger.Pending, Postings: r.paymentPostings(r.chargeFlow(), false)}
}

// hasHold tells whether a pending entry holds the charge's money.
func (r *Record) hasHold() bool {
	return r.Type == Payout && r.Status != Created && r.Status != New || r.Status == PaymentHeld
}

// releaseEntry returns the entry that releases the held money, or nil if no money is held.
func (r *Record) releaseEntry() *ledger.Entry {
	if !r.hasHold() {
		return nil
	}
	return &ledger.Entry{Phase: ledger.Void, Postings: r.holdEntry().Postings}
}

// settlementEntry returns the entry that is booked when the provider confirms the charge.
func (r *Record) settlementEntry() *ledger.Entry {
	if !r.hasHold() {
		return &ledger.Entry{Phase: ledger.Posted, Postings: r.paymentPostings(r.chargeFlow(), true)}
	}
	return r.captureEntry(r.holdEntry().Postings)
}

// captureEntry returns the entry that settles the charge and releases its held postings.
func (r *Record) captureEntry(heldPostings []ledger.Posting) *ledger.Entry {
	if r.Type == Payout {
		return &ledger.Entry{Phase: ledger.Capture, Postings: r.payoutPostings(), Released: heldPostings}
	}
	return &ledger.Entry{Phase: ledger.Capture, Postings: r.paymentPostings(r.chargeFlow(), true), Released: heldPostings}
}

// refundFlow returns the amounts that the refund under way moves.
func (r *Record) refundFlow() moneyFlow {
	return r.refundsFlow(plus(r.RefundedAmount, r.Op.Amount), plus(r.RefundedFee, r.Op.RefundedFee)).minus(r.refundsFlow(r.RefundedAmount, r.RefundedFee))
}

// suspenseEntry returns the entry that books money between the provider and the suspense account: money that moved after
// its transaction was closed, or the refund of that money. If the transaction is a payment, side is the side of the
// provider's posting; if it is a payout, the provider's posting is on the opposite side.
func (r *Record) suspenseEntry(side ledger.Side) *ledger.Entry {
	asset, amount := r.Asset, r.AmountWithFee
	if r.Type == Payout {
		asset, amount, side = r.DestAsset(), r.DestAmount, side.Opposite()
	}
	l := postingBuilder{make([]ledger.Posting, 0, 2)}
	l.add(ledger.ProviderReceivable(r.Terminal), asset, side, amount)
	l.add(ledger.Suspense(r.Partner), asset, side.Opposite(), amount)
	return &ledger.Entry{Phase: ledger.Posted, Postings: l.postings}
}

// postingBuilder builds a list of postings. It omits postings whose amount is zero.
type postingBuilder struct{ postings []ledger.Posting }

// newPostings returns an empty list with capacity for the postings of a charge.
func (r *Record) newPostings() postingBuilder {
	n := 3
	if !r.Rate.IsZero() {
		n = 5
	}
	return postingBuilder{make([]ledger.Posting, 0, n)}
}

func (l *postingBuilder) add(account ledger.Path, asset money.Asset, side ledger.Side, amount money.Amount) {
	if !amount.IsZero() {
		l.postings = append(l.postings, ledger.Posting{Account: account, Asset: asset, Side: side, Amount: amount})
	}
}

// addSigned adds a posting. If the amount is negative, the posting is on the opposite side.
func (l *postingBuilder) addSigned(account ledger.Path, asset money.Asset, side ledger.Side, amount money.Signed) {
	if amount.Negative {
		side = side.Opposite()
	}
	l.add(account, asset, side, amount.Abs)
}

// addPartner adds the partner's posting. If splits is true, it sets the posting's Spill to the account of the partner's
// debt.
func (l *postingBuilder) addPartner(number int64, asset money.Asset, side ledger.Side, amount money.Signed, splits bool) {
	before := len(l.postings)
	l.addSigned(ledger.PartnerAvailable(number), asset, side, amount)
	if splits && len(l.postings) > before {
		l.postings[before].SplitWith = ledger.PartnerReceivable(number)
	}
}

// plus adds two amounts, and must returns the result of a calculation. Both panic on an overflow, which cannot occur here
// because amounts are bounded.
func plus(a, b money.Amount) money.Amount { return must(a.Add(b)) }

func must[T any](v T, err error) T {
	assert.NoError(err)
	return v
}
