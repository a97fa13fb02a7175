package checkout

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of the payments that one address may begin on public pages, in real time.
const (
	creationsPerMinute = 10
	maxAddresses       = 65_536 // addresses with a stored limiter
)

// creations allows each address a number of new payments a minute. Addresses of IPv6 count by their network, of which a
// visitor has many addresses.
type creations struct {
	mu        sync.Mutex
	addresses map[netip.Prefix]*rate.Limiter // guarded by mu
}

func newCreations() *creations {
	return &creations{addresses: make(map[netip.Prefix]*rate.Limiter)}
}

// allow tells whether the address may begin one more payment now, and counts that payment.
func (c *creations) allow(source netip.Addr) bool { return c.allowAt(source, time.Now()) }

func (c *creations) allowAt(source netip.Addr, now time.Time) bool {
	bits := 32
	if source = source.Unmap(); source.Is6() {
		bits = 64
	}
	key, _ := source.WithZone("").Prefix(bits) // an unknown address has the zero prefix
	c.mu.Lock()
	defer c.mu.Unlock()
	limiter := c.addresses[key]
	if limiter == nil {
		if len(c.addresses) >= maxAddresses {
			c.makeRoom(now)
		}
		limiter = rate.NewLimiter(rate.Every(time.Minute/creationsPerMinute), creationsPerMinute)
		c.addresses[key] = limiter
	}
	return limiter.AllowN(now, 1)
}

// makeRoom removes the limiters of addresses that have begun nothing for a minute. If there are none, it removes the
// limiter of any address.
func (c *creations) makeRoom(now time.Time) {
	for key, limiter := range c.addresses {
		if limiter.TokensAt(now) >= creationsPerMinute {
			delete(c.addresses, key)
		}
	}
	for key := range c.addresses {
		if len(c.addresses) < maxAddresses {
			return
		}
		delete(c.addresses, key)
	}
}
