package utp

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"
)

var (
	errNoObject = errors.New("it is no JSON object")
	errTwice    = errors.New("a name is there twice")
	errShape    = errors.New("a field has another form than the protocol's")
)

// object is a JSON object by the exact names of its members. encoding/json alone
// takes STATUS for status, and the last of two.
type object map[string]json.RawMessage

// readObject reads a text that is one JSON object in UTF-8 and nothing else.
func readObject(text []byte) (object, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' || !utf8.Valid(text) || !json.Valid(text) {
		return nil, errNoObject
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, errNoObject
	}
	o := make(object)
	for d.More() {
		var value json.RawMessage
		key, err := d.Token()
		if err != nil || d.Decode(&value) != nil {
			return nil, errNoObject
		}
		name, _ := key.(string)
		if _, there := o[name]; there {
			return nil, errTwice
		}
		o[name] = value
	}
	return o, nil
}

// raw is a member's value; nil: it is absent or null.
func (o object) raw(name string) json.RawMessage {
	if value := o[name]; len(value) > 0 && string(value) != "null" {
		return value
	}
	return nil
}

// fields reads texts of an object; the first that is none is kept as the error.
type fields struct {
	object
	err error
}

// text is a member that is a string; empty: it is absent or null.
func (f *fields) text(name string) (value string) {
	if raw := f.raw(name); raw != nil && json.Unmarshal(raw, &value) != nil {
		f.fail()
	}
	return value
}

// object is a member that is an object; nil: it is absent or null.
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

// list is a member that is an array; nil: it is absent or null.
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

// zonedLayout is the second form of a time: a named zone, the value in UTC
// (specification, "What the service does").
const zonedLayout = "2006-01-02 15:04:05.999999 Etc/UTC"

// instant reads a time in either of the protocol's forms; zero: it is neither.
func instant(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, zonedLayout} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}
