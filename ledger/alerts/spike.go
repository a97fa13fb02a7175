package alerts

import (
	"slices"
	"time"

	"mizan/ledger"
)

// These constants define what a spike of failures is, and when a spike causes an alert. An outcome is a success
// or a failure.
const (
	SpikeWindow         = 10 * time.Minute // how long an outcome is counted
	SpikeMinOutcomes    = 10               // minimum number of outcomes, including successes, in a spike
	SpikeQuietTime      = 10 * time.Minute // time without a spike after which the next spike causes an alert at once
	SpikeRepeatInterval = time.Hour        // interval of alerts while a spike lasts
)

// Outcomes at the same instant share a bucket. If there are more than maxExactBuckets buckets, outcomes of the same second
// share a bucket too. Then they all leave the window when the latest of them leaves it. So there are at most maxExactBuckets
// buckets, plus one bucket for each second of the window.
const (
	maxExactBuckets = 256
	bucketWidth     = time.Second
)

// bucket counts the outcomes of one instant, or all outcomes of one second. The field at is the instant of the latest outcome
// in the bucket.
type bucket struct {
	at            ledger.Micros
	total, failed uint32
}

// SpikeDetector counts the outcomes of one terminal's transactions, and detects spikes of failures. The zero value is ready to
// use.
type SpikeDetector struct {
	buckets       []bucket      // buckets in the window, the oldest first
	total, failed uint64        // sums over the buckets
	latest        ledger.Micros // instant of the latest outcome
	spikeEnd      ledger.Micros // latest instant at which a spike is known to have lasted; 0 if there was no spike
	alertedAt     ledger.Micros // when the last alert was raised; 0 if there was no alert, or after Retract
}

// SpikeAlert describes a spike about which the operators must be alerted.
type SpikeAlert struct {
	Failed, All uint64 // numbers of outcomes in the window
	At          ledger.Micros
}

// Record counts an outcome at an instant. It returns an alert and true if the operators must be alerted now. If a later
// outcome was recorded before, the outcome is counted at the instant of the later outcome.
func (detector *SpikeDetector) Record(at ledger.Micros, failed bool) (SpikeAlert, bool) {
	detector.latest = max(detector.latest, at)
	detector.advance(detector.latest)
	detector.count(failed)
	if !detector.hasSpike() {
		return SpikeAlert{}, false
	}
	isNewSpike := detector.spikeEnd == 0 || detector.latest.Time().Sub(detector.spikeEnd.Time()) >= SpikeQuietTime
	detector.spikeEnd = detector.latest
	if detector.alertedAt != 0 && !isNewSpike && detector.latest.Time().Sub(detector.alertedAt.Time()) < SpikeRepeatInterval {
		return SpikeAlert{}, false
	}
	detector.alertedAt = detector.latest
	return SpikeAlert{Failed: detector.failed, All: detector.total, At: detector.latest}, true
}

// Retract withdraws the last alert. Callers must call Retract if the alert could not be stored. If the spike still lasts at
// the next outcome, Record returns an alert again.
func (detector *SpikeDetector) Retract() { detector.alertedAt = 0 }

// IsIdle tells whether the recorded outcomes no longer have an effect. If IsIdle returns true, callers may drop the detector,
// because a new detector would behave in the same way.
func (detector *SpikeDetector) IsIdle(at ledger.Micros) bool {
	return at.Time().Sub(detector.latest.Time()) >= SpikeWindow+SpikeQuietTime && at.Time().Sub(detector.alertedAt.Time()) >= SpikeRepeatInterval
}

// count counts an outcome at the instant detector.latest.
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

// advance moves the end of the window forward to the given instant, and drops the buckets that are no longer in the window. If
// there is still a spike when a bucket leaves the window, the spike lasted at least until that instant.
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

// Message writes the alert's message to the operators of the terminal.
func (a *SpikeAlert) Message(terminal Terminal) Message {
	var text textBuilder
	text.add("Of the %d transactions that came to an end here in the %d minutes before %s, %d were rejected or failed.",
		a.All, int(SpikeWindow/time.Minute), formatTime(a.At), a.Failed)
	text.add("This alert is repeated every hour while the spike lasts.")
	text.add("Where: %s", &terminal)
	return Message{
		Kind: FailedTransactions, Text: text.String(),
		Subject: subjectLine("%d of %d transactions rejected or failed at %s", a.Failed, a.All, terminal.name()),
	}
}
