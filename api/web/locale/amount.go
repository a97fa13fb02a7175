package locale

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mizan/ledger/money"
)

// Decimals of amounts. No currency of ISO 4217 has more than maxMinorDigits; tokens have up to 18, most of which are
// zeros in most amounts.
const (
	maxMinorDigits = 4
	leastDigits    = 2 // decimals that an amount of a token keeps, even if they are zeros
)

// Amount writes an amount as the language does, with the currency's sign or code: "$1,234.50", "1 234,50 ₽". An asset on a
// network is followed by the network, as in "0.000001 USDT (tron)". The amount has all decimals of its currency; only an
// asset with more than four loses the zeros at the end, down to two decimals. If the scale of the asset is unknown, the
// text says that the amount is in minor units.
//
// Where an amount stands in a page, <bdi> has to surround it. Fill isolates it in a text.
func (l *Locale) Amount(a money.Amount, asset money.Asset) string { return l.amount(a, asset, space) }

// BreakableAmount is Amount, but a line may break between the number and the currency, for places where the whole does not
// fit into a line. Number and currency have no other place to break.
func (l *Locale) BreakableAmount(a money.Amount, asset money.Asset) string {
	return l.amount(a, asset, " ")
}

// amount writes an amount, with a kind of space between the number and the currency.
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

// Decimal writes an amount without its currency, as Amount does: "1,234.50". ok is false if the scale of the asset is unknown;
// then the amount is in minor units.
func (l *Locale) Decimal(a money.Amount, asset money.Asset) (number string, ok bool) {
	whole, fraction, ok := majorUnits(a, asset)
	return l.format.number(whole, withoutZeros(fraction)), ok
}

// withoutZeros returns the decimals of an amount that are written.
func withoutZeros(fraction string) string {
	if len(fraction) <= maxMinorDigits {
		return fraction
	}
	return fraction[:leastDigits] + strings.TrimRight(fraction[leastDigits:], "0")
}

// Ungrouped is Decimal without separators between groups of digits: "1234.50". A payer who changes such a number types no
// separator that could be mistaken for the decimal one.
func (l *Locale) Ungrouped(a money.Amount, asset money.Asset) (number string, ok bool) {
	whole, fraction, ok := majorUnits(a, asset)
	if fraction = withoutZeros(fraction); fraction != "" {
		whole += l.format.decimal + fraction
	}
	return l.format.withDigits(whole), ok
}

// Number writes a number of things as the language does: "9,999".
func (l *Locale) Number(n int) string {
	return l.format.number(strconv.Itoa(n), "")
}

// majorUnits returns the digits of an amount before and after the decimal point. ok is false if the scale is unknown, and then
// all digits of the minor units are in whole.
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

// number writes a number, whose digits before and after the decimal point are given.
func (f *format) number(whole, fraction string) string {
	text := f.grouped(whole)
	if fraction != "" {
		text += f.decimal + fraction
	}
	return f.withDigits(text)
}

// grouped separates the groups of a number's digits.
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

// withDigits writes the digits of a number in the language's script.
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

// withSign adds the sign of a currency to a number. A space separates letters from digits (CLDR, "currencySpacing"); gap is the
// kind of that space.
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
		sign += leftToRight // else the "$" of "US$" stands to the left of "US", as browsers show it
	}
	return strings.NewReplacer("0", number, "¤", sign, space, gap).Replace(pattern)
}
