package balances

import (
	"sync"
	"sync/atomic"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// A page about the present may show an earlier moment if more than fewNewEvents events were booked since then, and if the
// moment is at most maxAge ago. When half of maxAge has passed, the first reader extends the sums, and the other readers do
// not wait for it.
const (
	fewNewEvents = 2_000
	maxAge       = time.Second
)

// groupCache caches the sums of groups for the organizations that were read most recently.
type groupCache struct {
	now func() time.Time // nil: time.Now

	mu   sync.Mutex
	orgs map[ledger.ID]*orgCache
	uses uint64 // number of calls of the method groupCache.of
}

// orgCache caches the sums of an organization's groups after the last event that a reader requested. It extends these sums by
// later events, so that no event is read twice.
type orgCache struct {
	org     ledger.ID
	lastUse uint64 // groupCache.uses at the last use of this orgCache

	mu      sync.Mutex // held while the sums are extended; guards the builder
	builder *groupBuilder

	latest      atomic.Pointer[groupSnapshot] // the builder's sums
	snapshotsMu sync.Mutex                    // guards recent and past
	recent      []*groupSnapshot              // the previous values of latest
	past        []*groupSnapshot              // snapshots that a reader requested when latest was already later
	currencies  currencyIndex

	pastMu sync.Mutex // held while the sums of a moment before latest are computed
}

// of returns the orgCache of an organization. If there is none, it makes one.
func (c *groupCache) of(org ledger.ID) *orgCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.orgs[org]
	if o == nil {
		if len(c.orgs) >= maxCachedOrgs {
			c.evict()
		}
		if c.orgs == nil {
			c.orgs = make(map[ledger.ID]*orgCache)
		}
		o = &orgCache{org: org}
		c.orgs[org] = o
	}
	c.uses++
	o.lastUse = c.uses
	return o
}

// evict removes the orgCache that was used least recently.
func (c *groupCache) evict() {
	var oldest *orgCache
	for _, o := range c.orgs {
		if oldest == nil || o.lastUse < oldest.lastUse {
			oldest = o
		}
	}
	delete(c.orgs, oldest.org)
}

func (c *groupCache) time() time.Time {
	if c.now != nil {
		return c.now()
	}
	return time.Now()
}

// PresentView opens a view with the function open, and returns the moment that a page about the present should show. The
// moment is the booked time of the last event. While many events are being booked, it may also be the booked time of an event
// that was the last one at most a second ago. The sums of groups at that moment are cached. If there is no event, the moment
// is 0. The caller must close the view.
func (r *Reader) PresentView(org ledger.ID, open func() *posting.View) (view *posting.View, at ledger.Micros, err error) {
	o := r.groups.of(org)
	now := r.groups.time() // read before the view is opened, so that no moment looks more recent than it is
	view = open()
	defer func() {
		if err != nil {
			view.Close()
			view = nil
		}
	}()
	head, _, err := view.Head(org)
	if err != nil {
		return view, 0, err
	}
	latest := o.latest.Load()
	switch age := latest.ageAt(now, head); {
	case age <= maxAge/2:
		return view, latest.booked, nil
	case age > maxAge:
		o.mu.Lock()
	case !o.mu.TryLock():
		return view, latest.booked, nil
	}
	defer o.mu.Unlock()
	// Another reader may have extended the sums in the meantime. A view that is opened now contains all events of these sums,
	// and few later ones.
	view.Close()
	now, view = r.groups.time(), open()
	if head, _, err = view.Head(org); err != nil {
		return view, 0, err
	}
	if latest = o.latest.Load(); latest.ageAt(now, head) <= maxAge/2 {
		return view, latest.booked, nil
	}
	latest, err = o.advance(view, head, now)
	if err != nil {
		return view, 0, err
	}
	return view, latest.booked, nil
}

