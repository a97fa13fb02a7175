package page

import (
	"bytes"
	"html/template"
	"maps"
)

// typedMark, the name of a field and typedEnd mark a place in a rendered page. fillTyped puts what the payer typed into that field
// there. html/template does not, because it would leave copies of the value in memory that nobody could overwrite.
const (
	typedMark = "\x1atyped "
	typedEnd  = "\x1a"
)

// Typed returns the mark for what the payer typed into a field of a Checkout; empty if the payer typed nothing.
func (v view) Typed(field string) string {
	if len(v.Page.(Checkout).Typed[field]) == 0 {
		return ""
	}
	return typedMark + field + typedEnd
}

// fillTyped puts what the payer typed into a rendered page. If a text of the merchant looks like a mark, it only
// shows the payer's own words.
func fillTyped(document []byte, typed map[string][]byte) []byte {
	const longest = 6 // bytes of an escaped character
	typed = maps.Clone(typed)
	size := len(document)
	for _, value := range typed {
		size += longest * len(value)
	}
	filled := bytes.NewBuffer(make([]byte, 0, size))
	for {
		before, rest, found := bytes.Cut(document, []byte(typedMark))
		filled.Write(before)
		if !found {
			return filled.Bytes()
		}
		field, after, _ := bytes.Cut(rest, []byte(typedEnd))
		template.HTMLEscape(filled, typed[string(field)])
		delete(typed, string(field)) // a second place would outgrow the buffer, which would leave a copy behind
		document = after
	}
}
