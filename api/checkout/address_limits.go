package checkout

import (
	"net/netip"
	"sync"
	"time"

	"mizan/internal/source"
)

// Bounds of what one address may do on payers' pages, in real time.
const (
	creationsPerMinute = 10     // payments that it begins at links and products
	attemptsPerMinute  = 20     // cards that it sends
	maxAddresses       = 65_536 // addresses whose requests are remembered, for each bound
)

// addressLimits allows each address a number of requests a minute. The addresses of one IPv6 network count
// together (package source). It remembers addresses in two generations, so that forgetting costs nothing: an address is added
// to the newer one and, when that is full or a minute old, the older one is forgotten as a whole. So an address is remembered
// for a minute, unless half of maxAddresses others come after it.
type addressLimits struct {
	perMinute int

	mu           sync.Mutex
	newer, older map[netip.Prefix]*requestTimes // guarded by mu
	began        time.Time                      // when the newer generation began; guarded by mu
}

// requestTimes has the times of an address's last requests, at most as many as a minute allows.
type requestTimes struct {
	times []time.Time // in a ring
	next  int         // index of the oldest time, which the next request replaces
}

func newAddressLimits(perMinute int) *addressLimits {
	return &addressLimits{perMinute: perMinute, newer: make(map[netip.Prefix]*requestTimes)}
}

// wait returns how long the address must wait before it may make one more request. Zero means that it may make it now; the request then counts.
func (l *addressLimits) wait(address netip.Addr) time.Duration { return l.waitAt(address, time.Now()) }

func (l *addressLimits) waitAt(address netip.Addr, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	requests := l.requestsOf(source.Of(address), now)
	oldest := &requests.times[requests.next]
	if since := now.Sub(*oldest); since < time.Minute {
		return time.Minute - since
	}
	*oldest = now
	requests.next = (requests.next + 1) % l.perMinute
	return 0
}

// requestsOf returns the requests of a source, and moves them to the newer generation.
func (l *addressLimits) requestsOf(from netip.Prefix, now time.Time) *requestTimes {
	if now.Sub(l.began) >= time.Minute {
		l.forget(now)
	}
	if requests := l.newer[from]; requests != nil {
		return requests
	}
	requests := l.older[from]
	if requests == nil {
		requests = &requestTimes{times: make([]time.Time, l.perMinute)}
	}
	delete(l.older, from)
	if len(l.newer) >= maxAddresses/2 {
		l.forget(now)
	}
	l.newer[from] = requests
	return requests
}

// forget begins a generation, and forgets the older one.
func (l *addressLimits) forget(now time.Time) {
	l.newer, l.older, l.began = make(map[netip.Prefix]*requestTimes), l.newer, now
}
