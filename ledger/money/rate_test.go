package money

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseBasisPoints(t *testing.T) {
	for _, c := range []struct {
		in   string
		want BasisPoints
		err  error
	}{
		{"0", 0, nil},
		{"250", 250, nil},
		{"10000", 10000, nil},
		{"1000000", 1000000, nil},
		{"1000001", 0, ErrOverflow},
		{twoTo64, 0, ErrOverflow},
		{max256, 0, ErrOverflow},
		{strings.Repeat("9", 79), 0, ErrTooLong},
		{"", 0, ErrSyntax},
		{"-1", 0, ErrSyntax},
		{"+1", 0, ErrSyntax},
		{"2.5", 0, ErrSyntax},
		{"0250", 0, ErrSyntax},
		{"250 ", 0, ErrSyntax},
		{"1e2", 0, ErrSyntax},
	} {
		got, err := ParseBasisPoints(c.in)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("ParseBasisPoints(%q) = %v, %v, want %v, %v", c.in, got, err, c.want, c.err)
		}
		if err == nil && got.String() != c.in {
			t.Errorf("String = %q, want %q", got, c.in)
		}
	}
}

func TestBasisPointsInJSONAreAString(t *testing.T) {
	out, err := json.Marshal(BasisPoints(250))
	if err != nil || string(out) != `"250"` {
		t.Errorf("Marshal = %s, %v", out, err)
	}
	var b BasisPoints
	if err := json.Unmarshal(out, &b); err != nil || b != 250 {
		t.Errorf("Unmarshal = %v, %v", b, err)
	}
	for _, in := range []string{`250`, `null`, `"2.5"`, `""`, `"1000001"`} {
		if err := json.Unmarshal([]byte(in), &b); err == nil || b != 250 {
			t.Errorf("Unmarshal(%s) = %v, %v", in, b, err)
		}
	}
}

func TestPortionRoundsDown(t *testing.T) {
	for _, c := range []struct {
		amount string
		bps    BasisPoints
		want   string
	}{
		{"1000", 250, "25"},
		{"999", 250, "24"},
		{"39", 250, "0"},
		{"40", 250, "1"},
		{"1", 9999, "0"},
		{"1", 10000, "1"},
		{"12345", 0, "0"},
		{"0", 250, "0"},
		{"3", 20000, "6"},
		{max256, 10000, max256},
		{max256, 9999, "115780510028392463804028627910187039062484657667173999983053638249512338326971"},
		{max256, 10001, ErrOverflow.Error()},
	} {
		if got := resultText(MustParse(c.amount).Portion(c.bps)); got != c.want {
			t.Errorf("%s at %v bps = %s, want %s", c.amount, c.bps, got, c.want)
		}
	}
}

func TestPortionAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAmount().Draw(t, "a")
		bps := rapid.Uint64Range(0, uint64(MaxBasisPoints)).Draw(t, "bps")
		got, err := a.Portion(BasisPoints(bps))
		exact := new(big.Int).Mul(toBig(a), new(big.Int).SetUint64(bps))
		wantExact(t, "portion", got, err, exact.Quo(exact, big.NewInt(10000)))
	})
}

