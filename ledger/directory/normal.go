package directory

import (
	"net/netip"
	"strings"
)

// These functions bring payers' data, the blocklist and the limits to one form, because
// otherwise equal values would not compare as equal.

// NormalEmail returns an e-mail address in lower case, without white space around it.
func NormalEmail(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// NormalPhone returns the digits of a telephone number, without a leading 00 that stands for the
// plus sign. It drops all other characters.
func NormalPhone(text string) string {
	digits := strings.Map(func(r rune) rune {
		if notDigit(r) {
			return -1
		}
		return r
	}, text)
	return strings.TrimPrefix(digits, "00")
}

// NormalCountry returns a country's code in upper case, without white space around it.
func NormalCountry(text string) string { return strings.ToUpper(strings.TrimSpace(text)) }

// NormalAddress returns an address without its zone, and an IPv4 address in IPv6 form as IPv4.
func NormalAddress(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
