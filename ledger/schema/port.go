package schema

import (
	"net/url"
	"strconv"
)

// HasUsablePort tells whether the port of an address is one that a connection can have: none, or a number of 16 bits (RFC 9293,
// 3.1). url.Parse accepts any number, and browsers refuse the whole address.
func HasUsablePort(address *url.URL) bool {
	if address.Port() == "" {
		return true
	}
	_, err := strconv.ParseUint(address.Port(), 10, 16)
	return err == nil
}
