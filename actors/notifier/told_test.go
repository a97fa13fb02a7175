package notifier

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

// A replay of a parked delivery goes only to the operators that it has not reached; a replay of a
// delivered one goes to all.
func TestAReplayTellsOperatorsWhomItHasNotReachedOrAll(t *testing.T) {
	var given []string
	reaches := false
	h := newFixture(t, func(h *fixture) {
		h.telegrams = func(_, _ ledger.ID, _, told []byte) (Attempt, []byte, time.Duration) {
			given = append(given, string(told))
			a := Attempt{At: ledger.MicrosOf(h.clock.Now())}
			if !reaches {
				a.Failure = "one is left"
				return a, []byte("one"), 0
			}
			return a, []byte("both"), 0
		}
	})
	id := h.tells(here, posting.Operators, uuid.New())[0]
	h.pass(24 * time.Hour)
	h.wants(id, Parked, MaxAttempts)
	given, reaches = nil, true
	for range 2 {
		h.restart()
		h.replay(id)
		h.rest()
		h.wants(id, Delivered, MaxAttempts+len(given))
	}
	if fmt.Sprint(given) != "[one ]" {
		t.Errorf("told already were %q: want one, then nobody", given)
	}
}
