package serving

import "testing"

// Memory is given back once after each burst, when a whole look has passed
// without a change, and never while nothing has happened since.
func TestMemoryIsGivenBackOnceAfterEachBurst(t *testing.T) {
	var r rest
	for i, look := range []struct {
		changes uint64
		over    bool
	}{{0, false}, {0, false}, {5, false}, {9, false}, {9, true}, {9, false}, {10, false}, {10, true}, {10, false}} {
		if got := r.over(look.changes); got != look.over {
			t.Errorf("look %d at %d changes: %v, want %v", i, look.changes, got, look.over)
		}
	}
}