// ageAt returns how long ago the moment's event was the last one of the organization. head is the last event in a view that
// was opened after the instant now. If the moment's event is still the last one, the age is 0. If a page about the present
// must not show the moment, the age is more than maxAge.
func (s *groupSnapshot) ageAt(now time.Time, head uint64) time.Duration {
	switch {
	case s == nil || s.readAt.IsZero() || s.seq > head || s.seq < head && head-s.seq <= fewNewEvents:
		return maxAge + 1
	case s.seq == head:
		return 0
	}
	return now.Sub(s.readAt)
}

// advance extends the latest sums to the event seq, and returns them. readAt is an instant at which that event was the last
// one, or zero if no such instant is known. The caller holds f.mu.
func (o *orgCache) advance(view *posting.View, seq uint64, readAt time.Time) (*groupSnapshot, error) {
	latest := o.latest.Load()
	booked, err := bookedAt(view, o.org, seq)
	if err != nil {
		return nil, err
	}
	builder := o.builder
	o.builder = nil // set again when the builder was extended; stays nil after an error
	if builder == nil || seq-builder.seq > fewEvents {
		started, err := startBuilder(view, o.org, seq, booked, latest)
		if err != nil {
			return nil, err
		}
		if builder == nil || builder.seq != started.seq {
			builder = started
		}
	}
	if err := builder.extend(view, seq); err != nil {
		return nil, err
	}
	s := builder.snapshot(booked)
	s.readAt = readAt
	o.builder = builder
	o.latest.Store(s)
	if latest != nil {
		o.snapshotsMu.Lock()
		o.recent = appendSnapshot(o.recent, latest)
		o.snapshotsMu.Unlock()
	}
	return s, nil
}

// cachedSnapshots returns the cached snapshots. One of them may be nil.
func (o *orgCache) cachedSnapshots() []*groupSnapshot {
	o.snapshotsMu.Lock()
	defer o.snapshotsMu.Unlock()
	snapshots := append([]*groupSnapshot{o.latest.Load()}, o.recent...)
	return append(snapshots, o.past...)
}

// at returns the sums after the last event booked at or before an instant.
func (o *orgCache) at(view *posting.View, booked ledger.Micros) (*groupSnapshot, error) {
	for _, s := range o.cachedSnapshots() {
		if s != nil && s.booked == booked {
			return s, nil // no other event has this booked time
		}
	}
	head, _, err := view.Head(o.org)
	if err != nil {
		return nil, err
	}
	seq, err := seqUntil(view, o.org, head, booked)
	if err != nil {
		return nil, err
	}
	s, err := o.advanceTo(view, seq)
	if s == nil && err == nil {
		s, err = o.compute(view, seq)
	}
	return s, err
}

// advanceTo returns the sums after the event seq. It returns nil if the latest sums already contain a later event.
func (o *orgCache) advanceTo(view *posting.View, seq uint64) (*groupSnapshot, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	latest := o.latest.Load()
	switch {
	case latest == nil || latest.seq < seq:
		return o.advance(view, seq, time.Time{})
	case latest.seq == seq:
		return latest, nil
	}
	return nil, nil
}

// compute returns the sums after an event that precedes the latest sums. It computes the sums of one moment at a time, so
// that many readers of the past leave processor time for payments.
func (o *orgCache) compute(view *posting.View, seq uint64) (*groupSnapshot, error) {
	o.pastMu.Lock()
	defer o.pastMu.Unlock()
	base := latestUpTo(o.cachedSnapshots(), seq)
	if base != nil && base.seq == seq {
		return base, nil
	}
	booked, err := bookedAt(view, o.org, seq)
	if err != nil {
		return nil, err
	}
	builder, err := startBuilder(view, o.org, seq, booked, base)
	if err != nil {
		return nil, err
	}
	if err := builder.extend(view, seq); err != nil {
		return nil, err
	}
	s := builder.snapshot(booked)
	o.snapshotsMu.Lock()
	o.past = appendSnapshot(o.past, s)
	o.snapshotsMu.Unlock()
	return s, nil
}
