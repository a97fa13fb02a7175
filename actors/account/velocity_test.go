package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

func TestVelocityLimitAdmitsItsCountPerWindow(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(3, directory.ScopePartner)
	for n := range 3 {
		f.wantAdmitted(time.Duration(n)*time.Second, attemptWith("a"), limit)
	}
	f.wantRefused(3*time.Second, attemptWith("b"), limit)
}

// The sliding window contains all attempts, including refused ones.
func TestRefusedAttemptsCount(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(1, directory.ScopePartner)
	f.wantAdmitted(0, attemptWith(""), limit)
	f.wantRefused(40*time.Second, attemptWith(""), limit)
	f.wantRefused(80*time.Second, attemptWith(""), limit) // the first attempt has left the window, the second has not
	f.wantAdmitted(140*time.Second, attemptWith(""), limit)
}

func TestAttemptCountsUntilTheExactEndOfItsWindow(t *testing.T) {
	f := newFixture(t)
	limitBeforeEnd, limitAtEnd := velocityLimit(1, directory.ScopePartner), velocityLimit(1, directory.ScopePartner)
	f.wantAdmitted(0, attemptWith(""), limitBeforeEnd, limitAtEnd)
	f.wantRefused(time.Minute-time.Microsecond, attemptWith(""), limitBeforeEnd)
	f.wantAdmitted(time.Minute, attemptWith(""), limitAtEnd)

	limit := velocityLimit(2, directory.ScopePartner)
	f.wantAdmitted(10*time.Second, attemptWith(""), limit)
	f.wantAdmitted(12*time.Second, attemptWith(""), limit)
	f.setClock(70*time.Second - time.Microsecond)
	f.wantUsage(limit, "", 2, startPlus(70*time.Second))
	f.setClock(70 * time.Second)
	f.wantUsage(limit, "", 1, startPlus(72*time.Second))
	f.setClock(72 * time.Second)
	f.wantUsage(limit, "", 0, 0)
}

func TestAttemptsOutOfOrderCountByTheirOwnTimes(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(3, directory.ScopePartner)
	f.wantAdmitted(10*time.Second, attemptWith(""), limit)
	f.wantAdmitted(5*time.Second, attemptWith(""), limit)
	f.wantAdmitted(7*time.Second, attemptWith(""), limit)
	f.wantRefused(6*time.Second, attemptWith(""), limit)
	f.wantRefused(65*time.Second, attemptWith(""), limit) // the attempts of 6, 7 and 10 s count
	f.setClock(67 * time.Second)                          // exactly when the attempt of 7 s leaves the window
	f.wantUsage(limit, "", 2, startPlus(70*time.Second))  // the attempts of 10 s and 65 s
}

func TestSubjectsEnvironmentsAndPartnersAreCountedSeparately(t *testing.T) {
	f := newFixture(t)
	cardLimit, partnerLimit := velocityLimit(1, directory.ScopeCard), velocityLimit(3, directory.ScopePartner)
	f.wantAdmitted(0, attemptWith("a"), cardLimit, partnerLimit)
	f.wantAdmitted(0, attemptWith("b"), cardLimit, partnerLimit)
	if limit := f.count(0, attemptWith("a"), cardLimit, partnerLimit); limit != cardLimit {
		t.Errorf("refused by %v", limit)
	}
	f.wantAdmitted(0, attemptWith(""), cardLimit) // an attempt without a card counts for no card
	if limit := f.count(0, attemptWith("c"), cardLimit, partnerLimit); limit != partnerLimit {
		t.Errorf("refused by %v", limit)
	}
	testEnvLimit := *partnerLimit
	testEnvLimit.Asset.Env = money.Test
	testEnvAttempt := attemptWith("a")
	testEnvAttempt.Asset.Env = money.Test
	f.wantAdmitted(0, testEnvAttempt, &testEnvLimit)
	limitOfPartner2 := *partnerLimit
	limitOfPartner2.Partner = 2
	f.wantUsage(&limitOfPartner2, "", 0, 0)
	f.wantUsage(cardLimit, "a", 2, startPlus(time.Minute))
	f.wantUsage(cardLimit, "b", 1, startPlus(time.Minute))
	f.wantUsage(cardLimit, "c", 1, startPlus(time.Minute))
}

