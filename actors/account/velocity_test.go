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

func TestAVelocityAdmitsItsCountInAWindow(t *testing.T) {
	s, l := countingFixture(t), velocity(3, directory.ScopePartner)
	for n := range 3 {
		s.admits(time.Duration(n)*time.Second, by("a"), l)
	}
	s.refuses(3*time.Second, by("b"), l)
}

// Velocity is a sliding window over all attempts, including those that it refused.
func TestWhatWasRefusedCountsToo(t *testing.T) {
	s, l := countingFixture(t), velocity(1, directory.ScopePartner)
	s.admits(0, by(""), l)
	s.refuses(40*time.Second, by(""), l)
	s.refuses(80*time.Second, by(""), l) // the first has left the window, the second has not
	s.admits(140*time.Second, by(""), l)
}

func TestAnAttemptCountsUntilExactlyItsWindowsEnd(t *testing.T) {
	s := countingFixture(t)
	before, at := velocity(1, directory.ScopePartner), velocity(1, directory.ScopePartner)
	s.admits(0, by(""), before, at)
	s.refuses(time.Minute-time.Microsecond, by(""), before)
	s.admits(time.Minute, by(""), at)

	l := velocity(2, directory.ScopePartner)
	s.admits(10*time.Second, by(""), l)
	s.admits(12*time.Second, by(""), l)
	s.to(70*time.Second - time.Microsecond)
	s.counts(l, "", 2, after(70*time.Second))
	s.to(70 * time.Second)
	s.counts(l, "", 1, after(72*time.Second))
	s.to(72 * time.Second)
	s.counts(l, "", 0, 0)
}

func TestAttemptsThatComeOutOfOrderCountByTheirInstants(t *testing.T) {
	s, l := countingFixture(t), velocity(3, directory.ScopePartner)
	s.admits(10*time.Second, by(""), l)
	s.admits(5*time.Second, by(""), l)
	s.admits(7*time.Second, by(""), l)
	s.refuses(6*time.Second, by(""), l)
	s.refuses(65*time.Second, by(""), l)      // those of 6, 7 and 10 s
	s.to(67 * time.Second)                    // exactly when that of 7 s leaves the window
	s.counts(l, "", 2, after(70*time.Second)) // 10 s and 65 s
}

func TestASubjectAPartnersTerminalAndAnEnvironmentAreCountedByThemselves(t *testing.T) {
	s := countingFixture(t)
	card, partner := velocity(1, directory.ScopeCard), velocity(3, directory.ScopePartner)
	s.admits(0, by("a"), card, partner)
	s.admits(0, by("b"), card, partner)
	if l := s.tries(0, by("a"), card, partner); l != card {
		t.Errorf("refused by %v", l)
	}
	s.admits(0, by(""), card) // an attempt without a card counts for no card
	if l := s.tries(0, by("c"), card, partner); l != partner {
		t.Errorf("refused by %v", l)
	}
	test := *partner
	test.Asset.Env = money.Test
	other := by("a")
	other.Asset.Env = money.Test
	s.admits(0, other, &test)
	theirs := *partner
	theirs.Partner = 2
	s.counts(&theirs, "", 0, 0)
	s.counts(card, "a", 2, after(time.Minute))
	s.counts(card, "b", 1, after(time.Minute))
	s.counts(card, "c", 1, after(time.Minute))
}

func TestARepetitionIsTakenBack(t *testing.T) {
	s, l := countingFixture(t), velocity(2, directory.ScopePartner)
	s.admits(0, by(""), l)
	s.admits(time.Second, by(""), l)
	s.Uncount(org, 1, []*directory.Limit{l}, after(time.Second), by(""))
	s.Uncount(org, 1, []*directory.Limit{l}, after(2*time.Second), by("")) // was never counted
	s.Uncount(org, 1, []*directory.Limit{velocity(1, directory.ScopeCard)}, 0, by("x"))
	s.admits(2*time.Second, by(""), l)
	s.refuses(3*time.Second, by(""), l)
}

// As many repetitions as there is slack may be taken back at once, and the limit still counts as
// reached.
func TestALimitIsStillReachedAfterManyAreTakenBack(t *testing.T) {
	s, l := countingFixture(t), velocity(2, directory.ScopePartner)
	const many = 2 + slack + 500
	for n := range many {
		s.tries(time.Duration(n)*time.Millisecond, by(""), l)
	}
	for n := many - slack; n < many; n++ {
		s.Uncount(org, 1, []*directory.Limit{l}, after(time.Duration(n)*time.Millisecond), by(""))
	}
	s.refuses(2*time.Second, by(""), l)
}

