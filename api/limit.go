package api

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"mizan/api/web"
	"mizan/ledger"
)

// maxLimiters bounds the number of rate limiters in memory. If the limiter of a key was removed, the key gets a new limiter
// with a full burst, like after a long idle time.
const maxLimiters = 65_536

// limits allows each key (the id of an API key or of a session) a number of requests per second. It uses real time, because
// callers would be refused forever while a manual clock stands still. A nil *limits allows all requests.
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

// limitedBy returns the id whose rate limit applies to a request: the id of the partner's API key, or of the session of a
// person who acts as a partner. For a page, the console makes further calls of the API inside the process. These calls, in
// which req.Grant is set, are not limited, because the request for the page has been counted already.
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

// allow tells whether the key may make one more request now, and counts this request. The burst is as many
// requests as are allowed in two seconds.
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

// makeRoom removes the limiters of all keys that were not used for so long that their burst is full again. If there is
// still no room, it removes the limiter of an arbitrary key.
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
