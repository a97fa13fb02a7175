package source

import "net/netip"

// Of returns the source of an address: the IPv4 address itself, or the IPv6 network of 64 bits, which is the smallest network
// that an internet provider gives to a customer. The source of requests without an address is the zero prefix.
func Of(a netip.Addr) netip.Prefix { return prefixOf(a, 32, 64) }

// SiteOf returns the larger network that contains the address and likely belongs to one customer: an IPv4 network of 24 bits,
// or an IPv6 network of 48 bits, which internet providers give to a site.
func SiteOf(a netip.Addr) netip.Prefix { return prefixOf(a, 24, 48) }

func prefixOf(a netip.Addr, bits4, bits6 int) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := bits4
	if a.Is6() {
		bits = bits6
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
