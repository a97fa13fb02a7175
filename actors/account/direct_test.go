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
func (s *counting) now(d time.Duration, a *directory.Attempt, limits ...*directory.Limit) bool {
	s.rt.Quiesce()
	return s.CountNow(org, 1, limits, after(d), a)
}

func TestAttemptsAreCountedDirectlyOnlyFarFromTheLimit(t *testing.T) {
	s, l := countingFixture(t), velocity(near+3, directory.ScopePartner)
	if s.now(0, by(""), l) {
		t.Error("counted before the past was known")
	}
	s.admits(0, by(""), l)
	for n := range 4 {
		if counted, far := s.now(time.Second, by(""), l), n < 2; counted != far {
			t.Errorf("attempt %d: counted %v", n, counted)
		}
	}
	s.counts(l, "", 3, after(time.Minute))
	narrow := velocity(5, directory.ScopePartner)
	s.admits(time.Second, by(""), narrow)
	if s.now(time.Second, by(""), velocity(near*2, directory.ScopePartner), narrow) {
		t.Error("counted near a limit, or by one whose past is not known")
	}
}

func TestWhatIsCountedDirectlyIsTakenBackAsAnyOther(t *testing.T) {
	s, l := countingFixture(t), velocity(near*2, directory.ScopePartner)
	s.admits(0, by(""), l)
	if !s.now(time.Second, by(""), l) {
		t.Fatal("not counted")
	}
	s.Uncount(org, 1, []*directory.Limit{l}, after(time.Second), by(""))
	s.rt.Quiesce()
	s.counts(l, "", 1, after(time.Minute))
}

// An actor that may stop counts nothing directly, because the count would be lost.
func TestNothingIsCountedDirectlyOnceAllHasLeftTheWindow(t *testing.T) {
	s, l := countingFixture(t), velocity(near*2, directory.ScopePartner)
	s.admits(0, by(""), l)
	if !s.now(30*time.Second, by(""), l) {
		t.Fatal("not counted")
	}
	s.to(80 * time.Second) // after the first one's window, within the second's
	s.counts(l, "", 1, after(90*time.Second))
	if !s.now(85*time.Second, by(""), l) {
		t.Error("not counted while another counts")
	}
	s.to(3 * time.Minute)
	s.counts(l, "", 0, 0)
	if s.now(3*time.Minute, by(""), l) {
		t.Error("counted where the actor may be let go")
	}
	s.admits(3*time.Minute, by(""), l)
	if !s.now(3*time.Minute, by(""), l) {
		t.Error("not counted again")
	}
	s.counts(l, "", 2, after(4*time.Minute))
}

func TestWhoeverCountsEachAttemptCountsOnce(t *testing.T) {
	s, l := countingFixture(t), velocity(100_000, directory.ScopePartner)
	s.admits(0, by(""), l)
	const callers, each = 16, 500
	var directly atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				if s.CountNow(org, 1, []*directory.Limit{l}, after(time.Second), by("")) {
					directly.Add(1)
					continue
				}
				done := make(chan struct{})
				s.Count(org, 1, []*directory.Limit{l}, after(time.Second), by(""), nil, func(*directory.Limit, error) { close(done) })
				<-done
			}
		})
	}
	all.Wait()
	s.counts(l, "", callers*each+1, after(time.Minute))
	if directly.Load() == 0 {
		t.Error("none was counted directly")
	}
}
