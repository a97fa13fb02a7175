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

func at(d time.Duration) ledger.Micros { return ledger.MicrosOf(testStart.Add(d)) }

// instant is a line of a test case: the time since the beginning, how many successes and failures happen
// then, and whether they raise an alarm.
type instant struct {
	after               time.Duration
	successes, failures int
	alarmed             bool
}

func (m instant) play(detector *SpikeDetector) (alarmed bool) {
	for range m.successes {
		_, raised := detector.Record(at(m.after), false)
		alarmed = alarmed || raised
	}
	for range m.failures {
		_, raised := detector.Record(at(m.after), true)
		alarmed = alarmed || raised
	}
	return alarmed
}

func TestWhenASpikeAlerts(t *testing.T) {
	const min = time.Minute
	for name, script := range map[string][]instant{
		"nine are too few":                       {{0, 0, 9, false}},
		"ten that all failed":                    {{0, 0, 10, true}},
		"half of ten":                            {{0, 5, 5, true}},
		"less than half":                         {{0, 6, 5, false}, {min, 100, 99, false}},
		"half of more, later":                    {{0, 11, 10, false}, {min, 0, 1, true}},
		"gathered within the window":             {{0, 0, 5, false}, {9 * min, 0, 5, true}},
		"gathered too slowly":                    {{0, 0, 5, false}, {10 * min, 0, 5, false}},
		"the window is ten minutes":              {{0, 0, 9, false}, {10*min - time.Second, 0, 1, true}},
		"to the microsecond":                     {{time.Second - time.Microsecond, 0, 9, false}, {time.Second - 2*time.Microsecond + 10*min, 0, 1, true}},
		"after the window":                       {{0, 0, 9, false}, {10 * min, 0, 1, false}},
		"half of those that ended, not of ten":   {{0, 10, 9, false}, {min, 0, 1, true}},
		"successes that are too long ago":        {{0, 100, 0, false}, {10 * min, 0, 10, true}},
		"successes that still count":             {{0, 100, 0, false}, {9 * min, 0, 10, false}},
		"once while it goes on":                  {{0, 0, 10, true}, {min, 0, 10, false}, {5 * min, 0, 100, false}, {12 * min, 0, 10, false}, {20 * min, 0, 10, false}},
		"again after an hour of it":              {{0, 0, 10, true}, {8 * min, 0, 9, false}, {16 * min, 0, 9, false}, {24 * min, 0, 9, false}, {32 * min, 0, 9, false}, {40 * min, 0, 9, false}, {48 * min, 0, 9, false}, {56 * min, 0, 9, false}, {60 * min, 0, 1, true}, {61 * min, 0, 9, false}},
		"no calm of ten minutes":                 {{0, 0, 10, true}, {min, 30, 0, false}, {9 * min, 0, 20, false}},
		"failures in the window are no calm":     {{0, 0, 10, true}, {19 * min, 0, 10, false}},
		"calm by successes, then again":          {{0, 0, 10, true}, {min, 100, 0, false}, {12 * min, 0, 100, true}},
		"calm by silence, then again":            {{0, 0, 10, true}, {20 * min, 0, 10, true}, {21 * min, 0, 10, false}},
		"months later":                           {{0, 0, 10, true}, {100 * 24 * 60 * min, 0, 9, false}, {100*24*60*min + 1, 0, 1, true}},
		"an instant before counts as the latest": {{min, 0, 9, false}, {0, 0, 1, true}},
	} {
		var detector SpikeDetector
		for i, m := range script {
			if alarmed := m.play(&detector); alarmed != m.alarmed {
				t.Errorf("%s: moment %d told %v, want %v", name, i, alarmed, m.alarmed)
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
		detector.Record(at(time.Duration(n)*gap), false)
		wantOutcomes := min(n+1, int(SpikeWindow/gap))
		if len(detector.buckets) > maxExactBuckets+int(SpikeWindow/bucketWidth)+1 || detector.total < uint64(wantOutcomes) || detector.total > uint64(wantOutcomes)+uint64(bucketWidth/gap) {
			t.Fatalf("outcome %d: %d entries of %d outcomes", n, len(detector.buckets), detector.total)
		}
	}
}

func TestRetractedAlarmIsRaisedAgain(t *testing.T) {
	var detector SpikeDetector
	instant{0, 0, 10, true}.play(&detector)
	detector.Retract()
	if _, raised := detector.Record(at(time.Minute), true); !raised {
		t.Error("the next outcome repeats nothing")
	}
	if _, raised := detector.Record(at(time.Minute), true); raised {
		t.Error("it was told twice")
	}
}

func TestSpikeDetectorIsIdleWithoutOutcomesThatCount(t *testing.T) {
	var detector SpikeDetector
	detector.Record(at(0), true)
	if detector.Idle(at(19 * time.Minute)) {
		t.Error("what has ended lately is forgotten")
	}
	if !detector.Idle(at(21 * time.Minute)) {
		t.Error("it never comes to an end")
	}
	instant{0, 0, 10, true}.play(&detector)
	if detector.Idle(at(59*time.Minute)) || !detector.Idle(at(61*time.Minute)) {
		t.Error("when it was told is forgotten too early, or never")
	}
}

func TestSpikeMessage(t *testing.T) {
	alarm := Alarm{Failed: 7, All: 12, At: at(0)}
	m := alarm.Message(testTerminal)
	if m.Kind != Failures || m.Subject != `7 of 12 transactions rejected or failed at "Main"` ||
		!strings.HasPrefix(m.Text, "Of the 12 transactions that came to an end here in the 10 minutes before 2026-11-21 10:00:00 UTC, 7 were rejected or failed.\n") {
		t.Errorf("told was %+v", m)
	}
}

// naiveDetector applies the rule literally: it keeps all outcomes, and counts them anew at each instant at
// which one of them leaves the window.
type naiveDetector struct {
	outcomes  []outcome
	newest    ledger.Micros
	lastHigh  ledger.Micros
	lastAlarm ledger.Micros
}

type outcome struct {
	at     ledger.Micros
	failed bool
}

const tenMinutes = 600_000_000

// isHigh counts the outcomes of the last ten minutes.
func (n *naiveDetector) isHigh(now ledger.Micros) bool {
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
		if leaves := o.at + tenMinutes; leaves > n.newest && leaves <= now && n.isHigh(leaves-1) {
			n.lastHigh = leaves
		}
	}
	if n.isHigh(now) {
		n.lastHigh = now
	}
	n.newest = now
	n.outcomes = append(n.outcomes, outcome{now, failed})
	if !n.isHigh(now) {
		return false
	}
	calm := n.lastHigh == 0 || now-n.lastHigh >= tenMinutes
	n.lastHigh = now
	if n.lastAlarm != 0 && !calm && now-n.lastAlarm < 3600_000_000 {
		return false
	}
	n.lastAlarm = now
	return true
}

func TestSpikesAgreeWithANaiveImplementation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var detector SpikeDetector
		var n naiveDetector
		now := at(0)
		share := rapid.IntRange(0, 100).Draw(t, "share")
		pace := rapid.IntRange(1, 200).Draw(t, "pace")
		for i := range rapid.IntRange(1, 150).Draw(t, "outcomes") {
			now += ledger.Micros(rapid.IntRange(0, pace*1000).Draw(t, "gap")) * 1_000
			if rapid.IntRange(0, 40).Draw(t, "rests") == 0 {
				now += ledger.Micros(rapid.IntRange(0, 90).Draw(t, "rest")) * 60_000_000
			}
			failed := rapid.IntRange(0, 99).Draw(t, "failed") < share
			alarm, raised := detector.Record(now, failed)
			if want := n.record(now, failed); raised != want {
				t.Fatalf("outcome %d is told: %v, want %v", i, raised, want)
			}
			if raised && (alarm.All < 10 || 2*alarm.Failed < alarm.All) {
				t.Fatal(fmt.Sprint(alarm))
			}
		}
	})
}
