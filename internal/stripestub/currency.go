package stripestub

import "strings"

// currencies are the currencies that the stub knows, with Stripe's minimum amount of a charge in minor units. The source is
// docs.stripe.com/currencies; a currency without a minimum there has 1.
var currencies = map[string]int64{
	"usd": 50, "eur": 50, "gbp": 30, "aud": 50, "cad": 50, "chf": 50, "nzd": 50, "sgd": 50, "brl": 50, "bgn": 100, "aed": 200,
	"czk": 1500, "dkk": 250, "hkd": 400, "huf": 17500, "inr": 50, "jpy": 50, "mxn": 1000, "myr": 200, "nok": 300, "pln": 200,
	"ron": 200, "sek": 300, "thb": 1000, "ars": 1, "bdt": 1, "cop": 1, "egp": 1, "idr": 1, "ils": 1, "kes": 1, "mad": 1, "ngn": 1,
	"php": 1, "pkr": 1, "qar": 1, "sar": 1, "try": 1, "twd": 1, "uah": 1, "zar": 1, "isk": 1,
	"bif": 1, "clp": 1, "djf": 1, "gnf": 1, "kmf": 1, "krw": 1, "mga": 1, "pyg": 1, "rwf": 1, "ugx": 1, "vnd": 1, "vuv": 1, "xaf": 1, "xof": 1, "xpf": 1,
	"bhd": 1, "jod": 1, "kwd": 1, "omr": 1, "tnd": 1,
}

// Currencies whose amounts Stripe restricts: of three decimals the last digit is 0; ISK and UGX have two decimals in the API,
// which are always 00; payouts in HUF and TWD too.
const (
	threeDecimals   = "bhd jod kwd omr tnd"
	wholeUnits      = "isk ugx"
	wholeUnitPayout = "huf twd isk ugx"
)

// maxAmount is the largest amount of a charge: eight digits.
const maxAmount = 99_999_999

func isOneOf(list, currency string) bool {
	return strings.Contains(" "+list+" ", " "+currency+" ")
}

// checkCurrency returns the currency in lower case, or an error if the stub doesn't know it.
func checkCurrency(currency string) (string, *failure) {
	currency = strings.ToLower(currency)
	if _, isKnown := currencies[currency]; !isKnown {
		return "", invalid("", "currency", "Invalid currency: %s. Stripe currently supports these currencies: usd, aed, aud, …", currency)
	}
	return currency, nil
}

// checkAmount checks the amount of a charge.
func checkAmount(amount int64, currency string) *failure {
	switch minimum := currencies[currency]; {
	case amount < 1:
		return invalid("parameter_invalid_integer", "amount", "This value must be greater than or equal to 1.")
	case amount < minimum:
		return invalid("amount_too_small", "amount", "Amount must be at least %d %s (in minor units)", minimum, currency)
	case amount > maxAmount:
		return invalid("amount_too_large", "amount", "Amount must be no more than %d %s (in minor units)", int64(maxAmount), currency)
	}
	return checkDigits(amount, currency, wholeUnits)
}

// checkDigits checks the last digits of an amount. whole lists the currencies that have no fractions here.
func checkDigits(amount int64, currency, whole string) *failure {
	if isOneOf(threeDecimals, currency) && amount%10 != 0 {
		return invalid("", "amount", "Invalid amount. Amounts in %s must have 0 as their last digit. See https://stripe.com/docs/currencies#three-decimal for more information.", strings.ToUpper(currency))
	}
	if isOneOf(whole, currency) && amount%100 != 0 {
		return invalid("invalid_charge_amount_no_decimal_compatible", "amount", "Invalid amount. Currency %s has become effectively zero-decimal and charged amounts must be evenly divisible by 100. See https://stripe.com/docs/currencies#special-cases for more information.", strings.ToUpper(currency))
	}
	return nil
}
