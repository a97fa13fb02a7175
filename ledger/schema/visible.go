package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsIgnorable tells whether fonts normally draw nothing for a character: for a format character such as a zero-width space, for
// a variation selector, or for a filler (Unicode, Default_Ignorable_Code_Point).
func IsIgnorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// emptyBraille is a symbol according to Unicode, but looks like a blank.
const emptyBraille = '\u2800'

// isInvisible tells whether nothing is drawn for a character.
func isInvisible(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || IsIgnorable(r) || r == emptyBraille
}

// IsBlank tells whether a text has no visible character.
func IsBlank(text string) bool { return trimInvisible(text) == "" }

// trimInvisible removes invisible characters from the beginning and the end of a text.
func trimInvisible(text string) string { return strings.TrimFunc(text, isInvisible) }

// hasControl tells whether a text has control characters other than tabs and line breaks.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' })
}

// isLayoutControl tells whether a character is invisible and changes how characters around it are laid out, even outside the
// text that contains it. These are the characters that embed, override or isolate a writing direction (Unicode Standard Annex
// 9), line and paragraph separators, deprecated format characters, the byte order mark, and the characters for interlinear
// annotations. With such a character, a name could be made to look like another name. Joiners and direction marks are not in
// this list, because ordinary names contain them.
func isLayoutControl(r rune) bool {
	switch {
	case 0x2028 <= r && r <= 0x202e, 0x2066 <= r && r <= 0x206f, r == 0xfeff, 0xfff9 <= r && r <= 0xfffb:
		return true
	}
	return false
}

// textProblem returns what is wrong with the characters of a text, or an empty text if nothing is wrong.
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
