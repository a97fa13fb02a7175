package mizan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// Amount is money in minor units: 1000 is 10.00 USD. It is exact at any size. Compare amounts with ==. The zero value
// is the amount zero. Amount is not a numeric type, so that a program cannot mix it with floating-point numbers by mistake.
//
// An Amount does not know its currency, so adding cents to yen is a mistake of the caller that is not noticed.
type Amount struct {
	digits string // decimal digits, after a minus sign if negative; empty if zero, so that equal amounts are equal values
}

// NumberAmount is an Amount that is a JSON number in the API, for example in payment links.
type NumberAmount struct{ Amount }

// maxAmount is the largest amount that the service accepts.
var maxAmount = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))

// Errors of amounts.
var (
	ErrAmount    = errors.New("mizan: not an amount")
	ErrPrecision = errors.New("mizan: the amount has more decimals than its currency")
	ErrTooLarge  = errors.New("mizan: the amount is larger than the service accepts")
	ErrCurrency  = errors.New("mizan: the currency, or its network, is not known")
)

// MinorUnits returns the amount of n minor units.
func MinorUnits(n int64) Amount { return amountOf(big.NewInt(n)) }

// AmountOf returns the amount of n minor units.
func AmountOf(n *big.Int) Amount { return amountOf(n) }

func amountOf(n *big.Int) Amount {
	if n.Sign() == 0 {
		return Amount{}
	}
	return Amount{n.String()}
}

// ParseMinorUnits parses an amount in minor units: "1000" is 10.00 USD.
func ParseMinorUnits(text string) (Amount, error) { return ParseDecimal(text, 0) }

// ParseAmount parses an amount in major units: "10.00" USD is 1000 minor units. If text has more decimals than the currency,
// ParseAmount returns an error, because it would have to round. If the currency exists on several networks, the network is
// required.
func ParseAmount(text, currency string, network ...string) (Amount, error) {
	decimals, err := Decimals(currency, network...)
	if err != nil {
		return Amount{}, err
	}
	return ParseDecimal(text, decimals)
}

// ParseDecimal parses an amount in major units. A major unit has 10^decimals minor units. The text consists of digits,
// optionally with a point between them and a minus sign before them. Spaces, exponents, plus signs and separators of thousands
// are not allowed.
func ParseDecimal(text string, decimals int) (Amount, error) {
	digits, isNegative := strings.CutPrefix(text, "-")
	whole, fraction, hasPoint := strings.Cut(digits, ".")
	if !isDigits(whole) || hasPoint && !isDigits(fraction) || decimals < 0 || decimals > maxDecimals {
		return Amount{}, fmt.Errorf("%w: %.40q", ErrAmount, text)
	}
	if len(fraction) > decimals {
		return Amount{}, fmt.Errorf("%w: %.40q, decimals %d", ErrPrecision, text, decimals)
	}
	if len(whole) > maxDigits {
		return Amount{}, ErrTooLarge
	}
	n, _ := new(big.Int).SetString(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10)
	if n.Cmp(maxAmount) > 0 {
		return Amount{}, ErrTooLarge
	}
	if isNegative {
		n.Neg(n)
	}
	return amountOf(n), nil
}

// Bounds of texts that ParseDecimal accepts. The largest amount has 78 digits.
const (
	maxDigits   = 78
	maxDecimals = 36
)

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// Decimals returns the number of decimals of a currency. If the currency exists on several networks, like USDT, the network is
// required.
func Decimals(currency string, network ...string) (int, error) {
	networks, ok := currencyDecimals[currency]
	name := strings.Join(network, "")
	if decimals, known := networks[name]; known {
		return decimals, nil
	}
	if ok && name == "" && len(networks) == 1 {
		for _, decimals := range networks {
			return decimals, nil
		}
	}
	return 0, fmt.Errorf("%w: %.20q %.40q", ErrCurrency, currency, name)
}

// Add returns the sum.
func (a Amount) Add(b Amount) Amount { return amountOf(new(big.Int).Add(a.BigInt(), b.BigInt())) }

// Sub returns the difference.
func (a Amount) Sub(b Amount) Amount { return amountOf(new(big.Int).Sub(a.BigInt(), b.BigInt())) }

// Times returns the amount multiplied by n.
func (a Amount) Times(n int64) Amount {
	return amountOf(new(big.Int).Mul(a.BigInt(), big.NewInt(n)))
}

// Cmp returns -1 if a is less than b, 0 if they are equal, and 1 if a is more than b.
func (a Amount) Cmp(b Amount) int { return a.BigInt().Cmp(b.BigInt()) }

// Sign returns -1 if the amount is negative, 0 if it is zero, and 1 if it is positive.
func (a Amount) Sign() int { return a.BigInt().Sign() }

// IsZero tells whether the amount is zero.
func (a Amount) IsZero() bool { return a == Amount{} }

// BigInt returns the number of minor units.
func (a Amount) BigInt() *big.Int {
	if a.digits == "" {
		return new(big.Int)
	}
	n, _ := new(big.Int).SetString(a.digits, 10)
	return n
}

// Int64 returns the number of minor units. If the number does not fit into an int64, ok is false.
func (a Amount) Int64() (n int64, ok bool) {
	b := a.BigInt()
	return b.Int64(), b.IsInt64()
}

// String returns the number of minor units: "1000" for 10.00 USD.
func (a Amount) String() string {
	if a.digits == "" {
		return "0"
	}
	return a.digits
}

// Format returns the amount in major units of a currency, such as "10.00".
func (a Amount) Format(currency string, network ...string) (string, error) {
	decimals, err := Decimals(currency, network...)
	if err != nil {
		return "", err
	}
	return a.Decimal(decimals), nil
}

// Decimal returns the amount in major units. A major unit has 10^decimals minor units.
func (a Amount) Decimal(decimals int) string {
	digits, isNegative := strings.CutPrefix(a.String(), "-")
	if decimals > 0 {
		digits = strings.Repeat("0", max(0, decimals+1-len(digits))) + digits
		digits = digits[:len(digits)-decimals] + "." + digits[len(digits)-decimals:]
	}
	if isNegative {
		digits = "-" + digits
	}
	return digits
}

// AsNumber returns the amount as a NumberAmount, for fields that are JSON numbers.
func (a Amount) AsNumber() NumberAmount { return NumberAmount{a} }

// MarshalJSON implements json.Marshaler. It returns a string of minor units. If the amount is larger than the service accepts,
// the error is ErrTooLarge.
func (a Amount) MarshalJSON() ([]byte, error) {
	if a.BigInt().CmpAbs(maxAmount) > 0 {
		return nil, ErrTooLarge
	}
	return []byte(`"` + a.String() + `"`), nil
}

// MarshalJSON implements json.Marshaler. It returns a number of minor units.
func (a NumberAmount) MarshalJSON() ([]byte, error) {
	if a.BigInt().CmpAbs(maxAmount) > 0 {
		return nil, ErrTooLarge
	}
	return []byte(a.String()), nil
}

// UnmarshalJSON implements json.Unmarshaler. It accepts a string or a number of minor units. If the value is null, the amount
// stays unchanged.
func (a *Amount) UnmarshalJSON(content []byte) error {
	if bytes.Equal(content, []byte("null")) {
		return nil
	}
	text := string(content)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(content, &text); err != nil {
			return err
		}
	}
	parsed, err := ParseMinorUnits(text)
	if err == nil {
		*a = parsed
	}
	return err
}
