package api

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"mizan/api/auth"
	"mizan/ledger"
)

// maxLimiters bounds the keys whose rate is stored. A key that was dropped starts with a full
// burst, like one that was idle for long enough.
const maxLimiters = 65_536

// limits allows each key a number of requests per second of real time, because a manual clock
// that stands still must not shut callers out. A nil *limits allows all requests.
type limits struct {
	perSecond int

	mu   sync.Mutex
	keys map[ledger.ID]*rate.Limiter // guarded by mu
}

func newLimits(perSecond int) *limits {
	if perSecond <= 0 {
		return nil
	}
	return &limits{perSecond: perSecond, keys: make(map[ledger.ID]*rate.Limiter)}
}

// limitedBy returns the key whose rate a request uses: a partner's API key, or the session of a
// person who acts as a partner.
func limitedBy(who *auth.Principal) (id ledger.ID, limited bool) {
	switch {
	case who.Key != nil:
		return who.Key.ID, true
	case who.Partner != nil && who.Session != nil:
		return who.Session.ID, true
	}
	return id, false
}

// allow takes one request from the key's rate; the burst is twice the rate.
func (l *limits) allow(key ledger.ID, now time.Time) bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.keys[key]
	if limiter == nil {
		if len(l.keys) >= maxLimiters {
			l.drop(now)
		}
		limiter = rate.NewLimiter(rate.Limit(l.perSecond), 2*l.perSecond)
		l.keys[key] = limiter
	}
	return limiter.AllowN(now, 1)
}

// drop makes room in the map: it removes the keys whose burst is full again and, if there are none,
// any other key.
func (l *limits) drop(now time.Time) {
	for key, limiter := range l.keys {
		if limiter.TokensAt(now) >= float64(2*l.perSecond) {
			delete(l.keys, key)
		}
	}
	for key := range l.keys {
		if len(l.keys) < maxLimiters {
			return
		}
		delete(l.keys, key)
	}
}
