package source

import (
	"net/netip"
	"testing"
)

func TestASourceIsAnAddressOrANetwork(t *testing.T) {
	for address, c := range map[string]struct{ source, site string }{
		"203.0.113.9":        {"203.0.113.9/32", "203.0.113.0/24"},
		"::ffff:203.0.113.9": {"203.0.113.9/32", "203.0.113.0/24"},
		"2001:db8:1:2::1":    {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"2001:db8:1:2::9":    {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"fe80::1%eth0":       {"fe80::/64", "fe80::/48"},
	} {
		a := netip.MustParseAddr(address)
		if source, site := Of(a), SiteOf(a); source.String() != c.source || site.String() != c.site {
			t.Errorf("%s: %v of %v, want %v of %v", address, source, site, c.source, c.site)
		}
	}
	if Of(netip.Addr{}) != (netip.Prefix{}) || SiteOf(netip.Addr{}) != (netip.Prefix{}) {
		t.Error("none is not one source")
	}
}
