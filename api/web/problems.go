package web

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// Bounds of the response to a request with wrong fields.
const (
	maxProblems = 100 // listed fields; further ones are left out
	maxDetail   = 512 // bytes of a field's name, and of the detail about it
)

// Problems are the refused fields of a request, in the order of the checks. There are at most
// maxProblems. As an error, Problems leads to a response that lists all these fields.
type Problems []*ledger.Refusal

// Error implements error. It returns the text of the first problem and the number of problems.
func (p Problems) Error() string { return p[0].Error() + " (of " + strconv.Itoa(len(p)) + ")" }

// Add refuses a field. The detail must not repeat data of the request, unless the specification says
// so.
func (p *Problems) Add(field, detail string) {
	if p.Full() || field != "" && p.HasField(field) {
		return
	}
	*p = append(*p, &ledger.Refusal{Op: "web", Code: ledger.Invalid, Field: field, Detail: detail})
}

// Full tells whether there are so many problems that further ones are left out.
func (p *Problems) Full() bool { return len(*p) >= maxProblems }

// Err returns the problems as an error, or nil if there are none.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// RefusalsOf converts any error to refusals. All these refusals have the same code. An error that is
// not a refusal becomes a refusal with the code Internal or, while the process stops, Unavailable.
func RefusalsOf(err error) Problems {
	var problems Problems
	var fields directory.Refusals
	var refusal *ledger.Refusal
	switch {
	case errors.As(err, &problems):
		return problems
	case errors.As(err, &fields):
		return Problems(fields)
	case errors.As(err, &refusal):
		return Problems{refusal}
	case errors.Is(err, posting.ErrStopped):
		return Problems{ledger.Refuse("web", ledger.Unavailable, "the service is stopping, or another node takes over: it is unknown whether this happened")}
	}
	return Problems{ledger.Refuse("web", ledger.Internal, "unexpected error")}
}

// HasField tells whether a field has been refused already.
func (p Problems) HasField(field string) bool {
	return slices.ContainsFunc(p, func(r *ledger.Refusal) bool { return r.Field == field })
}

// Text decodes a JSON string. If the string has more than limit characters (not bytes), Text adds a
// problem. If value is nil, it returns the empty string.
func (p *Problems) Text(name string, value []byte, limit int) string {
	if value == nil {
		return ""
	}
	text, isText := jsonwalk.Text(value)
	if !isText {
		p.Add(name, name+" must be a string")
		return ""
	}
	if len(text) > limit && utf8.RuneCount(text) > limit {
		p.Add(name, tooLong(name, limit))
		return ""
	}
	return string(text)
}

// Object returns a copy of a JSON object. If the value is absent, it returns nil. If the value is not
// an object or is longer than limit bytes, it adds a problem and returns nil.
func (p *Problems) Object(name string, value []byte, limit int) []byte {
	switch {
	case value == nil:
		return nil
	case !IsObject(value):
		p.Add(name, name+" must be an object")
		return nil
	case len(value) > limit:
		p.Add(name, name+" is too large")
		return nil
	}
	return bytes.Clone(value)
}

// Truncate cuts a text after at most limit bytes, but never inside a character.
func Truncate(s []byte, limit int) string {
	if len(s) > limit {
		s = s[:limit]
		for len(s) > 0 && !utf8.Valid(s) {
			s = s[:len(s)-1]
		}
	}
	return string(s)
}

// tooLong returns the detail about a field whose text is too long.
func tooLong(name string, limit int) string {
	return name + " must be at most " + strconv.Itoa(limit) + " characters"
}
