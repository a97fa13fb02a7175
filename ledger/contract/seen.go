package contract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ignorable tells of a character that is drawn as nothing, wherever it stands: one of
// format, such as a zero-width space, a variation selector, or a filler (Unicode,
// Default_Ignorable_Code_Point).
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// emptyBraille is a symbol by its class, and a blank to whoever looks at it.
const emptyBraille = '\u2800'

// unseen tells of a character at which there is nothing to see.
func unseen(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || ignorable(r) || r == emptyBraille
}

// Blank tells of a text in which there is nothing to see.
func Blank(said string) bool { return trimmed(said) == "" }

// trimmed is a text without what nobody sees before and behind it.
func trimmed(said string) string { return strings.TrimFunc(said, unseen) }

// controlled tells of a text with control characters in it that no text of a person
// has: others than tabs and the ends of lines.
func controlled(said string) bool {
	return strings.ContainsFunc(said, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' })
}

// sayable is what is wrong with what a text is made of; empty: nothing.
func textProblem(said string) string {
	switch {
	case !utf8.ValidString(said):
		return "must be UTF-8"
	case controlled(said):
		return "must not hold control characters"
	case Blank(said):
		return "must not be blank"
	}
	return ""
}
