package texts

import (
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
func (t *Texts) Amount(a money.Amount, asset money.Asset) string {
	number, scaled := t.Decimal(a, asset)
	text := t.format.withSign(number, asset.Currency)
	if asset.Network != "" {
		text += " (" + string(asset.Network) + ")"
	}
	if !scaled {
		return t.Fill(t.Common.MinorUnits, "amount", text)
	}
	return text
}

// Decimal writes an amount without its currency, as Amount does: "1,234.50". ok is false if the scale of the asset is unknown;
// then the amount is in minor units.
func (t *Texts) Decimal(a money.Amount, asset money.Asset) (number string, ok bool) {
	whole, fraction, ok := majorUnits(a, asset)
	if len(fraction) > maxMinorDigits {
		fraction = fraction[:leastDigits] + strings.TrimRight(fraction[leastDigits:], "0")
	}
	number = t.format.grouped(whole)
	if fraction != "" {
		number += t.format.decimal + fraction
	}
	return t.format.withDigits(number), ok
}

// Number writes a number of things as the language does: "9,999".
func (t *Texts) Number(n int) string {
	return t.format.withDigits(t.format.grouped(strconv.Itoa(n)))
}

// AmountText returns the amount in major units with its currency and, if there is one, its network, in a form that is the
// same in every language: "12.50 USD", "0.000001 USDT (tron)". If the scale of the asset is unknown, the amount is in
// minor units, and the text says so.
func AmountText(a money.Amount, asset money.Asset) string {
	whole, fraction, ok := majorUnits(a, asset)
	if fraction != "" {
		whole += "." + fraction
	}
	text := whole + " " + string(asset.Currency)
	if asset.Network != "" {
		text += " (" + string(asset.Network) + ")"
	}
	if !ok {
		text += ", in minor units"
	}
	return text
}

// majorUnits returns the digits of an amount before and after the decimal point. ok is false if the scale is unknown, and then
// all digits of the minor units are in whole.
func majorUnits(a money.Amount, asset money.Asset) (whole, fraction string, ok bool) {
	digits := string(a.AppendDecimal(nil))
	scale, ok := asset.Scale()
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - scale
	return digits[:point], digits[point:], ok
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

// withSign adds the sign of a currency to a number. A space separates letters from digits (CLDR, "currencySpacing").
func (f *format) withSign(number string, currency money.Currency) string {
	sign := f.signs[currency]
	if sign == "" {
		sign = string(currency)
	}
	first, _ := utf8.DecodeRuneInString(sign)
	last, _ := utf8.DecodeLastRuneInString(sign)
	pattern := f.amount
	if !unicode.IsSymbol(last) {
		pattern = strings.Replace(pattern, "¤0", "¤"+space+"0", 1)
	}
	if !unicode.IsSymbol(first) {
		pattern = strings.Replace(pattern, "0¤", "0"+space+"¤", 1)
	}
	return strings.NewReplacer("0", number, "¤", sign).Replace(pattern)
}
