package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsIgnorable tells whether a character is drawn as nothing wherever it stands: one of format, such as a zero-width
// space, a variation selector, or a filler (Unicode, Default_Ignorable_Code_Point).
func IsIgnorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// emptyBraille is a symbol by its class, and looks like a blank.
const emptyBraille = '\u2800'

// isInvisible tells whether nothing is to be seen of a character.
func isInvisible(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || IsIgnorable(r) || r == emptyBraille
}

// IsBlank tells whether a text has no visible character.
func IsBlank(text string) bool { return trimInvisible(text) == "" }

// trimInvisible is a text without invisible characters at its ends.
func trimInvisible(text string) string { return strings.TrimFunc(text, isInvisible) }

// hasControl tells whether a text has control characters other than tabs and line ends.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' })
}

// textProblem says what is wrong with the characters of a text, empty if nothing is.
func textProblem(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "must be UTF-8"
	case hasControl(text):
		return "must not hold control characters"
	case IsBlank(text):
		return "must not be blank"
	}
	return ""
}
