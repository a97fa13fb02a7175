package directory

import (
	"net/netip"
	"strings"
)

// What a payer brings and what the blocklist and the limits know are brought to
// the same form by these functions, or they would not meet.

// NormalEmail is an e-mail address in lower case, without white space around it.
func NormalEmail(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// NormalPhone is a telephone number's digits, without the 00 that is dialled for
// a plus sign. Whatever else was written is dropped.
func NormalPhone(text string) string {
	digits := strings.Map(func(r rune) rune {
		if notDigit(r) {
			return -1
		}
		return r
	}, text)
	return strings.TrimPrefix(digits, "00")
}

// NormalCountry is a country's code in upper case, without white space around it.
func NormalCountry(text string) string { return strings.ToUpper(strings.TrimSpace(text)) }

// NormalAddress is an address without zone; an IPv4 address in IPv6 form is
// taken as IPv4.
func NormalAddress(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
