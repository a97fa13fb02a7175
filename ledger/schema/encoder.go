package schema

import (
	"strconv"

	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/money"
)

// Encoder appends JSON to a buffer, field by field, without reflection and without intermediate values. Field names are
// not escaped, so they must need no escape.
type Encoder struct{ Buf []byte }

// Comma appends a comma, unless the next element or field is the first of its array or object.
func (e *Encoder) Comma() {
	if n := len(e.Buf); n > 0 {
		switch e.Buf[n-1] {
		case '{', '[', ':':
		default:
			e.Buf = append(e.Buf, ',')
		}
	}
}

// Key writes a field's name. The caller then appends the value to Buf.
func (e *Encoder) Key(name string) {
	e.Comma()
	e.Buf = append(e.Buf, '"')
	e.Buf = append(e.Buf, name...)
	e.Buf = append(e.Buf, '"', ':')
}

// Open begins an object (bracket '{') or an array (bracket '[') that is an element of an array or the whole document.
func (e *Encoder) Open(bracket byte) {
	e.Comma()
	e.Buf = append(e.Buf, bracket)
}

// OpenField begins an object or an array that is the value of a field.
func (e *Encoder) OpenField(name string, bracket byte) {
	e.Key(name)
	e.Buf = append(e.Buf, bracket)
}

// Close ends an object (bracket '}') or an array (bracket ']').
func (e *Encoder) Close(bracket byte) { e.Buf = append(e.Buf, bracket) }

// Null writes a field whose value is null.
func (e *Encoder) Null(name string) { e.Raw(name, "null") }

// Raw writes a field. The value must be JSON and is not escaped.
func (e *Encoder) Raw(name, value string) {
	e.Key(name)
	e.Buf = append(e.Buf, value...)
}

// Object writes a field whose value is a stored JSON object. An absent value is written as {}.
func (e *Encoder) Object(name string, value []byte) {
	e.Key(name)
	if len(value) == 0 {
		value = []byte("{}")
	}
	e.Buf = append(e.Buf, value...)
}

// Members writes those members of a JSON object for whose name include returns true. object may be empty; then nothing is
// written.
func (e *Encoder) Members(object []byte, include func(name []byte) bool) {
	if len(object) == 0 {
		return
	}
	m := jsonwalk.MembersOf(object)
	for {
		name, value, more := m.Next()
		if !more {
			return
		}
		if include(name) {
			e.Comma()
			e.Buf = append(AppendText(e.Buf, string(name)), ':')
			e.Buf = append(e.Buf, value...)
		}
	}
}

// Text writes a field whose value is a string.
func (e *Encoder) Text(name, value string) {
	e.Key(name)
	e.Buf = AppendText(e.Buf, value)
}

// Word writes a field whose value is a word of the API, such as a status. The word is not escaped.
func (e *Encoder) Word(name, value string) {
	e.Key(name)
	e.Buf = append(e.Buf, '"')
	e.Buf = append(e.Buf, value...)
	e.Buf = append(e.Buf, '"')
}

// TextOrNull writes a field whose value is a string, or null if the string is empty.
func (e *Encoder) TextOrNull(name, value string) {
	if value == "" {
		e.Null(name)
		return
	}
	e.Text(name, value)
}

// Texts writes a list of strings.
func (e *Encoder) Texts(name string, values []string) {
	e.OpenField(name, '[')
	for _, value := range values {
		e.Comma()
		e.Buf = AppendText(e.Buf, value)
	}
	e.Close(']')
}

// Integer writes a number.
func (e *Encoder) Integer(name string, n int64) {
	e.Key(name)
	e.Buf = strconv.AppendInt(e.Buf, n, 10)
}

// Boolean writes true or false.
func (e *Encoder) Boolean(name string, b bool) {
	e.Key(name)
	e.Buf = strconv.AppendBool(e.Buf, b)
}

// Amount writes an amount in minor units, as a string.
func (e *Encoder) Amount(name string, a money.Amount) {
	e.Key(name)
	e.Buf = append(e.Buf, '"')
	e.Buf = a.AppendDecimal(e.Buf)
	e.Buf = append(e.Buf, '"')
}

// Signed writes a possibly negative amount in minor units, as a string.
func (e *Encoder) Signed(name string, s money.Signed) {
	e.Key(name)
	e.Buf = append(e.Buf, '"')
	if s.Negative && !s.IsZero() {
		e.Buf = append(e.Buf, '-')
	}
	e.Buf = s.Abs.AppendDecimal(e.Buf)
	e.Buf = append(e.Buf, '"')
}

// ID writes a UUID.
func (e *Encoder) ID(name string, id ledger.ID) {
	e.Key(name)
	e.Buf = append(e.Buf, '"')
	e.Buf = AppendID(e.Buf, id)
	e.Buf = append(e.Buf, '"')
}

// Instant writes a time, or null if the instant is zero.
func (e *Encoder) Instant(name string, at ledger.Micros) {
	if at == 0 {
		e.Null(name)
		return
	}
	e.Key(name)
	e.Buf = append(e.Buf, '"')
	e.Buf = at.Time().AppendFormat(e.Buf, InstantLayout)
	e.Buf = append(e.Buf, '"')
}

// Scale writes the number of decimals of an asset, or null if the number is unknown.
func (e *Encoder) Scale(name string, a money.Asset) {
	digits, resolved := a.Scale()
	if !resolved {
		e.Null(name)
		return
	}
	e.Integer(name, int64(digits))
}

// Asset writes {currency, network, env}. If the asset has no network, the field network is an empty string.
func (e *Encoder) Asset(name string, a money.Asset) {
	e.OpenField(name, '{')
	e.Text("currency", string(a.Currency))
	e.Text("network", string(a.Network))
	e.Word("env", a.Env.String())
	e.Close('}')
}
