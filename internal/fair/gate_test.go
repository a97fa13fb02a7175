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
	"time"
)

// gateFixture records the order in which callers of one gate get places.
type gateFixture struct {
	t       *testing.T
	gate    *Gate[string]
	mu      sync.Mutex
	entered []string // guarded by mu: callers that got a place, in order
	refused []string // guarded by mu: callers that were refused
	wait    sync.WaitGroup
}

func newGateFixture(t *testing.T, b Bounds) *gateFixture {
	return &gateFixture{t: t, gate: New[string](b)}
}

func (p *gateFixture) counts() (inside, waiting int) {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return p.gate.inside, p.gate.waiting
}

// hold enters at once, because a place is free.
func (p *gateFixture) hold(name string) *Place[string] {
	p.t.Helper()
	group, _, _ := strings.Cut(name, ".")
	place, err := p.gate.Enter(p.t.Context(), group, name)
	if err != nil {
		p.t.Fatal(err)
	}
	return place
}

// queue makes callers "group.member" wait one after the other; each leaves immediately when it
// has a place.
func (p *gateFixture) queue(names ...string) {
	p.t.Helper()
	for _, name := range names {
		countRefused := func() int { p.mu.Lock(); defer p.mu.Unlock(); return len(p.refused) }
		_, before := p.counts()
		refusedBefore := countRefused()
		group, _, _ := strings.Cut(name, ".")
		p.wait.Go(func() {
			place, err := p.gate.Enter(p.t.Context(), group, name)
			p.mu.Lock()
			defer p.mu.Unlock()
			if err != nil {
				p.refused = append(p.refused, fmt.Sprintf("%s: %v", name, err))
				return
			}
			p.entered = append(p.entered, name)
			place.Leave()
		})
		for { // until it waits, was refused, or has displaced another caller
			if _, now := p.counts(); now > before || countRefused() > refusedBefore {
				break
			}
			runtime.Gosched()
		}
	}
}

func (p *gateFixture) wantOrder(order string) {
	p.t.Helper()
	p.wait.Wait()
	if got := strings.Join(p.entered, " "); got != order {
		p.t.Errorf("places went to %q, want %q", got, order)
	}
	if len(p.gate.groups) != 0 || p.gate.inside != 0 || p.gate.waiting != 0 {
		p.t.Errorf("left behind: %d groups, %d inside, %d waiting", len(p.gate.groups), p.gate.inside, p.gate.waiting)
	}
}

func TestGroupsAndTheirMembersTakeTurns(t *testing.T) {
	p := newGateFixture(t, Bounds{Inside: 1, Waiting: 20, Each: 10})
	place := p.hold("z")
	p.queue("a.1", "a.1", "a.1", "a.2", "b.1", "b.1", "c.1")
	place.Leave()
	p.wantOrder("a.1 b.1 c.1 a.2 b.1 a.1 a.1")
}

func TestGroupWithoutAPlaceComesFirst(t *testing.T) {
	p := newGateFixture(t, Bounds{Inside: 2, Waiting: 20, Each: 10})
	placeOfA, placeOfZ := p.hold("a.1"), p.hold("z")
	p.queue("a.1", "a.2", "b.1")
	placeOfZ.Leave()
	p.wait.Wait()
	placeOfA.Leave()
	p.wantOrder("b.1 a.2 a.1")
}

func TestPlacesAndWaitersOfOneMemberAreBounded(t *testing.T) {
	p := newGateFixture(t, Bounds{Inside: 1, Waiting: 20, Each: 3})
	place := p.hold("a.1")
	p.queue("a.1", "a.1")
	if _, err := p.gate.Enter(t.Context(), "a", "a.1"); !errors.Is(err, ErrCrowded) {
		t.Errorf("one too many: %v", err)
	}
	p.queue("a.2")
	place.Leave()
	p.wantOrder("a.1 a.2 a.1")
}

func TestGroupWithTheMostWaitersMakesRoom(t *testing.T) {
	p := newGateFixture(t, Bounds{Inside: 1, Waiting: 4, Each: 10})
	place := p.hold("z")
	p.queue("a.1", "a.1", "a.1", "a.2")
	p.queue("b.1") // displaces the newest of a.1
	p.queue("b.2") // displaces another one of a.1
	if _, err := p.gate.Enter(t.Context(), "b", "b.3"); !errors.Is(err, ErrCrowded) {
		t.Errorf("of a group that has as many as others: %v", err)
	}
	place.Leave()
	p.wantOrder("a.1 b.1 a.2 b.2")
	if want := []string{"a.1: " + ErrCrowded.Error(), "a.1: " + ErrCrowded.Error()}; !slices.Equal(p.refused, want) {
		t.Errorf("refused were %q", p.refused)
	}
}

