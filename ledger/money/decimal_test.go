package money

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseTakesOnlyCanonicalDigits(t *testing.T) {
	const tenTo77 = "100000000000000000000000000000000000000000000000000000000000000000000000000000"
	for _, c := range []struct {
		in   string
		want error
	}{
		{"0", nil},
		{"1", nil},
		{"100", nil},
		{"123456789012345678", nil}, // the 18 digits from the specification
		{max64, nil},
		{twoTo64, nil},
		{strings.Repeat("9", 77), nil},
		{tenTo77, nil},
		{max256, nil},

		{"", ErrSyntax},
		{"00", ErrSyntax},
		{"05", ErrSyntax},
		{"0" + max64, ErrSyntax},
		{"+5", ErrSyntax},
		{"-5", ErrSyntax},
		{"-0", ErrSyntax},
		{" 5", ErrSyntax},
		{"5 ", ErrSyntax},
		{"5\n", ErrSyntax},
		{"5\x00", ErrSyntax},
		{"0x10", ErrSyntax},
		{"1e3", ErrSyntax},
		{"1_000", ErrSyntax},
		{"1,000", ErrSyntax},
		{"1.0", ErrSyntax},
		{"/", ErrSyntax}, // the neighbours of the digits in ASCII
		{":", ErrSyntax},
		{"\u0665", ErrSyntax}, // digits of other scripts
		{"\uff15", ErrSyntax},
		{"NaN", ErrSyntax},
		{max64 + "x", ErrSyntax},
		{"x" + max64, ErrSyntax},
		{max256[:77] + "x", ErrSyntax},
		{strings.Repeat("9", 77) + "x", ErrSyntax}, // an invalid character in a number that would also overflow
		{"1" + strings.Repeat("0", 40) + "x" + strings.Repeat("0", 30), ErrSyntax},

		{"115792089237316195423570985008687907853269984665640564039457584007913129639936", ErrOverflow},
		{strings.Repeat("9", 78), ErrOverflow},
		{strings.Repeat("9", 79), ErrTooLong},
		{strings.Repeat("0", 79), ErrTooLong},
		{strings.Repeat("x", 1_000_000), ErrTooLong},
	} {
		got, err := Parse(c.in)
		if !errors.Is(err, c.want) {
			t.Errorf("Parse(%.90q) = %v, %v, want %v", c.in, got, err, c.want)
		}
		if err == nil && got.String() != c.in {
			t.Errorf("Parse(%q).String() = %q", c.in, got.String())
		}
		if err != nil && !got.IsZero() {
			t.Errorf("Parse(%.90q) returned %v together with an error", c.in, got)
		}
	}
}

func TestEdgeAmountsSurviveText(t *testing.T) {
	for _, s := range edgeAmounts {
		n, _ := new(big.Int).SetString(s, 10)
		if got := toBig(MustParse(s)); got.Cmp(n) != 0 {
			t.Errorf("Parse(%s) = %v", s, got)
		}
		if got := fromBig(n).String(); got != s {
			t.Errorf("String of %s = %s", s, got)
		}
	}
}

func TestTextAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAmount().Draw(t, "a")
		want := toBig(a).String()
		if a.String() != want {
			t.Fatalf("String = %s, want %s", a, want)
		}
		if got := string(a.AppendDecimal([]byte("amount="))); got != "amount="+want {
			t.Fatalf("AppendDecimal = %s, want %s", got, want)
		}
		text, err := a.AppendText([]byte("x"))
		if err != nil || string(text) != "x"+want {
			t.Fatalf("AppendText = %s, %v", text, err)
		}
		if parsed, err := Parse(want); err != nil || parsed != a {
			t.Fatalf("Parse(%s) = %v, %v", want, parsed, err)
		}
		if parsed, err := ParseBytes([]byte(want)); err != nil || parsed != a {
			t.Fatalf("ParseBytes(%s) = %v, %v", want, parsed, err)
		}
		var parsed Amount
		marshalled, err := a.MarshalText()
		if err != nil || parsed.UnmarshalText(marshalled) != nil || parsed != a {
			t.Fatalf("text round trip = %v, %v", parsed, err)
		}
	})
}

func TestMustParsePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("MustParse accepted a sign")
		}
	}()
	MustParse("-1")
}

func TestAmountInJSONIsAString(t *testing.T) {
	type payment struct {
		Amount Amount `json:"amount"`
	}
	for _, s := range edgeAmounts {
		want := `{"amount":"` + s + `"}`
		out, err := json.Marshal(payment{MustParse(s)})
		if err != nil || string(out) != want {
			t.Errorf("Marshal = %s, %v, want %s", out, err, want)
		}
		var parsed payment
		if err := json.Unmarshal(out, &parsed); err != nil || parsed.Amount != MustParse(s) {
			t.Errorf("Unmarshal(%s) = %v, %v", out, parsed, err)
		}
	}
}

func TestAmountInJSONRefusesAnythingElse(t *testing.T) {
	for _, in := range []string{
		`5`, `0`, `-5`, `5.0`, `1e3`, `null`, `true`, `{}`, `[]`, `["5"]`,
		`""`, `"05"`, `"+5"`, `"-5"`, `" 5"`, `"0x10"`, `"5.0"`, `"\u0035"`, `"` + strings.Repeat("9", 79) + `"`,
	} {
		amount := FromUint64(7)
		if err := json.Unmarshal([]byte(in), &amount); err == nil {
			t.Errorf("Unmarshal(%s) = %v", in, amount)
		}
		if amount != FromUint64(7) {
			t.Errorf("Unmarshal(%s) changed the amount to %v and failed", in, amount)
		}
	}
	for _, in := range []string{``, `"`, `'5'`, `5"`, `"5`} {
		if err := new(Amount).UnmarshalJSON([]byte(in)); err != ErrSyntax {
			t.Errorf("UnmarshalJSON(%s) = %v", in, err)
		}
	}
}

func TestTextDoesNotAllocate(t *testing.T) {
	small, smallText := MustParse(max64), []byte(max64)
	large, largeText := Max, []byte(max256)
	buf := make([]byte, 0, MaxDigits)
	wantNoAllocation(t, "Parse", func() { sinkAmount, sinkErr = Parse("123456789012345678") })
	wantNoAllocation(t, "Parse of many digits", func() { sinkAmount, sinkErr = Parse(max256) })
	wantNoAllocation(t, "ParseBytes", func() { sinkAmount, sinkErr = ParseBytes(smallText) })
	wantNoAllocation(t, "ParseBytes of many digits", func() { sinkAmount, sinkErr = ParseBytes(largeText) })
	wantNoAllocation(t, "AppendDecimal", func() { sinkBytes = small.AppendDecimal(buf) })
	wantNoAllocation(t, "AppendDecimal of many digits", func() { sinkBytes = large.AppendDecimal(buf) })
}

// FuzzParse compares Parse with wantParseError and math/big.
func FuzzParse(f *testing.F) {
	for _, s := range append(edgeAmounts, "", "05", "-1", "+1", "0x10", "1e3", " 1", strings.Repeat("9", 78), strings.Repeat("1", 79)) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := wantParseError(s)
		got, err := Parse(s)
		if !errors.Is(err, want) {
			t.Fatalf("Parse(%q) = %v, %v, want %v", s, got, err, want)
		}
		fromBytes, errBytes := ParseBytes([]byte(s))
		if fromBytes != got || errBytes != err {
			t.Fatalf("ParseBytes(%q) = %v, %v, Parse %v, %v", s, fromBytes, errBytes, got, err)
		}
		if err == nil && (got.String() != s || toBig(got).String() != s) {
			t.Fatalf("Parse(%q) = %v", s, got)
		}
	})
}

// wantParseError returns the error that Parse must return for s according to Parse's comment; nil if s is valid.
func wantParseError(s string) error {
	if len(s) > MaxDigits {
		return ErrTooLong
	}
	if s == "" || strings.Trim(s, "0123456789") != "" || (strings.HasPrefix(s, "0") && s != "0") {
		return ErrSyntax
	}
	if n, ok := new(big.Int).SetString(s, 10); !ok || n.Cmp(ceiling) >= 0 {
		return ErrOverflow
	}
	return nil
}
