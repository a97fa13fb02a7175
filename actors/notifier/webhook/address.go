package webhook

import (
	"net/netip"
	"net/url"
	"syscall"

	"code.dny.dev/ssrf"
)

// destination is what a connection is opened to.
type destination struct {
	secure bool
	host   string // a name or an address, without brackets
	port   string
}

// address is a delivery's URL, parsed.
type address struct {
	destination
	authority string // for the Host header
	target    string // path and query
}

// parse parses a URL. The URL was checked when it was set; parse refuses again what could break the
// first lines of the request.
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

// azureMetadata is the address range of Azure's metadata service, which every machine at Azure can
// reach and which is in no registry of private addresses.
var azureMetadata = netip.MustParsePrefix("168.63.129.16/32")

// guard returns a dial control function that refuses addresses that are not on the internet, on any
// port. It checks the address that is actually dialled.
func guard() func(network, address string, _ syscall.RawConn) error {
	return ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azureMetadata)).Safe
}
