package payment

import (
	"slices"
	"strconv"
)

// Brand is a range of card numbers, by their first four digits, that belongs to a card scheme. Both bounds are included.
type Brand struct {
	From, To int
	Name     string // the scheme's name, in lower case
}

// Brands returns the ranges of all card schemes that the service knows. If ranges overlap, the earlier one applies.
func Brands() []Brand { return slices.Clone(brands) }

// brands lists for each card scheme the ranges of the first four digits of its card numbers. Both bounds are included.
// ISO/IEC 7812 assigns the digits, and the schemes publish their ranges. If ranges overlap, the earlier one applies.
var brands = []Brand{
	{4000, 4999, "visa"},
	{5100, 5599, "mastercard"}, {2221, 2720, "mastercard"},
	{3400, 3499, "amex"}, {3700, 3799, "amex"},
	{2200, 2204, "mir"},
	{6011, 6011, "discover"}, {6440, 6599, "discover"},
	{3528, 3589, "jcb"},
	{3000, 3059, "diners"}, {3095, 3095, "diners"}, {3600, 3699, "diners"}, {3800, 3999, "diners"},
	{6200, 6299, "unionpay"}, {8100, 8199, "unionpay"},
	{8600, 8600, "uzcard"}, {9860, 9860, "humo"}, {9792, 9792, "troy"},
	{5000, 5099, "maestro"}, {5600, 5899, "maestro"}, {6300, 6399, "maestro"}, {6700, 6799, "maestro"},
}

// CardBrand returns the card scheme of the request's card, in lower case. It returns "" if there is no card or if the
// scheme is not in the table.
func (r *Request) CardBrand() string {
	const prefixDigits = 4
	if len(r.CardBIN) < prefixDigits {
		return ""
	}
	prefix, err := strconv.Atoi(r.CardBIN[:prefixDigits])
	if err != nil {
		return ""
	}
	for _, b := range brands {
		if b.From <= prefix && prefix <= b.To {
			return b.Name
		}
	}
	return ""
}
