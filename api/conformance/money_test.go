package conformance_test

import (
	"fmt"
	"strings"
	"testing"
)

// Tests of the specification's sections "Money rules" and "Currencies and network".

func TestMoneyIsAStringOfDigits(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{"fee_bps":"100"}`)
	r := merchant.create(payment(good))
	merchant.refund(r.at("id"), "10").want(200)
	for _, a := range []*response{r, merchant.read(r.at("id")), merchant.create(hosted())} {
		for _, name := range []string{"amount", "amount_with_fee", "amount_dest", "merchant_amount", "refunded_amount"} {
			if raw := a.rawAt(name); raw != absent && !digits.MatchString(strings.Trim(raw, `"`)) || raw != absent && !strings.HasPrefix(raw, `"`) {
				t.Errorf("%s: %s is %s, want digits in a string", a.called, name, raw)
			}
		}
	}
	for sent, detail := range map[any]string{
		1000:      "amount must be a string of minor units",
		10.5:      "amount must be a string of minor units",
		"10.5":    "amount must be a string of digits without leading zeros",
		"1e3":     "amount must be a string of digits without leading zeros",
		"01000":   "amount must be a string of digits without leading zeros",
		" 1000":   "amount must be a string of digits without leading zeros",
		"":        "amount must be a string of digits without leading zeros",
		"1000 ":   "amount must be a string of digits without leading zeros",
		"+1000":   "amount must be a string of digits without leading zeros",
		"1_000":   "amount must be a string of digits without leading zeros",
		"١٠٠٠":    "amount must be a string of digits without leading zeros",
		"0x3e8":   "amount must be a string of digits without leading zeros",
		"1000.00": "amount must be a string of digits without leading zeros",
	} {
		merchant.send(payment(good, "amount", sent)).refuses("amount", detail)
	}
}

func TestEighteenDigitAmountIsExact(t *testing.T) {
	const amount = "987654321987654321"
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(good, "amount", amount)).has("status", "charged", "amount", amount, "merchant_amount", amount).at("id")
	m.wantMoved(id, "settle posted: Dr A:provider:T1 "+amount+" USD, Cr L:partner:P:available "+amount+" USD")
	m.wantBalance("USD", amount+" 0")
}

func TestScaleDependsOnCurrencyNetworkAndEnv(t *testing.T) {
	merchant := sandboxMerchant(t)
	for _, c := range []struct{ currency, network, env, scale string }{
		{"USD", "", "test", "2"}, {"USD", "", "prod", "2"}, {"IDR", "", "test", "2"}, {"KZT", "", "test", "2"}, {"RUBT", "", "test", "6"},
		{"USDT", "tron", "test", "6"}, {"USDT", "tron", "prod", "6"}, {"USDT", "ethereum", "test", "6"}, {"USDT", "bsc", "test", "18"},
		{"USDT", "ton", "test", "6"}, {"USDC", "ethereum", "test", "6"}, {"USDC", "solana", "test", "6"}, {"USDC", "bsc", "test", "18"},
		{"EURT", "", "test", "6"}, {"ETH", "", "test", "18"}, {"TRX", "", "test", "6"}, {"TON", "", "test", "9"}, {"ZOLT", "", "test", "8"},
	} {
		p := paymentWith(params{"type": "e_wallet"}, "currency", c.currency, "env", c.env)
		if c.network != "" {
			p["network"] = c.network
		}
		if r := merchant.create(p); r.at("scale") != c.scale {
			t.Errorf("%s on %q in %s has the scale %s, want %s", c.currency, c.network, c.env, r.at("scale"), c.scale)
		}
	}
}

func TestFeesAreBasisPointsInStrings(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_bps":"250"}`)
	m.create(payment(good, "amount", "10000")).has("merchant_amount", "9750")
	for _, bad := range []string{`250`, `2.5`, `"2.5"`, `"-1"`} {
		admin(t).post(v1+"/terminal", fmt.Sprintf(
			`{"name":"x","partner_id":%s,"provider":"simulator","type":"payment","env":"test","provider_params":{"fee_bps":%s}}`, m.number, bad)).
			want(422).has("errors.0.field", "provider_params.fee_bps")
	}
}