func TestRepetitionIsUncounted(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(2, directory.ScopePartner)
	f.wantAdmitted(0, attemptWith(""), limit)
	f.wantAdmitted(time.Second, attemptWith(""), limit)
	f.Uncount(org, 1, []*directory.Limit{limit}, startPlus(time.Second), attemptWith(""))
	f.Uncount(org, 1, []*directory.Limit{limit}, startPlus(2*time.Second), attemptWith("")) // this attempt was never counted
	f.Uncount(org, 1, []*directory.Limit{velocityLimit(1, directory.ScopeCard)}, 0, attemptWith("x"))
	f.wantAdmitted(2*time.Second, attemptWith(""), limit)
	f.wantRefused(3*time.Second, attemptWith(""), limit)
}

// The limit still counts as reached after a number of attempts, the constant slack, were uncounted together.
func TestLimitIsReachedAfterManyUncountedAttempts(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(2, directory.ScopePartner)
	const attempts = 2 + extraAttempts + 500
	for n := range attempts {
		f.count(time.Duration(n)*time.Millisecond, attemptWith(""), limit)
	}
	for n := attempts - extraAttempts; n < attempts; n++ {
		f.Uncount(org, 1, []*directory.Limit{limit}, startPlus(time.Duration(n)*time.Millisecond), attemptWith(""))
	}
	f.wantRefused(2*time.Second, attemptWith(""), limit)
}

// A subject that makes one attempt is removed when the attempt has left the window. Of a subject that makes
// more and more attempts, only those that can count are kept.
func TestMemoryOfAWindowIsBounded(t *testing.T) {
	window := newWindow(velocityLimit(5, directory.ScopeCard))
	const subjects, perMinute = 200_000, 4_000
	maxSubjects := 0
	for n := range subjects {
		window.count(strconv.Itoa(n), startPlus(time.Duration(n)*time.Minute/perMinute), 5)
		maxSubjects = max(maxSubjects, len(window.subjects))
	}
	if maxSubjects > 2*perMinute+2 {
		t.Errorf("%d subjects were remembered, %d attempts count", maxSubjects, perMinute)
	}

	window = newWindow(velocityLimit(5, directory.ScopeCard))
	for n := range subjects { // all subjects make their attempts in the same minute
		window.count(strconv.Itoa(n), startPlus(0), 5)
	}
	window.count("later", startPlus(time.Minute), 5)
	if len(window.subjects) != 1 {
		t.Errorf("%d subjects are left a minute after %d", len(window.subjects), subjects)
	}
	for n := range 10_000 {
		window.count("regular", startPlus(time.Duration(n)*50*time.Second), 5)
		if got := len(window.subjects["regular"].times); got > 3 {
			t.Fatalf("%d attempts are remembered, one counts", got)
		}
	}
	if room := window.capacity; room != 5+extraAttempts {
		t.Fatalf("room for %d", room)
	}
	for n := range 10_000 {
		window.count("busy", startPlus(500*time.Hour+time.Duration(n)), 5)
	}
	if got := len(window.subjects["busy"].times); got != 5+extraAttempts {
		t.Errorf("%d attempts are kept of a subject that makes more and more attempts", got)
	}
}

