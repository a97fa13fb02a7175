package api_test

import (
	"sync"
	"testing"
	"time"
)

// Each of many moves at once counts from where the one before it ended.
func TestParallelAdvancesOfTheClockAddUp(t *testing.T) {
	h := open(t)
	before := h.clock.Now()
	var all sync.WaitGroup
	for range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			h.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":3}`).want(200, "")
		}()
	}
	all.Wait()
	if got := h.clock.Now().Sub(before); got != time.Minute {
		t.Errorf("the clock moved by %v, want 1m0s", got)
	}
}
