package ledgerapi

import (
	"context"
	"sync"
	"time"

	"mizan/ledger"
)

// Bounds of a watch. Its times are read from the system clock, not from Config.Clock.
const (
	maxWatched = 8                      // organizations that are watched
	watchTime  = 10 * time.Minute       // an organization is watched for this time after its last reader came
	watchEvery = 400 * time.Millisecond // time between two updates; less than half of the age at which a page updates the sums
)

// sumRefresher updates sums of groups of accounts in the background. A page that shows sums then finds them ready, and need not
// add the events since the previous page itself. Only the sums of organizations that had a reader recently are updated.
type sumRefresher struct {
	extend func(ledger.ID) error
	every  time.Duration // watchEvery; tests set it before the first call of see
	ctx    context.Context
	end    context.CancelFunc
	ended  sync.WaitGroup

	mu      sync.Mutex
	until   map[ledger.ID]time.Time
	running bool
}

func newSumRefresher(extend func(ledger.ID) error) *sumRefresher {
	w := &sumRefresher{extend: extend, every: watchEvery, until: make(map[ledger.ID]time.Time)}
	w.ctx, w.end = context.WithCancel(context.Background())
	return w
}

// keepFresh begins or continues to watch an organization. If too many other organizations are watched, it does nothing.
func (w *sumRefresher) keepFresh(org ledger.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, isWatched := w.until[org]; !isWatched && len(w.until) >= maxWatched {
		return
	}
	w.until[org] = time.Now().Add(watchTime)
	if !w.running && w.ctx.Err() == nil {
		w.running = true
		w.ended.Go(w.run)
	}
}

// run updates the sums of the watched organizations until no organization is watched. The first update is immediate, because it
// has to add all events since the last watch, which takes longest, and a page may need the sums soon.
func (w *sumRefresher) run() {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for watched := w.watched(time.Now()); watched != nil; watched = w.watched(time.Now()) {
		for _, org := range watched {
			// The error need not be reported here: the next page that reads the sums gets the same error.
			if w.ctx.Err() != nil || w.extend(org) != nil {
				break
			}
		}
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// watched returns the watched organizations. If there are none, it returns nil, and run must end.
func (w *sumRefresher) watched(now time.Time) (orgs []ledger.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for org, until := range w.until {
		if now.After(until) {
			delete(w.until, org)
			continue
		}
		orgs = append(orgs, org)
	}
	w.running = orgs != nil
	return orgs
}

// close ends the watch and waits until run has stopped reading the journal.
func (w *sumRefresher) close() {
	w.mu.Lock()
	w.end()
	w.mu.Unlock()
	w.ended.Wait()
}
