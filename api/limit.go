package api

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"mizan/api/auth"
	"mizan/ledger"
)

// maxLimiters bounds how many keys have a stored limiter. A key without one starts with a full burst, as after a long
// idle time.
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

// limitedBy returns the id under which a request's rate is limited: that of the partner's API key, or of the
// session of a person who acts as a partner.
func limitedBy(who *auth.Principal) (id ledger.ID, isLimited bool) {
	switch {
	case who.Key != nil:
		return who.Key.ID, true
	case who.Partner != nil && who.Session != nil:
		return who.Session.ID, true
	}
	return id, false
}

// allow tells whether the key may make one more request, and counts that request. The burst is twice the rate.
func (l *limits) allow(key ledger.ID, now time.Time) bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.keys[key]
	if limiter == nil {
		if len(l.keys) >= maxLimiters {
			l.makeRoom(now)
		}
		limiter = rate.NewLimiter(rate.Limit(l.perSecond), 2*l.perSecond)
		l.keys[key] = limiter
	}
	return limiter.AllowN(now, 1)
}

// makeRoom removes the limiters of all keys whose burst is full again. If there are none, it removes the limiter
// of any key.
func (l *limits) makeRoom(now time.Time) {
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