func TestRateIsADecimalString(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"settlement_currency":"CHF"}`)
	for value, dest := range map[string]string{"0.3": "300", "0.0005": "0", "12": "12000", "1.05": "1050"} {
		setRate(t, "CAD", "CHF", value)
		m.create(payment(good, "currency", "CAD")).hasRaw("currency_rate", `"`+value+`"`).has("amount_dest", dest)
	}
}

func TestAmountsAreRoundedDown(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_bps":"199"}`)
	// 199 bps of 99 are 1.9701: the fee is 1, and 98 are left.
	m.create(payment(good, "amount", "99")).has("merchant_amount", "98")
	// 199 bps of 50 are 0.995: no fee.
	m.create(payment(good, "amount", "50")).has("merchant_amount", "50")

	converts := newMerchantWithTerminals(t, `{"settlement_currency":"SGD","fee_bps":"199"}`)
	setRate(t, "TRY", "SGD", "0.0379")
	// 99 less a fee of 1 are 98; times 0.0379 is 3.7142.
	converts.create(payment(good, "amount", "99", "currency", "TRY")).has("merchant_amount", "98", "amount_dest", "3")
}

func TestEverySpecifiedCurrencyIsAccepted(t *testing.T) {
	m := sandboxMerchant(t)
	for code := range strings.FieldsSeq("RUB UAH AZN USD EUR GBP CHF TRY KZT CAD SGD IDR RUBT USDT USDC EURT ETH TRX TON ZOLT") {
		m.create(paymentWith(params{"type": "e_wallet"}, "currency", code)).has("status", "charged", "currency", code)
	}
}

func TestUnknownCurrencyIsRefused(t *testing.T) {
	m := sandboxMerchant(t)
	for _, code := range []string{"JPY", "PLN", "BTC", "XTS", "usd", "840", "", "USD ", "U"} {
		m.send(payment(good, "currency", code)).refuses("currency", "unsupported currency "+code)
	}
	m.send(payment(good, "currency", 840)).refuses("currency", "unsupported currency 840")
}

func TestOmittedCurrencyIsRUB(t *testing.T) {
	sandboxMerchant(t).create(payment(good, "currency", absent)).has("status", "charged", "currency", "RUB", "currency_dest", "RUB")
}

func TestMissingNetworkIsResolvedOrLeftEmpty(t *testing.T) {
	merchant := sandboxMerchant(t)
	for currency, network := range map[string]string{"ETH": "ethereum", "TRX": "tron", "TON": "ton"} {
		merchant.create(paymentWith(params{"type": "e_wallet"}, "currency", currency)).has("network", network)
	}
	// A state's currency has no network: the network in the request is dropped.
	merchant.create(paymentWith(params{"type": "e_wallet"}, "currency", "USD", "network", "tron")).has("status", "charged", "network", absent, "scale", "2")
	solana := newMerchantWithTerminals(t, `{"networks":["solana"]}`)
	solana.create(paymentWith(params{"type": "e_wallet"}, "currency", "USDC")).has("status", "charged", "network", "solana", "scale", "6")
	for _, currency := range []string{"USDT", "USDC"} {
		merchant.create(paymentWith(params{"type": "e_wallet"}, "currency", currency)).has("status", "charged", "network", absent).hasRaw("scale", "null")
		merchant.create(paymentWith(params{"type": "e_wallet", "network": "ethereum"}, "currency", currency)).has("status", "charged", "network", "ethereum", "scale", "6")
		merchant.create(paymentWith(params{"type": "e_wallet", "network": "no network"}, "currency", currency)).has("network", absent)
	}
}