// While attempts count the actor must not stop, because attempts that are not durable yet are in
// memory only.
func TestAnActorStaysWhileAttemptsCount(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(3, directory.ScopePartner)
	p := &velocityActor{service: f.Service, key: velocityKey{org, 1, money.Prod}, windows: make(map[ledger.ID]*window)}
	if until := p.KeepUntil(); until != 0 {
		t.Errorf("an actor that has counted nothing is kept until %v", until.Time())
	}
	for _, d := range []time.Duration{0, time.Second, 500 * time.Millisecond} { // attempts may come in any order
		p.Receive(&actors.Context{Runtime: f.Runtime}, &countMessage{limits: []*directory.Limit{limit}, at: startPlus(d), attempt: *attemptWith(""), answer: func(*directory.Limit, error) {}})
	}
	if until := p.KeepUntil(); until != startPlus(time.Second+time.Minute) {
		t.Errorf("the actor is kept until %v", until.Time())
	}
}

// An actor that is kept in memory only because its attempts still count has no work. If it counted as an actor
// with work, the actors of partners with few attempts would use up the permitted number of such actors.
func TestActorThatOnlyHoldsAttemptsHasNoWork(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(1, directory.ScopePartner)
	f.wantAdmitted(0, attemptWith(""), limit)
	if n := f.Runtime.ActorsWithWork(); n != 0 {
		t.Errorf("%d actors have work", n)
	}
	f.wantRefused(59*time.Second, attemptWith(""), limit) // the first attempt is in memory only
	if f.reads != 1 {
		t.Errorf("the past was read %d times, want once", f.reads)
	}
}

func TestNewActorReadsAttemptsFromTheStore(t *testing.T) {
	f := newFixture(t)
	partner, card := velocityLimit(3, directory.ScopePartner), velocityLimit(2, directory.ScopeCard)
	f.setClock(time.Minute)
	f.history = []storedAttempt{
		{startPlus(50 * time.Second), startPlus(50 * time.Second), *attemptWith("a")},
		{startPlus(40 * time.Second), startPlus(20 * time.Second), *attemptWith("b")}, // this attempt was booked long after it was made
		{startPlus(30 * time.Second), startPlus(30 * time.Second), *attemptWith("a")},
		{startPlus(0), startPlus(0), *attemptWith("a")}, // this attempt leaves the window exactly now
	}
	f.wantUsage(partner, "", 3, startPlus(80*time.Second))
	f.wantRefused(time.Minute, attemptWith("b"), partner)
	f.wantAdmitted(time.Minute, attemptWith("b"), card)
	f.wantRefused(time.Minute, attemptWith("a"), card)
	f.restart() // the attempts that were counted in this test were never durable
	f.wantUsage(partner, "", 3, startPlus(80*time.Second))
	f.setClock(81 * time.Second)
	f.wantUsage(partner, "", 2, startPlus(90*time.Second))
}

// For a limit whose scope is the partner, the history is read only as far back as attempts can still count.
func TestHistoryIsReadOnlyAsFarAsNeeded(t *testing.T) {
	for scope, maxPassed := range map[directory.Scope]int{directory.ScopePartner: 2 * (3 + extraAttempts), directory.ScopeCard: 50_000} {
		f, limit := newFixture(t), velocityLimit(3, scope)
		f.setClock(time.Minute)
		for n := range 50_000 {
			at := startPlus(time.Minute - time.Duration(n)*time.Millisecond)
			f.history = append(f.history, storedAttempt{at, at, *attemptWith("a")})
		}
		f.wantRefused(time.Minute, attemptWith("a"), limit)
		if f.attemptsPassed > maxPassed || f.attemptsPassed < 3 {
			t.Errorf("%s: %d attempts were read", scope, f.attemptsPassed)
		}
		subject, _ := attemptWith("a").Payer.Subject(scope)
		f.wantUsage(limit, subject, 3+extraAttempts, startPlus(2*time.Minute-(1+extraAttempts)*time.Millisecond))
	}
}

