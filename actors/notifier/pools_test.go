package notifier

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
)

// After a restart only the waiting deliveries in the store tell about a destination, so its fresh
// notices take no place from destinations that answer.
func TestADestinationOfWhichSomethingWaitsIsDoubtfulAfterARestart(t *testing.T) {
	h := newFixture(t)
	r := receive(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.all == 1] })
	to := h.at(r)
	h.one(to)
	h.rest()
	h.restart()
	g := newGate()
	h.crowd(g, h.brisk.Go, briskPool)
	fresh := h.one(to)
	waitFor(t, "told by a worker for those that have failed", func() bool { return r.count() == 2 })
	g.open()
	h.rest()
	h.wants(fresh, Delivered, 1)
}

// A receiver that answers slowly has at most four workers, from the pool of failing destinations,
// until an answer comes quickly.
func TestAReceiverThatAnswersSlowlyTakesNoPlaceFromOthers(t *testing.T) {
	h := newFixture(t)
	h.limits.slow = -time.Second // every answer is too slow
	first, second, brisk := newGate(), newGate(), newGate()
	var closed atomic.Pointer[gate]
	r := receive(t, func(*arrival) int {
		if g := closed.Load(); g != nil {
			g.wait()
		}
		return 200
	}, first, second)
	to := h.at(r)
	h.one(to)
	h.rest()
	closed.Store(first)
	h.crowd(brisk, h.brisk.Go, briskPool)
	ids := h.tells(here, posting.Webhook, slices.Repeat([]ledger.ID{to}, 500)...)
	under := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.under
	}
	waitFor(t, "as many are under way as may", func() bool { return under() == firstWindow })
	first.open()
	waitFor(t, "all are told", func() bool { return len(r.events()) == 1+len(ids) })
	brisk.open()
	h.rest()
	if r.most != firstWindow {
		t.Errorf("%d at once, want %d", r.most, firstWindow)
	}
	h.limits.slow = patience
	h.one(to)
	h.rest() // this answer was quick
	closed.Store(second)
	h.tells(here, posting.Webhook, slices.Repeat([]ledger.ID{to}, 1_000)...)
	waitFor(t, "the window is open again", func() bool { return under() == lastWindow })
	second.open()
	h.rest()
}

// When there is no room for another worker, the destination tries again by itself, even if the
// business clock stands still.
func TestADestinationForWhichThereIsNoWorkerTriesAgain(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	r := receive(t, always(200))
	g := newGate()
	h.crowd(g, h.brisk.Go, actors.MaxCalls)
	jobs := int64(actors.MaxCalls)
	for h.brisk.Go(g.wait) == nil {
		jobs++
	}
	id := h.one(h.at(r))
	waitFor(t, "it has found no room", func() bool { return h.runtime.Outstanding() == jobs })
	g.open()
	waitFor(t, "told", func() bool { return r.count() == 1 })
	h.rest()
	h.wants(id, Delivered, 1)
}
