package account

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
)

// tally is what an actor remembers for one velocity limit: when each subject's
// last attempts were.
type tally struct {
	limit    *directory.Limit // that it was read for; what bounds an attempt comes with it
	before   *directory.Limit // the same one before it was changed: attempts judged by it may still come
	room     int              // attempts remembered of a subject, at most
	subjects map[string]*times
	swept    int           // subjects that were left by the last sweep
	again    ledger.Micros // when they are swept again at the latest
	oldest   ledger.Micros // of what is remembered of the partner, while the store is read; 0: there is room for more
}

// knows tells whether the tally lacks nothing that the limit counts.
func (t *tally) knows(l *directory.Limit) bool {
	return t != nil && (t.limit == l || t.before == l) && t.room >= roomFor(l)
}

// slack is how many attempts more than the limit counts are remembered of a
// subject: as many may be taken back at once because they were repetitions.
const slack = 1_024

func newTally(l *directory.Limit) *tally {
	return &tally{limit: l, room: roomFor(l), subjects: make(map[string]*times)}
}

func roomFor(l *directory.Limit) int { return int(l.MaxCount) + slack }

// since is the instant after which attempts count at now.
func (t *tally) since(now ledger.Micros) ledger.Micros { return now - windowOf(t.limit) }

// count adds an attempt and tells whether it is one more than most.
func (t *tally) count(subject string, at ledger.Micros, most int64) (breached bool) {
	if t.subjects[subject] == nil {
		t.sweep(at)
	}
	s := t.of(subject)
	before := s.within(t.since(at))
	t.add(s, at)
	return int64(before) >= most
}

// within is how many of a subject's attempts count at an instant.
func (t *tally) within(subject string, at ledger.Micros) int64 {
	s := t.subjects[subject]
	if s == nil {
		return 0
	}
	return int64(s.within(t.since(at)))
}

// remember notes an attempt of the past. They come the last booked first, which
// is nearly the wrong way round: they are put in order now and then, and at last
// by remembered.
func (t *tally) remember(subject string, at ledger.Micros) {
	s := t.of(subject)
	if s.at = append(s.at, at); len(s.at) < 2*t.room {
		return
	}
	t.order(s)
	if t.limit.Scope == directory.ScopePartner {
		t.oldest = s.at[0]
	}
}

// full tells whether nothing that was booked at that time or before can matter:
// of the only subject that there is, as many as are remembered came later.
func (t *tally) full(booked ledger.Micros) bool { return booked <= t.oldest }

// remembered is when all of the past has been noted.
func (t *tally) remembered() {
	for _, s := range t.subjects {
		t.order(s)
	}
}

// order puts a subject's attempts in order and keeps the newest.
func (t *tally) order(s *times) {
	slices.Sort(s.at)
	if more := len(s.at) - t.room; more > 0 {
		s.at = slices.Delete(s.at, 0, more)
	}
}

func (t *tally) of(subject string) *times {
	s := t.subjects[subject]
	if s == nil {
		s = new(times)
		t.subjects[subject] = s
	}
	return s
}

// add keeps the newest attempts, and none that is a whole window older than any
// that counts: those who attempt now and then would fill their room for ever.
func (t *tally) add(s *times, at ledger.Micros) {
	s.add(at, t.room)
	s.forget(t.since(t.since(s.newest())))
}

// merge adds what another tally of the limit remembers and this one, read from
// the store, does not.
func (t *tally) merge(old *tally) {
	for subject, remembered := range old.subjects {
		s := t.of(subject)
		s.at = union(s.at, remembered.at)
		t.order(s)
	}
}

// union has each instant as often as it is in the list that has it more often.
// Both are in order.
func union(a, b []ledger.Micros) []ledger.Micros {
	all := make([]ledger.Micros, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		next := min(a[0], b[0])
		all = append(all, next)
		if a[0] == next {
			a = a[1:]
		}
		if b[0] == next {
			b = b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// uncount takes an attempt back.
func (t *tally) uncount(subject string, at ledger.Micros) {
	if s := t.subjects[subject]; s != nil {
		s.remove(at)
	}
}

// used is how many of a subject's attempts count at now, and when the oldest of
// them stops to; 0: there are none.
func (t *tally) used(subject string, now ledger.Micros) (count int64, resets ledger.Micros) {
	s := t.subjects[subject]
	if s == nil {
		return 0, 0
	}
	n := s.within(t.since(now))
	if n == 0 {
		return 0, 0
	}
	return int64(n), s.at[len(s.at)-n] + windowOf(t.limit)
}

// sweep forgets subjects whose attempts have all left the window: each time that
// there are twice as many as it left behind, and once a window.
func (t *tally) sweep(now ledger.Micros) {
	const few = 1_024
	if n := len(t.subjects); n < few || n < 2*t.swept && now < t.again {
		return
	}
	since := t.since(now)
	for subject, s := range t.subjects {
		if s.newest() <= since {
			delete(t.subjects, subject)
		}
	}
	t.swept, t.again = len(t.subjects), now+windowOf(t.limit)
}

// times are the instants of one subject's attempts, in order.
type times struct{ at []ledger.Micros }

func (s *times) newest() ledger.Micros {
	if len(s.at) == 0 {
		return 0
	}
	return s.at[len(s.at)-1]
}

// within counts those after since. Attempts that are decided at the same time
// may come out of order; one that is later than now counts too.
func (s *times) within(since ledger.Micros) int {
	i, _ := slices.BinarySearch(s.at, since+1)
	return len(s.at) - i
}

// add keeps the newest room instants.
func (s *times) add(at ledger.Micros, room int) {
	if n := len(s.at); n == 0 || s.at[n-1] <= at {
		s.at = append(s.at, at)
	} else {
		i, _ := slices.BinarySearch(s.at, at)
		s.at = slices.Insert(s.at, i, at)
	}
	if len(s.at) > room {
		s.at = s.at[1:] // append moves what is left when the array is full
	}
}

// forget drops those up to an instant.
func (s *times) forget(upTo ledger.Micros) {
	for len(s.at) > 0 && s.at[0] <= upTo {
		s.at = s.at[1:]
	}
}

func (s *times) remove(at ledger.Micros) {
	if i, found := slices.BinarySearch(s.at, at); found {
		s.at = slices.Delete(s.at, i, i+1)
	}
}
