package account

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

func TestVelocityLimitAdmitsItsCountPerWindow(t *testing.T) {
	f, l := newFixture(t), velocity(3, directory.ScopePartner)
	for n := range 3 {
		f.admits(time.Duration(n)*time.Second, attemptWith("a"), l)
	}
	f.refuses(3*time.Second, attemptWith("b"), l)
}

// Velocity is a sliding window over all attempts, including those that it refused.
func TestRefusedAttemptsCount(t *testing.T) {
	f, l := newFixture(t), velocity(1, directory.ScopePartner)
	f.admits(0, attemptWith(""), l)
	f.refuses(40*time.Second, attemptWith(""), l)
	f.refuses(80*time.Second, attemptWith(""), l) // the first has left the window, the second has not
	f.admits(140*time.Second, attemptWith(""), l)
}

func TestAttemptCountsUntilTheExactEndOfItsWindow(t *testing.T) {
	f := newFixture(t)
	before, at := velocity(1, directory.ScopePartner), velocity(1, directory.ScopePartner)
	f.admits(0, attemptWith(""), before, at)
	f.refuses(time.Minute-time.Microsecond, attemptWith(""), before)
	f.admits(time.Minute, attemptWith(""), at)

	l := velocity(2, directory.ScopePartner)
	f.admits(10*time.Second, attemptWith(""), l)
	f.admits(12*time.Second, attemptWith(""), l)
	f.to(70*time.Second - time.Microsecond)
	f.counts(l, "", 2, after(70*time.Second))
	f.to(70 * time.Second)
	f.counts(l, "", 1, after(72*time.Second))
	f.to(72 * time.Second)
	f.counts(l, "", 0, 0)
}

func TestAttemptsOutOfOrderCountByTheirOwnTimes(t *testing.T) {
	f, l := newFixture(t), velocity(3, directory.ScopePartner)
	f.admits(10*time.Second, attemptWith(""), l)
	f.admits(5*time.Second, attemptWith(""), l)
	f.admits(7*time.Second, attemptWith(""), l)
	f.refuses(6*time.Second, attemptWith(""), l)
	f.refuses(65*time.Second, attemptWith(""), l) // those of 6, 7 and 10 s
	f.to(67 * time.Second)                        // exactly when that of 7 s leaves the window
	f.counts(l, "", 2, after(70*time.Second))     // 10 s and 65 s
}

func TestSubjectsTerminalsAndEnvironmentsAreCountedSeparately(t *testing.T) {
	f := newFixture(t)
	card, partner := velocity(1, directory.ScopeCard), velocity(3, directory.ScopePartner)
	f.admits(0, attemptWith("a"), card, partner)
	f.admits(0, attemptWith("b"), card, partner)
	if l := f.tries(0, attemptWith("a"), card, partner); l != card {
		t.Errorf("refused by %v", l)
	}
	f.admits(0, attemptWith(""), card) // an attempt without a card counts for no card
	if l := f.tries(0, attemptWith("c"), card, partner); l != partner {
		t.Errorf("refused by %v", l)
	}
	test := *partner
	test.Asset.Env = money.Test
	other := attemptWith("a")
	other.Asset.Env = money.Test
	f.admits(0, other, &test)
	theirs := *partner
	theirs.Partner = 2
	f.counts(&theirs, "", 0, 0)
	f.counts(card, "a", 2, after(time.Minute))
	f.counts(card, "b", 1, after(time.Minute))
	f.counts(card, "c", 1, after(time.Minute))
}

func TestRepetitionIsUncounted(t *testing.T) {
	f, l := newFixture(t), velocity(2, directory.ScopePartner)
	f.admits(0, attemptWith(""), l)
	f.admits(time.Second, attemptWith(""), l)
	f.Uncount(org, 1, []*directory.Limit{l}, after(time.Second), attemptWith(""))
	f.Uncount(org, 1, []*directory.Limit{l}, after(2*time.Second), attemptWith("")) // was never counted
	f.Uncount(org, 1, []*directory.Limit{velocity(1, directory.ScopeCard)}, 0, attemptWith("x"))
	f.admits(2*time.Second, attemptWith(""), l)
	f.refuses(3*time.Second, attemptWith(""), l)
}

