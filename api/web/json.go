package web

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/internal/jsonwalk"
	"mizan/internal/steps"
	"mizan/ledger"
	"mizan/ledger/schema"
)

// maxDepth is the maximum depth to which objects and arrays may be nested in a body.
const maxDepth = 32

// Document returns a body's JSON value without the white space around it. The body must be a single
// value in valid UTF-8, without lone surrogates and without two equal names in an object. The other
// functions of this file rely on these checks.
func Document(body []byte) ([]byte, error) {
	if !jsontext.Value(body).IsValid() {
		return nil, ledger.Refuse("web.Document", BadRequest, "the body is not strict JSON")
	}
	if depth(body) > maxDepth {
		return nil, ledger.Refuse("web.Document", BadRequest, "the body is nested deeper than %d", maxDepth)
	}
	return bytes.TrimSpace(body), nil
}

// depth returns the depth to which objects and arrays are nested in a document.
func depth(value []byte) int {
	deepest, current := 0, 0
	steps.Add(len(value))
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"':
			i += jsonwalk.TextLength(value[i:]) - 1
		case '{', '[':
			current++
			deepest = max(deepest, current)
		case '}', ']':
			current--
		}
	}
	return deepest
}

// NilIfNull returns nil if the value is null, and otherwise the value. In requests, null means that a
// field is absent.
func NilIfNull(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// IsObject tells whether a document's value is an object.
func IsObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// IsArray tells whether a document's value is an array.
func IsArray(value []byte) bool { return len(value) > 0 && value[0] == '[' }

// IsEmptyObject tells whether a document's value is an object without members.
func IsEmptyObject(value []byte) bool {
	if !IsObject(value) {
		return false
	}
	m := jsonwalk.MembersOf(value)
	_, _, more := m.Next()
	return !more
}

// Member returns the value of the object's member whose name is exactly name. If there is none, or if
// the value is null, it returns nil.
func Member(object []byte, name string) []byte {
	m := jsonwalk.MembersOf(object)
	for {
		memberName, value, more := m.Next()
		if !more {
			return nil
		}
		if string(memberName) == name {
			return NilIfNull(value)
		}
	}
}

// WithoutMember returns a copy of an object without the member whose name is exactly name.
func WithoutMember(object []byte, name string) []byte {
	e := schema.Encoder{Buf: make([]byte, 0, len(object))}
	e.Open('{')
	e.Members(object, func(memberName []byte) bool { return string(memberName) != name })
	e.Close('}')
	return e.Buf
}

// EmptyObject is an object without members.
var EmptyObject = []byte("{}")
