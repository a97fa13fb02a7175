package courier

import (
	"net/netip"
	"net/url"
	"syscall"

	"code.dny.dev/ssrf"
)

// destination is what a connection is opened for.
type destination struct {
	secure bool
	host   string // a name or an address, without brackets
	port   string
}

// address is a parcel's URL, taken apart.
type address struct {
	destination
	authority string // as the Host header has it
	target    string // path and query
}

// parse takes a URL apart. It was checked when it was set; what could break out of
// the request's first lines is refused here again.
func parse(text string) (*address, bool) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Hostname() == "" {
		return nil, false
	}
	a := &address{destination: destination{host: u.Hostname(), port: u.Port()}, authority: u.Host, target: u.RequestURI()}
	switch u.Scheme {
	case "https":
		a.secure = true
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
	return a, printable(a.authority) && printable(a.target)
}

func printable(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// azureMetadata answers every machine of one large host, and is in no registry.
var azureMetadata = netip.MustParsePrefix("168.63.129.16/32")

// guard refuses to connect to what is not on the internet, whatever its port. It
// sees the address that is dialled.
func guard() func(network, address string, _ syscall.RawConn) error {
	return ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azureMetadata)).Safe
}
