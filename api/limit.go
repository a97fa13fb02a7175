package api

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"mizan/api/web"
	"mizan/ledger"
)

// maxLimiters bounds how many rate limiters are in memory. A key whose limiter was removed gets a new one with a full burst, as
// after a long idle time.
const maxLimiters = 65_536

// limits allows each key (of a partner or of a session) a number of requests per second. It uses real time, because callers would
// be refused forever while a manual clock stands still. A nil *limits allows all requests.
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

// limitedBy returns the id whose rate limit applies to a request: the id of the partner's API key, or of the session of a person
// who acts as a partner. To make a page, the console calls the API inside the process. These calls, in which req.Grant is set,
// are not limited; only the request for the page counts.
func limitedBy(req *web.Request) (id ledger.ID, isLimited bool) {
	who := &req.Principal
	switch {
	case req.Grant != nil:
		return id, false
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

// makeRoom removes the limiters of all keys whose burst is full again. If that removes none, it removes the limiter of an
// arbitrary key.
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
