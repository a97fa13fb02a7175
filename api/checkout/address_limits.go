package checkout

import (
	"net/netip"
	"sync"
	"time"

	"mizan/internal/source"
)

// Limits for the requests that one IP address sends to payers' pages. The minutes are real time, not the sandbox's clock.
const (
	creationsPerMinute = 10     // payments that an address may begin on pages of links and products
	attemptsPerMinute  = 20     // forms with a payment method that an address may send
	maxAddresses       = 65_536 // addresses whose requests are counted, for each of the two limits
)

// addressLimits allows each address a number of requests a minute. All addresses of one IPv6 network share one limit (see
// package source). There are two maps of addresses, because it would be expensive to remove addresses one by one. A request
// puts its address into the newer map. When the newer map is full or a minute old, the older map is dropped as a whole, the
// newer map becomes the older one, and an empty map becomes the newer one. So an address is kept for at least a minute after
// its last request, unless maxAddresses/2 other addresses send requests in the meantime.
type addressLimits struct {
	perMinute int

	mu           sync.Mutex
	newer, older map[netip.Prefix]*requestTimes // guarded by mu
	began        time.Time                      // when the newer map was created; guarded by mu
}

// requestTimes contains the times of an address's latest requests: as many as are allowed in a minute.
type requestTimes struct {
	times []time.Time // a ring buffer
	next  int         // index of the oldest time, which the next request overwrites
}

func newAddressLimits(perMinute int) *addressLimits {
	return &addressLimits{perMinute: perMinute, newer: make(map[netip.Prefix]*requestTimes)}
}

// wait returns how long the address must wait before its next request is allowed. If the result is zero, the request is allowed
// now, and is counted as made.
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

// requestsOf returns the request times of an address, and moves them to the newer map.
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

// forget drops the older map, and begins a new one.
func (l *addressLimits) forget(now time.Time) {
	l.newer, l.older, l.began = make(map[netip.Prefix]*requestTimes), l.newer, now
}
