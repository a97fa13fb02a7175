package account

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/ledger/directory"
)

// countNow calls CountNow after the actor has finished its last message. The actor answers a message before it
// has finished with it, and until then holds the lock that CountNow needs.
func (f *fixture) countNow(sinceStart time.Duration, a *directory.Attempt, limits ...*directory.Limit) bool {
	f.Runtime.Quiesce()
	return f.CountNow(org, 1, limits, startPlus(sinceStart), a)
}

func TestAttemptsAreCountedDirectlyOnlyFarFromTheLimit(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(nearLimitMargin+3, directory.ScopePartner)
	if f.countNow(0, attemptWith(""), limit) {
		t.Error("counted before the past was known")
	}
	f.wantAdmitted(0, attemptWith(""), limit)
	for n := range 4 {
		if counted, want := f.countNow(time.Second, attemptWith(""), limit), n < 2; counted != want {
			t.Errorf("attempt %d: counted %v", n, counted)
		}
	}
	f.wantUsage(limit, "", 3, startPlus(time.Minute))
	lowLimit := velocityLimit(5, directory.ScopePartner)
	f.wantAdmitted(time.Second, attemptWith(""), lowLimit)
	if f.countNow(time.Second, attemptWith(""), velocityLimit(nearLimitMargin*2, directory.ScopePartner), lowLimit) {
		t.Error("counted near a limit, or by one whose past is not known")
	}
}

func TestDirectlyCountedAttemptCanBeUncounted(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(nearLimitMargin*2, directory.ScopePartner)
	f.wantAdmitted(0, attemptWith(""), limit)
	if !f.countNow(time.Second, attemptWith(""), limit) {
		t.Fatal("not counted")
	}
	f.Uncount(org, 1, []*directory.Limit{limit}, startPlus(time.Second), attemptWith(""))
	f.Runtime.Quiesce()
	f.wantUsage(limit, "", 1, startPlus(time.Minute))
}

// An actor that may stop counts nothing directly, because the count would be lost.
func TestActorThatMayStopCountsNothingDirectly(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(nearLimitMargin*2, directory.ScopePartner)
	f.wantAdmitted(0, attemptWith(""), limit)
	if !f.countNow(30*time.Second, attemptWith(""), limit) {
		t.Fatal("not counted")
	}
	f.setClock(80 * time.Second) // the first attempt does not count any more, the second does
	f.wantUsage(limit, "", 1, startPlus(90*time.Second))
	if !f.countNow(85*time.Second, attemptWith(""), limit) {
		t.Error("not counted while another counts")
	}
	f.setClock(3 * time.Minute)
	f.wantUsage(limit, "", 0, 0)
	if f.countNow(3*time.Minute, attemptWith(""), limit) {
		t.Error("counted where the actor may be let go")
	}
	f.wantAdmitted(3*time.Minute, attemptWith(""), limit)
	if !f.countNow(3*time.Minute, attemptWith(""), limit) {
		t.Error("not counted again")
	}
	f.wantUsage(limit, "", 2, startPlus(4*time.Minute))
}

func TestEachConcurrentAttemptCountsOnce(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(100_000, directory.ScopePartner)
	f.wantAdmitted(0, attemptWith(""), limit)
	const callers, attemptsPerCaller = 16, 500
	var countedDirectly atomic.Int64
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for range attemptsPerCaller {
				if f.CountNow(org, 1, []*directory.Limit{limit}, startPlus(time.Second), attemptWith("")) {
					countedDirectly.Add(1)
					continue
				}
				done := make(chan struct{})
				f.Count(org, 1, []*directory.Limit{limit}, startPlus(time.Second), attemptWith(""), nil, func(*directory.Limit, error) { close(done) })
				<-done
			}
		})
	}
	running.Wait()
	f.wantUsage(limit, "", callers*attemptsPerCaller+1, startPlus(time.Minute))
	if countedDirectly.Load() == 0 {
		t.Error("none was counted directly")
	}
}
