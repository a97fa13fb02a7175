package checkout

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of what one address may do on payers' pages, in real time.
const (
	creationsPerMinute = 10     // payments that it begins at links and products
	attemptsPerMinute  = 20     // cards that it sends
	maxAddresses       = 65_536 // addresses with a stored limiter, for each bound
)

// addressLimits allows each address a number of requests a minute. Addresses of IPv6 count by their network, of which a
// visitor has many addresses.
type addressLimits struct {
	perMinute int

	mu        sync.Mutex
	addresses map[netip.Prefix]*rate.Limiter // guarded by mu
}

func newAddressLimits(perMinute int) *addressLimits {
	return &addressLimits{perMinute: perMinute, addresses: make(map[netip.Prefix]*rate.Limiter)}
}

// allow tells whether the address may make one more request now, and counts that request.
func (l *addressLimits) allow(source netip.Addr) bool { return l.allowAt(source, time.Now()) }

func (l *addressLimits) allowAt(source netip.Addr, now time.Time) bool {
	bits := 32
	if source = source.Unmap(); source.Is6() {
		bits = 64
	}
	key, _ := source.WithZone("").Prefix(bits) // an unknown address has the zero prefix
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.addresses[key]
	if limiter == nil {
		if len(l.addresses) >= maxAddresses {
			l.makeRoom(now)
		}
		limiter = rate.NewLimiter(rate.Every(time.Minute/time.Duration(l.perMinute)), l.perMinute)
		l.addresses[key] = limiter
	}
	return limiter.AllowN(now, 1)
}

// makeRoom removes the limiters of addresses that have requested nothing for a minute. If there are none, it removes the
// limiter of any address.
func (l *addressLimits) makeRoom(now time.Time) {
	for key, limiter := range l.addresses {
		if limiter.TokensAt(now) >= float64(l.perMinute) {
			delete(l.addresses, key)
		}
	}
	for key := range l.addresses {
		if len(l.addresses) < maxAddresses {
			return
		}
		delete(l.addresses, key)
	}
}
