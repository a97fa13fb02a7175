package mizan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// Object is a JSON object with your own data, such as merchant_meta. Numbers in a response have the type json.Number, which
// keeps all digits.
type Object map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (o *Object) UnmarshalJSON(content []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	return decoder.Decode((*map[string]any)(o))
}

// Change is what a merge patch does with a field. The zero value leaves the field unchanged.
type Change[T any] struct {
	isSet bool
	value *T // nil if the field is removed
}

// Set changes a field.
func Set[T any](value T) Change[T] { return Change[T]{isSet: true, value: &value} }

// Remove removes the value of a field.
func Remove[T any]() Change[T] { return Change[T]{isSet: true} }

// IsZero tells whether the field stays unchanged. Such a field is not sent.
func (c Change[T]) IsZero() bool { return !c.isSet }

// MarshalJSON implements json.Marshaler.
func (c Change[T]) MarshalJSON() ([]byte, error) { return json.Marshal(c.value) }

// Ptr returns a pointer to a value, for fields that may be absent.
func Ptr[T any](value T) *T { return &value }

// setQuery adds a parameter to a query, unless the parameter's value is zero.
func setQuery[T comparable](query url.Values, name string, value T) {
	var zero T
	if value == zero {
		return
	}
	switch v := any(value).(type) {
	case int64:
		query.Set(name, strconv.FormatInt(v, 10))
	case *string:
		query.Set(name, *v) // a pointer to an empty text is sent as an empty parameter
	case time.Time:
		query.Set(name, v.UTC().Format(time.RFC3339Nano))
	default:
		query.Set(name, fmt.Sprint(value))
	}
}
