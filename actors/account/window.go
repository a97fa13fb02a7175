package account

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
)

// window is the sliding window of one velocity limit: the times of the latest attempts of each subject.
type window struct {
	limit              *directory.Limit // the version of the limit that the window was read for
	previous           *directory.Limit // the limit before its last change: attempts screened with it may still arrive
	room               int              // maximum number of attempts kept per subject
	subjects           map[string]*attempts
	subjectsAfterSweep int           // number of subjects after the last sweep (dropIdle)
	dropIdleBy         ledger.Micros // latest time of the next sweep
	oldest             ledger.Micros // while the store is read: the partner's oldest attempt that is kept; 0: there is room for more
}

// knows tells whether the window has every attempt that the limit counts.
func (w *window) knows(l *directory.Limit) bool {
	return w != nil && (w.limit == l || w.previous == l) && w.room >= roomFor(l)
}

// slack is how many attempts beyond the limit's count are kept per subject. Up to that many attempts may
// be removed again together, when they turn out to repeat earlier requests.
const slack = 1_024

func newWindow(l *directory.Limit) *window {
	return &window{limit: l, room: roomFor(l), subjects: make(map[string]*attempts)}
}

func roomFor(l *directory.Limit) int { return int(l.MaxCount) + slack }

// since returns the start of the window that ends now. Attempts after the start count.
func (w *window) since(now ledger.Micros) ledger.Micros { return now - lengthOf(w.limit) }

// count adds an attempt and tells whether the window then has more attempts than allowed.
func (w *window) count(subject string, at ledger.Micros, allowed int64) (breached bool) {
	if w.subjects[subject] == nil {
		w.dropIdle(at)
	}
	s := w.attemptsOf(subject)
	before := s.within(w.since(at))
	w.add(s, at)
	return int64(before) >= allowed
}

// within returns how many of a subject's attempts count at a time.
func (w *window) within(subject string, at ledger.Micros) int64 {
	s := w.subjects[subject]
	if s == nil {
		return 0
	}
	return int64(s.within(w.since(at)))
}

// addPast adds an attempt from the store. Stored attempts arrive nearly in reverse order, the last booked
// first: addPast sorts them now and then, and sortAll at the end.
func (w *window) addPast(subject string, at ledger.Micros) {
	s := w.attemptsOf(subject)
	if s.at = append(s.at, at); len(s.at) < 2*w.room {
		return
	}
	w.sortAttempts(s)
	if w.limit.Scope == directory.ScopePartner {
		w.oldest = s.at[0]
	}
}

// mayMatter tells whether attempts that were booked at the given time or earlier can still matter. They
// cannot once there is only one subject and later attempts fill its room.
func (w *window) mayMatter(booked ledger.Micros) bool { return booked > w.oldest }

// sortAll sorts every subject's attempts after the history was read.
func (w *window) sortAll() {
	for _, s := range w.subjects {
		w.sortAttempts(s)
	}
}

// sortAttempts sorts a subject's attempts and keeps the newest.
func (w *window) sortAttempts(s *attempts) {
	slices.Sort(s.at)
	if more := len(s.at) - w.room; more > 0 {
		s.at = slices.Delete(s.at, 0, more)
	}
}

func (w *window) attemptsOf(subject string) *attempts {
	s := w.subjects[subject]
	if s == nil {
		s = new(attempts)
		w.subjects[subject] = s
	}
	return s
}

// add adds an attempt and drops those that are more than two windows older than the newest. Otherwise the
// attempts of a subject that makes few would stay in memory forever.
func (w *window) add(s *attempts, at ledger.Micros) {
	s.add(at, w.room)
	s.forget(w.since(w.since(s.newest())))
}

// merge adds to w, which was just read from the store, the attempts that only an older window of the same
// limit has.
func (w *window) merge(old *window) {
	for subject, remembered := range old.subjects {
		s := w.attemptsOf(subject)
		s.at = union(s.at, remembered.at)
		w.sortAttempts(s)
	}
}

// union merges two sorted lists. A time that is in both lists occurs as often as in the list that has
// it more often.
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

// uncount removes an attempt.
func (w *window) uncount(subject string, at ledger.Micros) {
	if s := w.subjects[subject]; s != nil {
		s.remove(at)
	}
}

// usage returns how many of a subject's attempts count at now, and when the oldest of them ceases
// to count; 0 if none counts.
func (w *window) usage(subject string, now ledger.Micros) (count int64, resets ledger.Micros) {
	s := w.subjects[subject]
	if s == nil {
		return 0, 0
	}
	n := s.within(w.since(now))
	if n == 0 {
		return 0, 0
	}
	return int64(n), s.at[len(s.at)-n] + lengthOf(w.limit)
}

// dropIdle removes subjects whose attempts have all left the window. Unless there are few subjects, it
// sweeps when there are twice as many as after the last sweep, and at least once per window.
func (w *window) dropIdle(now ledger.Micros) {
	const minSubjects = 1_024
	if n := len(w.subjects); n < minSubjects || n < 2*w.subjectsAfterSweep && now < w.dropIdleBy {
		return
	}
	since := w.since(now)
	for subject, s := range w.subjects {
		if s.newest() <= since {
			delete(w.subjects, subject)
		}
	}
	w.subjectsAfterSweep, w.dropIdleBy = len(w.subjects), now+lengthOf(w.limit)
}

// attempts are the times of one subject's attempts, sorted.
type attempts struct{ at []ledger.Micros }

func (s *attempts) newest() ledger.Micros {
	if len(s.at) == 0 {
		return 0
	}
	return s.at[len(s.at)-1]
}

// within counts the attempts after since, even those that are later than the attempt under examination,
// because concurrent attempts arrive in any order.
func (s *attempts) within(since ledger.Micros) int {
	i, _ := slices.BinarySearch(s.at, since+1)
	return len(s.at) - i
}

// add inserts a time in order and keeps only the newest ones, at most room of them.
func (s *attempts) add(at ledger.Micros, room int) {
	if n := len(s.at); n == 0 || s.at[n-1] <= at {
		s.at = append(s.at, at)
	} else {
		i, _ := slices.BinarySearch(s.at, at)
		s.at = slices.Insert(s.at, i, at)
	}
	if len(s.at) > room {
		s.at = s.at[1:] // the array does not grow forever: append copies the rest when it is full
	}
}

// forget drops the attempts up to a time.
func (s *attempts) forget(upTo ledger.Micros) {
	for len(s.at) > 0 && s.at[0] <= upTo {
		s.at = s.at[1:]
	}
}

func (s *attempts) remove(at ledger.Micros) {
	if i, found := slices.BinarySearch(s.at, at); found {
		s.at = slices.Delete(s.at, i, i+1)
	}
}