// As many repetitions as there is slack may be taken back at once, and the limit still counts as
// reached.
func TestLimitIsReachedAfterManyUncountedAttempts(t *testing.T) {
	f, l := newFixture(t), velocity(2, directory.ScopePartner)
	const many = 2 + slack + 500
	for n := range many {
		f.tries(time.Duration(n)*time.Millisecond, attemptWith(""), l)
	}
	for n := many - slack; n < many; n++ {
		f.Uncount(org, 1, []*directory.Limit{l}, after(time.Duration(n)*time.Millisecond), attemptWith(""))
	}
	f.refuses(2*time.Second, attemptWith(""), l)
}

// The memory of a window is bounded: subjects that come once are removed when their attempts have
// left the window, and a subject that comes for ever keeps only what can count.
func TestMemoryOfAWindowIsBounded(t *testing.T) {
	l := newWindow(velocity(5, directory.ScopeCard))
	const subjects, aMinute = 200_000, 4_000
	most := 0
	for n := range subjects { // four thousand a minute
		l.count(strconv.Itoa(n), after(time.Duration(n)*time.Minute/aMinute), 5)
		most = max(most, len(l.subjects))
	}
	if most > 2*aMinute+2 {
		t.Errorf("%d subjects were remembered, %d attempts count", most, aMinute)
	}

	l = newWindow(velocity(5, directory.ScopeCard))
	for n := range subjects { // all in the same minute
		l.count(strconv.Itoa(n), after(0), 5)
	}
	l.count("later", after(time.Minute), 5)
	if len(l.subjects) != 1 {
		t.Errorf("%d subjects are left a minute after %d", len(l.subjects), subjects)
	}
	for n := range 10_000 {
		l.count("regular", after(time.Duration(n)*50*time.Second), 5)
		if got := len(l.subjects["regular"].at); got > 3 {
			t.Fatalf("%d attempts are remembered, one counts", got)
		}
	}
	if room := l.room; room != 5+slack {
		t.Fatalf("room for %d", room)
	}
	for n := range 10_000 {
		l.count("busy", after(500*time.Hour+time.Duration(n)), 5)
	}
	if got := len(l.subjects["busy"].at); got != 5+slack {
		t.Errorf("%d attempts are remembered of one who never rests", got)
	}
}

// While attempts count the actor must not stop, because attempts that are not durable yet are in
// memory only.
func TestAnActorStaysWhileAttemptsCount(t *testing.T) {
	f, l := newFixture(t), velocity(3, directory.ScopePartner)
	p := &velocityActor{service: f.Service, key: velocityKey{org, 1, money.Prod}, windows: make(map[ledger.ID]*window)}
	if until := p.KeepUntil(); until != 0 {
		t.Errorf("one that has counted nothing stays until %v", until.Time())
	}
	for _, d := range []time.Duration{0, time.Second, 500 * time.Millisecond} { // they come in any order
		p.Receive(&actors.Context{Runtime: f.Runtime}, &count{limits: []*directory.Limit{l}, at: after(d), attempt: *attemptWith(""), answer: func(*directory.Limit, error) {}})
	}
	if until := p.KeepUntil(); until != after(time.Second+time.Minute) {
		t.Errorf("it stays until %v", until.Time())
	}
}

// An actor that is only kept has no work; otherwise occasional partners would use up the bound of
// actors with work.
func TestActorThatOnlyHoldsAttemptsHasNoWork(t *testing.T) {
	f, l := newFixture(t), velocity(1, directory.ScopePartner)
	f.admits(0, attemptWith(""), l)
	if n := f.Runtime.Live(); n != 0 {
		t.Errorf("%d actors have work", n)
	}
	f.refuses(59*time.Second, attemptWith(""), l) // nothing is in the store
	if f.reads != 1 {
		t.Errorf("the past was read %d times, want once", f.reads)
	}
}

