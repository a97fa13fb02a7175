package page

import (
	"bytes"
	"html/template"
	"maps"
)

// A mark in a rendered page consists of typedMark, the name of a field, and typedEnd. fillTyped replaces the mark by the value
// that the payer typed into the field. If html/template wrote the value itself, it would leave copies in memory that can't be
// overwritten.
const (
	typedMark = "\x1atyped "
	typedEnd  = "\x1a"
)

// Typed returns the mark for the value that the payer typed into a field of a Checkout; empty if the payer typed nothing.
func (v view) Typed(field string) string {
	if len(v.Page.(Checkout).Typed[field]) == 0 {
		return ""
	}
	return typedMark + field + typedEnd
}

// fillTyped replaces the marks in a rendered page by the values that the payer typed. If a text of the merchant looks like a
// mark, the page shows the payer's own value there, which does no harm.
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
		delete(typed, string(field)) // a second copy of the value could outgrow the buffer; a reallocation would leave it in memory
		document = after
	}
}
