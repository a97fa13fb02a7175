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

// Beyond MaxDetectors terminals, idle ones are evicted, and no further terminals are counted until
// one is idle.
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
			_, raised := m.record(key, ledger.MicrosOf(manual.Now()), true)
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
