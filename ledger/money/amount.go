package money

import (
	"errors"
	"math"
	"math/bits"

	"github.com/holiman/uint256"
)

// Amount is a number of minor units, 0 to 2^256 − 1. The zero value is 0, and two amounts are
// equal if and only if == is true. The asset is stored beside the amount, never inside.
type Amount struct{ v uint256.Int }

// Max is the largest Amount, 2^256 − 1.
var Max = Amount{uint256.Int{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}}

// Errors of this package's arithmetic and parsers.
var (
	ErrSyntax   = errors.New("money: not a canonical decimal number")
	ErrTooLong  = errors.New("money: too many digits")
	ErrOverflow = errors.New("money: out of range")
	ErrNegative = errors.New("money: result is negative")
	ErrDivision = errors.New("money: division by zero")
	ErrNoRate   = errors.New("money: no exchange rate")
	ErrEncoding = errors.New("money: malformed binary amount")
)

// FromUint64 returns u minor units.
func FromUint64(u uint64) Amount { return Amount{uint256.Int{u}} }

// Uint64 returns the amount as a uint64, if it fits.
func (a Amount) Uint64() (uint64, bool) { return a.v[0], a.fitsUint64() }

// fitsUint64 tells whether the amount is below 2^64. All operations have a fast path for such
// amounts.
func (a *Amount) fitsUint64() bool { return a.v[1]|a.v[2]|a.v[3] == 0 }

// IsZero tells whether the amount is 0.
func (a Amount) IsZero() bool { return a == Amount{} }

// Cmp returns -1, 0 or +1 if a is less than, equal to or greater than b.
func (a Amount) Cmp(b Amount) int { return a.v.Cmp(&b.v) }

// Less tells whether a is less than b.
func (a Amount) Less(b Amount) bool { return a.v.Lt(&b.v) }

// Min returns the lesser of a and b.
func (a Amount) Min(b Amount) Amount {
	if b.Less(a) {
		return b
	}
	return a
}

// Add returns a + b. The error is ErrOverflow.
func (a Amount) Add(b Amount) (Amount, error) {
	if a.fitsUint64() && b.fitsUint64() {
		sum, carry := bits.Add64(a.v[0], b.v[0], 0)
		return Amount{uint256.Int{sum, carry}}, nil
	}
	var sum Amount
	if _, overflow := sum.v.AddOverflow(&a.v, &b.v); overflow {
		return Amount{}, ErrOverflow
	}
	return sum, nil
}

// Sub returns a − b. The error is ErrNegative if b is greater than a.
func (a Amount) Sub(b Amount) (Amount, error) {
	var rest Amount
	if _, overflow := rest.v.SubOverflow(&a.v, &b.v); overflow {
		return Amount{}, ErrNegative
	}
	return rest, nil
}

// Mul returns a × b. The error is ErrOverflow.
func (a Amount) Mul(b Amount) (Amount, error) {
	var product Amount
	if _, overflow := product.v.MulOverflow(&a.v, &b.v); overflow {
		return Amount{}, ErrOverflow
	}
	return product, nil
}

// DivFloor returns floor(a ÷ b). The error is ErrDivision if b is zero.
func (a Amount) DivFloor(b Amount) (Amount, error) {
	if b.IsZero() {
		return Amount{}, ErrDivision
	}
	var quotient Amount
	quotient.v.Div(&a.v, &b.v)
	return quotient, nil
}

// MulDivFloor returns floor(a × num ÷ den). The product has 512 bits, so only the result can be
// out of range: ErrOverflow. The error is ErrDivision if den is zero.
func (a Amount) MulDivFloor(num, den Amount) (Amount, error) {
	if den.IsZero() { // uint256 would return 0 and no overflow
		return Amount{}, ErrDivision
	}
	if a.fitsUint64() && num.fitsUint64() && den.fitsUint64() {
		if hi, lo := bits.Mul64(a.v[0], num.v[0]); hi < den.v[0] {
			quotient, _ := bits.Div64(hi, lo, den.v[0])
			return FromUint64(quotient), nil
		}
	}
	var quotient Amount
	if _, overflow := quotient.v.MulDivOverflow(&a.v, &num.v, &den.v); overflow {
		return Amount{}, ErrOverflow
	}
	return quotient, nil
}
