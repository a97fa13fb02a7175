package serving

import "testing"

// Memory is released once after each burst, after a whole interval without a change, and never
// again before the next change.
func TestMemoryIsReleasedOnceAfterEachBurst(t *testing.T) {
	var r idleDetector
	for i, look := range []struct {
		changes  uint64
		wantIdle bool
	}{{0, false}, {0, false}, {5, false}, {9, false}, {9, true}, {9, false}, {10, false}, {10, true}, {10, false}} {
		if got := r.becameIdle(look.changes); got != look.wantIdle {
			t.Errorf("look %d at %d changes: %v, want %v", i, look.changes, got, look.wantIdle)
		}
	}
}
