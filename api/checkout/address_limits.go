package checkout

import (
	"net/netip"
	"sync"
	"time"
)

// Bounds of what one address may do on payers' pages, in real time.
const (
	creationsPerMinute = 10     // payments that it begins at links and products
	attemptsPerMinute  = 20     // cards that it sends
	maxAddresses       = 65_536 // addresses whose requests are remembered, for each bound
)

// addressLimits allows each address a number of requests a minute. Addresses of IPv6 count by their network, of which a
// visitor has many addresses.
type addressLimits struct {
	perMinute int

	mu        sync.Mutex
	addresses map[netip.Prefix]*requestTimes // guarded by mu
}

// requestTimes has the times of an address's last requests, at most as many as a minute allows.
type requestTimes struct {
	times []time.Time // in a ring
	next  int         // index of the oldest time, which the next request replaces
}

func newAddressLimits(perMinute int) *addressLimits {
	return &addressLimits{perMinute: perMinute, addresses: make(map[netip.Prefix]*requestTimes)}
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
	requests := l.addresses[key]
	if requests == nil {
		if len(l.addresses) >= maxAddresses {
			l.makeRoom(now)
		}
		requests = &requestTimes{times: make([]time.Time, l.perMinute)}
		l.addresses[key] = requests
	}
	oldest := &requests.times[requests.next]
	if now.Sub(*oldest) < time.Minute {
		return false
	}
	*oldest = now
	requests.next = (requests.next + 1) % l.perMinute
	return true
}

// isIdle tells whether the address has requested nothing for a minute.
func (r *requestTimes) isIdle(now time.Time) bool {
	newest := r.times[(r.next+len(r.times)-1)%len(r.times)]
	return now.Sub(newest) >= time.Minute
}

// makeRoom forgets the addresses that have requested nothing for a minute. If there are none, it forgets any address.
func (l *addressLimits) makeRoom(now time.Time) {
	for key, requests := range l.addresses {
		if requests.isIdle(now) {
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
