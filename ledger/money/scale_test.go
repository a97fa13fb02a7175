package money

import (
	"slices"
	"strings"
	"testing"
)

// transactionScales is a second copy, written by hand, of the table of transaction currencies. A key is currency/network.
var transactionScales = map[string]int{
	"RUB/": 2, "UAH/": 2, "AZN/": 2, "USD/": 2, "EUR/": 2, "GBP/": 2, "CHF/": 2, "TRY/": 2, "KZT/": 2,
	"CAD/": 2, "SGD/": 2, "IDR/": 2,
	"RUBT/": 6, "EURT/": 6, "ZOLT/": 8,
	"USDT/tron": 6, "USDT/ethereum": 6, "USDT/bsc": 18, "USDT/ton": 6,
	"USDC/ethereum": 6, "USDC/solana": 6, "USDC/bsc": 18,
	"ETH/ethereum": 18, "TRX/tron": 6, "TON/ton": 9,
}

// contractScales has the currencies of the contract regions, with the number of decimals from list one
// of ISO 4217.
var contractScales = map[string]int{
	"AED/": 2, "SAR/": 2, "BHD/": 3, "QAR/": 2, "KWD/": 3, "OMR/": 3, "MYR/": 2, "IDR/": 2, "PKR/": 2, "BDT/": 2,
	"EGP/": 2, "JOD/": 3, "TRY/": 2, "KZT/": 2, "UZS/": 2, "AZN/": 2, "KGS/": 2, "RUB/": 2, "GBP/": 2, "USD/": 2, "EUR/": 2,
}

// parseAsset parses currency/network.
func parseAsset(name string, env Env) Asset {
	currency, network, _ := strings.Cut(name, "/")
	return Asset{Currency(currency), Network(network), env}
}

func TestScales(t *testing.T) {
	for _, scalesByName := range []map[string]int{transactionScales, contractScales} {
		for name, want := range scalesByName {
			for _, env := range []Env{Prod, Test} {
				if got, ok := parseAsset(name, env).Scale(); got != want || !ok {
					t.Errorf("scale of %v %s = %d, %v, want %d", env, name, got, ok, want)
				}
			}
		}
	}
}

func TestTheTableHoldsNothingElse(t *testing.T) {
	seen := make(map[scaleRow]bool)
	for _, row := range scaleTable {
		key := row
		key.digits = 0
		if seen[key] {
			t.Errorf("two rows for %+v", key)
		}
		seen[key] = true
		name := string(row.currency) + "/" + string(row.network)
		_, inTransactions := transactionScales[name]
		_, inContracts := contractScales[name]
		if !inTransactions && !inContracts {
			t.Errorf("%s is in none of the lists of this test", name)
		}
		if row.digits < 0 || row.digits > MaxScale {
			t.Errorf("%s has %d digits", name, row.digits)
		}
		if len(row.currency) > MaxName || len(row.network) > MaxName {
			t.Errorf("%s is too long for the binary form", name)
		}
	}
}

func TestUnresolvedAssetsHaveNoScale(t *testing.T) {
	for _, a := range []Asset{
		{},
		{"USDT", "", Prod},      // without a network, because the currency is on several
		{"USDC", "", Test},      // without a network, because the currency is on several
		{"USDC", "tron", Prod},  // the currency is not issued on this network
		{"ETH", "", Prod},       // ResolveNetwork would set the only network
		{"USD", "tron", Prod},   // the currency has no network
		{"JPY", "", Prod},       // not in the table
		{"usd", "", Prod},       // case matters
		{"USD", "", 0},          // an asset without an environment has no scale
		{"USD", "", 3},          // an unknown environment
		{"USDT", "TRON", Prod},  // case matters here too
		{"USDT ", "tron", Prod}, // spaces are not removed
	} {
		if digits, ok := a.Scale(); ok || digits != 0 {
			t.Errorf("scale of %+v = %d, %v", a, digits, ok)
		}
	}
}

func TestARowForOneEnvOverrides(t *testing.T) {
	original := scales
	defer func() { scales = original }()
	scales = indexScales([]scaleRow{{"TON", "ton", 0, 9}, {"TON", "ton", Test, 6}})
	for env, want := range map[Env]int{Prod: 9, Test: 6} {
		if got, ok := (Asset{"TON", "ton", env}).Scale(); got != want || !ok {
			t.Errorf("scale in %v = %d, %v, want %d", env, got, ok, want)
		}
	}
}

func TestAcceptedIsTheClosedSet(t *testing.T) {
	want := []string{ // the specification's list, in its order
		"RUB", "UAH", "AZN", "USD", "EUR", "GBP", "CHF", "TRY", "KZT", "CAD", "SGD", "IDR",
		"RUBT", "USDT", "USDC", "EURT", "ETH", "TRX", "TON", "ZOLT",
	}
	got := AcceptedCurrencies()
	if len(got) != len(want) {
		t.Errorf("%d currencies, want %d", len(got), len(want))
	}
	for i, code := range want {
		c, ok := AcceptedCurrency(code)
		if !ok || string(c) != code || got[i] != c {
			t.Errorf("Accepted(%s) = %s, %v; number %d is %s", code, c, ok, i, got[i])
		}
	}
	for _, code := range []string{
		"", "JPY", "PLN", "840", "643", "usd", "Usd", " USD", "USD ", "USDT/tron", "BTC",
		"AED", "BHD", "KWD", "UZS", "KGS", // contracts take these, transactions don't
	} {
		if c, ok := AcceptedCurrency(code); ok || c != "" {
			t.Errorf("Accepted(%q) = %s", code, c)
		}
	}
}

func TestAcceptedCurrenciesAreACopy(t *testing.T) {
	AcceptedCurrencies()[0] = "XTS"
	if got := AcceptedCurrencies()[0]; got != "RUB" {
		t.Errorf("the set's first currency became %s", got)
	}
}

func TestAcceptedAssets(t *testing.T) {
	for _, env := range []Env{Prod, Test} {
		got := AcceptedAssets(env)
		if len(got) != len(transactionScales) {
			t.Errorf("%d assets, want %d", len(got), len(transactionScales))
		}
		for name := range transactionScales {
			if !slices.Contains(got, parseAsset(name, env)) {
				t.Errorf("%v %s is missing", env, name)
			}
		}
	}
	if got := AcceptedAssets(0); got != nil {
		t.Errorf("assets of no env: %v", got)
	}
}

func TestResolveNetwork(t *testing.T) {
	for _, c := range []struct {
		currency      Currency
		network, want Network
	}{
		{"ETH", "", "ethereum"},
		{"TRX", "", "tron"},
		{"TON", "", "ton"},
		{"USDT", "", ""}, // the currency is on four networks
		{"USDC", "", ""},
		{"USD", "", ""},
		{"ZOLT", "", ""},
		{"JPY", "", ""},
		{"ETH", "bsc", "bsc"}, // a network in the request stays
		{"USDT", "tron", "tron"},
	} {
		if got := ResolveNetwork(c.currency, c.network); got != c.want {
			t.Errorf("ResolveNetwork(%s, %q) = %q, want %q", c.currency, c.network, got, c.want)
		}
	}
}
