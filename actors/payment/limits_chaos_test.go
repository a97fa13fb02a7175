package payment_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// tight returns limits that one transaction of the amount fills.
func tight(amount uint64) []*directory.Limit {
	return []*directory.Limit{
		limit(directory.PerTransaction, amount, nil),
		limit(directory.DailyVolume, amount, nil),
		limit(directory.MonthlyVolume, amount, nil),
		limit(directory.Velocity, 1, func(l *directory.Limit) { l.Window = time.Hour }),
	}
}

// atOnce runs do n times concurrently.
func atOnce(n int, do func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// admitted counts the transactions that passed the limits and those that a limit has refused,
// without hosted ones that still wait.
func (f *fixture) admitted() (passed, breached int) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	f.transactions(v, func(r *payment.Record, _ posting.Stamp) {
		switch {
		case r.AwaitsPayer():
		case strings.HasPrefix(why(r.Failure), "limit exceeded: "):
			breached++
		default:
			passed++
		}
	})
	return passed, breached
}

func (f *fixture) wantAdmitted(passed, breached int) {
	f.t.Helper()
	if p, b := f.admitted(); p != passed || b != breached {
		f.t.Errorf("%d were admitted and %d refused, want %d and %d", p, b, passed, breached)
	}
}

// Of a hundred concurrent attempts exactly as many pass as the limit allows, whatever kind they
// are, also with a restart between them.
func TestAVelocityAdmitsExactlyItsCountOfAHundredAtOnce(t *testing.T) {
	const most = 30
	for name, attempt := range map[string]func(*fixture, ledger.ID){
		"payments":             func(f *fixture, _ ledger.ID) { f.create(payment.Payment, good, 1, "") },
		"payouts":              func(f *fixture, _ ledger.ID) { f.create(payment.Payout, good, 1, "") },
		"hosted continuations": func(f *fixture, id ledger.ID) { f.must(f.Continue(brings(id, good))) },
	} {
		t.Run(name, func(t *testing.T) {
			l := limit(directory.Velocity, most, nil)
			f := limited(t, l)
			var waiting [100]ledger.ID
			if strings.HasPrefix(name, "hosted") {
				for i := range waiting {
					waiting[i] = f.hosted("").Record.ID
				}
			}
			atOnce(20, func(i int) { attempt(f, waiting[i]) })
			f.restart()
			atOnce(80, func(i int) { attempt(f, waiting[20+i]) })
			f.wantAdmitted(most, 100-most)
			f.usage(l, "", "100 0")
		})
	}
}

func TestADaysVolumeHoldsUnderAHundredPayoutsAndContinuationsAtOnce(t *testing.T) {
	l := limit(directory.DailyVolume, 2_100, nil)
	f := limited(t, l)
	var waiting [50]ledger.ID
	for i := range waiting {
		waiting[i] = f.hosted("").Record.ID // of 70
	}
	atOnce(100, func(i int) {
		if i%2 == 0 {
			f.must(f.Continue(brings(waiting[i/2], good)))
		} else {
			f.create(payment.Payout, good, 70, "")
		}
	})
	f.wantAdmitted(30, 70)
	f.usage(l, "", "2100 0 0")
}

