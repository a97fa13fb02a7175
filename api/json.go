package api

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/ledger"
)

// Bounds of a request body.
const (
	maxBody  = 1 << 20 // bytes
	maxDepth = 32      // objects and arrays inside each other
)

// document is a body's JSON value without white space around it. What it takes
// is strict: one value, valid UTF-8, no lone surrogate, no name twice in an
// object, nothing after it. The functions below rely on that and only step.
func document(body []byte) ([]byte, error) {
	if !jsontext.Value(body).IsValid() {
		return nil, ledger.Refuse("api.document", badRequest, "the body is not strict JSON")
	}
	if depth(body) > maxDepth {
		return nil, ledger.Refuse("api.document", badRequest, "the body is nested deeper than %d", maxDepth)
	}
	return bytes.TrimSpace(body), nil
}

// depth is how deep objects and arrays of a document are nested.
func depth(value []byte) int {
	deepest, now := 0, 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"':
			i += textLength(value[i:]) - 1
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		}
	}
	return deepest
}

// members steps through a JSON object of a document; elements of an array come
// with an empty name.
type members struct{ rest []byte }

// membersOf begins at an object's first member, or an array's first element.
func membersOf(value []byte) members { return members{rest: value[1:]} }

// next is the next member's name, without quotes and escapes, and its value as
// it stands in the document. Both alias the document where they can.
func (m *members) next() (name, value []byte, more bool) {
	m.skip()
	if len(m.rest) == 0 || m.rest[0] == '}' {
		return nil, nil, false
	}
	n := textLength(m.rest)
	name, _ = text(m.rest[:n])
	m.rest = m.rest[n:]
	m.skip()
	return name, m.take(), true
}

// element is the next element of an array.
func (m *members) element() (value []byte, more bool) {
	m.skip()
	if len(m.rest) == 0 || m.rest[0] == ']' {
		return nil, false
	}
	return m.take(), true
}

// skip steps over white space and separators. Where they may stand was checked.
func (m *members) skip() {
	for i, c := range m.rest {
		switch c {
		case ' ', '\t', '\n', '\r', ',', ':':
		default:
			m.rest = m.rest[i:]
			return
		}
	}
	m.rest = nil
}

// take cuts the value off that rest begins with.
func (m *members) take() []byte {
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
		return textLength(b)
	case '{', '[':
		return nestLength(b)
	}
	for i, c := range b {
		switch c {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
	}
	return len(b)
}

// nestLength is the length of the object or array that b begins with.
func nestLength(b []byte) int {
	open := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += textLength(b[i:]) - 1
		case '{', '[':
			open++
		case '}', ']':
			if open--; open == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

// textLength is the length of the JSON string that b begins with, quotes included.
func textLength(b []byte) int {
	for i := 1; i < len(b); i++ {
		quote := bytes.IndexByte(b[i:], '"')
		if quote < 0 {
			return len(b)
		}
		escape := bytes.IndexByte(b[i:i+quote], '\\')
		if escape < 0 {
			return i + quote + 1
		}
		i += escape + 1 // what is escaped does not end the string
	}
	return len(b)
}

// text is what a JSON string says, if the value is one. Without escapes it
// aliases the value.
func text(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1], true
	}
	said, err := jsontext.AppendUnquote(make([]byte, 0, len(value)), value)
	return said, err == nil
}

// present is the value, or nil for null: in requests null is as good as nothing.
func present(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// isObject tells whether a document's value is an object.
func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// isArray tells whether a document's value is an array.
func isArray(value []byte) bool { return len(value) > 0 && value[0] == '[' }

// isEmptyObject tells whether a document's value is an object without members.
func isEmptyObject(value []byte) bool {
	if !isObject(value) {
		return false
	}
	m := membersOf(value)
	_, _, more := m.next()
	return !more
}

// member is an object's member of that exact name; nil if it has none, or null.
func member(object []byte, name string) []byte {
	m := membersOf(object)
	for {
		found, value, more := m.next()
		if !more {
			return nil
		}
		if string(found) == name {
			return present(value)
		}
	}
}

// hasMember tells whether an object has a member of that exact name, null included.
func hasMember(object []byte, name string) bool {
	m := membersOf(object)
	for {
		found, _, more := m.next()
		if !more || string(found) == name {
			return more
		}
	}
}

// without is a copy of an object that lacks the member of that exact name.
func without(object []byte, name string) []byte {
	e := encoder{make([]byte, 0, len(object))}
	e.open('{')
	e.members(object, func(found []byte) bool { return string(found) != name })
	e.close('}')
	return e.buf
}

// nothing is an object without members.
var nothing = []byte("{}")

// orNothing is an object that may be nil for one without members.
func orNothing(object []byte) []byte {
	if object == nil {
		return nothing
	}
	return object
}

// appendText appends a JSON string. What is stored is valid UTF-8 already; were
// it not, the replacement character would stand for what is broken.
func appendText(dst []byte, s string) []byte {
	quoted, _ := jsontext.AppendQuote(dst, s)
	return quoted
}
