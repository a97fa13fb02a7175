package watch

import (
	"time"

	"mizan/ledger"
)

// What a spike of failures is.
const (
	SpikeWindow = 10 * time.Minute // outcomes of how long count
	SpikeLeast  = 10               // how many there are at least, of which half or more are failures
	SpikeCalm   = 10 * time.Minute // how long there has been none before the next one is told
	SpikeAgain  = time.Hour        // after which one that goes on is told again
)

// slot is how exactly the window is kept: a Spike counts outcomes by slots, so that
// its window is up to one slot shorter than SpikeWindow.
const (
	slot  = 10 * time.Second
	slots = int(SpikeWindow / slot)
	calm  = int64(SpikeCalm / slot)
)

// count is what a slot, or all of them, holds.
type count struct{ all, failed uint32 }

// Spike watches the outcomes at one terminal. The zero value has seen nothing.
type Spike struct {
	newest int64 // slot that counts at present, since 1970
	slots  [slots]count
	sum    count
	high   int64         // the last slot in which the share was high; 0: it never was
	told   ledger.Micros // when a spike was told last; 0: never, or it did not get out
}

// Alarm is a spike that is to be told.
type Alarm struct {
	Failed, All uint32 // outcomes in the window
	At          ledger.Micros
}

// Hear counts an outcome in and says whether operators are to be told of a spike.
// Instants that are earlier than those heard before count as the latest.
func (s *Spike) Hear(at ledger.Micros, failed bool) (Alarm, bool) {
	s.advance(slotOf(at))
	s.count(failed)
	if !s.isHigh() {
		return Alarm{}, false
	}
	fresh := s.high == 0 || s.newest-s.high >= calm
	s.high = s.newest
	if s.told != 0 && !fresh && at.Time().Sub(s.told.Time()) < SpikeAgain {
		return Alarm{}, false
	}
	s.told = at
	return Alarm{Failed: s.sum.failed, All: s.sum.all, At: at}, true
}

// Unsay takes back that the last alarm was told: the next outcome repeats it while there is a spike.
func (s *Spike) Unsay() { s.told = 0 }

// Idle tells that nothing is left of what was heard that would count for what is
// heard next.
func (s *Spike) Idle(at ledger.Micros) bool {
	return slotOf(at)-s.newest >= int64(slots)+calm && at.Time().Sub(s.told.Time()) >= SpikeAgain
}

func slotOf(at ledger.Micros) int64 { return at.Time().Unix() / int64(slot/time.Second) }

func (s *Spike) count(failed bool) {
	c := &s.slots[s.newest%int64(slots)]
	c.all++
	s.sum.all++
	if failed {
		c.failed++
		s.sum.failed++
	}
}

// advance moves the window on. In each slot on the way the share may still have been
// high by what was left in the window.
func (s *Spike) advance(to int64) {
	for n := min(to-s.newest, int64(slots)); n > 0; n-- {
		s.newest++
		gone := &s.slots[s.newest%int64(slots)]
		s.sum.all -= gone.all
		s.sum.failed -= gone.failed
		*gone = count{}
		if s.isHigh() {
			s.high = s.newest
		}
	}
	s.newest = max(s.newest, to)
}

func (s *Spike) isHigh() bool {
	return s.sum.all >= SpikeLeast && 2*uint64(s.sum.failed) >= uint64(s.sum.all)
}

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
