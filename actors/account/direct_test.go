package account

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/ledger/directory"
)

// now counts directly and returns whether it did. The actor answers before it has finished, so the
// test waits for it here.
func (f *fixture) now(d time.Duration, a *directory.Attempt, limits ...*directory.Limit) bool {
	f.Runtime.Quiesce()
	return f.CountNow(org, 1, limits, after(d), a)
}

func TestAttemptsAreCountedDirectlyOnlyFarFromTheLimit(t *testing.T) {
	f, l := newFixture(t), velocity(near+3, directory.ScopePartner)
	if f.now(0, attemptWith(""), l) {
		t.Error("counted before the past was known")
	}
	f.admits(0, attemptWith(""), l)
	for n := range 4 {
		if counted, far := f.now(time.Second, attemptWith(""), l), n < 2; counted != far {
			t.Errorf("attempt %d: counted %v", n, counted)
		}
	}
	f.counts(l, "", 3, after(time.Minute))
	narrow := velocity(5, directory.ScopePartner)
	f.admits(time.Second, attemptWith(""), narrow)
	if f.now(time.Second, attemptWith(""), velocity(near*2, directory.ScopePartner), narrow) {
		t.Error("counted near a limit, or by one whose past is not known")
	}
}

func TestDirectlyCountedAttemptCanBeUncounted(t *testing.T) {
	f, l := newFixture(t), velocity(near*2, directory.ScopePartner)
	f.admits(0, attemptWith(""), l)
	if !f.now(time.Second, attemptWith(""), l) {
		t.Fatal("not counted")
	}
	f.Uncount(org, 1, []*directory.Limit{l}, after(time.Second), attemptWith(""))
	f.Runtime.Quiesce()
	f.counts(l, "", 1, after(time.Minute))
}

// An actor that may stop counts nothing directly, because the count would be lost.
func TestActorThatMayStopCountsNothingDirectly(t *testing.T) {
	f, l := newFixture(t), velocity(near*2, directory.ScopePartner)
	f.admits(0, attemptWith(""), l)
	if !f.now(30*time.Second, attemptWith(""), l) {
		t.Fatal("not counted")
	}
	f.to(80 * time.Second) // after the first one's window, within the second's
	f.counts(l, "", 1, after(90*time.Second))
	if !f.now(85*time.Second, attemptWith(""), l) {
		t.Error("not counted while another counts")
	}
	f.to(3 * time.Minute)
	f.counts(l, "", 0, 0)
	if f.now(3*time.Minute, attemptWith(""), l) {
		t.Error("counted where the actor may be let go")
	}
	f.admits(3*time.Minute, attemptWith(""), l)
	if !f.now(3*time.Minute, attemptWith(""), l) {
		t.Error("not counted again")
	}
	f.counts(l, "", 2, after(4*time.Minute))
}

func TestEachConcurrentAttemptCountsOnce(t *testing.T) {
	f, l := newFixture(t), velocity(100_000, directory.ScopePartner)
	f.admits(0, attemptWith(""), l)
	const callers, each = 16, 500
	var directly atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				if f.CountNow(org, 1, []*directory.Limit{l}, after(time.Second), attemptWith("")) {
					directly.Add(1)
					continue
				}
				done := make(chan struct{})
				f.Count(org, 1, []*directory.Limit{l}, after(time.Second), attemptWith(""), nil, func(*directory.Limit, error) { close(done) })
				<-done
			}
		})
	}
	all.Wait()
	f.counts(l, "", callers*each+1, after(time.Minute))
	if directly.Load() == 0 {
		t.Error("none was counted directly")
	}
}
