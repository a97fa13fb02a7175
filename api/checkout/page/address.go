package page

import (
	"net/url"
	"strings"

	"mizan/ledger/schema"
)

// IsWebAddress tells whether a page may link to, post to or redirect to an address. The address must be an absolute http or
// https URL with a host and a valid port. Its host must not contain characters that have a meaning in an HTTP header or in a
// Content-Security-Policy.
func IsWebAddress(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || !schema.HasUsablePort(u) {
		return false
	}
	for _, c := range u.Host {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-._:[]", c):
		case c >= 0x80: // a part of an international host name; browsers convert such a name to ASCII
		default:
			return false
		}
	}
	return true
}

// FillAddress replaces the placeholders {transaction_id} and {txid} in an address. The braces of a placeholder may be
// percent-encoded, because programs that build URLs encode them. In the values, all characters except letters, digits and -._~
// are percent-encoded, so that a value can't end the path segment or the parameter that contains it.
func FillAddress(address, id, txID string) string {
	if !strings.ContainsAny(address, "{%") {
		return address
	}
	var pairs []string
	add := func(name, value string) {
		encoded := strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
		pairs = append(pairs, "{"+name+"}", encoded, "%7B"+name+"%7D", encoded, "%7b"+name+"%7d", encoded)
	}
	add("transaction_id", id)
	add("txid", txID)
	return strings.NewReplacer(pairs...).Replace(address)
}

// LocationValue returns the value of a Location header for a web address. It percent-encodes every byte that is not visible
// ASCII, and changes nothing else.
func LocationValue(address string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(address) {
		c := address[i]
		if c > ' ' && c < 0x7f {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// originOf returns the scheme and host of an address, in the form of a source in a Content-Security-Policy. If IsWebAddress
// refuses the address, the result is empty. It is also empty if the host name is international, because a
// Content-Security-Policy can't contain such a name.
func originOf(address string) string {
	if !IsWebAddress(address) {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || LocationValue(u.Host) != u.Host {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
