package page

import (
	"net/url"
	"strings"

	"mizan/ledger/schema"
)

// IsWebAddress tells whether a page may link to, post to or redirect to an address: an absolute http or https URL with a host and
// a valid port, and without characters that have a meaning in an HTTP header or in a Content-Security-Policy.
func IsWebAddress(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || !schema.HasUsablePort(u) {
		return false
	}
	for _, c := range u.Host {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-._:[]", c):
		case c >= 0x80: // part of an international host name, which browsers convert to ASCII
		default:
			return false
		}
	}
	return true
}

// FillAddress replaces the placeholders {transaction_id} and {txid} in an address. They may be percent-encoded, because
// programs that build URLs encode braces. Everything in a value except letters, digits and -._~ is
// percent-encoded, so that a value can't end the path segment or parameter in which it stands.
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

// LocationValue returns a web address as the value of a Location header: it percent-encodes everything
// except visible ASCII and changes nothing else.
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

// originOf returns an address's scheme and host, as a Content-Security-Policy names a source. The result is empty if IsWebAddress
// refuses the address. It is also empty for an international host name, which a Content-Security-Policy can't contain.
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