// A kill while the limit's maximum is at the provider: after the restart no further attempt is
// admitted until it is known that those calls never arrived.
func TestAKillAtTheEdgeOfALimitAdmitsNobodyElse(t *testing.T) {
	const most = 30
	day, velocity := limit(directory.DailyVolume, 10*most, nil), limit(directory.Velocity, 4*most, func(l *directory.Limit) { l.Window = time.Hour })
	forever := make(chan struct{})
	r := new(fakeProvider)
	r.submit = func(context.Context, *actors.Call) actors.Outcome {
		<-forever
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	f := openAs(t, func(f *fixture) {
		f.limits = []*directory.Limit{day, velocity}
		f.on(r)
		f.wait = 50 * time.Millisecond
	})
	t.Cleanup(func() { close(forever) })
	atOnce(2*most, func(int) { _, _ = f.begin(payment.Payment, good, 10, nil) })
	f.until("all are stored", func() bool {
		passed, breached := f.admitted()
		return passed == most && breached == most
	})
	f.dieAnd(func(f *fixture) { f.wrap, f.wait = nil, 0 })
	f.Runtime.Quiesce()
	pay := func(int) { f.create(payment.Payment, good, 10, "") }
	f.usage(day, "", "0 300 0")
	f.usage(velocity, "", "60 60")
	atOnce(most, pay)
	f.wantAdmitted(most, 2*most)
	f.advance(time.Minute) // the provider does not know them
	f.usage(day, "", "0 0 300")
	atOnce(2*most, pay)
	f.wantAdmitted(2*most, 3*most) // of 150 attempts velocity allowed 120, and of these 30 and 30 had room in the volume
	f.usage(velocity, "", "150 0")
	f.usage(day, "", "300 0 0")
}

// Whatever panics, is lost, fails over to another terminal, is captured in part, cancelled or
// returned, and however often the process is killed: reserved and settled volume never exceeds its
// limit, and in the end equals what the transactions have moved. The checker compares the counters
// with the transactions.
func TestVolumesAreWhatStandsWhateverFails(t *testing.T) {
	c := &chaos{random: newRandom(t)}
	const most = 300
	day := limit(directory.DailyVolume, most, nil)
	elsewhere := limit(directory.MonthlyVolume, 200, nil)
	f := openAs(t, func(f *fixture) {
		f.lossy = true
		r := c.newFakeProvider()
		lose := r.inquire
		f.wrap = func(p actors.Provider) actors.Provider {
			r.Provider, r.inquire = p, nil
			return reports{chaotic{r, lose}, p.(timed)}
		}
		f.set(0, func(s terminalSettings) { s.Priority, s.Fail = 1, simulator.FailRejected })
		elsewhere.Terminal = f.add(0, func(s terminalSettings) { s.Fail = ""; s.MaxAmount = part(ledger.ID{}, 20).Amount })
		f.add(0, func(s terminalSettings) { s.Fail = ""; twoPhase(s); s.Priority = 3 })
		f.limits = []*directory.Limit{day, elsewhere}
		f.asked = func() { c.mayPanic(20) }
		f.handling = 5 * time.Millisecond
		f.wait = 50 * time.Millisecond
	})
	within := func() (used money.Amount) {
		t.Helper()
		for _, l := range f.limits {
			u, err := f.accounts.Usage(context.Background(), l, "")
			if err != nil {
				t.Fatal(err)
			}
			if sum, err := u.Used.Add(u.Reserved); err != nil || l.MaxAmount.Less(sum) {
				t.Errorf("%s: %v used and %v reserved", l.Kind, u.Used, u.Reserved)
			}
			if l == day {
				used = u.Used
			}
		}
		return used
	}
	const many = 60
	cards := []string{good, password, "4000000000000077", "4000000000000341", "4000000000000259", declined}
	for range 4 {
		atOnce(many, func(i int) {
			_, _ = f.begin(payment.Payment, cards[i%len(cards)], uint64(5+i%30), func(create *paymentactor.Create) {
				create.Request.TxID = fmt.Sprint("tx", i)
				if i%5 == 0 {
					create.Hosted, create.Card, create.Request.Method = true, nil, ""
				}
			})
			c.operates(f, many)
			within()
		})
		f.advance(3 * time.Second)
		f.restart()
		within()
	}
	c.mu.Lock()
	c.calm = true
	c.mu.Unlock()
	f.until("all of them have ended", func() bool {
		f.advance(24 * time.Hour)
		v := f.Journal.View()
		defer v.Close()
		n := 0
		f.transactions(v, func(r *payment.Record, _ posting.Stamp) {
			if waits(r) {
				n++
			}
		})
		return n == 0
	})
	f.until("no actor is left", func() bool { return f.Runtime.Outstanding() == 0 })
	if _, breached := f.admitted(); breached == 0 {
		t.Error("no limit has refused anything")
	}
}

// counter is an Admission whose counting the test controls.
type counter struct {
	paymentactor.Admission
	mu     sync.Mutex
	hold   chan struct{} // guarded by mu: closed to let an attempt be counted; nil: at once
	held   bool          // guarded by mu: an attempt was held
	failed error         // guarded by mu: returned instead
	back   int           // guarded by mu: attempts taken back
}

// Count implements live.Admission.
func (c *counter) Count(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt,
	repeats func() (bool, error), answer func(*directory.Limit, error)) {
	c.mu.Lock()
	hold, failed := c.hold, c.failed
	c.held = c.held || hold != nil
	c.mu.Unlock()
	go func() {
		if hold != nil {
			<-hold
		}
		if failed != nil {
			answer(nil, failed)
			return
		}
		c.Admission.Count(org, partner, limits, at, a, repeats, answer)
	}()
}

// Uncount implements live.Admission.
func (c *counter) Uncount(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) {
	c.mu.Lock()
	c.back++
	c.mu.Unlock()
	c.Admission.Uncount(org, partner, limits, at, a)
}

func (c *counter) counting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

func (c *counter) set(hold chan struct{}, failed error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold, c.failed = hold, failed
}

func counted(t *testing.T, limits ...*directory.Limit) (*fixture, *counter) {
	c := new(counter)
	return openAs(t, func(f *fixture) {
		f.limits = limits
		f.before = func(a paymentactor.Admission) paymentactor.Admission {
			c.Admission = a
			return c
		}
	}), c
}

// An attempt that cannot be counted is refused and leaves nothing: the same request is checked
// again.
func TestAnAttemptThatCannotBeCountedLeavesNothing(t *testing.T) {
	l := limit(directory.Velocity, 2, nil)
	f, c := counted(t, l)
	hosted := f.hosted("").Record.ID
	broken := errors.New("the store can't be read")
	c.set(nil, broken)
	if _, err := f.try(payment.Payment, "order"); !errors.Is(err, broken) {
		t.Errorf("a create: %v", err)
	}
	if _, err := f.Continue(brings(hosted, good)); !errors.Is(err, broken) {
		t.Errorf("a continuation: %v", err)
	}
	if r := f.read(hosted); !r.AwaitsPayer() || r.CardBIN != "" {
		t.Errorf("%s with card %q", r.Status, r.CardBIN)
	}
	c.set(nil, nil)
	if r := f.must(f.try(payment.Payment, "order")); r.Status != payment.Charged {
		t.Errorf("%s %q", r.Status, why(r.Failure))
	}
	if r := f.must(f.Continue(brings(hosted, good))); r.Status != payment.Charged {
		t.Errorf("%s %q", r.Status, why(r.Failure))
	}
	f.usage(l, "", "2 0")
}

// If a payer's time ends while the attempt is counted, and the attempt leads to nothing, the
// transaction ends.
func TestAPayersTimeThatEndsWhileAnAttemptIsCountedIsKept(t *testing.T) {
	l := limit(directory.Velocity, 2, nil)
	f, c := counted(t, l)
	hosted := f.hosted("").Record.ID
	hold := make(chan struct{})
	c.set(hold, errors.New("the store can't be read"))
	answer := f.SendContinue(brings(hosted, good))
	f.until("it is being counted", c.counting)
	if err := f.Runtime.Advance(f.Clock.Now().Add(31 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	f.is(hosted, payment.Created, "") // its attempt comes first
	close(hold)
	soon(t, "the continuation", func() { <-answer })
	f.Runtime.Quiesce()
	f.is(hosted, payment.Rejected, "payer action expired")
}

// Two pages of one payer use the same key: the second request does not count as an attempt.
func TestAContinuationWhoseKeyIsTakenIsNoAttempt(t *testing.T) {
	l := limit(directory.Velocity, 3, nil)
	f, c := counted(t, l)
	first, second := brings(f.hosted("").Record.ID, good), brings(f.hosted("").Record.ID, good)
	first.Key, second.Key = keyed("same", "same"), keyed("same", "same")
	hold := make(chan struct{})
	c.set(hold, nil)
	late := f.SendContinue(second)
	f.until("it is being counted", c.counting)
	c.set(nil, nil)
	f.must(f.Continue(first))
	close(hold)
	soon(t, "the second", func() { <-late })
	f.Runtime.Quiesce()
	if r := f.read(second.ID); !r.AwaitsPayer() {
		t.Errorf("the second is %s", r.Status)
	}
	if c.back != 1 {
		t.Errorf("%d attempts were taken back", c.back)
	}
	f.usage(l, "", "1 2")
}

// A rejected attempt is stored as it was screened, on the network of its terminal.
func TestARejectedAttemptCountsOnTheNetworkOfItsTerminal(t *testing.T) {
	tron := money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	l := limit(directory.Velocity, 1, func(l *directory.Limit) { l.Asset = tron })
	small := limit(directory.PerTransaction, 5, func(l *directory.Limit) { l.Asset = tron })
	f := openAs(t, func(f *fixture) {
		f.limits = []*directory.Limit{l, small}
		f.set(0, func(s terminalSettings) { s.Networks = []money.Network{"tron"} })
	})
	pay := func(amount uint64, want string) {
		t.Helper()
		r := f.must(f.begin(payment.Payment, good, amount, func(c *paymentactor.Create) { c.Request.Asset.Currency = "USDT" }))
		if why(r.Failure) != want || r.Asset != tron {
			t.Errorf("%s %q on %q, want %q", r.Status, why(r.Failure), r.Asset.Network, want)
		}
	}
	pay(6, "limit exceeded: per_transaction")
	f.restart()
	f.usage(l, "", "1 0")
	pay(5, "limit exceeded: velocity")
	f.usage(l, "", "2 0")
}

// A partner has at most a hundred active limits; all may apply to one transaction.
func TestATransactionMayBeBoundedByAHundredLimits(t *testing.T) {
	var limits []*directory.Limit
	for i := range directory.MaxLimits {
		limits = append(limits, limit([]directory.LimitKind{directory.DailyVolume, directory.MonthlyVolume}[i%2], 100, nil))
	}
	f := openAs(t, func(f *fixture) {
		f.limits = limits
		f.set(0, twoPhase)
	})
	limits[directory.MaxLimits-1].MaxAmount = money.FromUint64(80)
	held := f.create(payment.Payment, good, 80, "").Record
	f.must(f.Commit(part(held.ID, 50)))
	f.ends(good, 31, payment.Rejected, "limit exceeded: monthly_volume") // the last of them
	f.restart()
	for _, l := range limits[:directory.MaxLimits-1] {
		f.usage(l, "", "50 0 50")
	}
	f.usage(limits[directory.MaxLimits-1], "", "50 0 30")
}
