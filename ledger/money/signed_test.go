package money

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// minusZero is a value that the package never makes. The methods treat it as 0.
var minusZero = Signed{Negative: true}

func signedToBig(s Signed) *big.Int {
	n := toBig(s.Abs)
	if s.Negative {
		n.Neg(n)
	}
	return n
}

func drawSigned() *rapid.Generator[Signed] {
	return rapid.Custom(func(t *rapid.T) Signed {
		abs := drawAmount().Draw(t, "abs")
		return Signed{Negative: rapid.Bool().Draw(t, "negative") && !abs.IsZero(), Abs: abs}
	})
}

func TestDifferenceEdges(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"0", "0", "0"},
		{"5", "3", "2"},
		{"3", "5", "-2"},
		{"5", "5", "0"},
		{max256, "0", max256},
		{"0", max256, "-" + max256},
		{max256, max256, "0"},
		{twoTo64, "1", max64},
		{"1", twoTo64, "-" + max64},
	} {
		got := Difference(MustParse(c.a), MustParse(c.b))
		if got.String() != c.want {
			t.Errorf("%s − %s = %v, want %s", c.a, c.b, got, c.want)
		}
		if got.Negative != (c.want[0] == '-') {
			t.Errorf("%s − %s: Negative = %v", c.a, c.b, got.Negative)
		}
	}
}

func TestSignedAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawAmount().Draw(t, "a"), drawAmount().Draw(t, "b")
		difference := Difference(a, b)
		exact := new(big.Int).Sub(toBig(a), toBig(b))
		if signedToBig(difference).Cmp(exact) != 0 || difference.String() != exact.String() {
			t.Fatalf("Difference = %v, want %v", difference, exact)
		}
		if difference.Neg() != Difference(b, a) {
			t.Fatalf("Neg = %v, want %v", difference.Neg(), Difference(b, a))
		}

		s, other := drawSigned().Draw(t, "s"), drawSigned().Draw(t, "o")
		bigS, bigOther := signedToBig(s), signedToBig(other)
		if s.Cmp(other) != bigS.Cmp(bigOther) || s.Less(other) != (bigS.Cmp(bigOther) < 0) {
			t.Fatalf("Cmp(%v, %v) = %d, Less %v", s, other, s.Cmp(other), s.Less(other))
		}
		if s.IsZero() != (bigS.Sign() == 0) {
			t.Fatalf("IsZero(%v) = %v", s, s.IsZero())
		}
		if abs, ok := s.Amount(); ok != (bigS.Sign() >= 0) || (ok && toBig(abs).Cmp(bigS) != 0) {
			t.Fatalf("Amount(%v) = %v, %v", s, abs, ok)
		}
		sum, err := s.Add(other)
		want := bigS.Add(bigS, bigOther)
		if new(big.Int).Abs(want).Cmp(ceiling) >= 0 {
			if err != ErrOverflow || sum != (Signed{}) {
				t.Fatalf("%v + %v = %v, %v, want ErrOverflow", s, other, sum, err)
			}
		} else if err != nil || signedToBig(sum).Cmp(want) != 0 || (sum.Negative && sum.Abs.IsZero()) {
			t.Fatalf("%v + %v = %+v, %v, want %v", s, other, sum, err, want)
		}
	})
}

func TestSignedAddEdges(t *testing.T) {
	for _, c := range []struct{ s, other, want string }{
		{"2", "3", "5"},
		{"-2", "-3", "-5"},
		{"2", "-3", "-1"},
		{"-2", "3", "1"},
		{"-3", "2", "-1"},
		{"3", "-3", "0"},
		{"0", "-3", "-3"},
		{max256, "-" + max256, "0"},
		{max256, "-1", "115792089237316195423570985008687907853269984665640564039457584007913129639934"},
		{max256, "1", ErrOverflow.Error()},
		{"-" + max256, "-1", ErrOverflow.Error()},
	} {
		s, errS := ParseSigned(c.s)
		other, errOther := ParseSigned(c.other)
		if errS != nil || errOther != nil {
			t.Fatal(errS, errOther)
		}
		sum, err := s.Add(other)
		got := sum.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s + %s = %s, want %s", c.s, c.other, got, c.want)
		}
	}
}

