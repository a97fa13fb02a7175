package page

import (
	"strings"
	"testing"

	"mizan/ledger/money"
)

func TestNumberIsInMajorUnits(t *testing.T) {
	for _, c := range []struct {
		amount, currency, network, want string
	}{
		{"1250", "USD", "", "12.50"},
		{"1", "USD", "", "0.01"},
		{"10", "EUR", "", "0.10"},
		{"100", "RUB", "", "1.00"},
		{"0", "RUB", "", "0.00"},
		{"1", "USDT", "tron", "0.000001"},
		{"1", "USDT", "bsc", "0.000000000000000001"},
		{"1500000000000000000", "ETH", "ethereum", "1.500000000000000000"},
		{"123456789012345678", "GBP", "", "1234567890123456.78"},
		{"1" + strings.Repeat("0", 72), "USD", "", "1" + strings.Repeat("0", 70) + ".00"},
		{"1250", "USDT", "", "1250"}, // the network is unknown
	} {
		sum := Sum{Amount: money.MustParse(c.amount), Asset: money.Asset{Currency: money.Currency(c.currency), Network: money.Network(c.network), Env: money.Prod}}
		if got, _ := sum.number(); got != c.want {
			t.Errorf("%s of %v is %q, want %q", c.amount, sum.Asset, got, c.want)
		}
	}
}
