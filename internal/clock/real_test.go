package clock

import (
	"sync"
	"testing"
	"time"
)

// The machine's clock is set back by an hour, and later passes the time at which it was set back.
func TestMachinesClockNeverGoesBack(t *testing.T) {
	var l latest
	noon := time.Date(2026, 9, 3, 12, 0, 0, 123456789, time.FixedZone("elsewhere", 3600))
	noonUTC := time.Date(2026, 9, 3, 11, 0, 0, 123456000, time.UTC)
	for _, step := range []struct{ machineTime, want time.Duration }{
		{0, 0}, {-time.Hour, 0}, {-time.Microsecond, 0}, {time.Microsecond, time.Microsecond}, {0, time.Microsecond}, {time.Hour, time.Hour},
	} {
		if got, want := l.advance(noon.Add(step.machineTime)), noonUTC.Add(step.want); got != want {
			t.Errorf("when the machine's clock shows %v, the clock shows %v, want %v", step.machineTime, got, want)
		}
	}
}

// Concurrent callers never see the clock go back.
func TestMachinesClockMovesForwardForAll(t *testing.T) {
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			before := Real{}.Now()
			for range 10_000 {
				now := Real{}.Now()
				if now.Before(before) || now.Location() != time.UTC || now.Nanosecond()%1_000 != 0 {
					t.Errorf("%v after %v", now, before)
					return
				}
				before = now
			}
		})
	}
	callers.Wait()
}
