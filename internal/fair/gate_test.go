package fair

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// gateFixture records the order in which callers of one gate get places.
type gateFixture struct {
	t              *testing.T
	gate           *Gate[string]
	mu             sync.Mutex
	enteredCallers []string // guarded by mu: callers that got a place, in order
	refusedCallers []string // guarded by mu: callers that were refused
	callers        sync.WaitGroup
}

func newGateFixture(t *testing.T, b Bounds) *gateFixture {
	return &gateFixture{t: t, gate: New[string](b)}
}

func (f *gateFixture) counts() (inside, waiting int) {
	f.gate.mu.Lock()
	defer f.gate.mu.Unlock()
	return f.gate.inside, f.gate.waiting
}

// hold takes a place. A place must be free.
func (f *gateFixture) hold(name string) *Place[string] {
	f.t.Helper()
	group, _, _ := strings.Cut(name, ".")
	place, err := f.gate.Enter(f.t.Context(), group, name)
	if err != nil {
		f.t.Fatal(err)
	}
	return place
}

// queue makes callers wait one after the other. A caller's name is "group.member". Each caller leaves as soon as it has a
// place.
func (f *gateFixture) queue(names ...string) {
	f.t.Helper()
	for _, name := range names {
		countRefused := func() int { f.mu.Lock(); defer f.mu.Unlock(); return len(f.refusedCallers) }
		_, before := f.counts()
		refusedBefore := countRefused()
		group, _, _ := strings.Cut(name, ".")
		f.callers.Go(func() {
			place, err := f.gate.Enter(f.t.Context(), group, name)
			f.mu.Lock()
			defer f.mu.Unlock()
			if err != nil {
				f.refusedCallers = append(f.refusedCallers, fmt.Sprintf("%s: %v", name, err))
				return
			}
			f.enteredCallers = append(f.enteredCallers, name)
			place.Leave()
		})
		for { // until the caller waits, is refused, or has displaced another caller
			if _, now := f.counts(); now > before || countRefused() > refusedBefore {
				break
			}
			runtime.Gosched()
		}
	}
}

func (f *gateFixture) wantOrder(order string) {
	f.t.Helper()
	f.callers.Wait()
	if got := strings.Join(f.enteredCallers, " "); got != order {
		f.t.Errorf("places went to %q, want %q", got, order)
	}
	if len(f.gate.groups) != 0 || f.gate.inside != 0 || f.gate.waiting != 0 {
		f.t.Errorf("left behind: %d groups, %d inside, %d waiting", len(f.gate.groups), f.gate.inside, f.gate.waiting)
	}
}

func TestGroupsAndTheirMembersTakeTurns(t *testing.T) {
	f := newGateFixture(t, Bounds{MaxInside: 1, MaxWaiting: 20, PerMember: 10})
	place := f.hold("z")
	f.queue("a.1", "a.1", "a.1", "a.2", "b.1", "b.1", "c.1")
	place.Leave()
	f.wantOrder("a.1 b.1 c.1 a.2 b.1 a.1 a.1")
}

func TestGroupWithoutAPlaceComesFirst(t *testing.T) {
	f := newGateFixture(t, Bounds{MaxInside: 2, MaxWaiting: 20, PerMember: 10})
	placeOfA, placeOfZ := f.hold("a.1"), f.hold("z")
	f.queue("a.1", "a.2", "b.1")
	placeOfZ.Leave()
	f.callers.Wait()
	placeOfA.Leave()
	f.wantOrder("b.1 a.2 a.1")
}

func TestPlacesAndWaitersOfOneMemberAreBounded(t *testing.T) {
	f := newGateFixture(t, Bounds{MaxInside: 1, MaxWaiting: 20, PerMember: 3})
	place := f.hold("a.1")
	f.queue("a.1", "a.1")
	if _, err := f.gate.Enter(t.Context(), "a", "a.1"); !errors.Is(err, ErrCrowded) {
		t.Errorf("one too many: %v", err)
	}
	f.queue("a.2")
	place.Leave()
	f.wantOrder("a.1 a.2 a.1")
}

func TestGroupWithTheMostWaitersMakesRoom(t *testing.T) {
	f := newGateFixture(t, Bounds{MaxInside: 1, MaxWaiting: 4, PerMember: 10})
	place := f.hold("z")
	f.queue("a.1", "a.1", "a.1", "a.2")
	f.queue("b.1") // displaces the newest caller of a.1
	f.queue("b.2") // displaces another caller of a.1
	if _, err := f.gate.Enter(t.Context(), "b", "b.3"); !errors.Is(err, ErrCrowded) {
		t.Errorf("of a group that has as many as others: %v", err)
	}
	place.Leave()
	f.wantOrder("a.1 b.1 a.2 b.2")
	if want := []string{"a.1: " + ErrCrowded.Error(), "a.1: " + ErrCrowded.Error()}; !slices.Equal(f.refusedCallers, want) {
		t.Errorf("refused were %q", f.refusedCallers)
	}
}

