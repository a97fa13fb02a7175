package jsonwalk

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/internal/steps"
)

// Members steps through a JSON object of a document; elements of an array come
// with an empty name.
type Members struct{ rest []byte }

// MembersOf begins at an object's first member, or an array's first element.
func MembersOf(value []byte) Members { return Members{rest: value[1:]} }

// Next is the next member's name, without quotes and escapes, and its value as
// it stands in the document. Both alias the document where they can.
func (m *Members) Next() (name, value []byte, more bool) {
	m.skip()
	if len(m.rest) == 0 || m.rest[0] == '}' {
		return nil, nil, false
	}
	n := TextLength(m.rest)
	name, _ = Text(m.rest[:n])
	m.rest = m.rest[n:]
	m.skip()
	return name, m.take(), true
}

// Element is the next element of an array.
func (m *Members) Element() (value []byte, more bool) {
	m.skip()
	if len(m.rest) == 0 || m.rest[0] == ']' {
		return nil, false
	}
	return m.take(), true
}

// skip steps over white space and separators. Where they may stand was checked.
func (m *Members) skip() {
	for i, c := range m.rest {
		switch c {
		case ' ', '\t', '\n', '\r', ',', ':':
		default:
			steps.Took(i + 1)
			m.rest = m.rest[i:]
			return
		}
	}
	steps.Took(len(m.rest))
	m.rest = nil
}

// take cuts the value off that rest begins with.
func (m *Members) take() []byte {
	n := valueLength(m.rest)
	value := m.rest[:n:n]
	m.rest = m.rest[n:]
	return value
}

// valueLength is the length of the JSON value that b begins with.
func valueLength(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"':
		return TextLength(b)
	case '{', '[':
		return nestLength(b)
	}
	for i, c := range b {
		switch c {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			steps.Took(i + 1)
			return i
		}
	}
	steps.Took(len(b))
	return len(b)
}

// nestLength is the length of the object or array that b begins with.
func nestLength(b []byte) int {
	open, texts := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := TextLength(b[i:])
			i, texts = i+n-1, texts+n
		case '{', '[':
			open++
		case '}', ']':
			if open--; open == 0 {
				steps.Took(i + 1 - texts)
				return i + 1
			}
		}
	}
	steps.Took(len(b) - texts)
	return len(b)
}

// TextLength is the length of the JSON string that b begins with, quotes included.
// It looks at no byte twice but those before the first escape: a string may be
// nothing but escapes, and as long as a body.
func TextLength(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	end := 1 + indexByte(b[1:], '"')
	if end == 0 {
		end = len(b)
	}
	escape := indexByte(b[1:end], '\\')
	if escape < 0 {
		return min(end+1, len(b))
	}
	from := 1 + escape
	for i := from; i < len(b); i++ {
		switch b[i] {
		case '"':
			steps.Took(i + 1 - from)
			return i + 1
		case '\\':
			i++ // what is escaped does not end the string
		}
	}
	steps.Took(len(b) - from)
	return len(b)
}

// indexByte is bytes.IndexByte, counted.
func indexByte(b []byte, c byte) int {
	at := bytes.IndexByte(b, c)
	if at < 0 {
		steps.Took(len(b))
	} else {
		steps.Took(at + 1)
	}
	return at
}

// Text is what a JSON string says, if the value is one. Without escapes it
// aliases the value.
func Text(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	if indexByte(value, '\\') < 0 {
		return value[1 : len(value)-1], true
	}
	steps.Took(len(value))
	text, err := jsontext.AppendUnquote(make([]byte, 0, len(value)), value)
	return text, err == nil
}

// Has tells whether an object has a member of that exact name, null included.
func Has(object []byte, name string) bool {
	m := MembersOf(object)
	for {
		found, _, more := m.Next()
		if !more || string(found) == name {
			return more
		}
	}
}
