package money

import (
	"math/bits"
	"strconv"

	"github.com/holiman/uint256"

	"mizan/internal/assert"
)

// MaxDigits is the number of digits of 2^256 − 1. A parser refuses longer input without looking at the digits.
const MaxDigits = 78

// chunkDigits is the largest number of digits that always fit into a uint64.
const chunkDigits = 19

// Parse parses 1 to MaxDigits digits without sign or space. A leading zero is refused, except in "0". If several errors
// apply, the first of ErrTooLong, ErrSyntax and ErrOverflow is returned.
func Parse(s string) (Amount, error) { return parse(s) }

// ParseBytes is Parse for a byte slice. It neither keeps nor copies b.
func ParseBytes(b []byte) (Amount, error) { return parse(b) }

// MustParse parses a constant of the program. It panics if the text is invalid.
func MustParse(s string) Amount {
	a, err := Parse(s)
	assert.NoError(err)
	return a
}

func parse[T string | []byte](s T) (Amount, error) {
	if len(s) > MaxDigits {
		return Amount{}, ErrTooLong
	}
	if len(s) == 0 || (s[0] == '0' && len(s) > 1) {
		return Amount{}, ErrSyntax
	}
	if len(s) <= chunkDigits {
		u, ok := parseChunk(s)
		if !ok {
			return Amount{}, ErrSyntax
		}
		return FromUint64(u), nil
	}
	return parseLong(s)
}

// parseLong parses the digits in chunks, the most significant first. A number of MaxDigits − 1 nines is below 2^256, so
// only the addition of the last chunk can overflow. All characters have been checked by then. So text with an invalid
// character is always ErrSyntax and never ErrOverflow.
func parseLong[T string | []byte](s T) (Amount, error) {
	var a Amount
	for len(s) > 0 {
		n := (len(s)-1)%chunkDigits + 1
		u, ok := parseChunk(s[:n])
		if !ok {
			return Amount{}, ErrSyntax
		}
		s = s[n:]
		if !a.shift(u) {
			return Amount{}, ErrOverflow
		}
	}
	return a, nil
}

// parseChunk parses at most chunkDigits digits.
func parseChunk[T string | []byte](s T) (uint64, bool) {
	var u uint64
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		u = u*10 + uint64(d)
	}
	return u, true
}

// shift sets a to a × 10^chunkDigits + u. It returns false if the sum does not fit into an Amount.
func (a *Amount) shift(u uint64) bool {
	const base = 10_000_000_000_000_000_000
	carry := u
	for i := range a.limbs {
		hi, lo := bits.Mul64(a.limbs[i], base)
		var carryOut uint64
		a.limbs[i], carryOut = bits.Add64(lo, carry, 0)
		carry = hi + carryOut // hi ≤ base − 1, so this can't wrap
	}
	return carry == 0
}

// String returns the amount in canonical digits, the form that Parse accepts.
func (a Amount) String() string {
	if a.fitsUint64() {
		return strconv.FormatUint(a.limbs[0], 10)
	}
	return string(a.AppendDecimal(make([]byte, 0, MaxDigits)))
}

// AppendDecimal appends the canonical digits. It allocates only to grow dst.
func (a Amount) AppendDecimal(dst []byte) []byte {
	if a.fitsUint64() {
		return strconv.AppendUint(dst, a.limbs[0], 10)
	}
	var digits [MaxDigits]byte
	base := uint256.Int{10_000_000_000_000_000_000}
	start := len(digits)
	for !a.fitsUint64() {
		var remainder uint256.Int
		a.limbs.DivMod(&a.limbs, &base, &remainder)
		for range chunkDigits {
			start--
			digits[start] = byte('0' + remainder[0]%10)
			remainder[0] /= 10
		}
	}
	// a is not zero here: the loop divides by 10^19 only values of at least 2^64, so each quotient is at least 1.
	dst = strconv.AppendUint(dst, a.limbs[0], 10)
	return append(dst, digits[start:]...)
}

// AppendText implements encoding.TextAppender with the canonical digits.
func (a Amount) AppendText(dst []byte) ([]byte, error) { return a.AppendDecimal(dst), nil }

// MarshalText implements encoding.TextMarshaler with the canonical digits.
func (a Amount) MarshalText() ([]byte, error) { return a.AppendDecimal(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts the same text as ParseBytes.
func (a *Amount) UnmarshalText(b []byte) error {
	parsed, err := ParseBytes(b)
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

// MarshalJSON writes a JSON string of digits and never a bare JSON number (specification "Money rules" 1).
func (a Amount) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, 2+MaxDigits)
	out = append(out, '"')
	out = a.AppendDecimal(out)
	return append(out, '"'), nil
}

// UnmarshalJSON reads a JSON string of canonical digits. For a JSON number, null or escaped digits it returns ErrSyntax.
func (a *Amount) UnmarshalJSON(b []byte) error {
	text, ok := unquote(b)
	if !ok {
		return ErrSyntax
	}
	return a.UnmarshalText(text)
}

// unquote removes the quotes of a JSON string. It does not unescape the content, because no text
// that this package reads needs an escape.
func unquote(b []byte) ([]byte, bool) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return nil, false
	}
	return b[1 : len(b)-1], true
}
