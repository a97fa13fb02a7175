package webhook

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"testing"

	"code.dny.dev/ssrf"

	"mizan/ledger/directory"
)

// settable tells whether an address may be set as a notification address when private ones may not.
func settable(ip netip.Addr) bool {
	host := ip.String()
	if ip.Is6() {
		host = "[" + host + "]"
	}
	_, _, err := directory.NewPartner(directory.Partner{Number: 1, Name: "n", Login: "l", NotifyURL: "https://" + host + "/", Active: true}, false)
	return err == nil
}

// edges returns the first and last address of a prefix, and their neighbours outside.
func edges(p netip.Prefix) []netip.Addr {
	first := p.Masked().Addr()
	raw := first.AsSlice()
	for bit := p.Bits(); bit < len(raw)*8; bit++ {
		raw[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(raw)
	return slices.DeleteFunc([]netip.Addr{first.Prev(), first, last, last.Next()}, func(ip netip.Addr) bool { return !ip.IsValid() })
}

// Two tables refuse addresses, one when an address is set and one when it is dialled, because the
// first must not import the library of the second. They must agree.
func TestAllowedURLsAgreeWithAllowedDials(t *testing.T) {
	t.Parallel()
	seed := uint64(rand.Uint32())
	if text := os.Getenv("MIZAN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
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
		var four [4]byte
		var six [16]byte
		for i := range six {
			four[i%4], six[i] = byte(random.Uint32()), byte(random.Uint32())
		}
		six[0] = six[0]&0x1f | byte(1+random.IntN(3))<<5 // a third of them in 2000::/3, where addresses are allocated
		addresses = append(addresses, netip.AddrFrom4(four), netip.AddrFrom16(six))
	}
	check := guard()
	for _, ip := range addresses {
		dialled := check("tcp4", netip.AddrPortFrom(ip, 443).String(), nil) == nil
		if set := settable(ip); set != dialled {
			t.Errorf("seed %d: %v may be set: %t, dialled: %t", seed, ip, set, dialled)
		}
	}
	if !settable(netip.MustParseAddr("8.8.8.8")) || settable(netip.MustParseAddr("10.0.0.1")) {
		t.Error("nothing was compared")
	}
}
