package page

import "strings"

// text returns the amount in major units with its currency and, if there is one, its network: "12.50
// USD", "0.000001 USDT (tron)". ok is false if the scale is unknown; then the amount is in
// minor units.
func (s Sum) text() (text string, ok bool) {
	text, ok = s.number()
	text += " " + string(s.Asset.Currency)
	if s.Asset.Network != "" {
		text += " (" + string(s.Asset.Network) + ")"
	}
	return text, ok
}

// number returns the amount in major units; ok is false if the scale is unknown, and then the amount is in minor units.
func (s Sum) number() (number string, ok bool) {
	digits, ok := s.Asset.Scale()
	number = string(s.Amount.AppendDecimal(nil))
	if ok && digits > 0 {
		if missing := digits + 1 - len(number); missing > 0 {
			number = strings.Repeat("0", missing) + number
		}
		point := len(number) - digits
		number = number[:point] + "." + number[point:]
	}
	return number, ok
}
