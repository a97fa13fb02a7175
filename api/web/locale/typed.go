package locale

import (
	"slices"
	"strings"
	"unicode"

	"mizan/ledger/money"
)

// maxTyped is the length in bytes of the longest text that ParseAmount reads: the largest amount with its separators, in a script
// whose digits have three bytes.
const maxTyped = 384

// AmountProblem is the reason why an amount that a person typed is refused. The zero value means that the amount is accepted.
type AmountProblem uint8

// The reasons. ParseAmount returns only AmountMalformed, AmountTooPrecise and AmountTooHigh. Its callers check for the other
// reasons.
const (
	AmountMissing AmountProblem = iota + 1
	AmountMalformed
	AmountTooPrecise // the amount has more decimals than the asset
	AmountTooLow
	AmountTooHigh
)

// ParseAmount reads an amount in major units as a person types it: "12.50", "12,5", "1 234,50", "1,234". Spaces and
// apostrophes are ignored. If a point or a comma can have only one meaning, it has that meaning in every language.
// Otherwise, as in "1.234", the language decides. An Arabic comma counts as a comma. In right-to-left languages a slash
// may precede the fraction: "۱۲/۵۰". The problem is AmountTooPrecise if the text has more decimals than the asset, AmountTooHigh
// if it has more digits than an amount can have, AmountMalformed if it is not an amount at all, and zero otherwise.
func ParseAmount(text string, language Separators, asset money.Asset) (amount money.Amount, problem AmountProblem) {
	scale, known := asset.Scale()
	if !known || len(text) > maxTyped {
		return amount, AmountMalformed
	}
	whole, fraction, ok := splitTyped(latinDigits(text), language)
	fraction = strings.TrimRight(fraction, "0")
	switch {
	case !ok:
		return amount, AmountMalformed
	case len(fraction) > scale:
		return amount, AmountTooPrecise
	}
	digits := strings.TrimLeft(whole+fraction+strings.Repeat("0", scale-len(fraction)), "0")
	if digits == "" {
		digits = "0"
	}
	amount, err := money.Parse(digits)
	if err != nil {
		return amount, AmountTooHigh
	}
	return amount, 0
}

// ParseDecimal reads a number without an asset, such as a rate, by the rules of ParseAmount. It returns the number with a decimal
// point: "0,92" becomes "0.92". ok is false if the text is not a number.
func ParseDecimal(text string, language Separators) (number string, ok bool) {
	if len(text) > maxTyped {
		return "", false
	}
	whole, fraction, ok := splitTyped(latinDigits(text), language)
	if !ok || fraction == "" {
		return whole, ok
	}
	return whole + "." + fraction, true
}

// latinDigits replaces the digits and separators of other scripts by 0–9, '.' and ','. It removes spaces,
// separators that can only separate groups of digits, and invisible characters.
func latinDigits(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '٫':
			return '.'
		case r == '،':
			return ','
		case r == '٬', r == '\'', r == '’', unicode.IsSpace(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		if digit := LatinDigit(r); digit != 0 {
			return rune(digit)
		}
		return r
	}, text)
}

// LatinDigit returns the ASCII digit ('0' to '9') for an Arabic, Persian or Bengali digit, and the byte 0 for any other
// character.
func LatinDigit(r rune) byte {
	for _, zero := range []rune{'٠', '۰', '০'} {
		if r >= zero && r <= zero+9 {
			return byte(r-zero) + '0'
		}
	}
	return 0
}

// splitTyped splits an amount into the digits before and after its decimal separator.
func splitTyped(text string, language Separators) (whole, fraction string, ok bool) {
	if before, after, hasSlash := strings.Cut(text, "/"); hasSlash && language.Slash {
		if i := strings.IndexAny(before, ".,"); i >= 0 {
			if before, ok = joinGroups(before, before[i]); !ok {
				return "", "", false
			}
		}
		return before, after, isDigits(before) && isDigits(after)
	}
	last := strings.LastIndexAny(text, ".,")
	if last < 0 {
		return text, "", isDigits(text)
	}
	separator := text[last]
	before, after := text[:last], text[last+1:]
	groupsOnly := strings.Count(text, string(separator)) > 1 || separator == language.Group && len(after) == groupSize && !strings.ContainsAny(before, ".,") && before != "" && before[0] != '0'
	if groupsOnly {
		joined, isGrouped := joinGroups(text, separator)
		return joined, "", isGrouped
	}
	group := byte('.')
	if separator == '.' {
		group = ','
	}
	if strings.IndexByte(before, group) >= 0 {
		if before, ok = joinGroups(before, group); !ok {
			return "", "", false
		}
	}
	if before == "" {
		before = "0"
	}
	return before, after, isDigits(before) && isDigits(after)
}

// The sizes of groups of digits. The last group of a number has three digits. The groups before it have three digits or, in
// South Asia, two: 12,34,567.
const (
	groupSize = 3
	lakhSize  = 2
)

// joinGroups removes the separators between groups of digits. If a group has a wrong size, ok is false.
func joinGroups(text string, separator byte) (joined string, ok bool) {
	groups := strings.Split(text, string(separator))
	joined = strings.Join(groups, "")
	return joined, isDigits(joined) && (areGroups(groups, groupSize) || areGroups(groups, lakhSize))
}

// areGroups tells whether all groups have the right sizes. The last group must have three digits, and the first group at least
// one digit and at most size digits. Every group between them must have exactly size digits.
func areGroups(groups []string, size int) bool {
	first, others, last := groups[0], groups[1:len(groups)-1], groups[len(groups)-1]
	hasOtherSize := func(group string) bool { return len(group) != size }
	return first != "" && len(first) <= size && !slices.ContainsFunc(others, hasOtherSize) && len(last) == groupSize
}

func isDigits(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}
