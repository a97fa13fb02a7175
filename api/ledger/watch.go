package ledgerapi

import (
	"context"
	"sync"
	"time"

	"mizan/ledger"
)

// Bounds of a watch; times are real time.
const (
	maxWatched = 8                      // organizations that are watched
	watchTime  = 10 * time.Minute       // an organization is watched for this time after a reader was here last
	watchEvery = 400 * time.Millisecond // how often the sums of watched organizations are extended; less than half of the time after which a page does so itself
)

// watch extends the sums of groups of accounts in the background while somebody who reads them is here, so that a page finds them
// ready and does not sum the events since the last page itself. It reads nothing for an organization whose readers are away.
type watch struct {
	extend func(ledger.ID) error
	ctx    context.Context
	end    context.CancelFunc
	ended  sync.WaitGroup

	mu      sync.Mutex
	until   map[ledger.ID]time.Time
	running bool
}

func newWatch(extend func(ledger.ID) error) *watch {
	w := &watch{extend: extend, until: make(map[ledger.ID]time.Time)}
	w.ctx, w.end = context.WithCancel(context.Background())
	return w
}

// see begins to watch an organization, or continues to do so, unless too many are watched.
func (w *watch) see(org ledger.ID) {
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

// run extends the sums of the watched organizations until there are none. It extends them at once for the first time, because the
// sums since the last watch take longest and may be read soon.
func (w *watch) run() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for watched := w.watched(time.Now()); watched != nil; watched = w.watched(time.Now()) {
		for _, org := range watched {
			// A page that reads the sums reports the error.
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

// watched returns the watched organizations. If there are none, run must end.
func (w *watch) watched(now time.Time) (orgs []ledger.ID) {
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

// close ends the watch and waits until it reads the journal no more.
func (w *watch) close() {
	w.mu.Lock()
	w.end()
	w.mu.Unlock()
	w.ended.Wait()
}
