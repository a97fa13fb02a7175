package transactions

import (
	"math/big"

	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// This file recomputes prices and entries of transactions with unbounded integers. It must not use the code that it
// checks.

// price is the result of applying a terminal's terms (fees and conversion) to an amount.
type price struct {
	Fee           *big.Int
	AmountWithFee *big.Int // what the payer pays or, for a payout, what the partner pays
	Merchant      *big.Int // what the merchant gets from a payment, or what the recipient gets from a payout
	Dest          *big.Int // Merchant, converted to minor units of the destination's asset, but not below zero
}

// priceOf returns the price of an amount on the record's terms. The fee is floor(amount × bps / 10000) + fixed. It is
// added to the amount or deducted from it. A transaction that was never sent to a terminal has no terms.
func priceOf(p *payment.Record, amount *big.Int) price {
	result := price{Fee: new(big.Int), AmountWithFee: amount, Merchant: amount, Dest: amount}
	if p.Terminal == (ledger.ID{}) {
		return result
	}
	result.Fee.Mul(amount, new(big.Int).SetUint64(uint64(p.Fees.Bps)))
	result.Fee.Add(result.Fee.Div(result.Fee, big.NewInt(10_000)), scan.BigAmount(p.Fees.Fixed))
	if p.Fees.OnTop {
		result.AmountWithFee = new(big.Int).Add(amount, result.Fee)
	} else {
		result.Merchant = new(big.Int).Sub(amount, result.Fee)
	}
	result.Dest = convert(p, result.Merchant)
	return result
}

// convert converts a part of the amount to the destination's asset. The result is rounded down.
func convert(p *payment.Record, part *big.Int) *big.Int {
	if part.Sign() < 0 {
		return new(big.Int)
	}
	rate, isConverted := new(big.Rat).SetString(p.Rate.String())
	if !isConverted {
		return part
	}
	sourceScale, _ := p.Asset.Scale() // if an asset has no scale, the service can't convert it, so the price differs anyway
	targetScale, _ := p.SettlementAsset.Scale()
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(targetScale, sourceScale)-min(targetScale, sourceScale))), nil)
	value := new(big.Rat).Mul(rate, new(big.Rat).SetInt(part))
	if targetScale >= sourceScale {
		value.Mul(value, new(big.Rat).SetInt(power))
	} else {
		value.Quo(value, new(big.Rat).SetInt(power))
	}
	return new(big.Int).Div(value.Num(), value.Denom())
}

// refundedFee returns the part of the fee that must have been returned after refunds of a part of the charge: floor(fee ×
// refunded / settled), where refunded is the sum of all refunds so far. If the terminal does not return fees, refundedFee
// returns 0.
func refundedFee(p *payment.Record, fee, refunded, settled *big.Int) *big.Int {
	if !p.Fees.Refundable || settled.Sign() == 0 {
		return new(big.Int)
	}
	part := new(big.Int).Mul(fee, refunded)
	return part.Div(part, settled)
}

// usesExchange tells whether a transaction's entry posts on the exchange position (the account for conversions). If the fee is
// the whole amount of a payment, nothing is converted.
func usesExchange(p *payment.Record, merchant *big.Int) bool {
	return !p.Rate.IsZero() && (p.Type == payment.Payout && p.ReversalOf == (ledger.ID{}) || merchant.Sign() > 0)
}

// chargeEntry returns the postings that a charge books at the given price. A hold for the charge has the same postings.
func chargeEntry(p *payment.Record, costs price) []scan.Line {
	provider, partner := ledger.ProviderReceivable(p.Terminal), ledger.PartnerAvailable(p.Partner)
	if p.Type == payment.Payout {
		lines := []scan.Line{scan.Debit(partner, p.Asset, costs.AmountWithFee), scan.Credit(ledger.Fees, p.Asset, costs.Fee)}
		if !usesExchange(p, costs.Merchant) {
			return append(lines, scan.Credit(provider, p.Asset, costs.Dest))
		}
		return append(lines, scan.Credit(ledger.FXPosition, p.Asset, costs.Merchant),
			scan.Debit(ledger.FXPosition, p.SettlementAsset, costs.Dest), scan.Credit(provider, p.SettlementAsset, costs.Dest))
	}
	return paymentEntry(p, costs, usesExchange(p, costs.Merchant))
}

// paymentEntry returns the postings that a payment books at the given price. If isConverted is true, some of the postings are
// on the exchange position.
func paymentEntry(p *payment.Record, costs price, isConverted bool) []scan.Line {
	partner := ledger.PartnerAvailable(p.Partner)
	lines := []scan.Line{scan.Debit(ledger.ProviderReceivable(p.Terminal), p.Asset, costs.AmountWithFee), scan.Credit(ledger.Fees, p.Asset, costs.Fee)}
	if !isConverted {
		return append(lines, scan.Credit(partner, p.Asset, costs.Merchant))
	}
	return append(lines, scan.Credit(ledger.FXPosition, p.Asset, costs.Merchant),
		scan.Debit(ledger.FXPosition, p.SettlementAsset, costs.Dest), scan.Credit(partner, p.SettlementAsset, costs.Dest))
}

// refundEntry returns the postings of a refund. amount is the refunded part of the transaction's amount, fee is the
// refunded part of the transaction's fee, and dest is the refunded part in the destination's asset. If the payer paid
// the fee on top of the amount, the payer gets the fee back.
func refundEntry(p *payment.Record, isConverted bool, amount, fee, dest *big.Int) []scan.Line {
	refundPrice := price{Fee: fee, AmountWithFee: amount, Merchant: new(big.Int).Sub(amount, fee), Dest: dest}
	if p.Fees.OnTop {
		refundPrice.AmountWithFee, refundPrice.Merchant = new(big.Int).Add(amount, fee), amount
	}
	return scan.Mirror(paymentEntry(p, refundPrice, isConverted))
}

// lateEntry returns the postings for money that moves after its transaction was closed. They move the amount between the
// provider's account and the suspense account.
func lateEntry(p *payment.Record, costs price) []scan.Line {
	provider, suspense := ledger.ProviderReceivable(p.Terminal), ledger.Suspense(p.Partner)
	if p.Type == payment.Payout {
		asset := p.Asset
		if !p.Rate.IsZero() {
			asset = p.SettlementAsset
		}
		return []scan.Line{scan.Debit(suspense, asset, costs.Dest), scan.Credit(provider, asset, costs.Dest)}
	}
	return []scan.Line{scan.Debit(provider, p.Asset, costs.AmountWithFee), scan.Credit(suspense, p.Asset, costs.AmountWithFee)}
}
