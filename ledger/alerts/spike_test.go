package alerts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mizan/ledger"
)

var testStart = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func testTime(d time.Duration) ledger.Micros { return ledger.MicrosOf(testStart.Add(d)) }

// burst is a step of a test case. It says how many transactions succeed and fail at a time after testStart, and whether they
// raise an alert.
type burst struct {
	after               time.Duration
	successes, failures int
	alarmed             bool
}

func (b burst) play(detector *SpikeDetector) (alarmed bool) {
	for range b.successes {
		_, raised := detector.Record(testTime(b.after), false)
		alarmed = alarmed || raised
	}
	for range b.failures {
		_, raised := detector.Record(testTime(b.after), true)
		alarmed = alarmed || raised
	}
	return alarmed
}

func TestWhenASpikeAlerts(t *testing.T) {
	const minute = time.Minute
	for name, script := range map[string][]burst{
		"nine are too few":                       {{0, 0, 9, false}},
		"ten that all failed":                    {{0, 0, 10, true}},
		"half of ten":                            {{0, 5, 5, true}},
		"less than half":                         {{0, 6, 5, false}, {minute, 100, 99, false}},
		"half of more than ten, later":           {{0, 11, 10, false}, {minute, 0, 1, true}},
		"gathered within the window":             {{0, 0, 5, false}, {9 * minute, 0, 5, true}},
		"gathered too slowly":                    {{0, 0, 5, false}, {10 * minute, 0, 5, false}},
		"the window is ten minutes":              {{0, 0, 9, false}, {10*minute - time.Second, 0, 1, true}},
		"the window is exact to the microsecond": {{time.Second - time.Microsecond, 0, 9, false}, {time.Second - 2*time.Microsecond + 10*minute, 0, 1, true}},
		"after the window":                       {{0, 0, 9, false}, {10 * minute, 0, 1, false}},
		"half of twenty outcomes":                {{0, 10, 9, false}, {minute, 0, 1, true}},
		"successes that are too long ago":        {{0, 100, 0, false}, {10 * minute, 0, 10, true}},
		"successes that still count":             {{0, 100, 0, false}, {9 * minute, 0, 10, false}},
		"one alarm while a spike lasts":          {{0, 0, 10, true}, {minute, 0, 10, false}, {5 * minute, 0, 100, false}, {12 * minute, 0, 10, false}, {20 * minute, 0, 10, false}},
		"another alarm after an hour of a spike": {{0, 0, 10, true}, {8 * minute, 0, 9, false}, {16 * minute, 0, 9, false}, {24 * minute, 0, 9, false}, {32 * minute, 0, 9, false}, {40 * minute, 0, 9, false}, {48 * minute, 0, 9, false}, {56 * minute, 0, 9, false}, {60 * minute, 0, 1, true}, {61 * minute, 0, 9, false}},
		"a calm of less than ten minutes":        {{0, 0, 10, true}, {minute, 30, 0, false}, {9 * minute, 0, 20, false}},
		"failures in the window are no calm":     {{0, 0, 10, true}, {19 * minute, 0, 10, false}},
		"calm by successes, then again":          {{0, 0, 10, true}, {minute, 100, 0, false}, {12 * minute, 0, 100, true}},
		"calm by silence, then again":            {{0, 0, 10, true}, {20 * minute, 0, 10, true}, {21 * minute, 0, 10, false}},
		"another spike months later":             {{0, 0, 10, true}, {100 * 24 * 60 * minute, 0, 9, false}, {100*24*60*minute + 1, 0, 1, true}},
		"an instant before counts as the latest": {{minute, 0, 9, false}, {0, 0, 1, true}},
	} {
		var detector SpikeDetector
		for i, b := range script {
			if alarmed := b.play(&detector); alarmed != b.alarmed {
				t.Errorf("%s: burst %d raised an alarm: %v, want %v", name, i, alarmed, b.alarmed)
			}
		}
	}
}

// With very many outcomes, those of one second share a bucket. So the memory stays bounded, and an outcome
// may count a second longer.
func TestSpikeDetectorMemoryIsBounded(t *testing.T) {
	var detector SpikeDetector
	const gap = 100 * time.Millisecond
	for n := range 20_000 {
		detector.Record(testTime(time.Duration(n)*gap), false)
		wantOutcomes := min(n+1, int(SpikeWindow/gap))
		if len(detector.buckets) > maxExactBuckets+int(SpikeWindow/bucketWidth)+1 || detector.total < uint64(wantOutcomes) || detector.total > uint64(wantOutcomes)+uint64(bucketWidth/gap) {
			t.Fatalf("outcome %d: %d entries of %d outcomes", n, len(detector.buckets), detector.total)
		}
	}
}

