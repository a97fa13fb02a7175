package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsIgnorable tells whether a character is normally not drawn: a format character such as a zero-width space, a variation
// selector, or a filler (Unicode, Default_Ignorable_Code_Point).
func IsIgnorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// emptyBraille belongs to a Unicode class of symbols, but looks like a blank.
const emptyBraille = '\u2800'

// isInvisible tells whether a character draws nothing.
func isInvisible(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || IsIgnorable(r) || r == emptyBraille
}

// IsBlank tells whether a text has no visible character.
func IsBlank(text string) bool { return trimInvisible(text) == "" }

// trimInvisible returns a text without the invisible characters at its ends.
func trimInvisible(text string) string { return strings.TrimFunc(text, isInvisible) }

// hasControl tells whether a text has control characters other than tabs and line ends.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' })
}

// isLayoutControl tells whether a character is invisible and changes the layout of characters around it, even outside the
// text that contains it. Such characters are embeddings, overrides and isolates of direction (Unicode Standard Annex 9),
// separators of lines and paragraphs, deprecated format characters, a byte order mark and interlinear annotations. With such
// a character, a name could look like another name. Joiners and direction marks are allowed, because ordinary names contain
// them.
func isLayoutControl(r rune) bool {
	switch {
	case 0x2028 <= r && r <= 0x202e, 0x2066 <= r && r <= 0x206f, r == 0xfeff, 0xfff9 <= r && r <= 0xfffb:
		return true
	}
	return false
}

// textProblem returns what is wrong with the characters of a text. The result is empty if nothing is wrong.
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
