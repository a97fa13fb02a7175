package directory

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mizan/ledger"
	"mizan/ledger/money"
)

// params reads the known keys of an object of parameters, by their exact names. It refuses an
// invalid value and reads it as absent.
type params struct {
	op      string
	name    string
	keys    map[string]json.RawMessage
	refused error // the joined refusals of the keys; nil: none
	broken  bool  // the text is not an object; no further refusals are added
	read    map[string]bool
}

func readParams(op, name string, text []byte) *params {
	r := &params{op: op, name: name, read: make(map[string]bool)}
	if text = object(text); text == nil {
		return r
	}
	if err := json.Unmarshal(text, &r.keys); err != nil {
		r.refused = ledger.RefuseField(op, name, "must be an object")
		r.keys, r.broken = nil, true
	}
	return r
}

func (r *params) field(key string) string { return r.name + "." + key }

func (r *params) refuse(key, format string, args ...any) {
	r.keep(ledger.RefuseField(r.op, r.field(key), format, args...))
}

func (r *params) keep(err error) {
	if !r.broken {
		r.refused = Join(r.refused, err)
	}
}

// raw returns the key's value; nil if the key is absent or null.
func (r *params) raw(key string) []byte {
	r.read[key] = true
	return object(r.keys[key])
}

// unread returns the sorted keys that no method has read.
func (r *params) unread() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for key := range r.keys {
			if !r.read[key] && !yield(key) {
				return
			}
		}
	})
}

func (r *params) boolean(key string) (value bool) {
	if raw := r.raw(key); raw != nil && json.Unmarshal(raw, &value) != nil {
		r.refuse(key, "must be true or false")
	}
	return value
}

func (r *params) integer(key string, low, high, absent int64) int64 {
	raw := r.raw(key)
	if raw == nil {
		return absent
	}
	value, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || value < low || value > high {
		r.refuse(key, "must be an integer from %d to %d", low, high)
		return absent
	}
	return value
}

// text reads a string of at most limit characters.
func (r *params) text(key string, limit int) (value string) {
	raw := r.raw(key)
	if raw == nil {
		return ""
	}
	if json.Unmarshal(raw, &value) != nil || utf8.RuneCountInString(value) > limit {
		r.refuse(key, "must be a string of at most %d characters", limit)
		return ""
	}
	return value
}

// choice reads one of the words, or an empty string.
func (r *params) choice(key string, words ...string) string {
	value := r.text(key, MaxText)
	if value != "" && !slices.Contains(words, value) {
		r.refuse(key, "must be one of %s", strings.Join(words, ", "))
		return ""
	}
	return value
}

// amount reads a string of minor units up to ledger.MaxAmount; nil if there is none.
func (r *params) amount(key string) *money.Amount {
	raw := r.raw(key)
	if raw == nil {
		return nil
	}
	var value money.Amount
	if value.UnmarshalJSON(raw) != nil || ledger.MaxAmount.Less(value) {
		r.refuse(key, "must be a string of minor units")
		return nil
	}
	return &value
}

func (r *params) basisPoints(key string, limit money.BasisPoints) (value money.BasisPoints) {
	raw := r.raw(key)
	if raw == nil {
		return 0
	}
	if value.UnmarshalJSON(raw) != nil || value > limit {
		r.refuse(key, "must be a string of basis points up to %d", limit)
		return 0
	}
	return value
}

func (r *params) currency(key string) money.Currency {
	code := r.text(key, MaxText)
	if code == "" {
		return ""
	}
	currency, ok := money.Accepted(code)
	if !ok {
		r.refuse(key, "unsupported currency")
	}
	return currency
}

// network reads a network's name, or an empty string.
func (r *params) network(key string) money.Network {
	name := r.text(key, MaxText)
	if name == "" {
		return ""
	}
	network, ok := money.ParseNetwork(name)
	if !ok {
		r.refuse(key, "is not a network's name")
	}
	return network
}

// list reads the elements of an array, at most MaxListed.
func (r *params) list(key string) (elements []json.RawMessage) {
	raw := r.raw(key)
	if raw == nil {
		return nil
	}
	if json.Unmarshal(raw, &elements) != nil || len(elements) > MaxListed {
		r.refuse(key, "must be a list of at most %d entries", MaxListed)
		return nil
	}
	return elements
}

// strings reads a list of strings, nil when empty.
func (r *params) strings(key string) (values []string) {
	for _, element := range r.list(key) {
		var value *string // a pointer, to refuse null
		if json.Unmarshal(element, &value) != nil || value == nil || utf8.RuneCountInString(*value) > MaxText {
			r.refuse(key, "must be a list of strings of at most %d characters", MaxText)
			return nil
		}
		values = append(values, *value)
	}
	return values
}

func (r *params) currencies(key string) (values []money.Currency) {
	for _, code := range r.strings(key) {
		currency, ok := money.Accepted(code)
		if !ok {
			r.refuse(key, "names an unsupported currency")
			return nil
		}
		values = append(values, currency)
	}
	return values
}

func (r *params) networks(key string) (values []money.Network) {
	for _, name := range r.strings(key) {
		network, ok := money.ParseNetwork(name)
		if !ok {
			r.refuse(key, "holds what is not a network's name")
			return nil
		}
		values = append(values, network)
	}
	return values
}

// methods reads a list of money_storage types. It checks only their form; the valid words belong
// to transactions.
func (r *params) methods(key string) []string {
	values := r.strings(key)
	for _, method := range values {
		if method == "" || strings.ContainsFunc(method, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' }) {
			r.refuse(key, "holds what is not a money_storage type")
			return nil
		}
	}
	return values
}

// identifiers reads a list of integers or strings: chat ids come in both forms.
func (r *params) identifiers(key string) (values []string) {
	for _, element := range r.list(key) {
		var value *string
		if _, err := strconv.ParseInt(string(element), 10, 64); err == nil {
			values = append(values, string(element))
			continue
		}
		if json.Unmarshal(element, &value) != nil || value == nil || *value == "" || len(*value) > MaxText {
			r.refuse(key, "must be a list of chat ids")
			return nil
		}
		values = append(values, *value)
	}
	return values
}
