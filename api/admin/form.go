package admin

import (
	"strconv"
	"time"

	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
)

// form reads the fields of a request body by their exact names. A value of the wrong type adds
// a problem; the record decides whether a value is allowed. A method returns nil for a field that
// is absent or null. Results do not alias the body.
type form struct {
	object   []byte
	order    []string // the fields in the order of the documentation
	problems web.Problems
}

// parseForm reads the fields of a body, at the top level or inside params. order lists the fields
// in the order in which problems are reported.
func parseForm(req *web.Request, order ...string) (*form, error) {
	object, err := req.Object()
	if err != nil {
		return nil, err
	}
	if inner := web.Member(object, "params"); web.IsObject(inner) {
		object = inner
	}
	return &form{object: object, order: order}, nil
}

// text reads a string field.
func (f *form) text(name string) *string {
	value := web.Member(f.object, name)
	if value == nil {
		return nil
	}
	text, isText := jsonwalk.Text(value)
	if !isText {
		f.problems.Add(name, name+" must be a string")
		return nil
	}
	copied := string(text)
	return &copied
}

// textOrEmpty reads a string field; empty if it is absent.
func (f *form) textOrEmpty(name string) string {
	if text := f.text(name); text != nil {
		return *text
	}
	return ""
}

// requiredNumber reads a number that must be present and positive.
func (f *form) requiredNumber(name string) int64 {
	n := f.number(name)
	if n <= 0 && !f.problems.HasField(name) {
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

// id reads a UUID field.
func (f *form) id(name string) *ledger.ID {
	text := f.text(name)
	if text == nil {
		return nil
	}
	id, err := web.ParseID(*text)
	if err != nil {
		f.problems.Add(name, name+" must be a UUID")
		return nil
	}
	return &id
}

// textAs converts a text field to another string type.
func textAs[T ~string](field *string) *T {
	if field == nil {
		return nil
	}
	value := T(*field)
	return &value
}
