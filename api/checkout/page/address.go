package page

import (
	"net/url"
	"strings"
)

// Web tells whether a page may link to, post to or redirect to an address: an absolute http or
// https URL with a host, and without characters that have a meaning in a header or a policy.
func Web(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return false
	}
	for _, c := range u.Host {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-._:[]", c):
		case c >= 0x80: // an international name, which browsers turn into ASCII
		default:
			return false
		}
	}
	return true
}

// Header returns an address that Web accepts in the form of a Location header: everything
// except visible ASCII is percent-encoded, and nothing else is changed.
func Header(address string) string {
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

// originOf returns an address's scheme and host in the form of a source in a Content-Security-Policy.
// It is empty if Web refuses the address, and for international names, which a policy can't contain.
func originOf(address string) string {
	if !Web(address) {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || Header(u.Host) != u.Host {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