// An attempt that cannot be counted is refused and counts towards no limit: the next attempt is checked as if
// the refused one had not been made.
func TestUnreadableHistoryRefusesWithoutCounting(t *testing.T) {
	f := newFixture(t)
	knownLimit, newLimit := velocityLimit(2, directory.ScopePartner), velocityLimit(2, directory.ScopePartner)
	f.wantAdmitted(0, attemptWith(""), knownLimit)
	f.historyError = errors.New("the store can't be read")
	if got := f.countAndCollect(startPlus(time.Second), attemptWith(""), knownLimit, newLimit); len(got) != 1 || !errors.Is(got[0].err, f.historyError) || got[0].breached != nil {
		t.Errorf("answered %v", got)
	}
	if _, err := f.Usage(context.Background(), newLimit, ""); !errors.Is(err, f.historyError) {
		t.Errorf("usage: %v", err)
	}
	f.historyError = nil
	f.wantAdmitted(time.Second, attemptWith(""), knownLimit, newLimit)
	f.wantRefused(2*time.Second, attemptWith(""), knownLimit)
	f.wantAdmitted(2*time.Second, attemptWith(""), newLimit)
}

func TestAPanicAnswersOnceAndTheStoreIsReadAgain(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(2, directory.ScopePartner)
	f.historyPanics = true
	if got := f.countAndCollect(startPlus(0), attemptWith(""), limit); len(got) != 1 || got[0].err == nil {
		t.Errorf("answered %v", got)
	}
	f.historyPanics = false
	f.wantAdmitted(0, attemptWith(""), limit)
	f.history = []storedAttempt{{startPlus(0), startPlus(0), *attemptWith("")}} // the admitted attempt, which is durable by now
	f.velocities.Tell(velocityKey{org, 1, money.Prod}, "what is this")
	f.wantAdmitted(time.Second, attemptWith(""), limit)
	f.wantRefused(time.Second, attemptWith(""), limit)
	if f.reads != 3 {
		t.Errorf("the past was read %d times", f.reads)
	}
}

// A change of a limit makes a new directory.Limit. Attempts that the old Limit has counted and that are not
// stored yet still count, even if the limit was off for a while.
func TestChangedLimitLosesNoAttempts(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(2, directory.ScopePartner)
	f.wantAdmitted(0, attemptWith(""), limit)           // this attempt is never stored
	f.wantAdmitted(time.Second, attemptWith(""), limit) // this attempt is stored later
	f.history = []storedAttempt{{startPlus(20 * time.Second), startPlus(20 * time.Second), *attemptWith("")}, {startPlus(time.Second), startPlus(time.Second), *attemptWith("")}}
	wider := *limit // the limit was off at 20 s, so only the store has the attempt of 20 s
	wider.MaxCount = 5_000
	f.setClock(30 * time.Second)
	f.wantUsage(&wider, "", 3, startPlus(time.Minute))
	reads := f.reads
	f.wantRefused(30*time.Second+time.Microsecond, attemptWith(""), velocityLimit(0, directory.ScopePartner))
	f.wantRefused(30*time.Second, attemptWith(""), limit) // this attempt was checked with the limit as it was before the change
	f.wantAdmitted(30*time.Second, attemptWith(""), &wider)
	if f.reads != reads+1 { // one read, for the limit that allows no attempt
		t.Errorf("the past was read %d times more", f.reads-reads)
	}
	f.wantUsage(&wider, "", 5, startPlus(time.Minute))
	narrower := wider
	narrower.MaxCount = 5
	f.wantRefused(31*time.Second, attemptWith(""), &narrower)
	f.wantAdmitted(32*time.Second, attemptWith(""), &wider) // the window was read for both versions of the limit, so nothing is read again
	f.wantRefused(33*time.Second, attemptWith(""), limit)   // the limit as it was before its last two changes
	f.wantRefused(34*time.Second, attemptWith(""), &narrower)
	f.wantUsage(&narrower, "", 9, startPlus(time.Minute))
}