func TestNewActorReadsAttemptsFromTheStore(t *testing.T) {
	f := newFixture(t)
	partner, card := velocity(3, directory.ScopePartner), velocity(2, directory.ScopeCard)
	f.to(time.Minute)
	f.history = []storedAttempt{
		{after(50 * time.Second), after(50 * time.Second), *attemptWith("a")},
		{after(40 * time.Second), after(20 * time.Second), *attemptWith("b")}, // attempted before, booked later
		{after(30 * time.Second), after(30 * time.Second), *attemptWith("a")},
		{after(0), after(0), *attemptWith("a")}, // has left the window exactly now
	}
	f.counts(partner, "", 3, after(80*time.Second))
	f.refuses(time.Minute, attemptWith("b"), partner)
	f.admits(time.Minute, attemptWith("b"), card)
	f.refuses(time.Minute, attemptWith("a"), card)
	f.restart() // and what was counted since then was never durable
	f.counts(partner, "", 3, after(80*time.Second))
	f.to(81 * time.Second)
	f.counts(partner, "", 2, after(90*time.Second))
}

// For a limit of a partner's scope, no more of the history is read than can matter.
func TestHistoryIsReadOnlyAsFarAsNeeded(t *testing.T) {
	for scope, most := range map[directory.Scope]int{directory.ScopePartner: 2 * (3 + slack), directory.ScopeCard: 50_000} {
		f, l := newFixture(t), velocity(3, scope)
		f.to(time.Minute)
		for n := range 50_000 {
			at := after(time.Minute - time.Duration(n)*time.Millisecond)
			f.history = append(f.history, storedAttempt{at, at, *attemptWith("a")})
		}
		f.refuses(time.Minute, attemptWith("a"), l)
		if f.passed > most || f.passed < 3 {
			t.Errorf("%s: %d attempts were read", scope, f.passed)
		}
		subject, _ := attemptWith("a").Payer.Subject(scope)
		f.counts(l, subject, 3+slack, after(2*time.Minute-(1+slack)*time.Millisecond))
	}
}

// An attempt that cannot be counted is refused and counts nowhere: the next attempt is checked as
// if it had not been made.
func TestUnreadableHistoryRefusesWithoutCounting(t *testing.T) {
	f := newFixture(t)
	known, young := velocity(2, directory.ScopePartner), velocity(2, directory.ScopePartner)
	f.admits(0, attemptWith(""), known)
	f.failed = errors.New("the store can't be read")
	if got := f.answers(after(time.Second), attemptWith(""), known, young); len(got) != 1 || !errors.Is(got[0].err, f.failed) || got[0].breached != nil {
		t.Errorf("answered %v", got)
	}
	if _, err := f.Usage(context.Background(), young, ""); !errors.Is(err, f.failed) {
		t.Errorf("usage: %v", err)
	}
	f.failed = nil
	f.admits(time.Second, attemptWith(""), known, young)
	f.refuses(2*time.Second, attemptWith(""), known)
	f.admits(2*time.Second, attemptWith(""), young)
}

func TestAPanicAnswersOnceAndTheStoreIsReadAgain(t *testing.T) {
	f, l := newFixture(t), velocity(2, directory.ScopePartner)
	f.panics = true
	if got := f.answers(after(0), attemptWith(""), l); len(got) != 1 || got[0].err == nil {
		t.Errorf("answered %v", got)
	}
	f.panics = false
	f.admits(0, attemptWith(""), l)
	f.history = []storedAttempt{{after(0), after(0), *attemptWith("")}} // it is durable by now
	f.velocities.Tell(velocityKey{org, 1, money.Prod}, "what is this")
	f.admits(time.Second, attemptWith(""), l)
	f.refuses(time.Second, attemptWith(""), l)
	if f.reads != 3 {
		t.Errorf("the past was read %d times", f.reads)
	}
}

// A changed limit is a new value. What it has counted and is not stored yet still counts, also if
// the limit was off for a while.
func TestChangedLimitLosesNoAttempts(t *testing.T) {
	f, l := newFixture(t), velocity(2, directory.ScopePartner)
	f.admits(0, attemptWith(""), l)           // never durable
	f.admits(time.Second, attemptWith(""), l) // durable later
	f.history = []storedAttempt{{after(20 * time.Second), after(20 * time.Second), *attemptWith("")}, {after(time.Second), after(time.Second), *attemptWith("")}}
	wider := *l // was off at 20 s
	wider.MaxCount = 5_000
	f.to(30 * time.Second)
	f.counts(&wider, "", 3, after(time.Minute))
	reads := f.reads
	f.refuses(30*time.Second+time.Microsecond, attemptWith(""), velocity(0, directory.ScopePartner))
	f.refuses(30*time.Second, attemptWith(""), l) // screened before the limit was changed
	f.admits(30*time.Second, attemptWith(""), &wider)
	if f.reads != reads+1 { // for the other limit
		t.Errorf("the past was read %d times more", f.reads-reads)
	}
	f.counts(&wider, "", 5, after(time.Minute))
	narrower := wider
	narrower.MaxCount = 5
	f.refuses(31*time.Second, attemptWith(""), &narrower)
	f.admits(32*time.Second, attemptWith(""), &wider) // both versions are known: nothing is read again
	f.refuses(33*time.Second, attemptWith(""), l)     // the version two changes ago
	f.refuses(34*time.Second, attemptWith(""), &narrower)
	f.counts(&narrower, "", 9, after(time.Minute))
}

