package transactions

import (
	"math/big"

	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// This file says a second time what an amount costs and what is booked for it,
// on numbers without a bound and from the pages alone (DECISIONS, "Payments";
// POSTINGS, "Payments"): the checker does not ask the code that it checks.

// price is what a terminal's terms make of an amount. dest is in the minor units
// of the destination and never below zero.
type price struct{ fee, WithFee, Merchant, Dest *big.Int }

// PriceOf is the price of an amount on the terms that a record has: the fee is
// floor(amount × bps / 10000) + fixed, on top of the amount or taken off it. Who
// was never routed has no terms.
func PriceOf(p *payment.Record, amount *big.Int) price {
	made := price{fee: new(big.Int), WithFee: amount, Merchant: amount, Dest: amount}
	if p.Terminal == (ledger.ID{}) {
		return made
	}
	made.fee.Mul(amount, new(big.Int).SetUint64(uint64(p.Fees.Bps)))
	made.fee.Add(made.fee.Div(made.fee, big.NewInt(10_000)), scan.BigAmount(p.Fees.Fixed))
	if p.Fees.OnTop {
		made.WithFee = new(big.Int).Add(amount, made.fee)
	} else {
		made.Merchant = new(big.Int).Sub(amount, made.fee)
	}
	made.Dest = converted(p, made.Merchant)
	return made
}

// converted is what a part of the amount is at its destination, floored.
func converted(p *payment.Record, part *big.Int) *big.Int {
	if part.Sign() < 0 {
		return new(big.Int)
	}
	rate, isConverted := new(big.Rat).SetString(p.Rate.String())
	if !isConverted {
		return part
	}
	from, _ := p.Asset.Scale() // nothing is converted without scales: the price comes out wrong
	to, _ := p.Settles.Scale()
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(to, from)-min(to, from))), nil)
	arrives := new(big.Rat).Mul(rate, new(big.Rat).SetInt(part))
	if to >= from {
		arrives.Mul(arrives, new(big.Rat).SetInt(power))
	} else {
		arrives.Quo(arrives, new(big.Rat).SetInt(power))
	}
	return new(big.Int).Div(arrives.Num(), arrives.Denom())
}

// feeBack is how much of the fee has gone back when so much of a charge has:
// floor(fee × refunded so far / amount), where the terminal returns fees at all.
func feeBack(p *payment.Record, fee, refunded, settled *big.Int) *big.Int {
	if !p.Fees.Refundable || settled.Sign() == 0 {
		return new(big.Int)
	}
	back := new(big.Int).Mul(fee, refunded)
	return back.Div(back, settled)
}

// crosses tells whether a transaction's money crosses the exchange position: a
// payment of which nothing is left after its fee has its source leg only.
func crosses(p *payment.Record, merchant *big.Int) bool {
	return !p.Rate.IsZero() && (p.Type == payment.Payout && p.ReversalOf == (ledger.ID{}) || merchant.Sign() > 0)
}

// charge is what a charge of that price books, and what its hold holds.
func charge(p *payment.Record, c price) []scan.Line {
	provider, partner := ledger.ProviderReceivable(p.Terminal), ledger.PartnerAvailable(p.Partner)
	if p.Type == payment.Payout {
		lines := []scan.Line{scan.Debit(partner, p.Asset, c.WithFee), scan.Credit(ledger.Fees, p.Asset, c.fee)}
		if !crosses(p, c.Merchant) {
			return append(lines, scan.Credit(provider, p.Asset, c.Dest))
		}
		return append(lines, scan.Credit(ledger.FXPosition, p.Asset, c.Merchant),
			scan.Debit(ledger.FXPosition, p.Settles, c.Dest), scan.Credit(provider, p.Settles, c.Dest))
	}
	return income(p, c, crosses(p, c.Merchant))
}

// income is what a payment of that price books.
func income(p *payment.Record, c price, crosses bool) []scan.Line {
	partner := ledger.PartnerAvailable(p.Partner)
	lines := []scan.Line{scan.Debit(ledger.ProviderReceivable(p.Terminal), p.Asset, c.WithFee), scan.Credit(ledger.Fees, p.Asset, c.fee)}
	if !crosses {
		return append(lines, scan.Credit(partner, p.Asset, c.Merchant))
	}
	return append(lines, scan.Credit(ledger.FXPosition, p.Asset, c.Merchant),
		scan.Debit(ledger.FXPosition, p.Settles, c.Dest), scan.Credit(partner, p.Settles, c.Dest))
}

// givenBack is what a refund books: amount of the transaction's amount, fee of
// its fee, and what that is at the destination. A fee on top is the payer's.
func givenBack(p *payment.Record, crosses bool, amount, fee, dest *big.Int) []scan.Line {
	back := price{fee: fee, WithFee: amount, Merchant: new(big.Int).Sub(amount, fee), Dest: dest}
	if p.Fees.OnTop {
		back.WithFee, back.Merchant = new(big.Int).Add(amount, fee), amount
	}
	return scan.Mirror(income(p, back, crosses))
}

// tooLate is what is booked when money moves for a closed transaction: what the
// provider moved, against nobody's account yet.
func tooLate(p *payment.Record, c price) []scan.Line {
	provider, suspense := ledger.ProviderReceivable(p.Terminal), ledger.Suspense(p.Partner)
	if p.Type == payment.Payout {
		asset := p.Asset
		if !p.Rate.IsZero() {
			asset = p.Settles
		}
		return []scan.Line{scan.Debit(suspense, asset, c.Dest), scan.Credit(provider, asset, c.Dest)}
	}
	return []scan.Line{scan.Debit(provider, p.Asset, c.WithFee), scan.Credit(suspense, p.Asset, c.WithFee)}
}
