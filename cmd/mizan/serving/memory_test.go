package serving

import "testing"

// After a burst of changes, memory is released when one whole interval has passed without a change. It is released
// again only after another change.
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