func TestRetractedAlarmIsRaisedAgain(t *testing.T) {
	var detector SpikeDetector
	burst{0, 0, 10, true}.play(&detector)
	detector.Retract()
	if _, raised := detector.Record(testTime(time.Minute), true); !raised {
		t.Error("the next outcome does not raise the retracted alarm again")
	}
	if _, raised := detector.Record(testTime(time.Minute), true); raised {
		t.Error("the alarm was raised twice")
	}
}

func TestSpikeDetectorIsIdleWithoutOutcomesThatCount(t *testing.T) {
	var detector SpikeDetector
	detector.Record(testTime(0), true)
	if detector.IsIdle(testTime(19 * time.Minute)) {
		t.Error("the detector is idle too early after an outcome")
	}
	if !detector.IsIdle(testTime(21 * time.Minute)) {
		t.Error("the detector never gets idle")
	}
	burst{0, 0, 10, true}.play(&detector)
	if detector.IsIdle(testTime(59*time.Minute)) || !detector.IsIdle(testTime(61*time.Minute)) {
		t.Error("after an alarm the detector is idle too early, or never")
	}
}

func TestSpikeMessage(t *testing.T) {
	alert := SpikeAlert{Failed: 7, All: 12, At: testTime(0)}
	m := alert.Message(testTerminal)
	if m.Kind != FailedTransactions || m.Subject != `7 of 12 transactions rejected or failed at "Main"` ||
		!strings.HasPrefix(m.Text, "Of the 12 transactions that came to an end here in the 10 minutes before 2026-11-21 10:00:00 UTC, 7 were rejected or failed.\n") {
		t.Errorf("the message is %+v", m)
	}
}

// naiveDetector applies the definition of a spike literally. It keeps all outcomes, and recounts those in the window whenever
// an outcome leaves the window.
type naiveDetector struct {
	outcomes  []outcome
	newest    ledger.Micros
	lastSpike ledger.Micros
	lastAlarm ledger.Micros
}

type outcome struct {
	at     ledger.Micros
	failed bool
}

const tenMinutes = 600_000_000

// hasSpike counts the outcomes of the last ten minutes.
func (n *naiveDetector) hasSpike(now ledger.Micros) bool {
	total, failed := 0, 0
	for _, o := range n.outcomes {
		if now-o.at < tenMinutes {
			total++
			if o.failed {
				failed++
			}
		}
	}
	return total >= 10 && failed*2 >= total
}

func (n *naiveDetector) record(at ledger.Micros, failed bool) bool {
	now := max(at, n.newest)
	for _, o := range n.outcomes {
		if leavesAt := o.at + tenMinutes; leavesAt > n.newest && leavesAt <= now && n.hasSpike(leavesAt-1) {
			n.lastSpike = leavesAt
		}
	}
	if n.hasSpike(now) {
		n.lastSpike = now
	}
	n.newest = now
	n.outcomes = append(n.outcomes, outcome{now, failed})
	if !n.hasSpike(now) {
		return false
	}
	afterCalm := n.lastSpike == 0 || now-n.lastSpike >= tenMinutes
	n.lastSpike = now
	if n.lastAlarm != 0 && !afterCalm && now-n.lastAlarm < 3600_000_000 {
		return false
	}
	n.lastAlarm = now
	return true
}

func TestSpikesAgreeWithANaiveImplementation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var detector SpikeDetector
		var naive naiveDetector
		now := testTime(0)
		failurePercent := rapid.IntRange(0, 100).Draw(t, "share")
		maxGapSeconds := rapid.IntRange(1, 200).Draw(t, "pace")
		for i := range rapid.IntRange(1, 150).Draw(t, "outcomes") {
			now += ledger.Micros(rapid.IntRange(0, maxGapSeconds*1000).Draw(t, "gap")) * 1_000
			if rapid.IntRange(0, 40).Draw(t, "rests") == 0 {
				now += ledger.Micros(rapid.IntRange(0, 90).Draw(t, "rest")) * 60_000_000
			}
			failed := rapid.IntRange(0, 99).Draw(t, "failed") < failurePercent
			alert, raised := detector.Record(now, failed)
			if want := naive.record(now, failed); raised != want {
				t.Fatalf("outcome %d raised an alarm: %v, want %v", i, raised, want)
			}
			if raised && (alert.All < 10 || 2*alert.Failed < alert.All) {
				t.Fatal(fmt.Sprint(alert))
			}
		}
	})
}
