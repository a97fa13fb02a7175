package schema

import (
	"reflect"

	"mizan/internal/assert"
)

// field reads and sets a column's value in a Go struct.
type field struct {
	record reflect.Type                // type of the struct
	get    func(record any) any        // returns the value in a record; nil if there is none
	set    func(record any, value any) // sets the value in a record; nil removes the value
	zero   any                         // the value of a new record
}

// Field binds a column to a field of the struct R. If the field is zero, the column has no value, unless the column is
// NotNull.
func Field[R, T any](c TypedColumn[T], fieldOf func(*R) *T) *Column {
	return bind(c.Column, fieldOf, func(v T) any { return v }, func(v any) T { return v.(T) })
}

// TextField is like Field, but the type of the struct's field is a named string type.
func TextField[R any, T ~string](c TypedColumn[string], fieldOf func(*R) *T) *Column {
	return bind(c.Column, fieldOf, func(v T) any { return string(v) }, func(v any) T { return T(v.(string)) })
}

// NumberField is like Field, but the type of the struct's field is an integer type other than int64.
func NumberField[R any, T ~int | ~int64 | ~uint32 | ~uint64](c TypedColumn[int64], fieldOf func(*R) *T) *Column {
	return bind(c.Column, fieldOf, func(v T) any { return int64(v) }, func(v any) T { return T(v.(int64)) })
}

// BoundField binds a column to a value in the struct R that the functions get and set read and write. It is used if
// the value is not a whole field.
func BoundField[R, T any](c TypedColumn[T], get func(*R) T, set func(*R, T)) *Column {
	return bindTo(c.Column, get, set, func(v T) any { return v }, func(v any) T { return v.(T) })
}

// ShownColumns binds a column to a value that get computes from the record. Responses show the value, but requests
// cannot set it, and it is not stored.
func ComputedField[R, T any](c TypedColumn[T], get func(*R) (value T, hasValue bool)) *Column {
	assert.That(c.field == nil && !c.Settable, "schema: column %s cannot be set", c.Name)
	c.Transient = true
	c.field = &field{
		record: reflect.TypeFor[R](),
		get: func(record any) any {
			if value, hasValue := get(record.(*R)); hasValue {
				return value
			}
			return nil
		},
		set: func(any, any) {},
	}
	return c.Column
}

// InputField returns a column that occurs only in requests and not in records, such as a password.
func InputField[T any](c TypedColumn[T]) *Column {
	c.InputOnly, c.Settable = true, true
	return c.Column
}

func bind[R, T any](c *Column, fieldOf func(*R) *T, toValue func(T) any, fromValue func(any) T) *Column {
	return bindTo(c, func(r *R) T { return *fieldOf(r) }, func(r *R, v T) { *fieldOf(r) = v }, toValue, fromValue)
}

func bindTo[R, T any](c *Column, get func(*R) T, set func(*R, T), toValue func(T) any, fromValue func(any) T) *Column {
	assert.That(c.field == nil, "schema: column %s is in two structs", c.Name)
	var zero T
	c.field = &field{
		record: reflect.TypeFor[R](),
		get: func(record any) any {
			v := get(record.(*R))
			if !c.NotNull && isZero(v) {
				return nil
			}
			return toValue(v)
		},
		set: func(record any, value any) {
			var v T
			if value != nil {
				v = fromValue(value)
			}
			set(record.(*R), v)
		},
		zero: toValue(zero),
	}
	return c
}

// isZero tells whether v is the zero value of its type or a list without entries.
func isZero(v any) bool {
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.Slice {
		return r.Len() == 0
	}
	return !r.IsValid() || r.IsZero()
}
