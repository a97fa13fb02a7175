package locale

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mizan/ledger/money"
)

// Decimals of amounts. No currency of ISO 4217 has more than maxMinorDigits decimals. Tokens have up to 18 decimals, and most
// of their amounts end with many zeros, which are not written.
const (
	maxMinorDigits = 4
	leastDigits    = 2 // decimals of a token's amount that are always written, even if they are zeros
)

// Amount formats an amount in the language, with the currency's sign or code: "$1,234.50", "1 234,50 ₽". An asset on a network
// is followed by the network, as in "0.000001 USDT (tron)". The amount has all decimals of its currency. But if the asset has
// more than four decimals, zeros at the end are left out, though at least two decimals are written. If the number of the
// asset's decimals is unknown, the text says that the amount is in minor units.
//
// In HTML, surround an amount with <bdi>. In a text, Fill isolates the amount.
func (l *Locale) Amount(a money.Amount, asset money.Asset) string { return l.amount(a, asset, space) }

// BreakableAmount is like Amount, but a browser may begin a new line between the number and the currency. It is for places
// where the whole amount does not fit into a line.
func (l *Locale) BreakableAmount(a money.Amount, asset money.Asset) string {
	return l.amount(a, asset, " ")
}

// amount formats an amount. gap is the space between the number and the currency.
func (l *Locale) amount(a money.Amount, asset money.Asset, gap string) string {
	number, scaled := l.Decimal(a, asset)
	text := l.format.withSign(number, string(asset.Currency), gap)
	if asset.Network != "" {
		text += " (" + string(asset.Network) + ")"
	}
	if !scaled {
		return l.Fill(l.words.MinorUnits, "amount", text)
	}
	return text
}

// Decimal is like Amount, but leaves out the currency: "1,234.50". If the number of the asset's decimals is unknown, ok is
// false and the amount is in minor units.
func (l *Locale) Decimal(a money.Amount, asset money.Asset) (number string, ok bool) {
	whole, fraction, ok := majorUnits(a, asset)
	return l.format.number(whole, withoutZeros(fraction)), ok
}

// withoutZeros returns the decimals of an amount without the zeros at the end that are not written.
func withoutZeros(fraction string) string {
	if len(fraction) <= maxMinorDigits {
		return fraction
	}
	return fraction[:leastDigits] + strings.TrimRight(fraction[leastDigits:], "0")
}

// Ungrouped is like Decimal, but has no separators between groups of digits: "1234.50". It is for form fields: a group
// separator in an edited number could be mistaken for the decimal separator.
func (l *Locale) Ungrouped(a money.Amount, asset money.Asset) (number string, ok bool) {
	whole, fraction, ok := majorUnits(a, asset)
	if fraction = withoutZeros(fraction); fraction != "" {
		whole += l.format.decimal + fraction
	}
	return l.format.withDigits(whole), ok
}

// Number formats a whole number in the language: "9,999".
func (l *Locale) Number(n int) string {
	return l.format.number(strconv.Itoa(n), "")
}

// majorUnits returns the digits of an amount before and after the decimal point. If the number of decimals is unknown, ok is
// false and whole has all digits of the minor units.
func majorUnits(a money.Amount, asset money.Asset) (whole, fraction string, ok bool) {
	scale, ok := asset.Scale()
	whole, fraction = split(string(a.AppendDecimal(nil)), scale)
	return whole, fraction, ok
}

// split divides the digits of minor units at the decimal point.
func split(minor string, scale int) (whole, fraction string) {
	if missing := scale + 1 - len(minor); missing > 0 {
		minor = strings.Repeat("0", missing) + minor
	}
	point := len(minor) - scale
	return minor[:point], minor[point:]
}

// number formats a number. whole has the digits before the decimal point, and fraction has the digits after it.
func (f *format) number(whole, fraction string) string {
	text := f.grouped(whole)
	if fraction != "" {
		text += f.decimal + fraction
	}
	return f.withDigits(text)
}

// grouped inserts the separators between the groups of a whole number's digits.
func (f *format) grouped(digits string) string {
	const last = 3 // digits in the last group
	if len(digits) <= last || f.loneDigit && len(digits) == last+1 {
		return digits
	}
	size := last
	if f.lakhs {
		size = 2
	}
	head, tail := digits[:len(digits)-last], digits[len(digits)-last:]
	for len(head) > size {
		head, tail = head[:len(head)-size], head[len(head)-size:]+f.group+tail
	}
	return head + f.group + tail
}

// withDigits replaces the digits 0–9 of a number by the digits of the language's script.
func (f *format) withDigits(number string) string {
	if f.zero == 0 {
		return number
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return f.zero + r - '0'
		}
		return r
	}, number)
}

// withSign adds the sign of a currency to a number. If the sign's character next to the number is not a symbol such as "$", gap
// separates the sign from the number (CLDR, "currencySpacing").
func (f *format) withSign(number, currency, gap string) string {
	sign := cmp.Or(f.signs[currency], commonSigns[currency], currency)
	first, _ := utf8.DecodeRuneInString(sign)
	last, _ := utf8.DecodeLastRuneInString(sign)
	pattern := f.amount
	if !unicode.IsSymbol(last) {
		pattern = strings.Replace(pattern, "¤0", "¤"+space+"0", 1)
	}
	if !unicode.IsSymbol(first) {
		pattern = strings.Replace(pattern, "0¤", "0"+space+"¤", 1)
	}
	if f.rightToLeft && unicode.Is(unicode.Latin, first) && unicode.IsSymbol(last) {
		sign += leftToRight // without this mark browsers would show the "$" of "US$" to the left of "US"
	}
	return strings.NewReplacer("0", number, "¤", sign, space, gap).Replace(pattern)
}
