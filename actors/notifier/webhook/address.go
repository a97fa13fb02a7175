package webhook

import (
	"net/netip"
	"net/url"
	"syscall"

	"code.dny.dev/ssrf"
)

// destination is a server to which a connection is opened.
type destination struct {
	usesTLS bool
	host    string // a name or an address, without brackets
	port    string
}

// parsedURL is a delivery's URL.
type parsedURL struct {
	destination
	authority string // for the Host header
	target    string // path and query
}

// parseURL parses a delivery's URL. If the URL is unusable, parseURL returns false. The URL was checked when
// it was set, but parseURL checks again that no character can break the request line or the headers.
func parseURL(text string) (*parsedURL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Hostname() == "" {
		return nil, false
	}
	a := &parsedURL{destination: destination{host: u.Hostname(), port: u.Port()}, authority: u.Host, target: u.RequestURI()}
	switch u.Scheme {
	case "https":
		a.usesTLS = true
		if a.port == "" {
			a.port = "443"
		}
	case "http":
		if a.port == "" {
			a.port = "80"
		}
	default:
		return nil, false
	}
	return a, isPrintable(a.authority) && isPrintable(a.target)
}

// isPrintable reports whether a text has only visible ASCII characters.
func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// azureMetadata is the address range of Azure's metadata service, which every machine at Azure can
// reach and which is in no registry of private addresses.
var azureMetadata = netip.MustParsePrefix("168.63.129.16/32")

// newDialGuard returns a function for net.Dialer.Control that refuses addresses that are not on the
// internet; any port is allowed. The function checks the address that is dialled, after the name look-up.
func newDialGuard() func(network, address string, _ syscall.RawConn) error {
	return ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azureMetadata)).Safe
}
