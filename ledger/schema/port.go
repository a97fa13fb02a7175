package schema

import (
	"net/url"
	"strconv"
)

// HasUsablePort tells whether an address has no port, or a port that fits into 16 bits (RFC 9293, 3.1). url.Parse accepts an
// address with a larger port, but browsers do not open it.
func HasUsablePort(address *url.URL) bool {
	if address.Port() == "" {
		return true
	}
	_, err := strconv.ParseUint(address.Port(), 10, 16)
	return err == nil
}
