package account

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
)

// window is the sliding window of one velocity limit: the instants of each subject's last attempts.
type window struct {
	limit    *directory.Limit // that it was read for; each attempt brings the limits that bound it
	before   *directory.Limit // the same limit before its last change: attempts screened by it may still come
	room     int              // how many attempts of a subject are remembered at most
	subjects map[string]*attempts
	left     int           // how many subjects the last sweep left
	sweepBy  ledger.Micros // when the next sweep is due at the latest
	oldest   ledger.Micros // the oldest attempt remembered of the partner, while the store is read; 0: there is room for more
}

// knows tells whether the window has every attempt that the limit counts.
func (w *window) knows(l *directory.Limit) bool {
	return w != nil && (w.limit == l || w.before == l) && w.room >= roomFor(l)
}

// slack is how many attempts more than the limit counts are remembered of a
// subject: as many may be taken back at once because they were repetitions.
const slack = 1_024

func newWindow(l *directory.Limit) *window {
	return &window{limit: l, room: roomFor(l), subjects: make(map[string]*attempts)}
}

func roomFor(l *directory.Limit) int { return int(l.MaxCount) + slack }

// since is the instant after which attempts count at now.
func (w *window) since(now ledger.Micros) ledger.Micros { return now - lengthOf(w.limit) }

// count adds an attempt and tells whether there are more than most with it.
func (w *window) count(subject string, at ledger.Micros, most int64) (breached bool) {
	if w.subjects[subject] == nil {
		w.sweep(at)
	}
	s := w.of(subject)
	before := s.within(w.since(at))
	w.add(s, at)
	return int64(before) >= most
}

// within is how many of a subject's attempts count at an instant.
func (w *window) within(subject string, at ledger.Micros) int64 {
	s := w.subjects[subject]
	if s == nil {
		return 0
	}
	return int64(s.within(w.since(at)))
}

// addPast adds an attempt from the store. They come the last booked first, nearly in reverse order:
// they are sorted now and then, and at the end by sortAll.
func (w *window) addPast(subject string, at ledger.Micros) {
	s := w.of(subject)
	if s.at = append(s.at, at); len(s.at) < 2*w.room {
		return
	}
	w.sortAttempts(s)
	if w.limit.Scope == directory.ScopePartner {
		w.oldest = s.at[0]
	}
}

// full tells whether nothing that was booked at that time or before can matter: of the only subject
// that there is, later attempts fill the room.
func (w *window) full(booked ledger.Micros) bool { return booked <= w.oldest }

// sortAll sorts every subject's attempts, once the past has been read.
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

func (w *window) of(subject string) *attempts {
	s := w.subjects[subject]
	if s == nil {
		s = new(attempts)
		w.subjects[subject] = s
	}
	return s
}

// add adds an attempt and forgets those that are a whole window older than any that counts: the
// attempts of a subject that comes now and then would fill its room for ever.
func (w *window) add(s *attempts, at ledger.Micros) {
	s.add(at, w.room)
	s.forget(w.since(w.since(s.newest())))
}

// merge adds the attempts that an older window of the limit has and this one, read from the store,
// does not.
func (w *window) merge(old *window) {
	for subject, remembered := range old.subjects {
		s := w.of(subject)
		s.at = union(s.at, remembered.at)
		w.sortAttempts(s)
	}
}

// union has each instant as often as the list that has it more often. Both lists are sorted.
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
func (w *window) uncount(subject string, at ledger.Micros) {
	if s := w.subjects[subject]; s != nil {
		s.remove(at)
	}
}

// usage is how many of a subject's attempts count at now, and when the oldest of them ceases to; 0:
// there are none.
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

// sweep forgets the subjects whose attempts have all left the window: when there are twice as many
// as the last sweep left, and once a window.
func (w *window) sweep(now ledger.Micros) {
	const few = 1_024
	if n := len(w.subjects); n < few || n < 2*w.left && now < w.sweepBy {
		return
	}
	since := w.since(now)
	for subject, s := range w.subjects {
		if s.newest() <= since {
			delete(w.subjects, subject)
		}
	}
	w.left, w.sweepBy = len(w.subjects), now+lengthOf(w.limit)
}

// attempts are the instants of one subject's attempts, sorted.
type attempts struct{ at []ledger.Micros }

func (s *attempts) newest() ledger.Micros {
	if len(s.at) == 0 {
		return 0
	}
	return s.at[len(s.at)-1]
}

// within counts the attempts after since. Attempts at about the same time may come out of order, so
// one that is later than now counts too.
func (s *attempts) within(since ledger.Micros) int {
	i, _ := slices.BinarySearch(s.at, since+1)
	return len(s.at) - i
}

// add keeps the newest room instants.
func (s *attempts) add(at ledger.Micros, room int) {
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
