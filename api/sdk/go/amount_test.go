package mizan

import (
	"encoding/json"
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestAmountsAreReadExactly(t *testing.T) {
	t.Parallel()
	largest := maxAmount.String()
	for _, c := range []struct {
		text, currency, network string
		want                    string
		err                     error
	}{
		{"10.00", "USD", "", "1000", nil}, {"10", "USD", "", "1000", nil}, {"0.1", "USD", "", "10", nil}, {"0", "USD", "", "0", nil},
		{"-0.00", "USD", "", "0", nil}, {"-1.05", "USD", "", "-105", nil}, {"007", "USD", "", "700", nil},
		{"0.000000000000000001", "ETH", "", "1", nil}, {"1", "ETH", "ethereum", "1000000000000000000", nil},
		{"1", "USDT", "tron", "1000000", nil}, {"1", "USDT", "bsc", "1000000000000000000", nil},
		{"1", "USDT", "", "", ErrCurrency}, {"1", "ZZZ", "", "", ErrCurrency}, {"1", "USD", "tron", "", ErrCurrency},
		{"10.001", "USD", "", "", ErrPrecision}, {"10.000", "USD", "", "", ErrPrecision},
		{"", "USD", "", "", ErrAmount}, {".5", "USD", "", "", ErrAmount}, {"5.", "USD", "", "", ErrAmount}, {"1e3", "USD", "", "", ErrAmount},
		{"+1", "USD", "", "", ErrAmount}, {" 1", "USD", "", "", ErrAmount}, {"1,000", "USD", "", "", ErrAmount}, {"--1", "USD", "", "", ErrAmount},
		{"1.-5", "USD", "", "", ErrAmount}, {"١", "USD", "", "", ErrAmount}, {"NaN", "USD", "", "", ErrAmount}, {"1_0", "USD", "", "", ErrAmount},
		{strings.Repeat("9", 77), "USD", "", "", ErrTooLarge}, {strings.Repeat("1", 1000), "USD", "", "", ErrTooLarge},
	} {
		networks := []string{}
		if c.network != "" {
			networks = append(networks, c.network)
		}
		got, err := ParseAmount(c.text, c.currency, networks...)
		if !errors.Is(err, c.err) || err == nil && got.String() != c.want {
			t.Errorf("%s %s %s: %v %v", c.text, c.currency, c.network, got, err)
		}
	}
	if a, err := ParseMinorUnits(largest); err != nil || a.String() != largest {
		t.Errorf("%v %v", a, err)
	}
	if _, err := ParseMinorUnits(new(big.Int).Add(maxAmount, big.NewInt(1)).String()); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

func TestAmountsAreWrittenInMajorUnits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		minor    int64
		decimals int
		want     string
	}{{1000, 2, "10.00"}, {5, 2, "0.05"}, {0, 2, "0.00"}, {-5, 2, "-0.05"}, {-1234, 3, "-1.234"}, {7, 0, "7"}, {1, 18, "0.000000000000000001"}} {
		if got := MinorUnits(c.minor).Decimal(c.decimals); got != c.want {
			t.Errorf("%d with %d decimals: %s, want %s", c.minor, c.decimals, got, c.want)
		}
	}
	if text, err := MinorUnits(1999).Format("EUR"); text != "19.99" || err != nil {
		t.Error(text, err)
	}
	if _, err := MinorUnits(1999).Format("ZZZ"); !errors.Is(err, ErrCurrency) {
		t.Error(err)
	}
}

// Arithmetic with random amounts gives the results of package math/big.
func TestArithmeticIsExact(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		bits := func() *big.Int {
			n := new(big.Int).SetUint64(random.Uint64())
			n.Lsh(n, uint(random.IntN(150)))
			if random.IntN(2) == 0 {
				n.Neg(n)
			}
			return n.Rsh(n, uint(random.IntN(64)))
		}
		x, y, n := bits(), bits(), random.Int64N(1000)
		a, b := AmountOf(x), AmountOf(y)
		text, err := json.Marshal(a)
		var again Amount
		if err != nil || json.Unmarshal(text, &again) != nil || again != a {
			t.Fatalf("seed %d: %v is %v after JSON", seed, a, again)
		}
		decimals := random.IntN(20)
		if back, err := ParseDecimal(a.Decimal(decimals), decimals); err != nil || back != a {
			t.Fatalf("seed %d: %v with %d decimals is %v, %v", seed, a, decimals, back, err)
		}
		if a.Add(b).BigInt().Cmp(new(big.Int).Add(x, y)) != 0 || a.Sub(b).BigInt().Cmp(new(big.Int).Sub(x, y)) != 0 ||
			a.Times(n).BigInt().Cmp(new(big.Int).Mul(x, big.NewInt(n))) != 0 || a.Cmp(b) != x.Cmp(y) || a.Sign() != x.Sign() || (a == b) != (x.Cmp(y) == 0) {
			t.Fatalf("seed %d: %v and %v", seed, x, y)
		}
	}
}

func TestAmountsInJSON(t *testing.T) {
	t.Parallel()
	var row struct {
		A, B, C Amount
		D       NumberAmount
	}
	if err := json.Unmarshal([]byte(`{"a":"1000","b":12345678901234567890,"c":null,"d":7}`), &row); err != nil || row.A != MinorUnits(1000) ||
		row.B.String() != "12345678901234567890" || !row.C.IsZero() || row.D.Amount != MinorUnits(7) {
		t.Errorf("%+v %v", row, err)
	}
	for _, wrong := range []string{`1.5`, `1e3`, `"1.0"`, `""`, `true`, `{}`} {
		var a Amount
		if err := json.Unmarshal([]byte(wrong), &a); err == nil {
			t.Errorf("%s is read as %v", wrong, a)
		}
	}
	if _, err := json.Marshal(AmountOf(maxAmount).Times(2)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, err := json.Marshal(AmountOf(maxAmount).Times(2).AsNumber()); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if n, ok := AmountOf(maxAmount).Int64(); ok {
		t.Error(n)
	}
	if n, ok := MinorUnits(-5).Int64(); !ok || n != -5 {
		t.Error(n)
	}
}
