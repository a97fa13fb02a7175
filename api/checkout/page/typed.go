package page

import (
	"bytes"
	"html/template"
	"maps"
)

// Templates write a mark where a page shows a value that the payer typed. The mark consists of typedMark, the name of a field,
// and typedEnd. In the rendered page, fillTyped replaces the mark by the value. If html/template wrote the value itself, it
// would leave copies in memory that can't be overwritten.
const (
	typedMark = "\x1atyped "
	typedEnd  = "\x1a"
)

// Typed returns the mark for the value that the payer typed into a field of a Checkout. If the payer typed nothing, there is no
// mark.
func (v view) Typed(field string) string {
	if len(v.Page.(Checkout).Typed[field]) == 0 {
		return ""
	}
	return typedMark + field + typedEnd
}

// fillTyped replaces the marks in a rendered page by the values that the payer typed. If a text of the merchant contains a
// mark, the page shows the payer's own value in its place, which does no harm.
func fillTyped(document []byte, typed map[string][]byte) []byte {
	const longest = 6 // greatest number of bytes that an escaped character takes
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
		delete(typed, string(field)) // a second copy could outgrow the buffer; a reallocation would leave the value in memory
		document = after
	}
}
