package money

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// ceiling is 2^256, the first number above all Amounts.
var ceiling = new(big.Int).Lsh(big.NewInt(1), 256)

// edgeAmounts are amounts at which a carry, another limb or another digit begins.
var edgeAmounts = []string{
	"0", "1", "9", "10", "255", "256",
	"9999999999999999999",  // 10^19 − 1, the largest number that is parsed as one chunk
	"10000000000000000000", // 10^19
	"18446744073709551615", // 2^64 − 1
	"18446744073709551616",
	"340282366920938463463374607431768211455", // 2^128 − 1
	"340282366920938463463374607431768211456",
	"6277101735386680763835789423207666416102355444464034512895", // 2^192 − 1
	"6277101735386680763835789423207666416102355444464034512896",
	"100000000000000000000000000000000000000000000000000000000000000000000000000000", // 10^77
	"115792089237316195423570985008687907853269984665640564039457584007913129639934",
	"115792089237316195423570985008687907853269984665640564039457584007913129639935", // 2^256 − 1
}

// drawAmount draws one of edgeAmounts in one case of five. Else it draws a random amount of 0 to 256 bits, each length with
// the same probability. So small and huge amounts are equally frequent, and operations get amounts with and without a fast
// path.
func drawAmount() *rapid.Generator[Amount] {
	return rapid.Custom(func(t *rapid.T) Amount {
		if rapid.IntRange(0, 4).Draw(t, "edge?") == 0 {
			return MustParse(rapid.SampledFrom(edgeAmounts).Draw(t, "edge"))
		}
		length := rapid.IntRange(0, 256).Draw(t, "bits")
		raw := rapid.SliceOfN(rapid.Byte(), maxBytes, maxBytes).Draw(t, "bytes")
		n := new(big.Int).SetBytes(raw)
		return fromBig(n.Rsh(n, uint(256-length)))
	})
}

// fromBig and toBig convert without the code under test.
func fromBig(n *big.Int) Amount {
	var a Amount
	var buf [maxBytes]byte
	n.FillBytes(buf[:])
	for i, b := range buf {
		limb := 3 - i/8
		a.limbs[limb] = a.limbs[limb]<<8 | uint64(b)
	}
	return a
}

func toBig(a Amount) *big.Int {
	n := new(big.Int)
	for i := 3; i >= 0; i-- {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(a.limbs[i]))
	}
	return n
}

// wantExact compares an operation's result with the exact result. If the exact result is in the range of an Amount, got
// must be equal to it; if not, the error must be ErrNegative or ErrOverflow.
func wantExact(t *rapid.T, op string, got Amount, err error, exact *big.Int) {
	t.Helper()
	switch {
	case exact.Sign() < 0:
		if err != ErrNegative {
			t.Fatalf("%s = %v, %v; want ErrNegative (exact %v)", op, got, err, exact)
		}
	case exact.Cmp(ceiling) >= 0:
		if err != ErrOverflow {
			t.Fatalf("%s = %v, %v; want ErrOverflow (exact %v)", op, got, err, exact)
		}
	case err != nil || toBig(got).Cmp(exact) != 0:
		t.Fatalf("%s = %v, %v; want %v", op, toBig(got), err, exact)
	}
	if err != nil && !got.IsZero() {
		t.Fatalf("%s returned %v together with the error %v", op, got, err)
	}
}

func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func wantNoAllocation(t *testing.T, operation string, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%s allocates %v times", operation, n)
	}
}
