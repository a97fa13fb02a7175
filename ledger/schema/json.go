package schema

import (
	"unicode/utf8"

	"mizan/ledger"
)

// InstantLayout is how answers write a time: "2026-09-03T10:15:30.123456+00:00".
const InstantLayout = "2006-01-02T15:04:05.000000-07:00"

// separate appends a comma unless a value or member may follow directly.
func separate(dst []byte) []byte {
	if n := len(dst); n > 0 {
		switch dst[n-1] {
		case '{', '[', ':':
		default:
			dst = append(dst, ',')
		}
	}
	return dst
}

// AppendName appends a member's name, after a comma where one is needed. The name needs no escape.
func AppendName(dst []byte, name string) []byte {
	dst = append(separate(dst), '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// AppendField appends a column's value as a member, or nothing where the style or the column leaves it out.
func AppendField(dst []byte, c *Column, value any, style Style) []byte {
	switch {
	case value == nil && c.Kind == KindRows && !c.Single && !style.OmitEmpty:
		return append(AppendName(dst, c.Name), '[', ']')
	case c.Kind == KindInstant && value == ledger.Micros(0) && style.Unbooked != nil:
		return append(append(append(AppendName(dst, c.Name), '"'), style.Unbooked...), '"')
	case value == nil || style.OmitEmpty && c.Kind.Empty(value):
		if style.OmitEmpty || c.Sparse {
			return dst
		}
		return append(AppendName(dst, c.Name), "null"...)
	}
	return c.Kind.AppendJSON(c, AppendName(dst, c.Name), value, style)
}

// appendObject appends a row's columns that are shown, as an object.
func (t *Table) appendObject(dst []byte, r Row, style Style) []byte {
	dst = append(dst, '{')
	for _, c := range t.Columns {
		if c.Place != Hidden {
			dst = AppendField(dst, c, c.Value(r), style)
		}
	}
	return append(dst, '}')
}

// appendWord appends a string that needs no escape.
func appendWord(dst []byte, word string) []byte {
	dst = append(dst, '"')
	dst = append(dst, word...)
	return append(dst, '"')
}

// AppendText appends a JSON string (RFC 8259). Broken UTF-8 is replaced by U+FFFD.
func AppendText(dst []byte, text string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		case c == '"', c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		default:
			if short := shortEscapes[c]; short != 0 {
				dst = append(dst, '\\', short)
			} else {
				dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			}
		}
		i++
	}
	return append(dst, '"')
}

var shortEscapes = [' ']byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// AppendID appends a UUID as a string in its usual form.
func AppendID(dst []byte, id ledger.ID) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i, b := range id {
		switch i {
		case 4, 6, 8, 10:
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return append(dst, '"')
}

// AppendInstant appends a time, null for none.
func AppendInstant(dst []byte, at ledger.Micros) []byte {
	if at == 0 {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst = at.Time().AppendFormat(dst, InstantLayout)
	return append(dst, '"')
}
