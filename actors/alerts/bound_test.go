package alerts

import (
	"encoding/binary"
	"log/slog"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/alerts"
)

// When the failures of MaxDetectors terminals are counted, the failures of a further terminal are counted only
// after the detectors of idle terminals were evicted.
func TestDetectorsAreBounded(t *testing.T) {
	manual := clock.NewManual(time.Date(2026, 11, 19, 10, 0, 0, 0, time.UTC))
	m := &Monitor{
		rt:        &actors.Runtime{Clock: manual, Log: slog.New(slog.DiscardHandler)},
		detectors: make(map[actors.RecordKey]*alerts.SpikeDetector),
	}
	recordFailures := func(n int) bool {
		var key actors.RecordKey
		binary.BigEndian.PutUint64(key.ID[:], uint64(n))
		alarm := false
		for range alerts.SpikeMinOutcomes {
			_, raised := m.countOutcome(key, ledger.MicrosOf(manual.Now()), true)
			alarm = alarm || raised
		}
		return alarm
	}
	for n := range MaxDetectors {
		if !recordFailures(n) {
			t.Fatalf("terminal %d raises no alarm", n)
		}
	}
	if recordFailures(MaxDetectors) || len(m.detectors) != MaxDetectors {
		t.Errorf("%d terminals are counted", len(m.detectors))
	}
	if err := manual.Set(manual.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if recordFailures(MaxDetectors) {
		t.Error("there was room")
	}
	if err := manual.Set(manual.Now().Add(2 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	if !recordFailures(MaxDetectors) || len(m.detectors) != 1 {
		t.Errorf("no room was made: %d terminals are counted", len(m.detectors))
	}
}
