package page

import "strings"

// number returns the amount in major units, such as "12.50", without the currency. If the number of the asset's decimal places
// is unknown, ok is false and the amount is in minor units.
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
