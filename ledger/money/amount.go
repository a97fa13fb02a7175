package money

import (
	"errors"
	"math"
	"math/bits"

	"github.com/holiman/uint256"
)

// Amount is a number of minor units, 0 to 2^256 − 1. The zero value is 0. Amounts can be compared with ==. An Amount does
// not contain its asset (the kind of money); the asset is stored next to it.
type Amount struct{ limbs uint256.Int } // four uint64, the least significant first

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
func (a Amount) Uint64() (uint64, bool) { return a.limbs[0], a.fitsUint64() }

// fitsUint64 tells whether the amount is below 2^64. For such amounts the most frequent operations have a fast path.
func (a *Amount) fitsUint64() bool { return a.limbs[1]|a.limbs[2]|a.limbs[3] == 0 }

// IsZero tells whether the amount is 0.
func (a Amount) IsZero() bool { return a == Amount{} }

// Cmp returns -1, 0 or +1 if a is less than, equal to or greater than b.
func (a Amount) Cmp(b Amount) int { return a.limbs.Cmp(&b.limbs) }

// Less tells whether a is less than b.
func (a Amount) Less(b Amount) bool { return a.limbs.Lt(&b.limbs) }

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
		sum, carry := bits.Add64(a.limbs[0], b.limbs[0], 0)
		return Amount{uint256.Int{sum, carry}}, nil
	}
	var sum Amount
	if _, overflow := sum.limbs.AddOverflow(&a.limbs, &b.limbs); overflow {
		return Amount{}, ErrOverflow
	}
	return sum, nil
}

// Sub returns a − b. The error is ErrNegative if b is greater than a.
func (a Amount) Sub(b Amount) (Amount, error) {
	var difference Amount
	if _, overflow := difference.limbs.SubOverflow(&a.limbs, &b.limbs); overflow {
		return Amount{}, ErrNegative
	}
	return difference, nil
}

// Mul returns a × b. The error is ErrOverflow.
func (a Amount) Mul(b Amount) (Amount, error) {
	var product Amount
	if _, overflow := product.limbs.MulOverflow(&a.limbs, &b.limbs); overflow {
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
	quotient.limbs.Div(&a.limbs, &b.limbs)
	return quotient, nil
}

// MulDivFloor returns floor(a × num ÷ den). The product has 512 bits, so only a result that is out of range causes
// ErrOverflow. If den is zero, the error is ErrDivision.
func (a Amount) MulDivFloor(num, den Amount) (Amount, error) {
	if den.IsZero() { // for a zero divisor, uint256 returns 0 and no error
		return Amount{}, ErrDivision
	}
	if a.fitsUint64() && num.fitsUint64() && den.fitsUint64() {
		if hi, lo := bits.Mul64(a.limbs[0], num.limbs[0]); hi < den.limbs[0] {
			quotient, _ := bits.Div64(hi, lo, den.limbs[0])
			return FromUint64(quotient), nil
		}
	}
	var quotient Amount
	if _, overflow := quotient.limbs.MulDivOverflow(&a.limbs, &num.limbs, &den.limbs); overflow {
		return Amount{}, ErrOverflow
	}
	return quotient, nil
}
