package checkout

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"mizan/api/web/locale"
	"mizan/ledger/payment"
)

// expiryField is the name of the field with the month and the year of a card's expiry. A form may contain the two fields
// exp_month and exp_year instead.
const expiryField = "expiry"

// maxShownAgain bounds the length, in bytes, of a value that a refused form shows again.
const maxShownAgain = 255

// neverShownAgain are the fields whose values a refused form never shows again.
var neverShownAgain = map[string]bool{"cardnumber": true, "cvv": true}

// typedAgain returns the typed values that a refused form shows again. If a value may be a card number in the wrong field, it
// is left out. The values alias the form's memory.
func typedAgain(f *formFields, keys []string) map[string][]byte {
	typed := make(map[string][]byte)
	for _, name := range append([]string{expiryField}, keys...) {
		value := bytes.TrimRight(f.value(name), "\x00") // rewrite fills the end of a shortened value with NUL
		if !neverShownAgain[name] && len(value) <= maxShownAgain && !payment.CardLike(value) {
			typed[name] = value
		}
	}
	return typed
}

// typedKey returns the value that the payer typed for a key of money_storage. The result aliases the form's memory.
func typedKey(f *formFields, key string) []byte {
	if month, year, isOne := readExpiry(f.value(expiryField)); isOne && key == "exp_month" {
		return month
	} else if isOne && key == "exp_year" {
		return year
	}
	value := f.value(key)
	switch key {
	case "cardnumber", "account_number", "routing_number", "sort_code", "institution_number", "transit_number":
		return rewrite(value, isSeparator)
	case "cvv", "exp_month", "exp_year":
		return rewrite(value, isSpace)
	}
	return bytes.TrimSpace(value)
}

// fieldOf returns the name of the form's field for a key of money_storage.
func fieldOf(key string) string {
	if key == "exp_month" || key == "exp_year" {
		return expiryField
	}
	return key
}

// readExpiry splits an expiry date, which people may type as 8/29, 08/29, 0829, 08/2029 or 08 - 29. If the form has no such
// field (text is nil), isOne is false.
func readExpiry(text []byte) (month, year []byte, isOne bool) {
	if text == nil {
		return nil, nil, false
	}
	text = bytes.TrimSpace(rewrite(text, isMark))
	end := bytes.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	switch {
	case end >= 0:
		return text[:end], bytes.TrimLeft(text[end:], "/.- "), true
	case len(text) == 4 || len(text) == 6:
		return text[:2], text[2:], true
	}
	return text, text[len(text):], true
}

// rewrite replaces the digits of other scripts by 0-9 and removes the characters that leaveOut selects, in place. If the text
// becomes shorter, the rest of its memory is filled with NUL, which the next call ignores.
func rewrite(value []byte, leaveOut func(rune) bool) []byte {
	value = bytes.TrimRight(value, "\x00")
	written := value[:0]
	for read := 0; read < len(value); {
		r, size := utf8.DecodeRune(value[read:])
		if digit := locale.LatinDigit(r); digit != 0 {
			written = append(written, digit)
		} else if !leaveOut(r) {
			written = append(written, value[read:read+size]...)
		}
		read += size
	}
	clear(value[len(written):])
	return written
}

// isMark tells whether a character is an invisible format character. A number that was copied from a right-to-left text may
// contain invisible direction marks.
func isMark(r rune) bool { return unicode.Is(unicode.Cf, r) }

// isSpace tells whether a character is a space or invisible.
func isSpace(r rune) bool { return unicode.IsSpace(r) || isMark(r) }

// isSeparator tells whether a character is a space or a dash. People type these characters between groups of digits, because
// their card or their bank shows a number in groups.
func isSeparator(r rune) bool { return isSpace(r) || unicode.Is(unicode.Pd, r) }