func TestUsageOfAnInactiveLimitIsComputed(t *testing.T) {
	f, l := newFixture(t), velocity(2, directory.ScopePartner)
	off := *l
	off.Active = false
	f.counts(&off, "", 0, 0)
	f.history = []storedAttempt{{after(0), after(0), *attemptWith("")}}
	f.counts(&off, "", 1, after(time.Minute))
	f.admits(0, attemptWith(""), l) // active again: nothing of its window was kept
	f.refuses(0, attemptWith(""), l)
}

func TestUsageTimesOut(t *testing.T) {
	f, l := newFixture(t), velocity(2, directory.ScopePartner)
	f.gate = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := f.Usage(ctx, l, "")
	var refusal *ledger.Refusal
	if !errors.As(err, &refusal) || refusal.Code != ledger.Unavailable {
		t.Errorf("%v", err)
	}
	close(f.gate)
}

// The window gives the same answers as a list of all attempts that is searched each time, in any
// order of attempts.
func TestWindowAgreesWithANaiveList(t *testing.T) {
	seed := rand.Uint64()
	if given := os.Getenv("MIZAN_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("MIZAN_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 50 {
		limit := velocity(1+r.Int64N(8), directory.ScopeCard)
		window, all := newWindow(limit), map[string][]ledger.Micros{}
		now := after(0)
		for step := range 400 {
			now += ledger.Micros(r.Int64N(20_000_000))
			at := now - ledger.Micros(r.Int64N(3_000_000)) // slightly out of order
			who := fmt.Sprint(r.IntN(3))
			if n := len(all[who]); n > 0 && r.IntN(6) == 0 {
				i := r.IntN(n)
				if all[who][i] > now-ledger.Micros(time.Minute/time.Microsecond) {
					window.uncount(who, all[who][i])
					all[who] = append(all[who][:i], all[who][i+1:]...)
				}
				continue
			}
			var before int64
			for _, other := range all[who] {
				if other > at-ledger.Micros(time.Minute/time.Microsecond) {
					before++
				}
			}
			if got, want := window.count(who, at, limit.MaxCount), before >= limit.MaxCount; got != want {
				t.Fatalf("round %d, step %d: breached %v, %d counted of %d", round, step, got, before, limit.MaxCount)
			}
			all[who] = append(all[who], at)
		}
	}
}

// A repetition takes no place that another attempt could need, and is not looked up while it
// cannot.
func TestRepetitionIsLookedUpOnlyNearTheLimit(t *testing.T) {
	f, wide, narrow := newFixture(t), velocity(near+2, directory.ScopePartner), velocity(2, directory.ScopePartner)
	asked, taken := 0, true
	f.repeats = func() (bool, error) {
		asked++
		return taken, nil
	}
	f.admits(0, attemptWith(""), wide) // one, and near are left
	f.admits(0, attemptWith(""), wide)
	if asked != 0 {
		t.Errorf("asked %d times far from the limit", asked)
	}
	for range 3 {
		got := f.answers(after(0), attemptWith(""), narrow)
		var refusal *ledger.Refusal
		if len(got) != 1 || !errors.As(got[0].err, &refusal) || refusal.Code != ledger.ClaimTaken {
			t.Fatalf("answered %+v", got)
		}
	}
	f.counts(narrow, "", 0, 0)
	taken = false
	f.admits(0, attemptWith(""), narrow)
	f.admits(0, attemptWith(""), narrow)
	f.refuses(0, attemptWith(""), narrow)
	if asked != 6 {
		t.Errorf("asked %d times", asked)
	}
}
