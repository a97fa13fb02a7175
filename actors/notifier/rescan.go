package notifier

import (
	"errors"
	"sync"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// errPanicked is the result of a search that panicked.
var errPanicked = errors.New("it panicked")

// search is the state of a search through an organization's notices for those that are neither marked
// nor kept.
type search struct {
	org  ledger.ID
	only *key          // only this destination; nil: all
	from ledger.Micros // page that the search has reached; 0: it starts at the cursor
	upTo ledger.Micros // the last page that it looks at

	afterPanic bool // a panic caused it, so it also looks for deliveries that wait in the store
	begun      bool
	times      int // number of times that this search has failed
}

// key returns the destination, or the organization if the search is for all of them.
func (l *search) key() key {
	if l.only != nil {
		return *l.only
	}
	return key{org: l.org}
}

// panics counts consecutive panics that lose what is in memory. The search after a repeated panic is
// delayed, because each search may cause duplicate notifications.
type panics struct {
	mu            sync.Mutex
	byDestination map[key]*panicRecord // guarded by mu
}

type panicRecord struct {
	times     int       // consecutive panics before the last one
	last      time.Time // time of the last one, in real time
	scheduled bool      // a search is scheduled and has not begun
}

// forgetPanic is the time after which an earlier panic no longer counts.
const forgetPanic = 10 * time.Minute

// add records a panic. It returns how many consecutive panics came before it, and whether a search is
// already scheduled, which will also find what this panic has lost.
func (p *panics) add(k key, now time.Time) (times int, scheduled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, record := range p.byDestination {
		if !record.scheduled && now.Sub(record.last) > forgetPanic {
			delete(p.byDestination, other)
		}
	}
	record := p.byDestination[k]
	if record == nil {
		record = new(panicRecord)
		p.byDestination[k] = record
	} else if !record.scheduled {
		record.times++
	}
	scheduled = record.scheduled
	record.last, record.scheduled = now, true
	return record.times, scheduled
}

// searchStarted records that the search has begun: a later panic needs another search.
func (p *panics) searchStarted(k key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if record := p.byDestination[k]; record != nil {
		record.scheduled = false
	}
}

// rescan offers unsettled notices again after a panic has lost what was in memory, for one
// destination or for an organization. Some notices may be sent twice. After the first panic the
// search starts at once; after repeated ones it is delayed.
func (s *Service) rescan(org ledger.ID, only *key) {
	if s.stopping.Load() {
		return
	}
	s.rescanned.Store(true)
	l := &search{org: org, only: only, upTo: lastPage, afterPanic: true}
	switch times, scheduled := s.panics.add(l.key(), time.Now()); {
	case scheduled:
	case times == 0:
		s.search(l)
	default:
		s.rt.ScheduleRetry(times-1, func() { s.search(l) })
	}
}

// search searches in the background. If it fails, it continues later, by real time.
func (s *Service) search(l *search) {
	job := func() {
		err := errPanicked
		defer func() {
			if err != nil {
				s.searchLater(l, err)
			}
		}()
		if l.afterPanic && !l.begun {
			s.panics.searchStarted(l.key())
		}
		l.begun = true
		if err = s.offerUnsettled(l); err == nil && l.afterPanic {
			err = s.wakeDestinations(l)
		}
	}
	if err := s.rt.Go(job); err != nil {
		s.searchLater(l, err)
	}
}

func (s *Service) searchLater(l *search, err error) {
	if s.stopping.Load() {
		return
	}
	s.rt.Log.Error("notices of a journal cannot be read, and are looked for again", "organization", l.org.String(), "error", err)
	s.rescanned.Store(true) // some notices of the page that the search has reached may have been offered already
	times := l.times
	l.times++
	s.rt.ScheduleRetry(times, func() { s.search(l) })
}

// offerUnsettled offers the notices of pages up to upTo that are neither marked nor kept. Those
// that do not fit in memory are written to the store as waiting.
func (s *Service) offerUnsettled(l *search) error {
	for more := true; more && !s.stopping.Load(); {
		if l.from == 0 {
			from, err := s.cursor(l.org)
			if err != nil {
				return err
			}
			l.from = from
		}
		var found []posting.Notice
		next, further, err := s.unsettled(l.org, l.from, l.upTo, func(n *posting.Notice) bool {
			if l.only == nil || keyOf(l.org, n) == *l.only {
				copied := *n
				copied.Body = append([]byte(nil), n.Body...)
				found = append(found, copied)
			}
			return true
		})
		if err != nil {
			return err
		}
		s.offer(l.org, found)
		l.from, more = next, further
	}
	return nil
}

// wakeDestinations wakes the destinations of deliveries that wait in the store, whose timers a panic may
// have lost.
func (s *Service) wakeDestinations(l *search) error {
	if l.only != nil {
		s.destinations.Tell(*l.only, deliveriesDue{})
		return nil
	}
	view := s.rt.Journal.View()
	defer view.Close()
	now := ledger.MicrosOf(s.rt.Clock.Now())
	return s.loadRetries(view, l.org, func(k key, at ledger.Micros) {
		if at <= now { // because nothing else wakes them while the clock stands still
			s.destinations.Tell(k, deliveriesDue{at})
			return
		}
		s.timers.set(k, at)
	})
}
