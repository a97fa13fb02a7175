package records

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
)

// Form reads the fields of a request body by their exact names. A value of the wrong type adds a
// problem. Whether a value is allowed is checked later, by the rules of the record. If a field is
// absent or null, the result is nil, zero or an empty text. Results do not alias the body.
type Form struct {
	Object   []byte   // the JSON object with the fields
	Order    []string // the names of the fields, in the order in which the response reports problems
	Problems web.Problems
}

// Parse reads the fields of a body, at the top level or inside params. order lists the fields
// in the order in which problems are reported.
func Parse(req *web.Request, order ...string) (*Form, error) {
	object, err := req.Object()
	if err != nil {
		return nil, err
	}
	switch inner := web.Member(object, "params"); {
	case web.IsObject(inner):
		object = inner
	case inner != nil && string(inner) != "null":
		return nil, ledger.RefuseField("records.Parse", "params", "must be an object")
	}
	return &Form{Object: object, Order: order}, nil
}

// AllowOnly adds a problem for a body with a field that is not in names. The refusal quotes the name of the first such field.
func (f *Form) AllowOnly(names ...string) {
	const maxNameBytes = 64 // the refusal quotes only so much of a name, because a name may be as long as the body
	members := jsonwalk.MembersOf(f.Object)
	for name, _, found := members.Next(); found; name, _, found = members.Next() {
		if text := string(name); !slices.Contains(names, text) {
			text = strings.ToValidUTF8(text[:min(len(text), maxNameBytes)], "")
			f.Problems.Add(text, "is no field of this request")
			return
		}
	}
}

// Text reads a string field.
func (f *Form) Text(name string) *string {
	value := web.Member(f.Object, name)
	if value == nil {
		return nil
	}
	text, isText := jsonwalk.Text(value)
	if !isText {
		f.Problems.Add(name, name+" must be a string")
		return nil
	}
	copied := string(text)
	return &copied
}

// TextOrEmpty reads a string field. It returns an empty text if the field is absent.
func (f *Form) TextOrEmpty(name string) string {
	if text := f.Text(name); text != nil {
		return *text
	}
	return ""
}

// RequiredNumber reads a number that must be present and positive.
func (f *Form) RequiredNumber(name string) int64 {
	n := f.Number(name)
	if n <= 0 && !f.Problems.HasField(name) {
		f.Problems.Add(name, name+" is required")
	}
	return n
}

// Instant reads a time field. It returns 0 if the field is absent.
func (f *Form) Instant(name string) ledger.Micros {
	text := f.Text(name)
	if text == nil {
		return 0
	}
	at, err := time.Parse(time.RFC3339Nano, *text)
	if err != nil {
		f.Problems.Add(name, name+" must be an RFC 3339 time")
		return 0
	}
	return ledger.MicrosOf(at)
}

// Number reads an integer field. It returns 0 if the field is absent.
func (f *Form) Number(name string) int64 {
	value := web.Member(f.Object, name)
	if value == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		f.Problems.Add(name, name+" must be an integer")
	}
	return n
}

// ID reads a UUID field.
func (f *Form) ID(name string) *ledger.ID {
	text := f.Text(name)
	if text == nil {
		return nil
	}
	id, err := web.ParseID(*text)
	if err != nil {
		f.Problems.Add(name, name+" must be a UUID")
		return nil
	}
	return &id
}

// TextAs converts a text field to another string type.
func TextAs[T ~string](field *string) *T {
	if field == nil {
		return nil
	}
	value := T(*field)
	return &value
}
