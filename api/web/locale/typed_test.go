package locale

import (
	"strings"
	"testing"

	"mizan/ledger/money"
)

func TestTypedAmountsAreParsed(t *testing.T) {
	usdt := money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	usd, eth := money.Asset{Currency: "USD", Env: money.Prod}, money.Asset{Currency: "ETH", Network: "ethereum", Env: money.Prod}
	for _, c := range []struct {
		text    string
		decimal byte // the language's decimal separator; the other of point and comma then separates groups; ';' means a comma, with spaces between groups
		asset   money.Asset
		want    string // minor units; empty: refused
	}{
		{"12.50", '.', usd, "1250"}, {"12,50", '.', usd, "1250"}, {"12.50", ',', usd, "1250"}, {"12,50", ',', usd, "1250"},
		{"12", '.', usd, "1200"}, {"0", '.', usd, "0"}, {"012", '.', usd, "1200"}, {".5", '.', usd, "50"}, {"0.01", '.', usd, "1"},
		{"1,234", '.', usd, "123400"}, {"1,234", ',', usd, ""}, {"1.234", ',', usd, "123400"}, {"1.234", '.', usd, ""},
		{"1.234", ';', usd, ""}, {"1.23", ';', usd, "123"}, {"1.234.567", ';', usd, "123456700"}, {"1.234", ';', usdt, "1234000"}, {"1.234", ',', usdt, "1234000000"},
		{"1,234.50", '.', usd, "123450"}, {"1.234,50", '.', usd, "123450"}, {"1.234,50", ',', usd, "123450"}, {"1,234,567", '.', usd, "123456700"},
		{"1 234,50", ',', usd, "123450"}, {"1\u00a0234,50", ',', usd, "123450"}, {"1\u202f234,50", ',', usd, "123450"}, {"1'234.50", '.', usd, "123450"}, {" 7 ", '.', usd, "700"},
		{"١٢٫٥٠", '.', usd, "1250"}, {"۱۲٬۳۴۵", '.', usd, "1234500"}, {"১২.৫", '.', usd, "1250"},
		{"12.500", '.', usd, "1250"}, {"12.505", '.', usd, ""}, {"0,500", '.', usd, "50"},
		{"0.000000000000000001", '.', eth, "1"}, {"1.5", '.', eth, "1500000000000000000"}, {"0.0000000000000000001", '.', eth, ""},
		{"", '.', usd, ""}, {" ", '.', usd, ""}, {".", '.', usd, ""}, {"1.", '.', usd, ""}, {"-1", '.', usd, ""}, {"+1", '.', usd, ""}, {"1e3", '.', usd, ""}, {"0x1", '.', usd, ""},
		{"1,23,456", '.', usd, "12345600"}, {"12,34,567.89", '.', usd, "123456789"}, {"1.23.456,7", ',', usd, "12345670"},
		{"123,45,678", '.', usd, ""}, {"1,23,45", '.', usd, ""}, {"1,234,56,789", '.', usd, ""}, {",23,456", '.', usd, ""}, {"1,23,4567", '.', usd, ""}, {"1,2345", '.', usd, ""}, {"1,,234", '.', usd, ""}, {"1.2.3", '.', usd, ""}, {"1.234.56", ',', usd, ""}, {"12,34.50", '.', usd, ""},
		{"10$", '.', usd, ""}, {"½", '.', usd, ""}, {"1", '.', money.Asset{Currency: "USDT", Env: money.Prod}, ""},
		{strings.Repeat("9", 77), '.', usd, ""}, {strings.Repeat("1", 400), '.', usd, ""}, {strings.Repeat("0", 400), '.', usd, ""},
	} {
		language := map[byte]Separators{'.': {Decimal: '.', Group: ','}, ',': {Decimal: ',', Group: '.'}, ';': {Decimal: ',', Group: ' '}}[c.decimal]
		amount, problem := ParseAmount(c.text, language, c.asset)
		got := ""
		if problem == 0 {
			got = amount.String()
		}
		if got != c.want {
			t.Errorf("%q with %q in %s: %q, want %q", c.text, c.decimal, c.asset.Currency, got, c.want)
		}
	}
}
