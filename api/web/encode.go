package web

import (
	"strconv"

	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/money"
)

// encoder appends JSON to a buffer, field by field: no reflection, no
// intermediate values. Names are literals of this package that need no escape.
type Encoder struct{ Buf []byte }

// comma separates what follows from what is before it.
func (e *Encoder) Comma() {
	if n := len(e.Buf); n > 0 {
		switch e.Buf[n-1] {
		case '{', '[', ':':
		default:
			e.Buf = append(e.Buf, ',')
		}
	}
}

func (e *Encoder) Key(name string) {
	e.Comma()
	e.Buf = append(e.Buf, '"')
	e.Buf = append(e.Buf, name...)
	e.Buf = append(e.Buf, '"', ':')
}

// open begins an object or an array that is itself an element.
func (e *Encoder) Open(bracket byte) {
	e.Comma()
	e.Buf = append(e.Buf, bracket)
}

// enter begins an object or an array that is a field.
func (e *Encoder) Enter(name string, bracket byte) {
	e.Key(name)
	e.Buf = append(e.Buf, bracket)
}

func (e *Encoder) Close(bracket byte) { e.Buf = append(e.Buf, bracket) }

func (e *Encoder) Null(name string) { e.Raw(name, "null") }

// raw writes JSON as it is.
func (e *Encoder) Raw(name, value string) {
	e.Key(name)
	e.Buf = append(e.Buf, value...)
}

// object writes a stored JSON object; an empty one where there is none.
func (e *Encoder) Object(name string, value []byte) {
	e.Key(name)
	if len(value) == 0 {
		value = []byte("{}")
	}
	e.Buf = append(e.Buf, value...)
}

// members writes those members of a document's object whose names are to be kept.
func (e *Encoder) Members(object []byte, keep func(name []byte) bool) {
	m := jsonwalk.MembersOf(object)
	for {
		name, value, more := m.Next()
		if !more {
			return
		}
		if keep(name) {
			e.Comma()
			e.Buf = append(jsonwalk.AppendText(e.Buf, string(name)), ':')
			e.Buf = append(e.Buf, value...)
		}
	}
}

func (e *Encoder) Text(name, value string) {
	e.Key(name)
	e.Buf = jsonwalk.AppendText(e.Buf, value)
}

// word writes a text of our own vocabulary, which needs no escape.
func (e *Encoder) Word(name, value string) {
	e.Key(name)
	e.Buf = append(e.Buf, '"')
	e.Buf = append(e.Buf, value...)
	e.Buf = append(e.Buf, '"')
}

// textOrNull writes null for the empty text.
func (e *Encoder) TextOrNull(name, value string) {
	if value == "" {
		e.Null(name)
		return
	}
	e.Text(name, value)
}

func (e *Encoder) Texts(name string, values []string) {
	e.Enter(name, '[')
	for _, value := range values {
		e.Comma()
		e.Buf = jsonwalk.AppendText(e.Buf, value)
	}
	e.Close(']')
}

func (e *Encoder) Integer(name string, n int64) {
	e.Key(name)
	e.Buf = strconv.AppendInt(e.Buf, n, 10)
}

func (e *Encoder) Boolean(name string, b bool) {
	e.Key(name)
	e.Buf = strconv.AppendBool(e.Buf, b)
}

func (e *Encoder) Amount(name string, a money.Amount) {
	e.Key(name)
	e.Buf = append(e.Buf, '"')
	e.Buf = a.AppendDecimal(e.Buf)
	e.Buf = append(e.Buf, '"')
}

func (e *Encoder) Signed(name string, s money.Signed) {
	e.Key(name)
	e.Buf = append(e.Buf, '"')
	if s.Negative && !s.IsZero() {
		e.Buf = append(e.Buf, '-')
	}
	e.Buf = s.Abs.AppendDecimal(e.Buf)
	e.Buf = append(e.Buf, '"')
}

func (e *Encoder) ID(name string, id ledger.ID) {
	e.Key(name)
	e.Buf = append(e.Buf, '"')
	e.Buf = AppendID(e.Buf, id)
	e.Buf = append(e.Buf, '"')
}

// instant writes a time, null for none.
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

// scale writes an asset's decimals, null while they are unresolved.
func (e *Encoder) Scale(name string, a money.Asset) {
	digits, resolved := a.Scale()
	if !resolved {
		e.Null(name)
		return
	}
	e.Integer(name, int64(digits))
}

// asset writes {currency, network, env}; network is empty where there is none.
func (e *Encoder) Asset(name string, a money.Asset) {
	e.Enter(name, '{')
	e.Text("currency", string(a.Currency))
	e.Text("network", string(a.Network))
	e.Word("env", a.Env.String())
	e.Close('}')
}