// The memory of a window is bounded: subjects that come once are removed when their attempts have
// left the window, and a subject that comes for ever keeps only what can count.
func TestTheMemoryOfAWindowIsBoundedByWhatCounts(t *testing.T) {
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
	s, l := countingFixture(t), velocity(3, directory.ScopePartner)
	p := &velocityActor{service: s.Service, key: velocityKey{org, 1, money.Prod}, windows: make(map[ledger.ID]*window)}
	if until := p.KeepUntil(); until != 0 {
		t.Errorf("one that has counted nothing stays until %v", until.Time())
	}
	for _, d := range []time.Duration{0, time.Second, 500 * time.Millisecond} { // they come in any order
		p.Receive(&actors.Context{Runtime: s.rt}, &count{limits: []*directory.Limit{l}, at: after(d), attempt: *by(""), answer: func(*directory.Limit, error) {}})
	}
	if until := p.KeepUntil(); until != after(time.Second+time.Minute) {
		t.Errorf("it stays until %v", until.Time())
	}
}

// An actor that is only kept has no work; otherwise occasional partners would use up the bound of
// actors with work.
func TestAnActorThatOnlyRemembersHasNoWork(t *testing.T) {
	s, l := countingFixture(t), velocity(1, directory.ScopePartner)
	s.admits(0, by(""), l)
	if n := s.rt.Live(); n != 0 {
		t.Errorf("%d actors have work", n)
	}
	s.refuses(59*time.Second, by(""), l) // nothing is in the store
	if s.reads != 1 {
		t.Errorf("the past was read %d times, want once", s.reads)
	}
}

func TestAYoungActorKnowsWhatTheStoreKnows(t *testing.T) {
	s := countingFixture(t)
	partner, card := velocity(3, directory.ScopePartner), velocity(2, directory.ScopeCard)
	s.to(time.Minute)
	s.past = []lived{
		{after(50 * time.Second), after(50 * time.Second), *by("a")},
		{after(40 * time.Second), after(20 * time.Second), *by("b")}, // attempted before, booked later
		{after(30 * time.Second), after(30 * time.Second), *by("a")},
		{after(0), after(0), *by("a")}, // has left the window exactly now
	}
	s.counts(partner, "", 3, after(80*time.Second))
	s.refuses(time.Minute, by("b"), partner)
	s.admits(time.Minute, by("b"), card)
	s.refuses(time.Minute, by("a"), card)
	s.restart() // and what was counted since then was never durable
	s.counts(partner, "", 3, after(80*time.Second))
	s.to(81 * time.Second)
	s.counts(partner, "", 2, after(90*time.Second))
}

// For a limit of a partner's scope, no more of the history is read than can matter.
func TestThePastIsReadNoFurtherThanItMatters(t *testing.T) {
	for scope, most := range map[directory.Scope]int{directory.ScopePartner: 2 * (3 + slack), directory.ScopeCard: 50_000} {
		s, l := countingFixture(t), velocity(3, scope)
		s.to(time.Minute)
		for n := range 50_000 {
			at := after(time.Minute - time.Duration(n)*time.Millisecond)
			s.past = append(s.past, lived{at, at, *by("a")})
		}
		s.refuses(time.Minute, by("a"), l)
		if s.told > most || s.told < 3 {
			t.Errorf("%s: %d attempts were read", scope, s.told)
		}
		subject, _ := by("a").Payer.Subject(scope)
		s.counts(l, subject, 3+slack, after(2*time.Minute-(1+slack)*time.Millisecond))
	}
}

// An attempt that cannot be counted is refused and counts nowhere: the next attempt is checked as
// if it had not been made.
func TestAPastThatFailsRefusesAndCountsNothing(t *testing.T) {
	s := countingFixture(t)
	known, young := velocity(2, directory.ScopePartner), velocity(2, directory.ScopePartner)
	s.admits(0, by(""), known)
	s.failed = errors.New("the store can't be read")
	if got := s.answers(after(time.Second), by(""), known, young); len(got) != 1 || !errors.Is(got[0].err, s.failed) || got[0].breached != nil {
		t.Errorf("answered %v", got)
	}
	if _, err := s.Usage(context.Background(), young, ""); !errors.Is(err, s.failed) {
		t.Errorf("usage: %v", err)
	}
	s.failed = nil
	s.admits(time.Second, by(""), known, young)
	s.refuses(2*time.Second, by(""), known)
	s.admits(2*time.Second, by(""), young)
}