func TestParseRate(t *testing.T) {
	nines := strings.Repeat("9", 38)
	tiny := "0." + strings.Repeat("0", 36) + "1"
	for _, c := range []struct {
		in, want string
		err      error
	}{
		{"92.5", "92.5", nil},
		{"92.50", "92.5", nil},
		{"92.0", "92", nil},
		{"1", "1", nil},
		{"100", "100", nil},
		{"100.00", "100", nil},
		{"0.01", "0.01", nil},
		{"0.010", "0.01", nil},
		{"10.01", "10.01", nil},
		{"0.5", "0.5", nil},
		{nines, nines, nil},
		{"9." + nines[1:], "9." + nines[1:], nil},
		{tiny, tiny, nil},

		{"9" + nines, "", ErrTooLong},
		{"9." + nines, "", ErrTooLong},
		{tiny + "0", "", ErrTooLong},
		{strings.Repeat("1", 1_000_000), "", ErrTooLong},

		{"", "", ErrSyntax},
		{"0", "", ErrSyntax},
		{"0.0", "", ErrSyntax},
		{"0.000", "", ErrSyntax},
		{".", "", ErrSyntax},
		{".5", "", ErrSyntax},
		{"5.", "", ErrSyntax},
		{"00.5", "", ErrSyntax},
		{"01", "", ErrSyntax},
		{"1.2.3", "", ErrSyntax},
		{"1.0.0", "", ErrSyntax},
		{"1..0", "", ErrSyntax},
		{"-1", "", ErrSyntax},
		{"+1", "", ErrSyntax},
		{"1.-5", "", ErrSyntax},
		{"0.+5", "", ErrSyntax},
		{"1e3", "", ErrSyntax},
		{"1.5e0", "", ErrSyntax},
		{"1,5", "", ErrSyntax},
		{" 1", "", ErrSyntax},
		{"1 ", "", ErrSyntax},
		{"1.x0", "", ErrSyntax},
		{"0x1", "", ErrSyntax},
		{"Inf", "", ErrSyntax},
	} {
		got, err := ParseRate(c.in)
		if !errors.Is(err, c.err) || got.String() != c.want {
			t.Errorf("ParseRate(%.60q) = %v, %v, want %v, %v", c.in, got, err, c.want, c.err)
		}
		if (err == nil) == got.IsZero() {
			t.Errorf("ParseRate(%.60q): IsZero %v, error %v", c.in, got.IsZero(), err)
		}
	}
}

func TestTrailingZerosDoNotChangeARate(t *testing.T) {
	a, errA := ParseRate("92.5")
	b, errB := ParseRate("92.5000")
	if errA != nil || errB != nil || a != b {
		t.Errorf("92.5 and 92.5000 differ: %+v %v, %+v %v", a, errA, b, errB)
	}
}

// drawRate draws a rate and its exact value.
func drawRate(t *rapid.T) (Rate, *big.Rat) {
	digits := rapid.StringMatching(`(0|[1-9][0-9]{0,18})(\.[0-9]{1,19})?`).
		Filter(func(s string) bool { return strings.Trim(s, "0.") != "" }).Draw(t, "rate")
	r, err := ParseRate(digits)
	if err != nil {
		t.Fatalf("ParseRate(%s): %v", digits, err)
	}
	exact, _ := new(big.Rat).SetString(digits)
	return r, exact
}

func TestRateTextIsExactAndCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, exact := drawRate(t)
		if shown, ok := new(big.Rat).SetString(r.String()); !ok || shown.Cmp(exact) != 0 {
			t.Fatalf("String returns %v, the rate is %v", r, exact)
		}
		if parsed, err := ParseRate(r.String()); err != nil || parsed != r || parsed.String() != r.String() {
			t.Fatalf("ParseRate(%v) = %v, %v", r, parsed, err)
		}
	})
}

func TestRateInJSONAndBinary(t *testing.T) {
	rate, err := ParseRate("0.0725")
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(rate)
	if err != nil || string(out) != `"0.0725"` {
		t.Errorf("Marshal = %s, %v", out, err)
	}
	var parsed Rate
	if err := json.Unmarshal(out, &parsed); err != nil || parsed != rate {
		t.Errorf("Unmarshal = %v, %v", parsed, err)
	}
	for _, in := range []string{`0.0725`, `92`, `null`, `""`, `"0"`, `"-1"`, `"1e3"`} {
		if err := json.Unmarshal([]byte(in), &parsed); err == nil || parsed != rate {
			t.Errorf("Unmarshal(%s) = %v, %v", in, parsed, err)
		}
	}
	if out, err := json.Marshal(Rate{}); err == nil {
		t.Errorf("no rate was written as %s", out)
	}
	for _, in := range []string{"1.0", "01", "0", "x"} {
		if err := parsed.UnmarshalBinary([]byte(in)); err == nil || parsed != rate {
			t.Errorf("UnmarshalBinary(%s) = %v, %v", in, parsed, err)
		}
	}
}

