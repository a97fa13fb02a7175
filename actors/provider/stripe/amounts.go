package stripe

import (
	"math"
	"strings"

	"github.com/stripe/stripe-go/v85"

	"mizan/ledger/money"
)

// currencyRule says how Stripe's API writes amounts of a currency, as docs.stripe.com/currencies describes it.
type currencyRule struct {
	decimals   int
	multipleOf uint64 // of an amount in the API's unit
	payout     uint64 // the same for payouts
}

// ordinary is the rule of all currencies that specialCurrencies does not list.
var ordinary = currencyRule{2, 1, 1}

// specialCurrencies are the currencies that docs.stripe.com/currencies lists under "Zero-decimal currencies", "Three-decimal
// currencies" and "Special cases".
var specialCurrencies = map[money.Currency]currencyRule{
	"BIF": {0, 1, 1}, "CLP": {0, 1, 1}, "DJF": {0, 1, 1}, "GNF": {0, 1, 1}, "JPY": {0, 1, 1}, "KMF": {0, 1, 1}, "KRW": {0, 1, 1}, "MGA": {0, 1, 1},
	"PYG": {0, 1, 1}, "RWF": {0, 1, 1}, "VND": {0, 1, 1}, "VUV": {0, 1, 1}, "XAF": {0, 1, 1}, "XOF": {0, 1, 1}, "XPF": {0, 1, 1},

	// The last digit of an amount must be 0.
	"BHD": {3, 10, 10}, "JOD": {3, 10, 10}, "KWD": {3, 10, 10}, "OMR": {3, 10, 10}, "TND": {3, 10, 10},

	// These have no decimals any more, but the API still writes two, which must be 00.
	"ISK": {2, 100, 100}, "UGX": {2, 100, 100},

	// Only payouts must be in whole units.
	"HUF": {2, 1, 100}, "TWD": {2, 1, 100},
}

func ruleOf(currency money.Currency) currencyRule {
	if rule, isSpecial := specialCurrencies[currency]; isSpecial {
		return rule
	}
	return ordinary
}

// maxAmount is the largest amount that is sent: twelve digits, the most that Stripe accepts of any currency. Stripe refuses
// larger amounts of most currencies itself.
const maxAmount = 999_999_999_999

// stripeAmount returns an amount in the unit of Stripe's API. ok is false if Stripe cannot carry exactly this amount of the asset.
func stripeAmount(amount money.Amount, asset money.Asset, isPayout bool) (minor int64, ok bool) {
	scale, known := asset.Scale()
	if !known || asset.Network != "" || len(asset.Currency) != 3 {
		return 0, false
	}
	units, fits := amount.Uint64()
	if !fits {
		return 0, false
	}
	return convert(units, scale, asset.Currency, isPayout)
}

// convert converts an amount that is written with scale decimals.
func convert(units uint64, scale int, currency money.Currency, isPayout bool) (minor int64, ok bool) {
	rule := ruleOf(currency)
	units, isExact := rescale(units, scale, rule.decimals)
	multiple := rule.multipleOf
	if isPayout {
		multiple = rule.payout
	}
	if !isExact || units == 0 || units > maxAmount || units%multiple != 0 {
		return 0, false
	}
	return int64(units), true
}

// rescale returns an amount with other decimals. ok is false if it does not have exactly this amount.
func rescale(units uint64, from, to int) (rescaled uint64, ok bool) {
	for ; from < to; from++ {
		if units > math.MaxUint64/10 {
			return 0, false
		}
		units *= 10
	}
	for ; from > to; from-- {
		if units%10 != 0 {
			return 0, false
		}
		units /= 10
	}
	return units, true
}

// currencyCode returns the currency as Stripe's API writes it.
func currencyCode(asset money.Asset) string { return strings.ToLower(string(asset.Currency)) }

// upper returns a currency of Stripe's API as our code.
func upper(c stripe.Currency) string { return strings.ToUpper(string(c)) }