func TestUsageOfAnInactiveLimitIsComputed(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(2, directory.ScopePartner)
	inactive := *limit
	inactive.Active = false
	f.wantUsage(&inactive, "", 0, 0)
	f.history = []storedAttempt{{startPlus(0), startPlus(0), *attemptWith("")}}
	f.wantUsage(&inactive, "", 1, startPlus(time.Minute))
	f.wantAdmitted(0, attemptWith(""), limit) // active again: no window was kept while the limit was off
	f.wantRefused(0, attemptWith(""), limit)
}

func TestUsageTimesOut(t *testing.T) {
	f, limit := newFixture(t), velocityLimit(2, directory.ScopePartner)
	f.gate = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := f.Usage(ctx, limit, "")
	var refusal *ledger.Refusal
	if !errors.As(err, &refusal) || refusal.Code != ledger.Unavailable {
		t.Errorf("%v", err)
	}
	close(f.gate)
}

// For attempts in any order, the window counts as many as a search through a list of all attempts.
func TestWindowAgreesWithANaiveList(t *testing.T) {
	random := testseed.Random(t)
	for round := range 50 {
		limit := velocityLimit(1+random.Int64N(8), directory.ScopeCard)
		window, counted := newWindow(limit), map[string][]ledger.Micros{}
		now := startPlus(0)
		for step := range 400 {
			now += ledger.Micros(random.Int64N(20_000_000))
			at := now - ledger.Micros(random.Int64N(3_000_000)) // the attempts come slightly out of order
			subject := fmt.Sprint(random.IntN(3))
			if n := len(counted[subject]); n > 0 && random.IntN(6) == 0 {
				i := random.IntN(n)
				if counted[subject][i] > now-ledger.Micros(time.Minute/time.Microsecond) {
					window.uncount(subject, counted[subject][i])
					counted[subject] = append(counted[subject][:i], counted[subject][i+1:]...)
				}
				continue
			}
			var wantCount int64
			for _, earlier := range counted[subject] {
				if earlier > at-ledger.Micros(time.Minute/time.Microsecond) {
					wantCount++
				}
			}
			if got, want := window.count(subject, at, limit.MaxCount), wantCount >= limit.MaxCount; got != want {
				t.Fatalf("round %d, step %d: breached %v, %d counted of %d", round, step, got, wantCount, limit.MaxCount)
			}
			counted[subject] = append(counted[subject], at)
		}
	}
}

// Near the limit an attempt is looked up before it is counted, so a repetition takes no place that another
// attempt could need. Far from the limit an attempt is not looked up.
func TestRepetitionIsLookedUpOnlyNearTheLimit(t *testing.T) {
	f, highLimit, lowLimit := newFixture(t), velocityLimit(nearLimitMargin+2, directory.ScopePartner), velocityLimit(2, directory.ScopePartner)
	lookups, isRepetition := 0, true
	f.isRepetition = func() (bool, error) {
		lookups++
		return isRepetition, nil
	}
	f.wantAdmitted(0, attemptWith(""), highLimit) // nearLimitMargin + 1 attempts are left now
	f.wantAdmitted(0, attemptWith(""), highLimit)
	if lookups != 0 {
		t.Errorf("asked %d times far from the limit", lookups)
	}
	for range 3 {
		got := f.countAndCollect(startPlus(0), attemptWith(""), lowLimit)
		var refusal *ledger.Refusal
		if len(got) != 1 || !errors.As(got[0].err, &refusal) || refusal.Code != ledger.ClaimTaken {
			t.Fatalf("answered %+v", got)
		}
	}
	f.wantUsage(lowLimit, "", 0, 0)
	isRepetition = false
	f.wantAdmitted(0, attemptWith(""), lowLimit)
	f.wantAdmitted(0, attemptWith(""), lowLimit)
	f.wantRefused(0, attemptWith(""), lowLimit)
	if lookups != 6 {
		t.Errorf("asked %d times", lookups)
	}
}
