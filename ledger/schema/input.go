package schema

import (
	"bytes"
	"encoding/json"
)

// Input is the body of a request, a JSON object that has been parsed strictly: a map from the exact names of its members
// to their values. Input does not alias a network buffer.
type Input map[string]json.RawMessage

// Read reads the table's settable columns from a request's body. The field of a fault is the prefix followed by the
// column's name.
func (t *Table) Read(input Input, options ParseOptions, prefix string, f *Faults) Row {
	r := t.New()
	for _, c := range t.Columns {
		if !c.Settable {
			continue
		}
		raw, isSent := input[c.Name]
		if !isSent || string(raw) == "null" {
			r[c.index] = c.Default
			if c.Required {
				f.Add(prefix+c.Name, "is required")
			}
			continue
		}
		value, problem := c.Kind.Parse(c, raw, options)
		if problem == "" && value != nil {
			problem = c.problem(value)
		}
		if problem != "" {
			f.Add(prefix+c.Name, "%s", problem)
			continue
		}
		if value == nil { // an empty text or list in a request counts as absent
			value = c.Default
		}
		r[c.index] = value
	}
	return r
}

// ReadMembers parses an object whose members are the columns of c.Nested. problem is the first fault in the object, or ""
// if there is none.
func (c *Column) ReadMembers(raw []byte, options ParseOptions) (row Row, problem string) {
	var members Input
	if raw[0] != '{' || json.Unmarshal(raw, &members) != nil {
		return nil, "must be an object"
	}
	faults := new(Faults)
	row = c.Nested.Read(members, options, "", faults)
	if !faults.IsEmpty() {
		return nil, faults.List[0].Field + " " + faults.List[0].Message
	}
	return row, ""
}

// equalJSON tells whether two JSON scalars are equal.
func equalJSON(a, b []byte) bool {
	var textA, textB string
	if a[0] == '"' && b[0] == '"' && json.Unmarshal(a, &textA) == nil && json.Unmarshal(b, &textB) == nil {
		return textA == textB
	}
	return bytes.Equal(a, b)
}

// ReadMembers reads the settable columns from an object that is a part of another record, such as the parameters of a
// terminal. The result has the type *R. A member counts as absent if it is null, and in some columns also if it is an
// empty text (see emptyIsAbsent). A member whose value does not have the column's kind is a fault and counts as absent.
// So is a secret whose value is Mask (the text that responses show instead of a secret). If the value has the right kind
// but violates the column's bounds or rule, it is a fault, but the value is set, so that stored objects can still be read
// under newer rules. The field of a fault is the prefix followed by the column's name.
func (t *Type[R]) ReadMembers(input Input, prefix string, f *Faults) (record any) {
	r := t.New()
	for _, c := range t.Columns {
		raw, isSent := input[c.Name]
		isSent = isSent && string(raw) != "null"
		if !isSent && c.Required {
			f.Add(prefix+c.Name, "is required")
		}
		if !isSent || !c.Settable || string(raw) == `""` && c.emptyIsAbsent() {
			continue
		}
		value, problem := c.Kind.Parse(c, raw, ParseOptions{})
		switch {
		case problem != "":
		case c.Secret && value == Mask:
			value, problem = nil, UnknownSecret
		case value != nil:
			problem = c.problem(value)
		}
		f.AddProblem(prefix+c.Name, problem)
		if value != nil {
			c.field.set(r, value)
		}
	}
	return r
}

// UnknownSecret is the error message for a request that contains Mask instead of a secret, although no such secret is
// stored.
const UnknownSecret = "is not known here: send the secret itself"
