package utp

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"
)

var (
	errNotObject     = errors.New("it is no JSON object")
	errDuplicateName = errors.New("a name occurs twice")
	errShape         = errors.New("a field has another form than the protocol's")
)

// object is a JSON object whose members are found by their exact names and occur only once. Package encoding/json
// would accept STATUS for status, and would use the last of several members with the same name.
type object map[string]json.RawMessage

// readObject parses a text that is exactly one JSON object in UTF-8.
func readObject(text []byte) (object, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' || !utf8.Valid(text) || !json.Valid(text) {
		return nil, errNotObject
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, errNotObject
	}
	o := make(object)
	for d.More() {
		var value json.RawMessage
		key, err := d.Token()
		if err != nil || d.Decode(&value) != nil {
			return nil, errNotObject
		}
		name, _ := key.(string)
		if _, isDuplicate := o[name]; isDuplicate {
			return nil, errDuplicateName
		}
		o[name] = value
	}
	return o, nil
}

// raw returns the value of a member, or nil if the member is absent or null.
func (o object) raw(name string) json.RawMessage {
	if value := o[name]; len(value) > 0 && string(value) != "null" {
		return value
	}
	return nil
}

// fields reads members of an object. If a member has the wrong form, err keeps the first error.
type fields struct {
	object
	err error
}

// text returns the value of a string member. The value is empty if the member is absent or null.
func (f *fields) text(name string) (value string) {
	if raw := f.raw(name); raw != nil && json.Unmarshal(raw, &value) != nil {
		f.fail()
	}
	return value
}

// member returns the value of an object member, or nil if the member is absent or null.
func (f *fields) member(name string) object {
	raw := f.raw(name)
	if raw == nil {
		return nil
	}
	o, err := readObject(raw)
	if err != nil {
		f.fail()
	}
	return o
}

// list returns the elements of an array member, or nil if the member is absent or null.
func (f *fields) list(name string) (values []json.RawMessage) {
	if raw := f.raw(name); raw != nil && json.Unmarshal(raw, &values) != nil {
		f.fail()
	}
	return values
}

func (f *fields) fail() {
	if f.err == nil {
		f.err = errShape
	}
}

// zonedLayout is the second form in which the protocol writes a time. It names the time zone Etc/UTC.
const zonedLayout = "2006-01-02 15:04:05.999999 Etc/UTC"

// parseTime parses a time in one of the protocol's two forms. If the text has neither form, it returns the zero time.
func parseTime(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, zonedLayout} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}
