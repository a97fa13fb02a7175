package jsonwalk

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/internal/steps"
)

// Members iterates over the members of a JSON object with Next, or over the elements of an array with
// Element.
type Members struct{ unread []byte }

// MembersOf returns an iterator that begins at the first member of an object, or at the first element of an array.
func MembersOf(value []byte) Members { return Members{unread: value[1:]} }

// Next returns the next member of an object. The name is returned without quotes, and its escapes are decoded. The value is
// returned exactly as it stands in the document. Name and value share the document's memory where possible.
func (m *Members) Next() (name, value []byte, more bool) {
	m.skip()
	if len(m.unread) == 0 || m.unread[0] == '}' {
		return nil, nil, false
	}
	n := TextLength(m.unread)
	name, _ = Text(m.unread[:n])
	m.unread = m.unread[n:]
	m.skip()
	return name, m.cutValue(), true
}

// Element returns the next element of an array.
func (m *Members) Element() (value []byte, more bool) {
	m.skip()
	if len(m.unread) == 0 || m.unread[0] == ']' {
		return nil, false
	}
	return m.cutValue(), true
}

// skip skips white space and separators, which are in the right places because the JSON is valid.
func (m *Members) skip() {
	for i, c := range m.unread {
		switch c {
		case ' ', '\t', '\n', '\r', ',', ':':
		default:
			steps.Add(i + 1)
			m.unread = m.unread[i:]
			return
		}
	}
	steps.Add(len(m.unread))
	m.unread = nil
}

// cutValue removes the value at the beginning of unread and returns it.
func (m *Members) cutValue() []byte {
	n := valueLength(m.unread)
	value := m.unread[:n:n]
	m.unread = m.unread[n:]
	return value
}

// valueLength returns the length of the JSON value at the beginning of b.
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
			steps.Add(i + 1)
			return i
		}
	}
	steps.Add(len(b))
	return len(b)
}

// nestLength returns the length of the object or array at the beginning of b.
func nestLength(b []byte) int {
	depth, textBytes := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := TextLength(b[i:])
			i, textBytes = i+n-1, textBytes+n
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				steps.Add(i + 1 - textBytes)
				return i + 1
			}
		}
	}
	steps.Add(len(b) - textBytes)
	return len(b)
}

// TextLength returns the length in bytes of the JSON string at the beginning of b, including its quotes. It reads the bytes
// before the first escape at most twice, and all other bytes once. So its work is linear in the string's length, however many
// escapes the string has.
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
	firstEscape := 1 + escape
	for i := firstEscape; i < len(b); i++ {
		switch b[i] {
		case '"':
			steps.Add(i + 1 - firstEscape)
			return i + 1
		case '\\':
			i++ // an escaped character does not end the string
		}
	}
	steps.Add(len(b) - firstEscape)
	return len(b)
}

// indexByte works like bytes.IndexByte, and also reports its work to package steps.
func indexByte(b []byte, c byte) int {
	at := bytes.IndexByte(b, c)
	if at < 0 {
		steps.Add(len(b))
	} else {
		steps.Add(at + 1)
	}
	return at
}

// Text returns the content of a JSON string. If the value is not a string, ok is false. If the string has no escapes, the
// content shares the value's memory.
func Text(value []byte) (content []byte, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	if indexByte(value, '\\') < 0 {
		return value[1 : len(value)-1], true
	}
	steps.Add(len(value))
	text, err := jsontext.AppendUnquote(make([]byte, 0, len(value)), value)
	return text, err == nil
}

// Has tells whether an object has a member with exactly that name. A member whose value is null counts too.
func Has(object []byte, name string) bool {
	m := MembersOf(object)
	for {
		memberName, _, more := m.Next()
		if !more || string(memberName) == name {
			return more
		}
	}
}