func TestSignedSurvivesTextJSONAndBinary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSigned().Draw(t, "s")
		if parsed, err := ParseSigned(signedToBig(s).String()); err != nil || parsed != s {
			t.Fatalf("ParseSigned = %v, %v, want %v", parsed, err, s)
		}
		text, err := json.Marshal(s)
		if err != nil || string(text) != `"`+signedToBig(s).String()+`"` {
			t.Fatalf("Marshal = %s, %v", text, err)
		}
		var parsed Signed
		if err := json.Unmarshal(text, &parsed); err != nil || parsed != s {
			t.Fatalf("Unmarshal(%s) = %v, %v", text, parsed, err)
		}
		tail := rapid.SliceOf(rapid.Byte()).Draw(t, "tail")
		fromBytes, gotTail, err := ReadSigned(append(s.AppendBinary(nil), tail...))
		if err != nil || fromBytes != s || !bytes.Equal(gotTail, tail) {
			t.Fatalf("ReadSigned = %v, %x, %v", fromBytes, gotTail, err)
		}
		var fromBinary Signed
		if form, err := s.MarshalBinary(); err != nil || fromBinary.UnmarshalBinary(form) != nil || fromBinary != s {
			t.Fatalf("binary round trip = %v, %v", fromBinary, err)
		}
	})
}

func TestMinusZeroCountsAsZero(t *testing.T) {
	if minusZero.String() != "0" {
		t.Errorf("String = %s", minusZero)
	}
	if out, err := json.Marshal(minusZero); err != nil || string(out) != `"0"` {
		t.Errorf("Marshal = %s, %v", out, err)
	}
	if !bytes.Equal(minusZero.AppendBinary(nil), Signed{}.AppendBinary(nil)) {
		t.Errorf("AppendBinary = %x", minusZero.AppendBinary(nil))
	}
	if minusZero.Cmp(Signed{}) != 0 || minusZero.Less(Signed{}) || (Signed{}).Less(minusZero) {
		t.Error("minus zero is not equal to zero")
	}
	if got := minusZero.Neg(); got != (Signed{}) {
		t.Errorf("Neg = %+v", got)
	}
	if got := (Signed{}).Neg(); got != (Signed{}) {
		t.Errorf("Neg of 0 = %+v", got)
	}
	if abs, ok := minusZero.Amount(); !ok || !abs.IsZero() {
		t.Errorf("Amount = %v, %v", abs, ok)
	}
	if sum, err := minusZero.Add(minusZero); err != nil || sum != (Signed{}) {
		t.Errorf("Add = %+v, %v", sum, err)
	}
	five := Signed{Abs: FromUint64(5)}
	if sum, err := five.Add(five.Neg()); err != nil || sum != (Signed{}) {
		t.Errorf("5 − 5 = %+v, %v", sum, err)
	}
}

func TestSignedRefusesOtherForms(t *testing.T) {
	for _, c := range []struct {
		in   string
		want error
	}{
		{"-0", ErrSyntax},
		{"--1", ErrSyntax},
		{"+1", ErrSyntax},
		{"-", ErrSyntax},
		{"", ErrSyntax},
		{"-01", ErrSyntax},
		{"- 1", ErrSyntax},
		{"1-", ErrSyntax},
		{"-" + max256 + "0", ErrTooLong},
		{"-9" + max256[1:], ErrOverflow},
	} {
		if got, err := ParseSigned(c.in); !errors.Is(err, c.want) || got != (Signed{}) {
			t.Errorf("ParseSigned(%q) = %v, %v, want %v", c.in, got, err, c.want)
		}
	}
	original := Signed{Negative: true, Abs: FromUint64(7)}
	for _, in := range []string{`-7`, `7`, `null`, `"-0"`, `""`} {
		s := original
		if err := json.Unmarshal([]byte(in), &s); err == nil || s != original {
			t.Errorf("Unmarshal(%s) = %v, %v", in, s, err)
		}
	}
	for _, in := range [][]byte{{}, {0}, {1}, {1, 0}, {2, 1, 5}, {0, 1, 5, 0}, {0, 1, 0}} {
		s := original
		if err := s.UnmarshalBinary(in); err != ErrEncoding || s != original {
			t.Errorf("UnmarshalBinary(%x) = %v, %v", in, s, err)
		}
	}
}
