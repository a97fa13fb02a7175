package money

import (
	"errors"
	"fmt"
	"strings"

	"mizan/internal/assert"
)

// Currency is the code of a currency in upper case: an ISO 4217 code, or a ticker such as USDT.
type Currency string

// Network is the blockchain or other network on which a currency is held, in lower case. It is empty
// if the currency has no network or the network is not known yet.
type Network string

// Env separates real money from test money. No entry, conversion or sum mixes environments.
type Env uint8

// The environments. The zero value is invalid.
const (
	Prod Env = iota + 1
	Test
)

// MaxName is the largest length of a currency's or network's name, in bytes. The stored form and the keys of the store
// have room for names of this length.
const MaxName = 32

// ErrAsset is returned for bytes that AppendBinary can't have written.
var ErrAsset = errors.New("money: malformed asset")

// ParseEnv parses "prod" or "test".
func ParseEnv(s string) (Env, bool) {
	switch s {
	case "prod":
		return Prod, true
	case "test":
		return Test, true
	}
	return 0, false
}

// String returns "prod" or "test".
func (e Env) String() string {
	switch e {
	case Prod:
		return "prod"
	case Test:
		return "test"
	}
	return "invalid"
}

// IsValid tells whether e is one of the two environments.
func (e Env) IsValid() bool { return e == Prod || e == Test }

// MarshalJSON writes "prod" or "test". For the zero value it returns an error, so that a response never contains an
// environment that somebody forgot to set.
func (e Env) MarshalJSON() ([]byte, error) {
	if !e.IsValid() {
		return nil, fmt.Errorf("money: environment %d", uint8(e))
	}
	return []byte(`"` + e.String() + `"`), nil
}

// UnmarshalJSON reads "prod" or "test".
func (e *Env) UnmarshalJSON(b []byte) error {
	text, ok := unquote(b)
	if !ok {
		return ErrSyntax
	}
	parsed, ok := ParseEnv(string(text))
	if !ok {
		return ErrSyntax
	}
	*e = parsed
	return nil
}

// ParseNetwork parses a network's name: 1 to MaxName lower-case letters, digits, '-' and '_'. It does not check whether
// such a network exists; Asset.Scale does.
func ParseNetwork(s string) (Network, bool) {
	if s == "" || len(s) > MaxName {
		return "", false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return "", false
		}
	}
	return Network(strings.Clone(s)), true
}

// Asset identifies a kind of money: a currency, its network and its environment. It is comparable, so it can be a map
// key.
type Asset struct {
	Currency Currency
	Network  Network
	Env      Env
}

// currencyEscaper escapes the separator of Asset.String in a currency, so that different assets have different strings. A
// network needs no escaping, because it comes last.
var currencyEscaper = strings.NewReplacer("%", "%25", "/", "%2F")

// String returns env/currency/network, for example "prod/USDT/tron" or "prod/USD/". Different
// assets have different strings, so the string may be part of a key.
func (a Asset) String() string {
	var buffer [64]byte
	return string(a.AppendString(buffer[:0]))
}

// AppendString appends to dst the same text that String returns.
func (a Asset) AppendString(dst []byte) []byte {
	currency := string(a.Currency)
	if strings.ContainsAny(currency, "/%") {
		currency = currencyEscaper.Replace(currency)
	}
	dst = append(append(dst, a.Env.String()...), '/')
	dst = append(append(dst, currency...), '/')
	return append(dst, a.Network...)
}

// AppendBinary appends the asset's stored form: one byte for the environment, then the currency and the network, each
// preceded by its length in one byte. It panics if the environment or the currency is missing, or if a name is longer
// than MaxName, because then the caller has a bug.
func (a Asset) AppendBinary(dst []byte) []byte {
	assert.That(a.Env.IsValid(), "money: asset without an environment")
	assert.That(a.Currency != "", "money: asset without a currency")
	assert.That(len(a.Currency) <= MaxName && len(a.Network) <= MaxName, "money: asset with an over-long name")
	dst = append(dst, byte(a.Env), byte(len(a.Currency)))
	dst = append(dst, a.Currency...)
	dst = append(dst, byte(len(a.Network)))
	return append(dst, a.Network...)
}

// ReadAsset parses an asset that AppendBinary has written, and returns the rest of src. The asset does not alias src. The
// error is ErrAsset.
func ReadAsset(src []byte) (Asset, []byte, error) {
	if len(src) == 0 || !Env(src[0]).IsValid() {
		return Asset{}, nil, ErrAsset
	}
	currency, tail, ok := readName(src[1:])
	if !ok || len(currency) == 0 {
		return Asset{}, nil, ErrAsset
	}
	network, tail, ok := readName(tail)
	if !ok {
		return Asset{}, nil, ErrAsset
	}
	return Asset{Currency: internCurrency(currency), Network: internNetwork(network), Env: Env(src[0])}, tail, nil
}

// readName parses a name that is preceded by its length in one byte. tail is the rest of src.
func readName(src []byte) (name, tail []byte, ok bool) {
	if len(src) == 0 {
		return nil, nil, false
	}
	n := int(src[0])
	if n > MaxName || len(src) < 1+n {
		return nil, nil, false
	}
	return src[1 : 1+n], src[1+n:], true
}
