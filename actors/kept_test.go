package actors_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
)

// retainedBehaviour is a RetainedBehaviour: its actor must be kept in memory until a time.
type retainedBehaviour struct {
	until          atomic.Int64 // what KeepUntil returns, in Micros
	keepUntilCalls atomic.Int64
	panicsOnce     atomic.Bool // the next call of KeepUntil panics
}

func (b *retainedBehaviour) Receive(c *actors.Context, message any) {
	switch m := message.(type) {
	case expect:
		c.Expect()
	case call:
		m()
	}
}

func (b *retainedBehaviour) KeepUntil() ledger.Micros {
	if b.keepUntilCalls.Add(1); b.panicsOnce.Swap(false) {
		panic("until")
	}
	return ledger.Micros(b.until.Load())
}

func (b *retainedBehaviour) Committed(*actors.Context, *posting.Change, posting.Receipt) {}
func (b *retainedBehaviour) Idle() bool                                                  { return true }
func (b *retainedBehaviour) Failed(*actors.Context)                                      {}

// retainedActors returns a registry whose actors share one behaviour.
func (f *fixture) retainedActors(keepIdle time.Duration, behaviour *retainedBehaviour) *actors.Registry[actors.RecordKey] {
	return actors.NewRegistry(f.Runtime, "keeper", keepIdle, func(actors.RecordKey) actors.Behaviour { return behaviour })
}

// wantCounts checks the numbers of actors with work and of those that are kept without work.
func (f *fixture) wantCounts(t *testing.T, what string, withWork, withoutWork int64) {
	t.Helper()
	if f.ActorsWithWork() != withWork || f.KeptActors() != withoutWork {
		t.Errorf("%s: %d actors with work and %d without, want %d and %d", what, f.ActorsWithWork(), f.KeptActors(), withWork, withoutWork)
	}
}

// waitForKept waits until the given number of actors are kept without work.
func (f *fixture) waitForKept(t *testing.T, what string, want int64) {
	t.Helper()
	mustReturn(t, what, func() {
		for f.KeptActors() != want {
			runtime.Gosched()
		}
	})
}

func doNothing() {}

func TestRetainedActorHasNoWork(t *testing.T) {
	f := open(t, 0)
	behaviour := new(retainedBehaviour)
	registry := f.retainedActors(time.Hour, behaviour)
	for range 3 {
		for i := range 100 {
			registry.Tell(wideKey(i), call(doNothing))
		}
		f.Quiesce()
		f.wantCounts(t, "at rest", 0, 100)
	}
	release, began := make(chan struct{}), make(chan struct{})
	registry.Tell(wideKey(0), call(func() { close(began); <-release }))
	<-began
	f.wantCounts(t, "with a message", 1, 99)
	close(release)
	f.Quiesce()
	registry.Tell(wideKey(1), expect{})
	f.Quiesce()
	f.wantCounts(t, "with an answer to come", 1, 99)
	registry.Tell(wideKey(1), expectedAnswer{new(atomic.Int64)})
	f.Quiesce()
	f.wantCounts(t, "with the answer", 0, 100)
	registry.Tell(wideKey(2), call(func() { panic("a message") }))
	f.Quiesce()
	f.wantCounts(t, "after a panic", 0, 100)
	behaviour.panicsOnce.Store(true)
	registry.Tell(wideKey(3), call(doNothing))
	f.Quiesce()
	f.wantCounts(t, "after a panic of KeepUntil", 1, 99)
	registry.Tell(wideKey(3), call(doNothing))
	f.Quiesce()
	f.wantCounts(t, "after KeepUntil has returned", 0, 100)
}

func TestActorWithAChangeInProgressHasWork(t *testing.T) {
	f := open(t, time.Hour)
	f.gate = make(chan struct{})
	replies := make(chan error, 2)
	for range cap(replies) { // the second message is handled after the first one's Change
		if err := f.registry.Command(key(1), &write{reply: replies}); err != nil {
			t.Fatal(err)
		}
	}
	f.wantCounts(t, "before the first Change is durable", 1, 0)
	f.gate <- struct{}{}
	if err := <-replies; err != nil {
		t.Fatal(err)
	}
	f.wantCounts(t, "while the second Change is made durable", 1, 0)
	close(f.gate)
	f.Quiesce()
	f.wantCounts(t, "after both Changes", 0, 1)
}

