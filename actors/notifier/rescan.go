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

// noticeSearch is the state of a search for an organization's unsettled notices. A notice is unsettled if it has
// no acknowledgement and its delivery has no row of its own.
type noticeSearch struct {
	org         ledger.ID
	destination *destinationKey // only notices of this destination are offered; nil for all
	nextPage    ledger.Micros   // page to continue from; 0 to begin at the cursor (all notices before it have stored results)
	upTo        ledger.Micros   // the last page to be searched

	afterPanic bool // the search follows a panic, so it also looks for deliveries that wait in the store
	hasBegun   bool
	failures   int // number of times that this search has failed
}

// key returns the destination of the search. If the search is for all destinations, the key has only the
// organization.
func (n *noticeSearch) key() destinationKey {
	if n.destination != nil {
		return *n.destination
	}
	return destinationKey{org: n.org}
}

// panics counts consecutive panics. A panic loses the notices in memory, so a search must find them
// again. The search after a repeated panic is delayed, because each search may cause duplicate
// notifications.
type panics struct {
	mu            sync.Mutex
	byDestination map[destinationKey]*panicRecord // guarded by mu
}

type panicRecord struct {
	earlierPanics   int       // consecutive panics before the last one
	lastPanic       time.Time // real time of the last panic
	searchScheduled bool      // a search is scheduled and has not begun
}

// forgetPanicAfter is the time after which an earlier panic no longer counts.
const forgetPanicAfter = 10 * time.Minute

// add records a panic. It returns the number of consecutive panics before this one. If searchScheduled is true, no
// other search is needed: one is already scheduled, and will also find the notices that this panic has lost.
func (p *panics) add(k destinationKey, now time.Time) (earlierPanics int, searchScheduled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, record := range p.byDestination {
		if !record.searchScheduled && now.Sub(record.lastPanic) > forgetPanicAfter {
			delete(p.byDestination, other)
		}
	}
	record := p.byDestination[k]
	if record == nil {
		record = new(panicRecord)
		p.byDestination[k] = record
	} else if !record.searchScheduled {
		record.earlierPanics++
	}
	searchScheduled = record.searchScheduled
	record.lastPanic, record.searchScheduled = now, true
	return record.earlierPanics, searchScheduled
}

// searchStarted records that the search has begun. If a panic follows later, another search is needed.
func (p *panics) searchStarted(k destinationKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if record := p.byDestination[k]; record != nil {
		record.searchScheduled = false
	}
}

// After a panic has lost the notices in memory, rescan offers again the notices that have no stored result. It does so for
// one destination, or for the whole organization if destination is nil. Some notices may be sent twice. After the first
// panic the search starts at once; after repeated panics it is delayed.
func (s *Service) rescan(org ledger.ID, destination *destinationKey) {
	if s.stopping.Load() || s.runtime.Journal.IsElsewhere(org) {
		return
	}
	s.rescanned.Store(true)
	search := &noticeSearch{org: org, destination: destination, upTo: lastPage, afterPanic: true}
	switch earlierPanics, searchScheduled := s.panics.add(search.key(), time.Now()); {
	case searchScheduled:
	case earlierPanics == 0:
		s.search(search)
	default:
		s.runtime.ScheduleRetry(earlierPanics-1, func() { s.search(search) })
	}
}

// Arrive begins the deliveries of an organization that was moved into this store, or that was to be moved and has stayed.
func (s *Service) Arrive(org ledger.ID) { s.rescan(org, nil) }

// search runs a search in the background. If the search fails, it is continued after a delay in real time.
func (s *Service) search(search *noticeSearch) {
	job := func() {
		err := errPanicked
		defer func() {
			if err != nil {
				s.searchLater(search, err)
			}
		}()
		if search.afterPanic && !search.hasBegun {
			s.panics.searchStarted(search.key())
		}
		search.hasBegun = true
		if err = s.offerWithoutResult(search); err == nil && search.afterPanic {
			err = s.wakeDestinations(search)
		}
	}
	if err := s.runtime.Go(job); err != nil {
		s.searchLater(search, err)
	}
}

func (s *Service) searchLater(search *noticeSearch, err error) {
	if s.stopping.Load() || s.runtime.Journal.IsElsewhere(search.org) {
		return
	}
	s.runtime.Log.Error("the notices of a journal cannot be read; the search is repeated", "organization", search.org.String(), "error", err)
	s.rescanned.Store(true) // some notices of the page that the search has reached may have been offered already
	failures := search.failures
	search.failures++
	s.runtime.ScheduleRetry(failures, func() { s.search(search) })
}

// offerWithoutResult offers the notices without a stored result to their destinations. Notices that do not fit in memory
// are stored as waiting deliveries.
func (s *Service) offerWithoutResult(search *noticeSearch) error {
	for more := true; more && !s.stopping.Load() && !s.runtime.Journal.IsElsewhere(search.org); {
		if search.nextPage == 0 {
			from, err := s.cursor(search.org)
			if err != nil {
				return err
			}
			search.nextPage = from
		}
		var found []posting.Notice
		next, hasMore, err := s.eachWithoutResult(search.org, search.nextPage, search.upTo, func(n *posting.Notice) bool {
			if search.destination == nil || keyOf(search.org, n) == *search.destination {
				copied := *n
				copied.Body = append([]byte(nil), n.Body...)
				found = append(found, copied)
			}
			return true
		})
		if err != nil {
			return err
		}
		s.offer(search.org, found)
		search.nextPage, more = next, hasMore
	}
	return nil
}

// wakeDestinations wakes the destinations that have waiting deliveries in the store, because a panic may have
// lost their timers.
func (s *Service) wakeDestinations(search *noticeSearch) error {
	if search.destination != nil {
		s.destinations.Tell(*search.destination, deliveriesDue{})
		return nil
	}
	view := s.runtime.Journal.View()
	defer view.Close()
	now := ledger.MicrosOf(s.runtime.Clock.Now())
	return s.loadRetries(view, search.org, func(k destinationKey, at ledger.Micros) {
		if at <= now { // at once, because nothing else wakes the destination while the clock stands still
			s.destinations.Tell(k, deliveriesDue{at})
			return
		}
		s.timers.set(k, at)
	})
}