func TestConvertEdges(t *testing.T) {
	tiny := "0." + strings.Repeat("0", 36) + "1"
	nines := strings.Repeat("9", 38)
	for _, c := range []struct {
		amount, rate       string
		fromScale, toScale int
		want               string
	}{
		{"10000", "92.5", 2, 2, "925000"},                    // 100.00 USD to RUB
		{"100", "92.5", 2, 6, "92500000"},                    // 1.00 USD to RUBT
		{"1000000", "0.0108", 6, 2, "1"},                     // 1 RUBT to 0.01 USD
		{"999999", "0.01", 6, 2, "0"},                        // 0.00999999 USD is less than a cent
		{"1", "1", 18, 2, "0"},                               // one wei
		{"1000000000000000000", "3012.337", 18, 2, "301233"}, // one ETH; 0.7 cent is lost
		{"1", "1", 2, 18, "10000000000000000"},               // one cent to an asset with 18 decimals
		{"3", "0.3333", 2, 2, "0"},                           // 0.9999 cents
		{"0", "92.5", 2, 18, "0"},
		{max256, "1", 2, 2, max256},
		{max256, "0.5", 2, 2, "57896044618658097711785492504343953926634992332820282019728792003956564819967"},
		{max256, "1.0000000000000000000000000000000000001", 2, 2, ErrOverflow.Error()},
		{max256, "1", 2, 3, ErrOverflow.Error()},
		{max256, "1", 3, 2, "11579208923731619542357098500868790785326998466564056403945758400791312963993"},
		{"1", nines, 0, 36, nines + strings.Repeat("0", 36)},
		{"1000", nines, 0, 36, nines + strings.Repeat("0", 39)},
		{"10000", nines, 0, 36, ErrOverflow.Error()},
		{max256, tiny, 36, 0, "11579"}, // divided by 10^73, the largest divisor
	} {
		rate, err := ParseRate(c.rate)
		if err != nil {
			t.Fatalf("ParseRate(%s): %v", c.rate, err)
		}
		if got := resultText(MustParse(c.amount).Convert(rate, c.fromScale, c.toScale)); got != c.want {
			t.Errorf("%s × %s, scale %d to %d = %s, want %s", c.amount, c.rate, c.fromScale, c.toScale, got, c.want)
		}
	}
}

func TestConvertAgreesWithRat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAmount().Draw(t, "a")
		r, exact := drawRate(t)
		fromScale, toScale := rapid.IntRange(0, MaxScale).Draw(t, "from"), rapid.IntRange(0, MaxScale).Draw(t, "to")
		got, err := a.Convert(r, fromScale, toScale)

		exact.Mul(exact, new(big.Rat).SetInt(toBig(a)))
		exact.Mul(exact, new(big.Rat).SetFrac(powerOfTen(toScale), powerOfTen(fromScale)))
		wantExact(t, "convert", got, err, new(big.Int).Quo(exact.Num(), exact.Denom()))
	})
}

func TestConvertWithoutRate(t *testing.T) {
	if got, err := FromUint64(5).Convert(Rate{}, 2, 2); err != ErrNoRate || !got.IsZero() {
		t.Errorf("Convert = %v, %v", got, err)
	}
}

func TestConvertPanicsOnAScaleOutOfRange(t *testing.T) {
	rate, err := ParseRate("1")
	if err != nil {
		t.Fatal(err)
	}
	for _, scales := range [][2]int{{-1, 0}, {0, -1}, {MaxScale + 1, 0}, {0, MaxScale + 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Convert accepted the scales %v", scales)
				}
			}()
			_, _ = FromUint64(1).Convert(rate, scales[0], scales[1])
		}()
	}
}
