package checkout

import (
	"net/netip"
	"testing"
	"time"
)

func TestAddressesAreBoundedByTheirNetwork(t *testing.T) {
	c, now := newAddressLimits(creationsPerMinute), time.Unix(1_000_000, 0)
	allowed := func(source string, at time.Time) bool {
		address := netip.Addr{}
		if source != "" {
			address = netip.MustParseAddr(source)
		}
		return c.allowAt(address, at)
	}
	for range creationsPerMinute {
		for _, source := range []string{"192.0.2.1", "2001:db8::1", ""} {
			if !allowed(source, now) {
				t.Errorf("%q is refused early", source)
			}
		}
	}
	for source, want := range map[string]bool{
		"192.0.2.1": false, "::ffff:192.0.2.1": false, "192.0.2.2": true, "2001:db8::ffff:1": false, "2001:db8:0:1::1": true, "2001:db8::1%eth0": false, "": false,
	} {
		if got := allowed(source, now); got != want {
			t.Errorf("%q: allowed %v, want %v", source, got, want)
		}
	}
	later := now.Add(time.Minute / creationsPerMinute)
	if !allowed("192.0.2.1", later) || allowed("192.0.2.1", later) {
		t.Error("one more payment is allowed after a tenth of a minute")
	}
}

func TestStoredAddressesAreBounded(t *testing.T) {
	c, now := newAddressLimits(creationsPerMinute), time.Unix(1_000_000, 0)
	for i := range maxAddresses + 10 {
		c.allowAt(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now)
		if len(c.addresses) > maxAddresses {
			t.Fatalf("%d addresses are stored", len(c.addresses))
		}
		if i == maxAddresses {
			now = now.Add(time.Hour) // all of them may be forgotten
		}
	}
	if len(c.addresses) > 20 {
		t.Errorf("%d addresses are stored after an hour", len(c.addresses))
	}
}