// Actors that have no work and are only kept in memory delay nothing: commands are accepted and due work
// is handled, even if there are more such actors than MaxLive.
func TestRetainedActorsDelayNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("more actors than the bound")
	}
	f := open(t, 0)
	behaviour := new(retainedBehaviour)
	behaviour.until.Store(int64(ledger.MicrosOf(start.Add(24 * time.Hour))))
	registry := f.retainedActors(time.Hour, behaviour)
	const actorCount = actors.MaxLive + 1
	for i := range actorCount {
		recordKey := wideKey(i)
		recordKey.ID[3] = byte(i >> 16)
		registry.Tell(recordKey, call(doNothing))
	}
	f.Quiesce()
	f.wantCounts(t, "at rest", 0, actorCount) // every actor must stay, although more than MaxKept actors are kept
	reply := make(chan error, 1)
	if err := f.registry.Command(key(1), &write{due: time.Hour, reply: reply}); err != nil {
		t.Fatalf("a command: %v", err)
	}
	if err := <-reply; err != nil {
		t.Fatal(err)
	}
	if err := f.Advance(start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if len(f.woken) != 1 {
		t.Errorf("%d times woken when it was due, want once", len(f.woken))
	}
}

// Actors of an Unbounded registry delay nothing: even if more than MaxLive of them have work, other
// commands are accepted and due work is handled.
func TestActorsOfAnUnboundedRegistryDelayNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("more actors than the bound")
	}
	f := open(t, 0)
	behaviour := new(retainedBehaviour)
	unbounded := f.retainedActors(time.Hour, behaviour).Unbounded()
	const actorCount = actors.MaxLive + 1
	for i := range actorCount {
		recordKey := wideKey(i)
		recordKey.ID[3] = byte(i >> 16)
		unbounded.Tell(recordKey, expect{})
	}
	mustReturn(t, "all expect something", f.Quiesce)
	f.wantCounts(t, "with work", actorCount, 0)
	reply := make(chan error, 1)
	if err := f.registry.Command(key(1), &write{due: time.Hour, reply: reply}); err != nil {
		t.Fatalf("a command: %v", err)
	}
	if err := <-reply; err != nil {
		t.Fatal(err)
	}
	if err := f.Advance(start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if len(f.woken) != 1 {
		t.Errorf("%d times woken when it was due, want once", len(f.woken))
	}
}

func TestIdleActorBeyondTheBoundStopsAtOnce(t *testing.T) {
	f := open(t, 0)
	behaviour := new(retainedBehaviour)
	registry := f.retainedActors(time.Hour, behaviour)
	f.AddKeptActors(actors.MaxKept - 1)
	registry.Tell(key(1), call(doNothing))
	f.Quiesce()
	f.wantCounts(t, "the last that has room", 0, actors.MaxKept)
	registry.Tell(key(2), call(doNothing))
	f.Quiesce()
	f.wantCounts(t, "one more", 0, actors.MaxKept)
	behaviour.until.Store(int64(ledger.MicrosOf(start) + 1))
	registry.Tell(key(3), call(doNothing))
	f.Quiesce()
	f.wantCounts(t, "one that must stay", 0, actors.MaxKept+1)
}

// An actor whose KeepUntil has returned a time is not asked to stop before that time, and is stopped then.
func TestRetainedActorStaysUntilItsTime(t *testing.T) {
	f := open(t, 0)
	behaviour := new(retainedBehaviour)
	behaviour.until.Store(int64(ledger.MicrosOf(start.Add(time.Hour))))
	registry := f.retainedActors(time.Nanosecond, behaviour)
	registry.Tell(key(1), call(doNothing))
	f.Quiesce()
	if err := f.Advance(start.Add(time.Hour - time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		registry.StopIdle(time.Now().Add(time.Hour))
	}
	registry.Tell(key(1), call(doNothing)) // this message is handled after the messages that StopIdle has sent
	f.Quiesce()
	if n := behaviour.keepUntilCalls.Load(); n != 2 {
		t.Errorf("asked %d times by two messages", n)
	}
	f.wantCounts(t, "before the instant", 0, 1)
	if err := f.Advance(start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	registry.StopIdle(time.Now().Add(time.Hour))
	f.waitForKept(t, "it goes", 0)
	f.wantCounts(t, "at the instant", 0, 0)
}

func TestActorWithoutARetentionTimeStopsWhenIdle(t *testing.T) {
	f := open(t, time.Hour) // probes are not RetainedBehaviours
	f.registry.Tell(key(1), call(doNothing))
	f.Quiesce()
	registry := f.retainedActors(time.Nanosecond, new(retainedBehaviour))
	registry.Tell(key(2), call(doNothing)) // the actor stops at once: KeepUntil returns 0, and a nanosecond has passed
	f.Quiesce()
	f.wantCounts(t, "only the probe is kept", 0, 1)
}
