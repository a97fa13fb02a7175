package alerts

import (
	"slices"
	"time"

	"mizan/ledger"
)

// These constants define what a spike of failures is, and when a spike causes an alert. An outcome is a success
// or a failure.
const (
	SpikeWindow      = 10 * time.Minute // how long an outcome counts
	SpikeMinOutcomes = 10               // with fewer outcomes, successes included, there is no spike
	SpikeCalm        = 10 * time.Minute // time without a spike after which the next one alerts at once
	SpikeRepeat      = time.Hour        // interval of alerts while a spike lasts
)

// Outcomes at one instant share a bucket. If there are more than maxExactBuckets buckets, all outcomes of one second share a
// bucket, and leave the window when the latest of them does. So there are at most maxExactBuckets buckets plus one for each
// second of the window.
const (
	maxExactBuckets = 256
	bucketWidth     = time.Second
)

// bucket counts the outcomes at an instant, or those of the same second up to that instant.
type bucket struct {
	at            ledger.Micros
	total, failed uint32
}

// SpikeDetector counts the outcomes at one terminal. The zero value is ready to use.
type SpikeDetector struct {
	buckets       []bucket      // the buckets in the window, the oldest first
	total, failed uint64        // sums over the buckets
	latest        ledger.Micros // the instant of the latest outcome
	spikeEnd      ledger.Micros // the latest instant known to belong to a spike; 0: there was none
	alertedAt     ledger.Micros // when the last alarm was raised; 0: no alarm was raised, or Retract was called
}

// Alarm describes a spike of which the operators must be alerted.
type Alarm struct {
	Failed, All uint64 // outcomes in the window
	At          ledger.Micros
}

// Record counts an outcome at an instant. It returns an alarm and true if the operators must be alerted now. If the instant
// is before the latest outcome's, the outcome is counted at the latest outcome's instant.
func (detector *SpikeDetector) Record(at ledger.Micros, failed bool) (Alarm, bool) {
	detector.latest = max(detector.latest, at)
	detector.advance(detector.latest)
	detector.count(failed)
	if !detector.hasSpike() {
		return Alarm{}, false
	}
	isNewSpike := detector.spikeEnd == 0 || detector.latest.Time().Sub(detector.spikeEnd.Time()) >= SpikeCalm
	detector.spikeEnd = detector.latest
	if detector.alertedAt != 0 && !isNewSpike && detector.latest.Time().Sub(detector.alertedAt.Time()) < SpikeRepeat {
		return Alarm{}, false
	}
	detector.alertedAt = detector.latest
	return Alarm{Failed: detector.failed, All: detector.total, At: detector.latest}, true
}

// Retract withdraws the last alarm. The caller calls it if the alarm could not be stored. The next outcome raises an alarm
// again if the spike still lasts.
func (detector *SpikeDetector) Retract() { detector.alertedAt = 0 }

// Idle tells whether the recorded outcomes no longer have an effect. The caller may then drop the detector, because a
// new one would behave the same.
func (detector *SpikeDetector) Idle(at ledger.Micros) bool {
	return at.Time().Sub(detector.latest.Time()) >= SpikeWindow+SpikeCalm && at.Time().Sub(detector.alertedAt.Time()) >= SpikeRepeat
}

// count adds an outcome at the latest instant.
func (detector *SpikeDetector) count(failed bool) {
	n := len(detector.buckets)
	joinsLast := n > 0 && detector.buckets[n-1].at == detector.latest
	if n > maxExactBuckets {
		joinsLast = detector.buckets[n-1].at.Time().Truncate(bucketWidth).Equal(detector.latest.Time().Truncate(bucketWidth))
	}
	if !joinsLast {
		detector.buckets = append(detector.buckets, bucket{})
		n++
	}
	last := &detector.buckets[n-1]
	last.at = detector.latest
	last.total++
	detector.total++
	if failed {
		last.failed++
		detector.failed++
	}
}

// advance moves the end of the window to an instant and drops the buckets that are no longer in the window. If there is a
// spike before a bucket is dropped, the spike lasted until that bucket left the window.
func (detector *SpikeDetector) advance(end ledger.Micros) {
	expiredBuckets := 0
	for ; expiredBuckets < len(detector.buckets); expiredBuckets++ {
		oldest := detector.buckets[expiredBuckets]
		leavesAt := ledger.MicrosOf(oldest.at.Time().Add(SpikeWindow))
		if leavesAt > end {
			break
		}
		if detector.hasSpike() {
			detector.spikeEnd = leavesAt
		}
		detector.total -= uint64(oldest.total)
		detector.failed -= uint64(oldest.failed)
	}
	if detector.hasSpike() {
		detector.spikeEnd = end
	}
	detector.buckets = slices.Delete(detector.buckets, 0, expiredBuckets)
}

// hasSpike tells whether the outcomes in the window are a spike.
func (detector *SpikeDetector) hasSpike() bool {
	return detector.total >= SpikeMinOutcomes && 2*detector.failed >= detector.total
}

// Message renders the alarm.
func (a *Alarm) Message(terminal Terminal) Message {
	var text textBuilder
	text.add("Of the %d transactions that came to an end here in the %d minutes before %s, %d were rejected or failed.",
		a.All, int(SpikeWindow/time.Minute), formatTime(a.At), a.Failed)
	text.add("This alert is repeated every hour while the spike lasts.")
	text.add("Where: %s", &terminal)
	return Message{
		Kind: Failures, Text: text.String(),
		Subject: subjectLine("%d of %d transactions rejected or failed at %s", a.Failed, a.All, terminal.name()),
	}
}
