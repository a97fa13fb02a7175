package api

import (
	"bytes"
	"strconv"
	"time"

	"mizan/ledger"
)

// form reads the fields of an administration's body by their exact names. A
// value of the wrong type adds a problem; what values mean is decided where
// records are. Null is as good as nothing, and nothing is nil: a patch leaves
// what is not there as it is. What is returned does not alias the body.
type form struct {
	object   []byte
	problems problems
}

// formOf takes a body bare or inside params.
func formOf(c *call) (*form, error) {
	object, err := c.object()
	if err != nil {
		return nil, err
	}
	if inner := member(object, "params"); isObject(inner) {
		object = inner
	}
	return &form{object: object}, nil
}

// text is a string field.
func (f *form) text(name string) *string {
	value := member(f.object, name)
	if value == nil {
		return nil
	}
	said, isText := text(value)
	if !isText {
		f.problems.add(name, name+" must be a string")
		return nil
	}
	kept := string(said)
	return &kept
}

// textOr is a string field, or empty.
func (f *form) textOr(name string) string {
	if said := f.text(name); said != nil {
		return *said
	}
	return ""
}

// flag is a boolean field.
func (f *form) flag(name string) *bool {
	value := member(f.object, name)
	switch string(value) {
	case "":
		return nil
	case "true", "false":
		on := string(value) == "true"
		return &on
	}
	f.problems.add(name, name+" must be true or false")
	return nil
}

// number is an integer field; 0 if there is none.
func (f *form) number(name string) int64 {
	value := member(f.object, name)
	if value == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		f.problems.add(name, name+" must be an integer")
	}
	return n
}

// required is a number that must be there and positive.
func (f *form) required(name string) int64 {
	n := f.number(name)
	if n <= 0 && len(f.problems) == 0 {
		f.problems.add(name, name+" is required")
	}
	return n
}

// instant is a time field; 0 if there is none.
func (f *form) instant(name string) ledger.Micros {
	said := f.text(name)
	if said == nil {
		return 0
	}
	at, err := time.Parse(time.RFC3339Nano, *said)
	if err != nil {
		f.problems.add(name, name+" must be an RFC 3339 time")
		return 0
	}
	return ledger.MicrosOf(at)
}

// texts is a list of strings.
func (f *form) texts(name string) *[]string {
	value := member(f.object, name)
	if value == nil {
		return nil
	}
	list := []string{}
	whole := isArray(value)
	if whole {
		m := membersOf(value)
		for {
			element, more := m.element()
			if !more {
				break
			}
			said, isText := text(element)
			whole = whole && isText
			list = append(list, string(said))
		}
	}
	if !whole {
		f.problems.add(name, name+" must be a list of strings")
		return nil
	}
	return &list
}

// json is a field that is a JSON object, as it was sent.
func (f *form) json(name string) *[]byte {
	value := member(f.object, name)
	if value == nil {
		return nil
	}
	if !isObject(value) {
		f.problems.add(name, name+" must be an object")
		return nil
	}
	kept := bytes.Clone(value)
	return &kept
}

// valueOf is what a field said, or the zero value.
func valueOf[T any](field *T) (value T) {
	if field != nil {
		value = *field
	}
	return value
}

// like turns a field of text into one of another type of text.
func like[T ~string](field *string) *T {
	if field == nil {
		return nil
	}
	value := T(*field)
	return &value
}
