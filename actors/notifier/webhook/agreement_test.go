package webhook

import (
	"net/netip"
	"slices"
	"testing"

	"code.dny.dev/ssrf"

	"mizan/internal/testseed"
	"mizan/ledger/directory"
)

// isSettable tells whether an address may be set as a notification address while private addresses are refused.
func isSettable(ip netip.Addr) bool {
	host := ip.String()
	if ip.Is6() {
		host = "[" + host + "]"
	}
	_, _, err := directory.NewPartner(directory.Partner{Number: 1, Name: "n", Login: "l", NotifyURL: "https://" + host + "/", Active: true}, false)
	return err == nil
}

// edges returns the first and last address of a prefix, and the neighbours of both outside the prefix.
func edges(p netip.Prefix) []netip.Addr {
	lowest := p.Masked().Addr()
	raw := lowest.AsSlice()
	for bit := p.Bits(); bit < len(raw)*8; bit++ {
		raw[bit/8] |= 1 << (7 - bit%8)
	}
	highest, _ := netip.AddrFromSlice(raw)
	return slices.DeleteFunc([]netip.Addr{lowest.Prev(), lowest, highest, highest.Next()}, func(ip netip.Addr) bool { return !ip.IsValid() })
}

// Private addresses are refused by ledger/directory when they are set, and by the ssrf library when they are dialled. Each
// of the two has its own table of private addresses, because ledger/directory must not import the library. The tables must
// agree.
func TestAllowedURLsAgreeWithAllowedDials(t *testing.T) {
	t.Parallel()
	random := testseed.Random(t)
	prefixes := slices.Concat(ssrf.IPv4DeniedPrefixes, ssrf.IPv6DeniedPrefixes, []netip.Prefix{ssrf.IPv6GlobalUnicast, ssrf.IPv6NAT64Prefix, azureMetadata})
	var addresses []netip.Addr
	for _, p := range prefixes {
		addresses = append(addresses, edges(p)...)
		for range 20 {
			raw := p.Addr().AsSlice()
			for bit := p.Bits(); bit < len(raw)*8; bit++ {
				raw[bit/8] |= byte(random.IntN(2)) << (7 - bit%8)
			}
			inside, _ := netip.AddrFromSlice(raw)
			addresses = append(addresses, inside)
		}
	}
	for range 2000 {
		var ipv4 [4]byte
		var ipv6 [16]byte
		for i := range ipv6 {
			ipv4[i%4], ipv6[i] = byte(random.Uint32()), byte(random.Uint32())
		}
		ipv6[0] = ipv6[0]&0x1f | byte(1+random.IntN(3))<<5 // a third of the IPv6 addresses in 2000::/3, where addresses are allocated
		addresses = append(addresses, netip.AddrFrom4(ipv4), netip.AddrFrom16(ipv6))
	}
	check := newDialGuard()
	for _, ip := range addresses {
		dialled := check("tcp4", netip.AddrPortFrom(ip, 443).String(), nil) == nil
		if settable := isSettable(ip); settable != dialled {
			t.Errorf("%v may be set: %t, dialled: %t", ip, settable, dialled)
		}
	}
	if !isSettable(netip.MustParseAddr("8.8.8.8")) || isSettable(netip.MustParseAddr("10.0.0.1")) {
		t.Error("nothing was compared")
	}
}
