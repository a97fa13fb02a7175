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
// An Amount does not know its currency; adding cents to yen is the caller's mistake.
type Amount struct {
	digits string // in decimal, with a minus sign below zero; empty for zero, so that equal amounts are equal values
}

// NumberAmount is an Amount that the API writes as a JSON number, as in payment links.
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

// ParseMinorUnits reads minor units: "1000" is 10.00 USD.
func ParseMinorUnits(text string) (Amount, error) { return ParseDecimal(text, 0) }

// ParseAmount reads an amount of a currency in major units: "10.00" of USD is 1000 minor units. It refuses more decimals than
// the currency has, because it would have to round. The network is required if the currency exists on several networks.
func ParseAmount(text, currency string, network ...string) (Amount, error) {
	decimals, err := Decimals(currency, network...)
	if err != nil {
		return Amount{}, err
	}
	return ParseDecimal(text, decimals)
}

// ParseDecimal reads an amount in major units. A major unit has 10^decimals minor units. It accepts digits with at most one
// point between them and a minus sign before them: no spaces, exponents, plus signs or separators of thousands.
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

// Decimals returns how many decimals a currency has. The network is required if the currency exists on several networks, such as
// USDT.
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

// Cmp returns -1, 0 or 1 for an amount that is less than, equal to or more than b.
func (a Amount) Cmp(b Amount) int { return a.BigInt().Cmp(b.BigInt()) }

// Sign returns -1, 0 or 1 for an amount below, equal to or above zero.
func (a Amount) Sign() int { return a.BigInt().Sign() }

// IsZero tells whether the amount is zero.
func (a Amount) IsZero() bool { return a == Amount{} }

// BigInt returns the minor units.
func (a Amount) BigInt() *big.Int {
	if a.digits == "" {
		return new(big.Int)
	}
	n, _ := new(big.Int).SetString(a.digits, 10)
	return n
}

// Int64 returns the minor units. ok is false if they do not fit.
func (a Amount) Int64() (n int64, ok bool) {
	b := a.BigInt()
	return b.Int64(), b.IsInt64()
}

// String returns the minor units: "1000" for 10.00 USD.
func (a Amount) String() string {
	if a.digits == "" {
		return "0"
	}
	return a.digits
}

// Format returns the amount in major units of a currency: "10.00".
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

// AsNumber returns the amount for a field that is a JSON number.
func (a Amount) AsNumber() NumberAmount { return NumberAmount{a} }

// MarshalJSON implements json.Marshaler: a string of minor units. The error is ErrTooLarge for an amount that the service does
// not accept.
func (a Amount) MarshalJSON() ([]byte, error) {
	if a.BigInt().CmpAbs(maxAmount) > 0 {
		return nil, ErrTooLarge
	}
	return []byte(`"` + a.String() + `"`), nil
}

// MarshalJSON implements json.Marshaler: a number of minor units.
func (a NumberAmount) MarshalJSON() ([]byte, error) {
	if a.BigInt().CmpAbs(maxAmount) > 0 {
		return nil, ErrTooLarge
	}
	return []byte(a.String()), nil
}

// UnmarshalJSON implements json.Unmarshaler. It reads strings and numbers of minor units; null leaves the amount unchanged.
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
