package admin

import (
	"bytes"
	"strconv"
	"time"

	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
)

// form reads the fields of a request body by their exact names. A value of the wrong type adds
// a problem; the record decides whether a value is allowed. A method returns nil for an absent
// field, which a patch leaves unchanged. Null counts as absent, except in a patch, where it
// clears the field (RFC 7396). Results do not alias the body.
type form struct {
	object   []byte
	order    []string // the fields in the order of the documentation
	patch    bool
	problems web.Problems
}

// formOf reads the fields of a body, at the top level or inside params. order lists the fields
// in the order in which problems are reported.
func formOf(req *web.Request, order ...string) (*form, error) {
	object, err := req.Object()
	if err != nil {
		return nil, err
	}
	if inner := web.Member(object, "params"); web.IsObject(inner) {
		object = inner
	}
	return &form{object: object, order: order}, nil
}

// patchOf is formOf for a patch. Fixed fields may be sent back with the value that the service
// shows.
func patchOf(req *web.Request, shown []byte, fixed []string, order ...string) (*form, error) {
	f, err := formOf(req, order...)
	if err != nil {
		return nil, err
	}
	f.patch = true
	for _, name := range fixed {
		if jsonwalk.Has(f.object, name) && !sameValue(web.Member(f.object, name), web.Member(shown, name)) {
			f.problems.Add(name, name+" never changes")
		}
	}
	return f, nil
}

// sameValue tells whether two JSON values are equal. Objects and arrays never are.
func sameValue(a, b []byte) bool {
	saysA, isTextA := jsonwalk.Text(a)
	saysB, isTextB := jsonwalk.Text(b)
	if isTextA && isTextB {
		return bytes.Equal(saysA, saysB)
	}
	return bytes.Equal(a, b)
}

// clears tells whether a patch clears a field.
func (f *form) clears(name string) bool {
	return f.patch && jsonwalk.Has(f.object, name) && web.Member(f.object, name) == nil
}

// text reads a string field.
func (f *form) text(name string) *string {
	if f.clears(name) {
		return new(string)
	}
	value := web.Member(f.object, name)
	if value == nil {
		return nil
	}
	text, isText := jsonwalk.Text(value)
	if !isText {
		f.problems.Add(name, name+" must be a string")
		return nil
	}
	kept := string(text)
	return &kept
}

// textOr reads a string field; empty if it is absent.
func (f *form) textOr(name string) string { return valueOf(f.text(name)) }

// nonEmptyText reads a string field that null may clear and that must not be empty.
func (f *form) nonEmptyText(name, whenEmpty string) *string {
	value := f.text(name)
	if value != nil && *value == "" && !f.clears(name) {
		f.problems.Add(name, whenEmpty)
		return nil
	}
	return value
}

// flag reads a boolean field, which can't be cleared.
func (f *form) flag(name string) *bool {
	value := web.Member(f.object, name)
	switch string(value) {
	case "":
		if f.clears(name) {
			break
		}
		return nil
	case "true", "false":
		on := string(value) == "true"
		return &on
	}
	f.problems.Add(name, name+" must be true or false")
	return nil
}

// number reads an integer field; 0 if it is absent.
func (f *form) number(name string) int64 {
	value := web.Member(f.object, name)
	if value == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		f.problems.Add(name, name+" must be an integer")
	}
	return n
}

// required reads a number that must be present and positive.
func (f *form) required(name string) int64 {
	n := f.number(name)
	if n <= 0 && !f.problems.About(name) {
		f.problems.Add(name, name+" is required")
	}
	return n
}

// instant reads a time field; 0 if it is absent.
func (f *form) instant(name string) ledger.Micros {
	text := f.text(name)
	if text == nil {
		return 0
	}
	at, err := time.Parse(time.RFC3339Nano, *text)
	if err != nil {
		f.problems.Add(name, name+" must be an RFC 3339 time")
		return 0
	}
	return ledger.MicrosOf(at)
}

// texts reads a list of strings.
func (f *form) texts(name string) *[]string {
	if f.clears(name) {
		return new([]string)
	}
	value := web.Member(f.object, name)
	if value == nil {
		return nil
	}
	list := []string{}
	whole := web.IsArray(value)
	if whole {
		m := jsonwalk.MembersOf(value)
		for {
			element, more := m.Element()
			if !more {
				break
			}
			text, isText := jsonwalk.Text(element)
			whole = whole && isText
			list = append(list, string(text))
		}
	}
	if !whole {
		f.problems.Add(name, name+" must be a list of strings")
		return nil
	}
	return &list
}

// json reads a field that is a JSON object, as it was sent.
func (f *form) json(name string) *[]byte {
	if f.clears(name) {
		return new([]byte)
	}
	value := web.Member(f.object, name)
	if value == nil {
		return nil
	}
	if !web.IsObject(value) {
		f.problems.Add(name, name+" must be an object")
		return nil
	}
	kept := bytes.Clone(value)
	return &kept
}

// valueOf returns a field's value, or the zero value if it is absent.
func valueOf[T any](field *T) (value T) {
	if field != nil {
		value = *field
	}
	return value
}

// textAs converts a text field to another string type.
func textAs[T ~string](field *string) *T {
	if field == nil {
		return nil
	}
	value := T(*field)
	return &value
}
