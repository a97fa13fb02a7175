package serving

import "testing"

// Memory is released once after each burst, after a whole interval without a change, and never
// again before the next change.
func TestMemoryIsReleasedOnceAfterEachBurst(t *testing.T) {
	var detector idleDetector
	for i, step := range []struct {
		changes  uint64
		wantIdle bool
	}{{0, false}, {0, false}, {5, false}, {9, false}, {9, true}, {9, false}, {10, false}, {10, true}, {10, false}} {
		if got := detector.becameIdle(step.changes); got != step.wantIdle {
			t.Errorf("look %d at %d changes: %v, want %v", i, step.changes, got, step.wantIdle)
		}
	}
}
