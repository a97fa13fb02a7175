package page

import (
	"slices"
	"strings"
	"unicode"

	"mizan/api/web/locale"
	"mizan/ledger/money"
)

// maxTyped is the longest amount that ParseAmount reads, in bytes: the largest amount with its separators, in a script whose
// digits have three bytes.
const maxTyped = 384

// ParseAmount reads an amount in major units as a payer types it: "12.50", "12,5", "1 234,50", "1,234". Spaces and
// apostrophes are ignored. If a point or a comma can have only one meaning, it has that meaning whatever the language is;
// otherwise, as in "1.234", the language decides. An Arabic comma counts as a comma, and in languages from right to left a slash
// may stand before the fraction: "۱۲/۵۰". The problem is AmountTooPrecise for more decimals than the asset has, AmountTooHigh
// for more digits than an amount can have, AmountMalformed for anything else that is no amount, and zero for an amount.
func ParseAmount(text string, language locale.Separators, asset money.Asset) (amount money.Amount, problem AmountProblem) {
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

// latinDigits writes the digits and separators of other scripts as 0–9, '.' and ',', and removes spaces,
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

// LatinDigit returns the digit 0–9 for a digit of Arabic, Persian or Bengali; zero for anything else.
func LatinDigit(r rune) byte {
	for _, zero := range []rune{'٠', '۰', '০'} {
		if r >= zero && r <= zero+9 {
			return byte(r-zero) + '0'
		}
	}
	return 0
}

// splitTyped splits an amount into the digits before and after its decimal separator.
func splitTyped(text string, language locale.Separators) (whole, fraction string, ok bool) {
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

// The numbers of digits between separators of groups: three, or two before the last three, as in 12,34,567 in South Asia.
const (
	groupSize = 3
	lakhSize  = 2
)

// joinGroups removes the separators between groups of digits; ok is false if the groups have other sizes.
func joinGroups(text string, separator byte) (joined string, ok bool) {
	groups := strings.Split(text, string(separator))
	joined = strings.Join(groups, "")
	return joined, isDigits(joined) && (areGroups(groups, groupSize) || areGroups(groups, lakhSize))
}

// areGroups tells whether the last group has three digits, the first one at least one and at most size, and the others size.
func areGroups(groups []string, size int) bool {
	first, others, last := groups[0], groups[1:len(groups)-1], groups[len(groups)-1]
	hasOtherSize := func(group string) bool { return len(group) != size }
	return first != "" && len(first) <= size && !slices.ContainsFunc(others, hasOtherSize) && len(last) == groupSize
}

func isDigits(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}
