package checkout

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"mizan/api/checkout/page"
	"mizan/ledger/payment"
)

// expiryField is the name of the field with the month and the year of a card's expiry. A form may have exp_month and
// exp_year in its place.
const expiryField = "expiry"

// maxShownAgain bounds a value that a refused form shows again, in bytes.
const maxShownAgain = 255

// neverShownAgain are the fields whose values a refused form never shows again.
var neverShownAgain = map[string]bool{"cardnumber": true, "cvv": true}

// typedAgain returns the values of a method's fields that a refused form shows again. They alias the form. A value that may be
// a card number in the wrong field is left out.
func typedAgain(f *formFields, keys []string) map[string][]byte {
	typed := make(map[string][]byte)
	for _, name := range append([]string{expiryField}, keys...) {
		value := bytes.TrimRight(f.value(name), "\x00") // rewrite shortens a value
		if !neverShownAgain[name] && len(value) <= maxShownAgain && !payment.CardLike(value) {
			typed[name] = value
		}
	}
	return typed
}

// typedKey returns what the payer typed for a key of money_storage. The result aliases the form.
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

// readExpiry splits an expiry date as people type it: 8/29, 08/29, 0829, 08/2029, 08 - 29. isOne is false if text
// is nil.
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

// rewrite writes the digits of other scripts as 0-9 and leaves out characters, in place. What becomes free behind a shorter
// text is filled with NUL, which the next call ignores.
func rewrite(value []byte, leaveOut func(rune) bool) []byte {
	value = bytes.TrimRight(value, "\x00")
	written := value[:0]
	for read := 0; read < len(value); {
		r, size := utf8.DecodeRune(value[read:])
		if digit := page.LatinDigit(r); digit != 0 {
			written = append(written, digit)
		} else if !leaveOut(r) {
			written = append(written, value[read:read+size]...)
		}
		read += size
	}
	clear(value[len(written):])
	return written
}

// isMark tells whether a character is invisible. A number that was copied from a text from right to left may contain invisible
// marks of direction.
func isMark(r rune) bool { return unicode.Is(unicode.Cf, r) }

// isSpace tells whether a character is a space or invisible.
func isSpace(r rune) bool { return unicode.IsSpace(r) || isMark(r) }

// isSeparator tells whether a character only groups the digits of a number: a space or a dash. People type a number as their
// card or their bank shows it.
func isSeparator(r rune) bool { return isSpace(r) || unicode.Is(unicode.Pd, r) }
