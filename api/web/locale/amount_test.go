package locale

import (
	"testing"

	"mizan/ledger/money"
)

func TestAmountsOfAssetsThatAreNoISOCurrencies(t *testing.T) {
	tron := money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	eth := money.Asset{Currency: "ETH", Network: "ethereum", Env: money.Prod}
	unresolved := money.Asset{Currency: "USDT", Env: money.Prod}
	for _, c := range []struct {
		minor  string
		asset  money.Asset
		en, ru string
	}{
		{"1", tron, "USDT 0.000001 (tron)", "0,000001 USDT (tron)"},
		{"12500000", tron, "USDT 12.50 (tron)", "12,50 USDT (tron)"},
		{"1234567890000", tron, "USDT 1,234,567.89 (tron)", "1 234 567,89 USDT (tron)"},
		{"0", eth, "ETH 0.00 (ethereum)", "0,00 ETH (ethereum)"},
		{"1500000000000000001", eth, "ETH 1.500000000000000001 (ethereum)", "1,500000000000000001 ETH (ethereum)"},
		{"1234", unresolved, "USDT 1,234, in the smallest unit", "1 234 USDT в минимальных единицах"},
		{"1250", usd, "$12.50", "12,50 $"},
		{"7", money.Asset{Currency: "KWD", Env: money.Test}, "KWD 0.007", "0,007 KWD"},
	} {
		amount := parsed(t, c.minor)
		if got := ordinarySpaces(In("en").Amount(amount, c.asset)); got != c.en {
			t.Errorf("en: %q, want %q", got, c.en)
		}
		if got := ordinarySpaces(In("ru").Amount(amount, c.asset)); got != c.ru {
			t.Errorf("ru: %q, want %q", got, c.ru)
		}
	}
	for lang, want := range map[string]string{
		"ar": "\u200f1,234,567.89 USDT (tron)", "fa": "\u200eUSDT ۱٬۲۳۴٬۵۶۷٫۸۹ (tron)", "ur": "USDT 1,234,567.89 (tron)",
		"bn": "১২,৩৪,৫৬৭.৮৯ USDT (tron)", "tr": "USDT 1.234.567,89 (tron)", "fr": "1 234 567,89 USDT (tron)", "es": "1.234.567,89 USDT (tron)",
	} {
		if got := ordinarySpaces(In(lang).Amount(parsed(t, "1234567890000"), tron)); got != want {
			t.Errorf("%s: %+q, want %+q", lang, got, want)
		}
	}
}

func TestAmountBreaksOnlyBetweenNumberAndCurrency(t *testing.T) {
	tron := money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	for lang, want := range map[string][2]string{
		"en": {"USDT 1,234,567.89 (tron)", "$1,234,567,890,000.00"}, "ru": {"1\u00a0234\u00a0567,89 USDT (tron)", "1\u00a0234\u00a0567\u00a0890\u00a0000,00 $"},
		"fr": {"1\u202f234\u202f567,89 USDT (tron)", "1\u202f234\u202f567\u202f890\u202f000,00 $US"}, "fa": {"\u200eUSDT ۱٬۲۳۴٬۵۶۷٫۸۹ (tron)", "\u200e$۱٬۲۳۴٬۵۶۷٬۸۹۰٬۰۰۰٫۰۰"},
		"ar": {"\u200f1,234,567.89 USDT (tron)", "\u200f1,234,567,890,000.00 US$\u200e"},
	} {
		text := In(lang)
		got := [2]string{text.BreakableAmount(parsed(t, "1234567890000"), tron), text.BreakableAmount(parsed(t, "123456789000000"), usd)}
		if got != want {
			t.Errorf("%s: %+q, want %+q", lang, got, want)
		}
	}
}
