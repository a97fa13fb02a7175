package alerts

import (
	"slices"
	"time"

	"mizan/ledger"
)

// What counts as a spike of failures.
const (
	SpikeWindow      = 10 * time.Minute // how long an outcome counts
	SpikeMinOutcomes = 10               // with fewer outcomes, successes included, there is no spike
	SpikeCalm        = 10 * time.Minute // time without a spike after which the next one alerts at once
	SpikeRepeat      = time.Hour        // interval of alerts while a spike lasts
)

// Outcomes at one instant share a bucket. If there are maxExactBuckets buckets already, outcomes
// within one second share a bucket and leave the window together with the latest of them. So there
// are at most maxExactBuckets buckets, and one more for each second of the window.
const (
	maxExactBuckets = 256
	bucketWidth     = time.Second
)

// bucket counts the outcomes of an instant, or those of one second up to an instant.
type bucket struct {
	at          ledger.Micros
	all, failed uint32
}

// SpikeDetector counts the outcomes at one terminal. The zero value is ready to use.
type SpikeDetector struct {
	buckets     []bucket      // those in the window, the oldest first
	all, failed uint64        // sums of the buckets
	latest      ledger.Micros // the latest outcome
	spikeEnd    ledger.Micros // when the last spike ended, as far as is known; 0: there was none
	alertedAt   ledger.Micros // when the last alarm was raised; 0: never, or it was retracted
}

// Alarm is a spike that operators are to be alerted of.
type Alarm struct {
	Failed, All uint64 // outcomes in the window
	At          ledger.Micros
}

// Record counts an outcome, and returns an alarm if operators are to be alerted now. An
// instant before the latest one counts as the latest.
func (s *SpikeDetector) Record(at ledger.Micros, failed bool) (Alarm, bool) {
	s.latest = max(s.latest, at)
	s.advance(s.latest)
	s.count(failed)
	if !s.isHigh() {
		return Alarm{}, false
	}
	fresh := s.spikeEnd == 0 || s.latest.Time().Sub(s.spikeEnd.Time()) >= SpikeCalm
	s.spikeEnd = s.latest
	if s.alertedAt != 0 && !fresh && s.latest.Time().Sub(s.alertedAt.Time()) < SpikeRepeat {
		return Alarm{}, false
	}
	s.alertedAt = s.latest
	return Alarm{Failed: s.failed, All: s.all, At: s.latest}, true
}

// Retract takes the last alarm back: the next outcome raises it again while the spike lasts.
func (s *SpikeDetector) Retract() { s.alertedAt = 0 }

// Idle tells whether all outcomes recorded so far no longer matter: a new detector would
// behave the same.
func (s *SpikeDetector) Idle(at ledger.Micros) bool {
	return at.Time().Sub(s.latest.Time()) >= SpikeWindow+SpikeCalm && at.Time().Sub(s.alertedAt.Time()) >= SpikeRepeat
}

// count adds an outcome at the latest instant.
func (s *SpikeDetector) count(failed bool) {
	n := len(s.buckets)
	joins := n > 0 && s.buckets[n-1].at == s.latest
	if n > maxExactBuckets {
		joins = s.buckets[n-1].at.Time().Truncate(bucketWidth).Equal(s.latest.Time().Truncate(bucketWidth))
	}
	if !joins {
		s.buckets = append(s.buckets, bucket{})
		n++
	}
	last := &s.buckets[n-1]
	last.at = s.latest
	last.all++
	s.all++
	if failed {
		last.failed++
		s.failed++
	}
}

// advance moves the end of the window to an instant and drops the buckets that leave it. Before
// it drops a bucket, it checks the share of failures, which may have been high until then.
func (s *SpikeDetector) advance(to ledger.Micros) {
	gone := 0
	for ; gone < len(s.buckets); gone++ {
		e := s.buckets[gone]
		leaves := ledger.MicrosOf(e.at.Time().Add(SpikeWindow))
		if leaves > to {
			break
		}
		if s.isHigh() {
			s.spikeEnd = leaves
		}
		s.all -= uint64(e.all)
		s.failed -= uint64(e.failed)
	}
	if s.isHigh() {
		s.spikeEnd = to
	}
	s.buckets = slices.Delete(s.buckets, 0, gone)
}

func (s *SpikeDetector) isHigh() bool { return s.all >= SpikeMinOutcomes && 2*s.failed >= s.all }

// Message renders the alarm.
func (a *Alarm) Message(p Terminal) Message {
	var text textBuilder
	text.add("Of the %d transactions that came to an end here in the %d minutes before %s, %d were rejected or failed.",
		a.All, int(SpikeWindow/time.Minute), formatTime(a.At), a.Failed)
	text.add("This is told again after an hour if it goes on.")
	text.add("Where: %s", &p)
	return Message{
		Kind: Failures, Text: text.String(),
		Subject: subjectLine("%d of %d transactions rejected or failed at %s", a.Failed, a.All, p.name()),
	}
}
