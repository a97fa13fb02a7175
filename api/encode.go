package api

import (
	"strconv"

	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/money"
)

// encoder appends JSON to a buffer, field by field: no reflection, no
// intermediate values. Names are literals of this package that need no escape.
type encoder struct{ buf []byte }

// comma separates what follows from what is before it.
func (e *encoder) comma() {
	if n := len(e.buf); n > 0 {
		switch e.buf[n-1] {
		case '{', '[', ':':
		default:
			e.buf = append(e.buf, ',')
		}
	}
}

func (e *encoder) key(name string) {
	e.comma()
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, name...)
	e.buf = append(e.buf, '"', ':')
}

// open begins an object or an array that is itself an element.
func (e *encoder) open(bracket byte) {
	e.comma()
	e.buf = append(e.buf, bracket)
}

// enter begins an object or an array that is a field.
func (e *encoder) enter(name string, bracket byte) {
	e.key(name)
	e.buf = append(e.buf, bracket)
}

func (e *encoder) close(bracket byte) { e.buf = append(e.buf, bracket) }

func (e *encoder) null(name string) { e.raw(name, "null") }

// raw writes JSON as it is.
func (e *encoder) raw(name, value string) {
	e.key(name)
	e.buf = append(e.buf, value...)
}

// object writes a stored JSON object; an empty one where there is none.
func (e *encoder) object(name string, value []byte) {
	e.key(name)
	if len(value) == 0 {
		value = []byte("{}")
	}
	e.buf = append(e.buf, value...)
}

// members writes those members of a document's object whose names are to be kept.
func (e *encoder) members(object []byte, keep func(name []byte) bool) {
	m := jsonwalk.MembersOf(object)
	for {
		name, value, more := m.Next()
		if !more {
			return
		}
		if keep(name) {
			e.comma()
			e.buf = append(jsonwalk.AppendText(e.buf, string(name)), ':')
			e.buf = append(e.buf, value...)
		}
	}
}

func (e *encoder) text(name, value string) {
	e.key(name)
	e.buf = jsonwalk.AppendText(e.buf, value)
}

// word writes a text of our own vocabulary, which needs no escape.
func (e *encoder) word(name, value string) {
	e.key(name)
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, value...)
	e.buf = append(e.buf, '"')
}

// textOrNull writes null for the empty text.
func (e *encoder) textOrNull(name, value string) {
	if value == "" {
		e.null(name)
		return
	}
	e.text(name, value)
}

func (e *encoder) texts(name string, values []string) {
	e.enter(name, '[')
	for _, value := range values {
		e.comma()
		e.buf = jsonwalk.AppendText(e.buf, value)
	}
	e.close(']')
}

func (e *encoder) integer(name string, n int64) {
	e.key(name)
	e.buf = strconv.AppendInt(e.buf, n, 10)
}

func (e *encoder) boolean(name string, b bool) {
	e.key(name)
	e.buf = strconv.AppendBool(e.buf, b)
}

func (e *encoder) amount(name string, a money.Amount) {
	e.key(name)
	e.buf = append(e.buf, '"')
	e.buf = a.AppendDecimal(e.buf)
	e.buf = append(e.buf, '"')
}

func (e *encoder) signed(name string, s money.Signed) {
	e.key(name)
	e.buf = append(e.buf, '"')
	if s.Negative && !s.IsZero() {
		e.buf = append(e.buf, '-')
	}
	e.buf = s.Abs.AppendDecimal(e.buf)
	e.buf = append(e.buf, '"')
}

func (e *encoder) id(name string, id ledger.ID) {
	e.key(name)
	e.buf = append(e.buf, '"')
	e.buf = appendID(e.buf, id)
	e.buf = append(e.buf, '"')
}

// instant writes a time, null for none.
func (e *encoder) instant(name string, at ledger.Micros) {
	if at == 0 {
		e.null(name)
		return
	}
	e.key(name)
	e.buf = append(e.buf, '"')
	e.buf = at.Time().AppendFormat(e.buf, instantLayout)
	e.buf = append(e.buf, '"')
}

// scale writes an asset's decimals, null while they are unresolved.
func (e *encoder) scale(name string, a money.Asset) {
	digits, resolved := a.Scale()
	if !resolved {
		e.null(name)
		return
	}
	e.integer(name, int64(digits))
}

// asset writes {currency, network, env}; network is empty where there is none.
func (e *encoder) asset(name string, a money.Asset) {
	e.enter(name, '{')
	e.text("currency", string(a.Currency))
	e.text("network", string(a.Network))
	e.word("env", a.Env.String())
	e.close('}')
}
