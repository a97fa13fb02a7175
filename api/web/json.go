package web

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/internal/jsonwalk"
	"mizan/internal/steps"
	"mizan/ledger"
)

// maxDepth bounds how deep objects and arrays of a body may be inside each other.
const maxDepth = 32

// document is a body's JSON value without white space around it. What it takes
// is strict: one value, valid UTF-8, no lone surrogate, no name twice in an
// object, nothing after it. The functions below rely on that and only step.
func Document(body []byte) ([]byte, error) {
	if !jsontext.Value(body).IsValid() {
		return nil, ledger.Refuse("api.document", BadRequest, "the body is not strict JSON")
	}
	if depth(body) > maxDepth {
		return nil, ledger.Refuse("api.document", BadRequest, "the body is nested deeper than %d", maxDepth)
	}
	return bytes.TrimSpace(body), nil
}

// depth is how deep objects and arrays of a document are nested.
func depth(value []byte) int {
	deepest, now := 0, 0
	steps.Took(len(value))
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"':
			i += jsonwalk.TextLength(value[i:]) - 1
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		}
	}
	return deepest
}

// present is the value, or nil for null: in requests null is as good as nothing.
func Present(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// isObject tells whether a document's value is an object.
func IsObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// isArray tells whether a document's value is an array.
func IsArray(value []byte) bool { return len(value) > 0 && value[0] == '[' }

// isEmptyObject tells whether a document's value is an object without members.
func IsEmptyObject(value []byte) bool {
	if !IsObject(value) {
		return false
	}
	m := jsonwalk.MembersOf(value)
	_, _, more := m.Next()
	return !more
}

// member is an object's member of that exact name; nil if it has none, or null.
func Member(object []byte, name string) []byte {
	m := jsonwalk.MembersOf(object)
	for {
		found, value, more := m.Next()
		if !more {
			return nil
		}
		if string(found) == name {
			return Present(value)
		}
	}
}

// without is a copy of an object that lacks the member of that exact name.
func Without(object []byte, name string) []byte {
	e := Encoder{Buf: make([]byte, 0, len(object))}
	e.Open('{')
	e.Members(object, func(found []byte) bool { return string(found) != name })
	e.Close('}')
	return e.Buf
}

// nothing is an object without members.
var EmptyObject = []byte("{}")

// orNothing is an object that may be nil for one without members.
func OrEmptyObject(object []byte) []byte {
	if object == nil {
		return EmptyObject
	}
	return object
}
