package schema

import (
	"unicode/utf8"

	"mizan/ledger"
)

// InstantLayout is the layout of times in responses, for example "2026-09-03T10:15:30.123456+00:00".
const InstantLayout = "2006-01-02T15:04:05.000000-07:00"

// appendComma appends a comma if one is needed before the next value or member.
func appendComma(dst []byte) []byte {
	if n := len(dst); n > 0 {
		switch dst[n-1] {
		case '{', '[', ':':
		default:
			dst = append(dst, ',')
		}
	}
	return dst
}

// AppendName appends a comma if one is needed, and then a member's name. The name must need no escape.
func AppendName(dst []byte, name string) []byte {
	dst = append(appendComma(dst), '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// AppendField appends a column's value as a member of an object. If the style or the column says that such a value is
// omitted, nothing is appended.
func AppendField(dst []byte, c *Column, value any, style Style) []byte {
	switch {
	case value == nil && c.Kind == KindRows && !c.Single && !style.OmitEmpty:
		return append(AppendName(dst, c.Name), '[', ']')
	case c.Kind == KindInstant && c.NotNull && value == ledger.Micros(0) && style.BookedPlaceholder != nil:
		return append(append(append(AppendName(dst, c.Name), '"'), style.BookedPlaceholder...), '"')
	case value == nil || style.OmitEmpty && c.Kind.Empty(value):
		if style.OmitEmpty || c.Sparse {
			return dst
		}
		return append(AppendName(dst, c.Name), "null"...)
	}
	return c.Kind.AppendJSON(c, AppendName(dst, c.Name), value, style)
}

// AppendRow appends the shown columns of a row as members of an object.
func (t *Table) AppendRow(dst []byte, r Row, style Style) []byte {
	for _, c := range t.Columns {
		if c.Visibility != Hidden {
			dst = AppendField(dst, c, c.Value(r), style)
		}
	}
	return dst
}

func (t *Table) appendObject(dst []byte, r Row, style Style) []byte {
	return append(t.AppendRow(append(dst, '{'), r, style), '}')
}

// appendWord appends word as a JSON string. The word must need no escape.
func appendWord(dst []byte, word string) []byte {
	dst = append(dst, '"')
	dst = append(dst, word...)
	return append(dst, '"')
}

// AppendText appends text as a JSON string (RFC 8259). It replaces each invalid UTF-8 byte by U+FFFD.
func AppendText(dst []byte, text string) []byte {
	dst = append(dst, '"')
	copied := 0 // text[:copied] is already in dst
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				dst = utf8.AppendRune(append(dst, text[copied:i]...), r)
				copied = i + 1
			}
			i += size
			continue
		}
		if c < ' ' || c == '"' || c == '\\' {
			dst = appendEscape(append(dst, text[copied:i]...), c)
			copied = i + 1
		}
		i++
	}
	return append(append(dst, text[copied:]...), '"')
}

// appendEscape appends the escape sequence of a character that a JSON string must not contain unescaped.
func appendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	switch {
	case c >= ' ':
		return append(dst, '\\', c)
	case shortEscapes[c] != 0:
		return append(dst, '\\', shortEscapes[c])
	}
	return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

var shortEscapes = [' ']byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// AppendID appends a UUID in its usual form.
func AppendID(dst []byte, id ledger.ID) []byte {
	const digits = "0123456789abcdef"
	for i, b := range id {
		switch i {
		case 4, 6, 8, 10:
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return dst
}

// AppendInstant appends a time as a JSON string, or null if the instant is zero.
func AppendInstant(dst []byte, at ledger.Micros) []byte {
	if at == 0 {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst = at.Time().AppendFormat(dst, InstantLayout)
	return append(dst, '"')
}
