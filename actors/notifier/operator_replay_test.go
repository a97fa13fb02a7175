package notifier

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

// A replay of a parked delivery goes only to the operators who were not reached; a replay of a
// delivery that was acknowledged goes to all.
func TestReplayNotifiesUnreachedOperatorsOrAll(t *testing.T) {
	var reachedBefore []string
	reachesAll := false
	f := newFixture(t, func(f *fixture) {
		f.notifyOperators = func(_, _ ledger.ID, _, reached []byte) (Attempt, []byte, time.Duration) {
			reachedBefore = append(reachedBefore, string(reached))
			a := Attempt{At: ledger.MicrosOf(f.Clock.Now())}
			if !reachesAll {
				a.Failure = "one is left"
				return a, []byte("one"), 0
			}
			return a, []byte("both"), 0
		}
	})
	id := f.notify(firstOrg, posting.OperatorAlert, uuid.New())[0]
	f.advance(24 * time.Hour)
	f.wantDelivery(id, Parked, MaxAttempts)
	reachedBefore, reachesAll = nil, true
	for range 2 {
		f.restart()
		f.replay(id)
		f.quiesce()
		f.wantDelivery(id, Delivered, MaxAttempts+len(reachedBefore))
	}
	if fmt.Sprint(reachedBefore) != "[one ]" {
		t.Errorf("already reached were %q: want one operator, then none", reachedBefore)
	}
}
