package account

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
)

// window is the sliding window of one velocity limit. For each subject, such as a card, it contains the times of the
// latest attempts.
type window struct {
	limit              *directory.Limit // the version of the limit for which the window was read
	previousLimit      *directory.Limit // the limit before its last change; attempts checked with it may still arrive
	capacity           int              // maximum number of attempts kept per subject
	subjects           map[string]*attempts
	subjectsAfterSweep int           // number of subjects after the last sweep (dropIdle)
	dropIdleBy         ledger.Micros // time by which the next sweep takes place
	oldest             ledger.Micros // while the store is read: time of the partner's oldest kept attempt; 0 if there is room
}

// isCompleteFor tells whether the window contains every attempt that counts towards the limit. It returns false if the
// window is nil.
func (w *window) isCompleteFor(l *directory.Limit) bool {
	return w != nil && (w.limit == l || w.previousLimit == l) && w.capacity >= roomFor(l)
}

// extraAttempts is the number of attempts that are kept for each subject in addition to the number that the limit allows.
// If up to extraAttempts attempts are later uncounted, because they turn out to be repetitions, the window still knows
// whether the limit is reached.
const extraAttempts = 1_024

func newWindow(l *directory.Limit) *window {
	return &window{limit: l, capacity: roomFor(l), subjects: make(map[string]*attempts)}
}

func roomFor(l *directory.Limit) int { return int(l.MaxCount) + extraAttempts }

// since returns the start of the window that ends at the time now. Only attempts after the start count.
func (w *window) since(now ledger.Micros) ledger.Micros { return now - windowLength(w.limit) }

// count adds an attempt and tells whether the window then has more attempts than allowed.
func (w *window) count(subject string, at ledger.Micros, allowed int64) (breached bool) {
	if w.subjects[subject] == nil {
		w.dropIdle(at)
	}
	s := w.attemptsOf(subject)
	earlier := s.within(w.since(at))
	w.add(s, at)
	return int64(earlier) >= allowed
}

// within returns how many of a subject's attempts count at the time at.
func (w *window) within(subject string, at ledger.Micros) int64 {
	s := w.subjects[subject]
	if s == nil {
		return 0
	}
	return int64(s.within(w.since(at)))
}

// addStored adds an attempt from the store. Stored attempts come nearly in reverse order: the attempt that was booked last
// comes first. Whenever a subject has twice as many attempts as the window keeps, addStored sorts them and drops the
// oldest. At the end, sortSubjects sorts the attempts of all subjects.
func (w *window) addStored(subject string, at ledger.Micros) {
	s := w.attemptsOf(subject)
	if s.times = append(s.times, at); len(s.times) < 2*w.capacity {
		return
	}
	w.sortAttempts(s)
	if w.limit.Scope == directory.ScopePartner {
		w.oldest = s.times[0]
	}
}

// hasRoomBefore tells whether the window may have room for attempts that were booked at bookedAt or earlier. It has no
// room if the partner is the only subject and the window is already full of later attempts.
func (w *window) hasRoomBefore(bookedAt ledger.Micros) bool { return bookedAt > w.oldest }

// sortSubjects sorts every subject's attempts after the history has been read.
func (w *window) sortSubjects() {
	for _, s := range w.subjects {
		w.sortAttempts(s)
	}
}

// sortAttempts sorts a subject's attempts, and drops the oldest if there are too many.
func (w *window) sortAttempts(s *attempts) {
	slices.Sort(s.times)
	if excess := len(s.times) - w.capacity; excess > 0 {
		s.times = slices.Delete(s.times, 0, excess)
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

// add adds an attempt and drops attempts that are more than two window lengths older than the newest. If these were not
// dropped, all attempts of a subject that makes few attempts would stay in memory.
func (w *window) add(s *attempts, at ledger.Micros) {
	s.add(at, w.capacity)
	s.forget(w.since(w.since(s.newest())))
}

// merge completes a window that was just read from the store. It adds the attempts that only the limit's earlier window
// contains.
func (w *window) merge(earlier *window) {
	for subject, earlierAttempts := range earlier.subjects {
		s := w.attemptsOf(subject)
		s.times = union(s.times, earlierAttempts.times)
		w.sortAttempts(s)
	}
}

// union merges two sorted lists. If a time occurs m times in one list and n times in the other list, it occurs max(m, n)
// times in the result.
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

// uncount removes a subject's attempt, if the window has it.
func (w *window) uncount(subject string, at ledger.Micros) {
	if s := w.subjects[subject]; s != nil {
		s.remove(at)
	}
}

// usage returns how many of a subject's attempts count at the time now, and when the oldest of these attempts ceases to
// count. If no attempt counts, both results are 0.
func (w *window) usage(subject string, now ledger.Micros) (count int64, resets ledger.Micros) {
	s := w.subjects[subject]
	if s == nil {
		return 0, 0
	}
	n := s.within(w.since(now))
	if n == 0 {
		return 0, 0
	}
	return int64(n), s.times[len(s.times)-n] + windowLength(w.limit)
}

// dropIdle removes subjects whose attempts have all left the window. While there are few subjects, it does nothing.
// Otherwise it checks all subjects (a sweep) when there are twice as many subjects as after the last sweep, and at least
// once per window length.
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
	w.subjectsAfterSweep, w.dropIdleBy = len(w.subjects), now+windowLength(w.limit)
}

// attempts contains the times of one subject's attempts in ascending order.
type attempts struct{ times []ledger.Micros }

func (a *attempts) newest() ledger.Micros {
	if len(a.times) == 0 {
		return 0
	}
	return a.times[len(a.times)-1]
}

// within returns the number of attempts that were made after the time since. Because concurrent attempts arrive in any
// order, the number may include attempts that were made later than the attempt that is being counted.
func (a *attempts) within(since ledger.Micros) int {
	i, _ := slices.BinarySearch(a.times, since+1)
	return len(a.times) - i
}

// add inserts a time in order. If there are then more times than room allows, it drops the earliest.
func (a *attempts) add(at ledger.Micros, room int) {
	if n := len(a.times); n == 0 || a.times[n-1] <= at {
		a.times = append(a.times, at)
	} else {
		i, _ := slices.BinarySearch(a.times, at)
		a.times = slices.Insert(a.times, i, at)
	}
	if len(a.times) > room {
		a.times = a.times[1:] // the array does not grow forever: when it is full, append copies only the remaining times
	}
}

// forget drops the attempts that were made at upTo or earlier.
func (a *attempts) forget(upTo ledger.Micros) {
	for len(a.times) > 0 && a.times[0] <= upTo {
		a.times = a.times[1:]
	}
}

// remove removes one attempt with this time, if there is one.
func (a *attempts) remove(at ledger.Micros) {
	if i, found := slices.BinarySearch(a.times, at); found {
		a.times = slices.Delete(a.times, i, i+1)
	}
}
