package stripe

import (
	"testing"

	"mizan/ledger/money"
)

// The currencies and their rules are those of docs.stripe.com/currencies; an amount is written with the given decimals here.
func TestAmountsAreWrittenAsStripeWritesThem(t *testing.T) {
	const refused = -1
	for _, test := range []struct {
		units    uint64
		scale    int
		currency money.Currency
		payment  int64
		payout   int64
	}{
		{1000, 2, "USD", 1000, 1000},
		{1, 2, "USD", 1, 1},
		{0, 2, "USD", refused, refused},
		{12345, 2, "IDR", 12345, 12345},
		{999_999_999_999, 2, "IDR", 999_999_999_999, 999_999_999_999},
		{1_000_000_000_000, 2, "IDR", refused, refused},

		{500, 2, "JPY", 5, 5}, // ten dollars are 1000, 500 yen are 500
		{50000, 2, "JPY", 500, 500},
		{501, 2, "JPY", refused, refused},
		{500, 0, "JPY", 500, 500},
		{100, 2, "BIF", 1, 1}, {100, 2, "CLP", 1, 1}, {100, 2, "DJF", 1, 1}, {100, 2, "GNF", 1, 1}, {100, 2, "KMF", 1, 1}, {100, 2, "KRW", 1, 1}, {100, 2, "MGA", 1, 1},
		{100, 2, "PYG", 1, 1}, {100, 2, "RWF", 1, 1}, {100, 2, "VND", 1, 1}, {100, 2, "VUV", 1, 1}, {100, 2, "XAF", 1, 1}, {100, 2, "XOF", 1, 1}, {100, 2, "XPF", 1, 1},
		{150, 2, "KRW", refused, refused},

		{5120, 3, "KWD", 5120, 5120}, // 5.120
		{5124, 3, "KWD", refused, refused},
		{512, 2, "KWD", 5120, 5120},
		{10, 3, "BHD", 10, 10}, {10, 3, "JOD", 10, 10}, {10, 3, "OMR", 10, 10}, {10, 3, "TND", 10, 10},
		{11, 3, "BHD", refused, refused}, {11, 3, "JOD", refused, refused}, {11, 3, "OMR", refused, refused}, {11, 3, "TND", refused, refused},

		{500, 2, "ISK", 500, 500}, // 5 ISK
		{550, 2, "ISK", refused, refused},
		{500, 2, "UGX", 500, 500},
		{501, 2, "UGX", refused, refused},
		{5, 0, "UGX", 500, 500},

		{1045, 2, "HUF", 1045, refused}, // a charge of 10.45 is possible, a payout is not
		{1000, 2, "HUF", 1000, 1000},
		{80045, 2, "TWD", 80045, refused},
		{80000, 2, "TWD", 80000, 80000},

		{1_000_000, 6, "USD", 100, 100},
		{1_000_001, 6, "USD", refused, refused},
		{1 << 63, 0, "USD", refused, refused},
	} {
		for isPayout, want := range map[bool]int64{false: test.payment, true: test.payout} {
			got, ok := convert(test.units, test.scale, test.currency, isPayout)
			if ok != (want != refused) || ok && got != want {
				t.Errorf("%d %s with %d decimals, payout %v: %d %v, want %d", test.units, test.currency, test.scale, isPayout, got, ok, want)
			}
		}
	}
}

func TestOnlyCurrenciesOfStripeAreSent(t *testing.T) {
	thousand := money.FromUint64(1000)
	for asset, want := range map[money.Asset]bool{
		{Currency: "USD", Env: money.Test}:                   true,
		{Currency: "KWD", Env: money.Prod}:                   true,
		{Currency: "USDT", Network: "tron", Env: money.Prod}: false,
		{Currency: "TON", Network: "ton", Env: money.Prod}:   false,
		{Currency: "RUBT", Env: money.Prod}:                  false,
		{Currency: "USD"}:                                    false,
	} {
		if _, ok := stripeAmount(thousand, asset, false); ok != want {
			t.Errorf("%+v: %v, want %v", asset, ok, want)
		}
	}
}