func TestAPanicAnswersOnceAndTheStoreIsReadAgain(t *testing.T) {
	s, l := countingFixture(t), velocity(2, directory.ScopePartner)
	s.panics = true
	if got := s.answers(after(0), by(""), l); len(got) != 1 || got[0].err == nil {
		t.Errorf("answered %v", got)
	}
	s.panics = false
	s.admits(0, by(""), l)
	s.past = []lived{{after(0), after(0), *by("")}} // it is durable by now
	s.velocities.Tell(velocityKey{org, 1, money.Prod}, "what is this")
	s.admits(time.Second, by(""), l)
	s.refuses(time.Second, by(""), l)
	if s.reads != 3 {
		t.Errorf("the past was read %d times", s.reads)
	}
}

// A changed limit is a new value. What it has counted and is not stored yet still counts, also if
// the limit was off for a while.
func TestALimitThatIsChangedForgetsNothing(t *testing.T) {
	s, l := countingFixture(t), velocity(2, directory.ScopePartner)
	s.admits(0, by(""), l)           // never durable
	s.admits(time.Second, by(""), l) // durable later
	s.past = []lived{{after(20 * time.Second), after(20 * time.Second), *by("")}, {after(time.Second), after(time.Second), *by("")}}
	wider := *l // was off at 20 s
	wider.MaxCount = 5_000
	s.to(30 * time.Second)
	s.counts(&wider, "", 3, after(time.Minute))
	reads := s.reads
	s.refuses(30*time.Second+time.Microsecond, by(""), velocity(0, directory.ScopePartner))
	s.refuses(30*time.Second, by(""), l) // screened before the limit was changed
	s.admits(30*time.Second, by(""), &wider)
	if s.reads != reads+1 { // for the other limit
		t.Errorf("the past was read %d times more", s.reads-reads)
	}
	s.counts(&wider, "", 5, after(time.Minute))
	narrower := wider
	narrower.MaxCount = 5
	s.refuses(31*time.Second, by(""), &narrower)
	s.admits(32*time.Second, by(""), &wider) // both versions are known: nothing is read again
	s.refuses(33*time.Second, by(""), l)     // the version two changes ago
	s.refuses(34*time.Second, by(""), &narrower)
	s.counts(&narrower, "", 9, after(time.Minute))
}

func TestTheUsageOfALimitThatIsOffIsWhatItWouldHaveCounted(t *testing.T) {
	s, l := countingFixture(t), velocity(2, directory.ScopePartner)
	off := *l
	off.Active = false
	s.counts(&off, "", 0, 0)
	s.past = []lived{{after(0), after(0), *by("")}}
	s.counts(&off, "", 1, after(time.Minute))
	s.admits(0, by(""), l) // active again: nothing of its window was kept
	s.refuses(0, by(""), l)
}

func TestWhoAsksForUsageDoesNotWaitForEver(t *testing.T) {
	s, l := countingFixture(t), velocity(2, directory.ScopePartner)
	s.gate = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.Usage(ctx, l, "")
	var refusal *ledger.Refusal
	if !errors.As(err, &refusal) || refusal.Code != ledger.Unavailable {
		t.Errorf("%v", err)
	}
	close(s.gate)
}

// The window gives the same answers as a list of all attempts that is searched each time, in any
// order of attempts.
func TestAWindowCountsAsAListDoes(t *testing.T) {
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
func TestARepetitionIsAskedForOnlyWhereTheLimitIsNear(t *testing.T) {
	s, wide, narrow := countingFixture(t), velocity(near+2, directory.ScopePartner), velocity(2, directory.ScopePartner)
	asked, taken := 0, true
	s.repeats = func() (bool, error) {
		asked++
		return taken, nil
	}
	s.admits(0, by(""), wide) // one, and near are left
	s.admits(0, by(""), wide)
	if asked != 0 {
		t.Errorf("asked %d times far from the limit", asked)
	}
	for range 3 {
		got := s.answers(after(0), by(""), narrow)
		var refusal *ledger.Refusal
		if len(got) != 1 || !errors.As(got[0].err, &refusal) || refusal.Code != ledger.ClaimTaken {
			t.Fatalf("answered %+v", got)
		}
	}
	s.counts(narrow, "", 0, 0)
	taken = false
	s.admits(0, by(""), narrow)
	s.admits(0, by(""), narrow)
	s.refuses(0, by(""), narrow)
	if asked != 6 {
		t.Errorf("asked %d times", asked)
	}
}
