package page

import (
	"strings"
	"testing"

	"mizan/ledger/money"
)

func TestSumIsInMajorUnits(t *testing.T) {
	for _, c := range []struct {
		amount, currency, network, want string
	}{
		{"1250", "USD", "", "12.50 USD"},
		{"1", "USD", "", "0.01 USD"},
		{"10", "EUR", "", "0.10 EUR"},
		{"100", "RUB", "", "1.00 RUB"},
		{"0", "RUB", "", "0.00 RUB"},
		{"1", "USDT", "tron", "0.000001 USDT (tron)"},
		{"1", "USDT", "bsc", "0.000000000000000001 USDT (bsc)"},
		{"1500000000000000000", "ETH", "ethereum", "1.500000000000000000 ETH (ethereum)"},
		{"123456789012345678", "GBP", "", "1234567890123456.78 GBP"},
		{"1" + strings.Repeat("0", 72), "USD", "", "1" + strings.Repeat("0", 70) + ".00 USD"},
		{"1250", "USDT", "", "1250 USDT, in minor units"}, // the network is unknown
	} {
		sum := Sum{Amount: money.MustParse(c.amount), Asset: money.Asset{Currency: money.Currency(c.currency), Network: money.Network(c.network), Env: money.Prod}}
		if got := english.Sum(sum); got != c.want {
			t.Errorf("%s of %v is %q, want %q", c.amount, sum.Asset, got, c.want)
		}
	}
}
