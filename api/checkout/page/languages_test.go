package page

import (
	"testing"

	"mizan/api/checkout/texts"
	"mizan/ledger/money"
)

func TestAmountsAreReadAsEachLanguageWritesThem(t *testing.T) {
	assets := []money.Asset{
		{Currency: "USD", Env: money.Prod}, {Currency: "KWD", Env: money.Prod}, {Currency: "USDT", Network: "tron", Env: money.Prod},
		{Currency: "ETH", Network: "ethereum", Env: money.Prod},
	}
	amounts := []string{
		"0", "1", "5", "99", "100", "999", "1000", "1234", "12345", "99999", "100000", "123456", "1000000", "1234000", "1234567", "12345678", "100000000",
		"1000000000000007", "1234567890123456789", "1606938044258990275541962092341162602522202993782792835301377",
	}
	for _, lang := range texts.Languages() {
		for _, asset := range assets {
			for _, minor := range amounts {
				want, err := money.Parse(minor)
				if err != nil {
					t.Fatal(err)
				}
				written, _ := texts.In(lang).Decimal(want, asset)
				if got, ok := ParseAmount(written, texts.SeparatorsOf(lang), asset); !ok || got != want {
					t.Errorf("%s: %q in %s is read as %v, %v, want %s", lang, written, asset.Currency, got, ok, minor)
				}
			}
		}
	}
}
