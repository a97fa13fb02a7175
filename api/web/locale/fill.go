package locale

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/bidi"
)

// These characters surround a value whose writing direction must not affect the text around the value: FIRST STRONG
// ISOLATE and POP DIRECTIONAL ISOLATE.
const (
	isolateStart = "\u2068"
	isolateEnd   = "\u2069"
)

// Fill replaces placeholders: Fill(t.Checkout.Pay, "amount", amount) replaces {amount}. The arguments after the text are
// alternating names and values. Braces in a value are not placeholders.
func (l *Locale) Fill(text string, namesAndValues ...string) string {
	isolated := make([]string, len(namesAndValues))
	for i, part := range namesAndValues {
		if isolated[i] = part; i%2 == 1 {
			isolated[i] = l.isolate(part)
		}
	}
	return fill(text, isolated...)
}

// fill is like Fill, but does not isolate the values.
func fill(text string, namesAndValues ...string) string {
	pairs := make([]string, 0, len(namesAndValues))
	for pair := range slices.Chunk(namesAndValues, 2) {
		pairs = append(pairs, "{"+pair[0]+"}", pair[1])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// isolate surrounds a value with isolating characters if the language, or the value itself, is written from right to left.
func (l *Locale) isolate(value string) string {
	if !l.format.rightToLeft && !isRightToLeft(value) {
		return value
	}
	return isolateStart + value + isolateEnd
}

// isRightToLeft tells whether a text contains a letter of a script that is written from right to left.
func isRightToLeft(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		properties, _ := bidi.LookupRune(r)
		return properties.Class() == bidi.R || properties.Class() == bidi.AL
	})
}
