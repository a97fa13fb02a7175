package watch

import (
	"slices"
	"time"

	"mizan/ledger"
)

// What a spike of failures is.
const (
	SpikeWindow = 10 * time.Minute // outcomes of how long count
	SpikeLeast  = 10               // outcomes, good and bad, without which there is no spike; half of all are failures
	SpikeCalm   = 10 * time.Minute // how long there has been none before the next one is told
	SpikeAgain  = time.Hour        // after which one that goes on is told again
)

// Outcomes of one instant are one entry. maxExact is how many entries a Spike has whose
// instants are exact; beyond, those of one second are one, and count until the last of
// them is too old. So there are at most maxExact and one for each second of the window.
const (
	maxExact = 256
	merged   = time.Second
)

// entry is how many came to an end at an instant, or within a second up to it.
type entry struct {
	at          ledger.Micros
	all, failed uint32
}

// Spike watches the outcomes at one terminal. The zero value has seen nothing.
type Spike struct {
	entries     []entry       // in the window, in order
	all, failed uint64        // of the entries
	newest      ledger.Micros // the last instant that was heard of
	high        ledger.Micros // until when the share was high; 0: it never was
	told        ledger.Micros // when a spike was told last; 0: never, or it did not get out
}

// Alarm is a spike that is to be told.
type Alarm struct {
	Failed, All uint64 // outcomes in the window
	At          ledger.Micros
}

// Hear counts an outcome in and says whether operators are to be told of a spike.
// Instants that are earlier than those heard before count as the latest.
func (s *Spike) Hear(at ledger.Micros, failed bool) (Alarm, bool) {
	s.newest = max(s.newest, at)
	s.advance(s.newest)
	s.count(failed)
	if !s.isHigh() {
		return Alarm{}, false
	}
	fresh := s.high == 0 || s.newest.Time().Sub(s.high.Time()) >= SpikeCalm
	s.high = s.newest
	if s.told != 0 && !fresh && s.newest.Time().Sub(s.told.Time()) < SpikeAgain {
		return Alarm{}, false
	}
	s.told = s.newest
	return Alarm{Failed: s.failed, All: s.all, At: s.newest}, true
}

// Unsay takes back that the last alarm was told: the next outcome repeats it while there is a spike.
func (s *Spike) Unsay() { s.told = 0 }

// Idle tells that nothing is left of what was heard that would count for what is
// heard next.
func (s *Spike) Idle(at ledger.Micros) bool {
	return at.Time().Sub(s.newest.Time()) >= SpikeWindow+SpikeCalm && at.Time().Sub(s.told.Time()) >= SpikeAgain
}

// count counts an outcome of the newest instant in.
func (s *Spike) count(failed bool) {
	n := len(s.entries)
	joins := n > 0 && s.entries[n-1].at == s.newest
	if n > maxExact {
		joins = s.entries[n-1].at.Time().Truncate(merged).Equal(s.newest.Time().Truncate(merged))
	}
	if !joins {
		s.entries = append(s.entries, entry{})
		n++
	}
	last := &s.entries[n-1]
	last.at = s.newest
	last.all++
	s.all++
	if failed {
		last.failed++
		s.failed++
	}
}

// advance moves the window on to an instant: what is as old as it is long has left it.
// Between two outcomes that leave it the share may still have been high.
func (s *Spike) advance(to ledger.Micros) {
	gone := 0
	for ; gone < len(s.entries); gone++ {
		e := s.entries[gone]
		leaves := ledger.MicrosOf(e.at.Time().Add(SpikeWindow))
		if leaves > to {
			break
		}
		if s.isHigh() {
			s.high = leaves
		}
		s.all -= uint64(e.all)
		s.failed -= uint64(e.failed)
	}
	if s.isHigh() {
		s.high = to
	}
	s.entries = slices.Delete(s.entries, 0, gone)
}

func (s *Spike) isHigh() bool { return s.all >= SpikeLeast && 2*s.failed >= s.all }

// Message is the alarm in words.
func (a *Alarm) Message(p Place) Message {
	var text lines
	text.add("Of the %d transactions that came to an end here in the %d minutes before %s, %d were rejected or failed.",
		a.All, int(SpikeWindow/time.Minute), instant(a.At), a.Failed)
	text.add("This is told again after an hour if it goes on.")
	text.add("Where: %s", &p)
	return Message{
		Kind: Failures, Text: text.String(),
		Subject: subject("%d of %d transactions rejected or failed at %s", a.Failed, a.All, p.name()),
	}
}
