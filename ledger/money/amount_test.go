package money

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

const (
	max64   = "18446744073709551615"                                                           // 2^64 − 1
	twoTo64 = "18446744073709551616"                                                           // 2^64
	max256  = "115792089237316195423570985008687907853269984665640564039457584007913129639935" // 2^256 − 1
)

// resultText formats an operation's result as one string: the digits or the error.
func resultText(a Amount, err error) string {
	if err != nil {
		return err.Error()
	}
	return a.String()
}

func TestArithmeticEdges(t *testing.T) {
	overflow, negative, division := ErrOverflow.Error(), ErrNegative.Error(), ErrDivision.Error()
	add, sub, mul, div := Amount.Add, Amount.Sub, Amount.Mul, Amount.DivFloor
	for _, c := range []struct {
		name string
		op   func(a, b Amount) (Amount, error)
		a, b string
		want string
	}{
		{"add", add, "0", "0", "0"},
		{"add", add, "2", "3", "5"},
		{"add", add, max64, "1", twoTo64},
		{"add", add, max64, max64, "36893488147419103230"},
		{"add", add, max256, "0", max256},
		{"add", add, max256, "1", overflow},
		{"add", add, "1", max256, overflow},
		{"add", add, max256, max256, overflow},
		{"sub", sub, "5", "5", "0"},
		{"sub", sub, "5", "3", "2"},
		{"sub", sub, "3", "5", negative},
		{"sub", sub, "0", "1", negative},
		{"sub", sub, twoTo64, "1", max64},
		{"sub", sub, max64, twoTo64, negative},
		{"sub", sub, max256, max256, "0"},
		{"mul", mul, "0", max256, "0"},
		{"mul", mul, max64, max64, "340282366920938463426481119284349108225"},
		{"mul", mul, max256, "1", max256},
		{"mul", mul, max256, "2", overflow},
		{"mul", mul, "340282366920938463463374607431768211456", "340282366920938463463374607431768211456", overflow},
		{"div", div, "7", "2", "3"},
		{"div", div, "1", "2", "0"},
		{"div", div, "0", "7", "0"},
		{"div", div, max256, max256, "1"},
		{"div", div, max256, "1", max256},
		{"div", div, "7", "0", division},
		{"div", div, "0", "0", division},
	} {
		if got := resultText(c.op(MustParse(c.a), MustParse(c.b))); got != c.want {
			t.Errorf("%s(%s, %s) = %s, want %s", c.name, c.a, c.b, got, c.want)
		}
	}
}

func TestMulDivFloorEdges(t *testing.T) {
	for _, c := range []struct{ a, num, den, want string }{
		{"10", "1", "3", "3"},
		{"10", "2", "3", "6"},
		{"999", "250", "10000", "24"},
		{"0", "5", "7", "0"},
		{"5", "0", "7", "0"},
		{"5", "7", "0", ErrDivision.Error()},
		{"0", "0", "0", ErrDivision.Error()},
		{max64, max64, max64, max64},
		{max64, max64, "1", "340282366920938463426481119284349108225"},
		{max64, max64, "18446744073709551614", twoTo64}, // the quotient needs a second uint64
		{max256, max256, max256, max256},                // the product needs 512 bits
		{max256, "3", "4", "86844066927987146567678238756515930889952488499230423029593188005934847229951"},
		{max256, "4", "3", ErrOverflow.Error()},
		{max256, max256, "1", ErrOverflow.Error()},
		{"1", "1", max256, "0"}, // the divisor has more words than the product
	} {
		if got := resultText(MustParse(c.a).MulDivFloor(MustParse(c.num), MustParse(c.den))); got != c.want {
			t.Errorf("%s × %s ÷ %s = %s, want %s", c.a, c.num, c.den, got, c.want)
		}
	}
}

func TestArithmeticAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawAmount().Draw(t, "a"), drawAmount().Draw(t, "b")
		bigA, bigB := toBig(a), toBig(b)
		beforeA, beforeB := a, b

		sum, err := a.Add(b)
		wantExact(t, "a+b", sum, err, new(big.Int).Add(bigA, bigB))
		difference, err := a.Sub(b)
		wantExact(t, "a-b", difference, err, new(big.Int).Sub(bigA, bigB))
		product, err := a.Mul(b)
		wantExact(t, "a*b", product, err, new(big.Int).Mul(bigA, bigB))
		if !b.IsZero() {
			quotient, err := a.DivFloor(b)
			wantExact(t, "a/b", quotient, err, new(big.Int).Quo(bigA, bigB))
		}
		if a != beforeA || b != beforeB {
			t.Fatalf("an operand changed")
		}
	})
}

func TestMulDivFloorAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, num, den := drawAmount().Draw(t, "a"), drawAmount().Draw(t, "num"), drawAmount().Draw(t, "den")
		got, err := a.MulDivFloor(num, den)
		if den.IsZero() {
			if err != ErrDivision || !got.IsZero() {
				t.Fatalf("division by zero = %v, %v", got, err)
			}
			return
		}
		exact := new(big.Int).Mul(toBig(a), toBig(num))
		wantExact(t, "a*num/den", got, err, exact.Quo(exact, toBig(den)))
	})
}

func TestOrderAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawAmount().Draw(t, "a"), drawAmount().Draw(t, "b")
		want := toBig(a).Cmp(toBig(b))
		if got := a.Cmp(b); got != want {
			t.Fatalf("Cmp = %d, want %d", got, want)
		}
		if a.Less(b) != (want < 0) {
			t.Fatalf("Less = %v, Cmp %d", a.Less(b), want)
		}
		if (a == b) != (want == 0) {
			t.Fatalf("== is %v, Cmp %d", a == b, want)
		}
		lesser := a
		if want > 0 {
			lesser = b
		}
		if a.Min(b) != lesser || b.Min(a) != lesser {
			t.Fatalf("Min = %v and %v, want %v", a.Min(b), b.Min(a), lesser)
		}
		if a.IsZero() != (toBig(a).Sign() == 0) {
			t.Fatalf("IsZero = %v", a.IsZero())
		}
	})
}

func TestUint64(t *testing.T) {
	for _, u := range []uint64{0, 1, math.MaxUint64} {
		if got, ok := FromUint64(u).Uint64(); got != u || !ok {
			t.Errorf("FromUint64(%d).Uint64() = %d, %v", u, got, ok)
		}
	}
	for _, s := range []string{twoTo64, max256, "36893488147419103231"} {
		if _, ok := MustParse(s).Uint64(); ok {
			t.Errorf("%s fits a uint64", s)
		}
	}
}

func TestMaxIsTheLargestAmount(t *testing.T) {
	if Max.String() != max256 {
		t.Errorf("Max = %v", Max)
	}
	want := new(big.Int).Sub(ceiling, big.NewInt(1))
	if toBig(Max).Cmp(want) != 0 {
		t.Errorf("Max = %v, want %v", toBig(Max), want)
	}
}

func TestZeroValueIsZero(t *testing.T) {
	var a Amount
	if !a.IsZero() || a != FromUint64(0) || a != MustParse("0") || a.String() != "0" {
		t.Errorf("the zero value is %v", a)
	}
}

func TestArithmeticDoesNotAllocate(t *testing.T) {
	a, b, c := MustParse("123456789012345678"), MustParse("987654321"), MustParse("10000")
	large := MustParse("6277101735386680763835789423207666416102355444464034512896")
	wantNoAllocation(t, "Add", func() { sinkAmount, sinkErr = a.Add(b) })
	wantNoAllocation(t, "Add of large amounts", func() { sinkAmount, sinkErr = large.Add(large) })
	wantNoAllocation(t, "Sub", func() { sinkAmount, sinkErr = a.Sub(b) })
	wantNoAllocation(t, "MulDivFloor", func() { sinkAmount, sinkErr = a.MulDivFloor(b, c) })
	wantNoAllocation(t, "MulDivFloor of large amounts", func() { sinkAmount, sinkErr = large.MulDivFloor(b, c) })
	wantNoAllocation(t, "Portion", func() { sinkAmount, sinkErr = a.Portion(250) })
}

// The allocation tests assign results to these variables. Otherwise the compiler could remove the measured code.
var (
	sinkAmount Amount
	sinkErr    error
	sinkBytes  []byte
)