func TestMemberWithTheMostWaitersMakesRoom(t *testing.T) {
	f := newGateFixture(t, Bounds{MaxInside: 1, MaxWaiting: 6, PerMember: 10})
	place := f.hold("z")
	f.queue("a.1", "a.1", "a.1", "b.1", "b.1", "b.1")
	f.queue("a.2", "b.2")
	place.Leave()
	f.wantOrder("a.1 b.1 a.2 b.2 a.1 b.1")
	if want := []string{"a.1: " + ErrCrowded.Error(), "b.1: " + ErrCrowded.Error()}; !slices.Equal(f.refusedCallers, want) {
		t.Errorf("refused were %q", f.refusedCallers)
	}
}

func TestFullQueueRefusesIfEachMemberHasOneWaiter(t *testing.T) {
	f := newGateFixture(t, Bounds{MaxInside: 1, MaxWaiting: 2, PerMember: 10})
	place := f.hold("z")
	f.queue("a.1", "b.1")
	if _, err := f.gate.Enter(t.Context(), "c", "c.1"); !errors.Is(err, ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	place.Leave()
	f.wantOrder("a.1 b.1")
}

func TestCancelledWaiterLeavesNoState(t *testing.T) {
	f := newGateFixture(t, Bounds{MaxInside: 1, MaxWaiting: 2, PerMember: 10})
	place := f.hold("z")
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := f.gate.Enter(ctx, "a", "a.1")
		result <- err
	}()
	for _, waiting := f.counts(); waiting == 0; _, waiting = f.counts() {
		runtime.Gosched()
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("gave up: %v", err)
	}
	f.queue("b.1", "c.1")
	place.Leave()
	f.wantOrder("b.1 c.1")
}

func TestYieldGivesThePlaceToWaiters(t *testing.T) {
	f := newGateFixture(t, Bounds{MaxInside: 1, MaxWaiting: 4, PerMember: 10})
	place := f.hold("a.1")
	if waited, err := place.Yield(t.Context(), 0); waited != 0 || err != nil {
		t.Errorf("nobody waits: %v %v", waited, err)
	}
	f.queue("a.2", "b.1")
	if waited, err := place.Yield(t.Context(), time.Hour); waited != 0 || err != nil || len(f.enteredCallers) != 0 {
		t.Errorf("too early: %v %v", waited, err)
	}
	if _, err := place.Yield(t.Context(), 0); err != nil {
		t.Error(err)
	}
	f.callers.Wait()
	place.Leave()
	f.wantOrder("b.1 a.2")
}

func TestCancelledYieldLosesThePlace(t *testing.T) {
	f := newGateFixture(t, Bounds{MaxInside: 1, MaxWaiting: 4, PerMember: 10})
	place := f.hold("a.1")
	ctx, cancel := context.WithCancel(t.Context())
	entered, leave := make(chan struct{}), make(chan struct{})
	f.callers.Go(func() {
		otherPlace, err := f.gate.Enter(t.Context(), "b", "b.1")
		if err != nil {
			t.Error(err)
			return
		}
		close(entered)
		<-leave
		otherPlace.Leave()
	})
	for _, waiting := f.counts(); waiting == 0; _, waiting = f.counts() {
		runtime.Gosched()
	}
	go func() { <-entered; cancel() }()
	if _, err := place.Yield(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("gave up: %v", err)
	}
	close(leave)
	f.wantOrder("")
}

// With random arrivals and departures, there are never more callers inside than allowed, and at the end no
// state is left. Callers stay inside for a random virtual time, so that they overlap on any number of processors.
func TestInvariantsHoldUnderConcurrentUse(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	synctest.Test(t, func(t *testing.T) {
		b := Bounds{MaxInside: 3, MaxWaiting: 10, PerMember: 4}
		f := newGateFixture(t, b)
		var inside, maxInside, refused atomic.Int64
		for i := range 40 {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			stay := func() {
				now := inside.Add(1)
				for previous := maxInside.Load(); now > previous && !maxInside.CompareAndSwap(previous, now); previous = maxInside.Load() {
				}
				<-time.After(time.Duration(random.IntN(1000)) * time.Microsecond)
				inside.Add(-1)
			}
			f.callers.Go(func() {
				for range 200 {
					<-time.After(time.Duration(random.IntN(1000)) * time.Microsecond)
					ctx, cancel := context.WithCancel(t.Context())
					if random.IntN(4) == 0 {
						go cancel()
					}
					group := fmt.Sprint(random.IntN(4))
					place, err := f.gate.Enter(ctx, group, group+"."+fmt.Sprint(random.IntN(3)))
					if err != nil {
						refused.Add(1)
						cancel()
						continue
					}
					stay()
					if random.IntN(2) == 0 {
						if _, err = place.Yield(ctx, 0); err == nil {
							stay()
						}
					}
					if err == nil {
						place.Leave()
					}
					cancel()
				}
			})
		}
		f.wantOrder("")
		if maxInside.Load() != int64(b.MaxInside) || refused.Load() == 0 {
			t.Errorf("%d were inside at once, %d were refused", maxInside.Load(), refused.Load())
		}
	})
}
