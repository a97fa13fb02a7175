package notifier

import (
	"errors"
	"sync"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// errPanicked is what a search came to that did not come back.
var errPanicked = errors.New("it panicked")

// search is a look through an organization's notices for what nobody has settled.
type search struct {
	org  ledger.ID
	only *key          // of one destination; nil: of all
	from ledger.Micros // page that it has come to; 0: where the cursor is
	upTo ledger.Micros // the last page that it looks at

	fault bool // it was a fault that lost it: what waits in the store is looked for too
	begun bool
	times int // that it has failed
}

// key is the destination; without one, the organization.
func (l *search) key() key {
	if l.only != nil {
		return *l.only
	}
	return key{org: l.org}
}

// faults count the faults in a row that lose what is in memory, so that one that comes
// again and again rests in between: each may have something told twice.
type faults struct {
	mu sync.Mutex
	of map[key]*fault // guarded by mu
}

type fault struct {
	times int       // in a row, before the last one
	last  time.Time // when that was, in real time
	asked bool      // a search follows that has not begun
}

// forgetFault is after how long without another a fault is the first one again.
const forgetFault = 10 * time.Minute

// add notes a fault: how many came before it in a row, and whether the search that
// they have led to is still to come, which finds what this one has lost, too.
func (f *faults) add(k key, now time.Time) (times int, asked bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for other, one := range f.of {
		if !one.asked && now.Sub(one.last) > forgetFault {
			delete(f.of, other)
		}
	}
	one := f.of[k]
	if one == nil {
		one = new(fault)
		f.of[k] = one
	} else if !one.asked {
		one.times++
	}
	asked = one.asked
	one.last, one.asked = now, true
	return one.times, asked
}

// began says that the search has begun: what is lost from here on asks for another.
func (f *faults) began(k key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.of[k]; one != nil {
		one.asked = false
	}
}

// rescan offers what is not settled once more, after a fault has lost what was in
// memory: of one destination, or of all of an organization. Some of it may be told
// twice. After the first fault that is at once; one that comes again rests before.
func (s *Service) rescan(org ledger.ID, only *key) {
	if s.stopping.Load() {
		return
	}
	s.rescanned.Store(true)
	l := &search{org: org, only: only, upTo: lastPage, fault: true}
	switch times, asked := s.faults.add(l.key(), time.Now()); {
	case asked:
	case times == 0:
		s.search(l)
	default:
		s.rt.Later(times-1, func() { s.search(l) })
	}
}

// search searches in the background. If it comes to nothing it goes on later, by real
// time.
func (s *Service) search(l *search) {
	job := func() {
		err := errPanicked
		defer func() {
			if err != nil {
				s.searchLater(l, err)
			}
		}()
		if l.fault && !l.begun {
			s.faults.began(l.key())
		}
		l.begun = true
		if err = s.offerUnsettled(l); err == nil && l.fault {
			err = s.wakeLost(l)
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
	s.rescanned.Store(true) // a part of the page that it has come to may have been offered
	times := l.times
	l.times++
	s.rt.Later(times, func() { s.search(l) })
}

// offerUnsettled offers the notices of pages up to one that are neither marked nor
// kept. Those for which there is no room in memory are made to wait in the store.
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

// wakeLost has what waits in the store looked for again, the timers of which a fault
// may have lost.
func (s *Service) wakeLost(l *search) error {
	if l.only != nil {
		s.destinations.Tell(*l.only, wakened{})
		return nil
	}
	view := s.rt.Journal.View()
	defer view.Close()
	now := ledger.MicrosOf(s.rt.Clock.Now())
	return s.rememberRetries(view, l.org, func(k key, at ledger.Micros) {
		if at <= now { // the clock may stand still
			s.destinations.Tell(k, wakened{at})
			return
		}
		s.timers.set(k, at)
	})
}