func TestMemberWithTheMostWaitersMakesRoom(t *testing.T) {
	p := newGateFixture(t, Bounds{Inside: 1, Waiting: 6, Each: 10})
	place := p.hold("z")
	p.queue("a.1", "a.1", "a.1", "b.1", "b.1", "b.1")
	p.queue("a.2", "b.2")
	place.Leave()
	p.wantOrder("a.1 b.1 a.2 b.2 a.1 b.1")
	if want := []string{"a.1: " + ErrCrowded.Error(), "b.1: " + ErrCrowded.Error()}; !slices.Equal(p.refused, want) {
		t.Errorf("refused were %q", p.refused)
	}
}

func TestFullQueueRefusesIfEachMemberHasOneWaiter(t *testing.T) {
	p := newGateFixture(t, Bounds{Inside: 1, Waiting: 2, Each: 10})
	place := p.hold("z")
	p.queue("a.1", "b.1")
	if _, err := p.gate.Enter(t.Context(), "c", "c.1"); !errors.Is(err, ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	place.Leave()
	p.wantOrder("a.1 b.1")
}

func TestCancelledWaiterLeavesNoState(t *testing.T) {
	p := newGateFixture(t, Bounds{Inside: 1, Waiting: 2, Each: 10})
	place := p.hold("z")
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := p.gate.Enter(ctx, "a", "a.1")
		result <- err
	}()
	for _, waiting := p.counts(); waiting == 0; _, waiting = p.counts() {
		runtime.Gosched()
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("gave up: %v", err)
	}
	p.queue("b.1", "c.1")
	place.Leave()
	p.wantOrder("b.1 c.1")
}

func TestShareGivesThePlaceToWaiters(t *testing.T) {
	p := newGateFixture(t, Bounds{Inside: 1, Waiting: 4, Each: 10})
	place := p.hold("a.1")
	if waited, err := place.Share(t.Context(), 0); waited != 0 || err != nil {
		t.Errorf("nobody waits: %v %v", waited, err)
	}
	p.queue("a.2", "b.1")
	if waited, err := place.Share(t.Context(), time.Hour); waited != 0 || err != nil || len(p.entered) != 0 {
		t.Errorf("too early: %v %v", waited, err)
	}
	if _, err := place.Share(t.Context(), 0); err != nil {
		t.Error(err)
	}
	p.wait.Wait()
	place.Leave()
	p.wantOrder("b.1 a.2")
}

func TestCancelledShareLosesThePlace(t *testing.T) {
	p := newGateFixture(t, Bounds{Inside: 1, Waiting: 4, Each: 10})
	place := p.hold("a.1")
	ctx, cancel := context.WithCancel(t.Context())
	entered, leave := make(chan struct{}), make(chan struct{})
	p.wait.Go(func() {
		otherPlace, err := p.gate.Enter(t.Context(), "b", "b.1")
		if err != nil {
			t.Error(err)
			return
		}
		close(entered)
		<-leave
		otherPlace.Leave()
	})
	for _, waiting := p.counts(); waiting == 0; _, waiting = p.counts() {
		runtime.Gosched()
	}
	go func() { <-entered; cancel() }()
	if _, err := place.Share(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("gave up: %v", err)
	}
	close(leave)
	p.wantOrder("")
}

// With random arrivals and departures, there are never more callers inside than allowed, and at the end no
// state is left.
func TestInvariantsHoldUnderConcurrentUse(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	b := Bounds{Inside: 3, Waiting: 10, Each: 4}
	p := newGateFixture(t, b)
	var inside, most, refused atomic.Int64
	for i := range 40 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		p.wait.Go(func() {
			for range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(4) == 0 {
					go cancel()
				}
				group := fmt.Sprint(random.IntN(4))
				place, err := p.gate.Enter(ctx, group, group+"."+fmt.Sprint(random.IntN(3)))
				if err != nil {
					refused.Add(1)
					cancel()
					continue
				}
				now := inside.Add(1)
				for previous := most.Load(); now > previous && !most.CompareAndSwap(previous, now); previous = most.Load() {
				}
				if random.IntN(2) == 0 {
					inside.Add(-1)
					if _, err = place.Share(ctx, 0); err == nil {
						inside.Add(1)
					}
				}
				if err == nil {
					inside.Add(-1)
					place.Leave()
				}
				cancel()
			}
		})
	}
	p.wantOrder("")
	if most.Load() > int64(b.Inside) || refused.Load() == 0 {
		t.Errorf("%d were inside at once, %d were refused", most.Load(), refused.Load())
	}
}
