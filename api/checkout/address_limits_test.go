package checkout

import (
	"math/rand/v2"
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
		return c.waitAt(address, at) == 0
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
	if allowed("192.0.2.1", now.Add(time.Minute-time.Nanosecond)) || !allowed("192.0.2.1", now.Add(time.Minute)) {
		t.Error("a minute after its requests an address may make them again, and not before")
	}
}

// address returns one of many addresses.
func address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}

func TestStoredAddressesAreBounded(t *testing.T) {
	c, now := newAddressLimits(creationsPerMinute), time.Unix(1_000_000, 0)
	for i := range 2 * maxAddresses {
		c.waitAt(address(i), now)
		if len(c.newer)+len(c.older) > maxAddresses {
			t.Fatalf("%d addresses are stored", len(c.newer)+len(c.older))
		}
	}
	for range 2 { // after two minutes all these addresses are forgotten
		now = now.Add(time.Minute)
		c.waitAt(address(0), now)
	}
	if stored := len(c.newer) + len(c.older); stored > 2 {
		t.Errorf("%d addresses are stored after their minutes", stored)
	}
}

// An address remains refused for its minute, even if many other addresses send requests meanwhile.
func TestABusyAddressIsRememberedAmongOthers(t *testing.T) {
	c, now := newAddressLimits(creationsPerMinute), time.Unix(1_000_000, 0)
	busy := netip.MustParseAddr("192.0.2.1")
	for range creationsPerMinute {
		c.waitAt(busy, now)
	}
	for i := range maxAddresses/2 - 1 {
		c.waitAt(address(i), now.Add(time.Duration(i)*time.Millisecond))
	}
	if c.waitAt(busy, now.Add(time.Minute-time.Nanosecond)) != time.Nanosecond {
		t.Error("the address was forgotten")
	}
}

// When the maximum number of addresses is stored, a new address does not cause a pass over all of them. With such a pass this
// test would take minutes.
func TestANewAddressCostsNoPassOverTheOthers(t *testing.T) {
	c, now := newAddressLimits(creationsPerMinute), time.Unix(1_000_000, 0)
	for i := range maxAddresses {
		c.waitAt(address(i), now)
	}
	const more, most = 10_000, 5 * time.Second
	began := time.Now()
	for i := range more {
		c.waitAt(address(maxAddresses+i), now)
	}
	if took := time.Since(began); took > most {
		t.Errorf("%d new addresses take %v", more, took)
	}
}

func TestNoMinuteHasMoreRequestsThanAllowed(t *testing.T) {
	l, start := newAddressLimits(creationsPerMinute), time.Unix(1_000_000, 0)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	var allowedAt []time.Time
	source := netip.MustParseAddr("192.0.2.1")
	for now := start; now.Sub(start) < time.Hour; now = now.Add(time.Duration(random.Int64N(int64(12 * time.Second)))) {
		if l.waitAt(source, now) == 0 {
			allowedAt = append(allowedAt, now)
		}
		if n := len(allowedAt); n > creationsPerMinute && allowedAt[n-1].Sub(allowedAt[n-1-creationsPerMinute]) < time.Minute {
			t.Fatalf("seed %d: %d requests within a minute", seed, creationsPerMinute+1)
		}
	}
	if len(allowedAt) < 500 {
		t.Errorf("seed %d: only %d requests in an hour", seed, len(allowedAt))
	}
}
