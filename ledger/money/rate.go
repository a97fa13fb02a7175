package money

import (
	"strconv"
	"strings"

	"mizan/internal/assert"
)

// BasisPoints is a fraction in hundredths of a percent: 250 is 2.5 percent.
type BasisPoints uint64

// MaxBasisPoints is 10000 percent, far above any fee.
const MaxBasisPoints BasisPoints = 1_000_000

// wholeBasisPoints is 100 percent.
const wholeBasisPoints = 10_000

// ParseBasisPoints parses canonical digits up to MaxBasisPoints ("250" is 2.5 percent;
// specification "Money rules" 3). Errors: ErrTooLong, ErrSyntax, ErrOverflow.
func ParseBasisPoints(s string) (BasisPoints, error) {
	a, err := Parse(s)
	if err != nil {
		return 0, err
	}
	if FromUint64(uint64(MaxBasisPoints)).Less(a) {
		return 0, ErrOverflow
	}
	return BasisPoints(a.limbs[0]), nil
}

// String returns the number of basis points in digits.
func (b BasisPoints) String() string { return strconv.FormatUint(uint64(b), 10) }

// MarshalJSON writes a JSON string of digits.
func (b BasisPoints) MarshalJSON() ([]byte, error) { return []byte(`"` + b.String() + `"`), nil }

// UnmarshalJSON reads a JSON string that ParseBasisPoints accepts.
func (b *BasisPoints) UnmarshalJSON(text []byte) error {
	digits, ok := unquote(text)
	if !ok {
		return ErrSyntax
	}
	parsed, err := ParseBasisPoints(string(digits))
	if err != nil {
		return err
	}
	*b = parsed
	return nil
}

// Portion returns floor(a × bps ÷ 10000). Only if bps is above 10000 can the result be out of range; then the error is
// ErrOverflow.
func (a Amount) Portion(bps BasisPoints) (Amount, error) {
	return a.MulDivFloor(FromUint64(uint64(bps)), FromUint64(wholeBasisPoints))
}

// MaxRateDigits is the largest number of digits in a rate's text. Convert multiplies the digits of a rate by a power of
// ten. With this bound, the product always stays below 2^256.
const MaxRateDigits = 38

// Rate is a positive decimal number: the value of one major unit of a currency in major units of another. Rates can be
// compared with ==. The zero value means "no rate" and converts nothing.
type Rate struct {
	coefficient Amount // the rate is coefficient ÷ 10^places
	places      int8   // number of decimals; the last decimal is never 0
}

// ParseRate parses a number such as "92.5". The number must be above zero and have at most MaxRateDigits digits, without
// sign, exponent or unnecessary leading zeros. A decimal point must be between digits. Trailing zeros after the point are
// dropped. Errors: ErrTooLong, ErrSyntax.
func ParseRate(s string) (Rate, error) {
	if len(s) > MaxRateDigits+1 {
		return Rate{}, ErrTooLong
	}
	integer, decimals, hasPoint := strings.Cut(s, ".")
	if len(integer)+len(decimals) > MaxRateDigits {
		return Rate{}, ErrTooLong
	}
	if integer == "" || (hasPoint && decimals == "") || (integer[0] == '0' && len(integer) > 1) {
		return Rate{}, ErrSyntax
	}
	trimmed := strings.TrimRight(decimals, "0")
	// If the rate is zero, TrimLeft leaves an empty string, and Parse refuses that.
	coefficient, err := Parse(strings.TrimLeft(integer+trimmed, "0"))
	if err != nil {
		return Rate{}, ErrSyntax
	}
	return Rate{coefficient: coefficient, places: int8(len(trimmed))}, nil
}

// IsZero tells whether r is the zero value, "no rate".
func (r Rate) IsZero() bool { return r == Rate{} }

// String returns the rate in its canonical form, which ParseRate accepts; the zero rate is
// empty.
func (r Rate) String() string {
	if r.IsZero() {
		return ""
	}
	digits := r.coefficient.String()
	places := int(r.places)
	if places == 0 {
		return digits
	}
	if len(digits) <= places {
		digits = strings.Repeat("0", places-len(digits)+1) + digits
	}
	return digits[:len(digits)-places] + "." + digits[len(digits)-places:]
}

// MarshalJSON writes a JSON string. For the zero rate it returns an error: a field without a rate must be omitted (tag
// omitzero).
func (r Rate) MarshalJSON() ([]byte, error) {
	if r.IsZero() {
		return nil, ErrNoRate
	}
	return []byte(`"` + r.String() + `"`), nil
}

// UnmarshalJSON reads a JSON string that ParseRate accepts.
func (r *Rate) UnmarshalJSON(b []byte) error {
	text, ok := unquote(b)
	if !ok {
		return ErrSyntax
	}
	parsed, err := ParseRate(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// MarshalBinary implements encoding.BinaryMarshaler. It returns the bytes of r.String(), which is empty for the zero
// rate.
func (r Rate) MarshalBinary() ([]byte, error) { return append([]byte{}, r.String()...), nil }

// UnmarshalBinary implements encoding.BinaryUnmarshaler. It accepts only bytes that MarshalBinary can return.
func (r *Rate) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		*r = Rate{}
		return nil
	}
	parsed, err := ParseRate(string(b))
	if err != nil {
		return err
	}
	if parsed.String() != string(b) {
		return ErrEncoding
	}
	*r = parsed
	return nil
}

// powersOf10 lists 10^0 to 10^77, all powers of ten below 2^256.
var powersOf10 = computePowersOf10()

func computePowersOf10() (table [MaxDigits]Amount) {
	table[0] = FromUint64(1)
	for i := 1; i < len(table); i++ {
		next, err := table[i-1].Mul(FromUint64(10))
		assert.NoError(err)
		table[i] = next
	}
	return table
}

// Convert returns floor(a × rate × 10^(toScale − fromScale)) minor units of the other asset. It rounds only once. The
// error is ErrOverflow if the result is out of range, and ErrNoRate if r is the zero Rate. The caller gets the scales
// from Asset.Scale. If a scale is not between 0 and MaxScale, Convert panics, because then the caller has a bug.
func (a Amount) Convert(r Rate, fromScale, toScale int) (Amount, error) {
	assert.That(0 <= fromScale && fromScale <= MaxScale, "money: scale to convert from out of range")
	assert.That(0 <= toScale && toScale <= MaxScale, "money: scale to convert to out of range")
	if r.IsZero() {
		return Amount{}, ErrNoRate
	}
	exponent := toScale - fromScale - int(r.places)
	if exponent < 0 {
		// -exponent is at most MaxScale + MaxRateDigits = 74, so it is an index of powersOf10.
		return a.MulDivFloor(r.coefficient, powersOf10[-exponent])
	}
	// The factor is below 10^MaxRateDigits × 10^MaxScale = 10^74, so the product fits.
	factor, err := r.coefficient.Mul(powersOf10[exponent])
	assert.NoError(err)
	return a.Mul(factor)
}
