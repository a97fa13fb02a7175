package desk

import (
	"encoding/binary"
	"log/slog"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/watch"
)

// Beyond so many terminals those are forgotten of which nothing counts any more, and
// no others are counted until there are such.
func TestSpikesAreCountedForSoManyTerminals(t *testing.T) {
	manual := clock.NewManual(time.Date(2026, 11, 19, 10, 0, 0, 0, time.UTC))
	d := &Desk{
		rt:     &actors.Runtime{Clock: manual, Log: slog.New(slog.DiscardHandler)},
		spikes: make(map[actors.RecordKey]*watch.Spike),
	}
	hear := func(n int) bool {
		var key actors.RecordKey
		binary.BigEndian.PutUint64(key.ID[:], uint64(n))
		alarm := false
		for range watch.SpikeLeast {
			_, raised := d.hear(key, ledger.MicrosOf(manual.Now()), true)
			alarm = alarm || raised
		}
		return alarm
	}
	for n := range MaxWatched {
		if !hear(n) {
			t.Fatalf("terminal %d raises no alarm", n)
		}
	}
	if hear(MaxWatched) || len(d.spikes) != MaxWatched {
		t.Errorf("%d terminals are counted", len(d.spikes))
	}
	if err := manual.Set(manual.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if hear(MaxWatched) {
		t.Error("there was room")
	}
	if err := manual.Set(manual.Now().Add(2 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	if !hear(MaxWatched) || len(d.spikes) != 1 {
		t.Errorf("no room was made: %d terminals are counted", len(d.spikes))
	}
}
