package notifier

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"mizan/ledger"
	"mizan/posting"
)

// After a restart the waiting deliveries in the store are the only sign that a destination fails. Its
// fresh notices use no workers of destinations that respond.
func TestDestinationWithWaitingDeliveriesIsFailingAfterARestart(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.nthOfAll == 1] })
	to := f.destinationOf(r)
	f.notifyOne(to)
	f.quiesce()
	f.restart()
	gate := newGate()
	f.fillPool(gate, f.quickPool.Go, maxQuickWorkers)
	freshID := f.notifyOne(to)
	waitFor(t, "the notification arrives", func() bool { return r.count() == 2 })
	gate.open()
	f.quiesce()
	f.wantDelivery(freshID, Delivered, 1)
}

// A receiver that responds slowly has at most four workers, from the pool of failing destinations,
// until a response comes quickly.
func TestSlowReceiverTakesNoWorkersFromOthers(t *testing.T) {
	f := newFixture(t)
	f.limits.slowAnswer = -time.Second // every response is too slow
	firstGate, secondGate, poolGate := newGate(), newGate(), newGate()
	var currentGate atomic.Pointer[gate]
	receiver := startReceiver(t, func(*arrival) int {
		if g := currentGate.Load(); g != nil {
			g.wait()
		}
		return 200
	}, firstGate, secondGate)
	to := f.destinationOf(receiver)
	f.notifyOne(to)
	f.quiesce()
	currentGate.Store(firstGate)
	f.fillPool(poolGate, f.quickPool.Go, maxQuickWorkers)
	ids := f.notify(firstOrg, posting.Webhook, slices.Repeat([]ledger.ID{to}, 500)...)
	unanswered := func() int {
		receiver.mu.Lock()
		defer receiver.mu.Unlock()
		return receiver.unanswered
	}
	waitFor(t, "all permitted workers are busy", func() bool { return unanswered() == firstWorkerLimit })
	firstGate.open()
	waitFor(t, "all notifications arrived", func() bool { return len(receiver.events()) == 1+len(ids) })
	poolGate.open()
	f.quiesce()
	if receiver.maxUnanswered != firstWorkerLimit {
		t.Errorf("%d at once, want %d", receiver.maxUnanswered, firstWorkerLimit)
	}
	f.limits.slowAnswer = patience
	f.notifyOne(to)
	f.quiesce() // this response was quick
	currentGate.Store(secondGate)
	f.notify(firstOrg, posting.Webhook, slices.Repeat([]ledger.ID{to}, 1_000)...)
	waitFor(t, "all workers are busy again", func() bool { return unanswered() == lastWorkerLimit })
	secondGate.open()
	f.quiesce()
}

// A destination that finds no free worker tries again by itself, even if the business clock stands still.
func TestDestinationWithoutAFreeWorkerTriesAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receiver := startReceiver(t, alwaysStatus(200))
	gate := newGate()
	t.Cleanup(gate.open)
	var running atomic.Int64
	jobs := int64(0)
	for f.quickPool.Go(func() { running.Add(1); gate.wait() }) == nil {
		if jobs++; jobs == maxQuickWorkers {
			waitFor(t, "all workers are busy", func() bool { return running.Load() == maxQuickWorkers })
		}
	}
	id := f.notifyOne(f.destinationOf(receiver))
	waitFor(t, "the destination has found no worker", func() bool { return f.Runtime.Outstanding() == jobs })
	gate.open()
	waitFor(t, "the notification arrives", func() bool { return receiver.count() == 1 })
	f.quiesce()
	f.wantDelivery(id, Delivered, 1)
}

// Failing destinations take turns, so that all of them together make a bounded number of attempts a second. Neither a destination
// that responds nor a failing one with few deliveries waits for one with many.
func TestFailingDestinationsTakeTurns(t *testing.T) {
	t.Parallel()
	const perSecond, many, few = 50, 40, 3
	f := newFixture(t)
	f.failingTurns = rate.NewLimiter(perSecond, 1)
	var mu sync.Mutex
	var order []string // the destinations, in the order of the attempts
	failing := func(name string) ledger.ID {
		return f.destinationOf(startReceiver(t, func(*arrival) int {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
			return 500
		}))
	}
	first, second := failing("many"), failing("few")
	healthy := startReceiver(t, alwaysStatus(200))
	f.notifyOne(first)
	f.notifyOne(second)
	f.quiesce() // now both are known to fail
	order = nil
	began := time.Now()
	f.notify(firstOrg, posting.Webhook, slices.Repeat([]ledger.ID{first}, many)...)
	f.notify(firstOrg, posting.Webhook, slices.Repeat([]ledger.ID{second}, few)...)
	f.notify(firstOrg, posting.Webhook, slices.Repeat([]ledger.ID{f.destinationOf(healthy)}, 200)...)
	waitFor(t, "the healthy receiver gets everything", func() bool { return healthy.count() == 200 })
	mu.Lock()
	if made := len(order); made >= many {
		t.Errorf("a receiver that responds waited for %d failing attempts", made)
	}
	mu.Unlock()
	f.quiesce()
	if took, least := time.Since(began), (many+few-1)*time.Second/perSecond; took < least {
		t.Errorf("%d attempts in %v, want at least %v", len(order), took, least)
	}
	lastOfFew := 0
	for i, name := range order {
		if name == "few" {
			lastOfFew = i
		}
	}
	if len(order) != many+few || lastOfFew > 4*few {
		t.Errorf("the attempts are %v", order)
	}
}

// With a manual clock failing destinations do not take turns, because a move of the clock waits for every attempt that is due.
func TestTurnsAreForTheRealClock(t *testing.T) {
	if f := newFixture(t); f.failingTurns.Limit() != rate.Inf {
		t.Errorf("with a manual clock %g attempts a second", f.failingTurns.Limit())
	}
	if f := newFixture(t, onRealClock); f.failingTurns.Limit() != failingPerSecond {
		t.Errorf("with the real clock %g attempts a second", f.failingTurns.Limit())
	}
}

// A destination that has accepted a notice does not wait for the turn that it needed while it failed.
func TestRecoveredDestinationNeedsNoTurn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.failingTurns = rate.NewLimiter(rate.Every(time.Hour), 1)
	mayAnswer := newGate()
	t.Cleanup(mayAnswer.open)
	receiver := startReceiver(t, func(a *arrival) int {
		switch a.nthOfAll {
		case 2:
			mayAnswer.wait()
		case 3:
			return 500
		}
		return 200
	}, mayAnswer)
	to := f.destinationOf(receiver)
	f.notifyOne(to)
	f.quiesce()
	f.failingTurns.Allow() // nobody has a turn for an hour
	f.notifyOne(to)
	waitFor(t, "a delivery waits for its answer", func() bool { return receiver.count() == 2 })
	f.notifyOne(to) // fails meanwhile
	waitFor(t, "a delivery fails", func() bool { return receiver.count() == 3 })
	f.notifyOne(to)
	f.notifyOne(to)
	mayAnswer.open()
	waitFor(t, "the others arrive", func() bool { return receiver.count() == 5 })
}
