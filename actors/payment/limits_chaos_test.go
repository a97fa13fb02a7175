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

// limitsFilledBy returns limits that one transaction of the amount fills.
func limitsFilledBy(amount uint64) []*directory.Limit {
	return []*directory.Limit{
		limit(directory.PerTransaction, amount, nil),
		limit(directory.DailyVolume, amount, nil),
		limit(directory.MonthlyVolume, amount, nil),
		limit(directory.Velocity, 1, func(l *directory.Limit) { l.Window = time.Hour }),
	}
}

// concurrently calls the function n times at once.
func concurrently(n int, run func(int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { run(i) })
	}
	wg.Wait()
}

// countAdmitted counts the transactions that passed the limits, and those that a limit has refused. It
// does not count hosted transactions that still wait for their payers.
func (f *fixture) countAdmitted() (admitted, breached int) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	f.transactions(v, func(r *payment.Record, _ posting.Stamp) {
		switch {
		case r.AwaitsPayer():
		case strings.HasPrefix(failureText(r.Failure), "limit exceeded: "):
			breached++
		default:
			admitted++
		}
	})
	return admitted, breached
}

func (f *fixture) wantAdmitted(admitted, breached int) {
	f.t.Helper()
	if p, b := f.countAdmitted(); p != admitted || b != breached {
		f.t.Errorf("%d were admitted and %d refused, want %d and %d", p, b, admitted, breached)
	}
}

// Of a hundred concurrent attempts of all kinds, exactly as many pass as the limit allows, even with a
// restart in between.
func TestVelocityLimitAdmitsItsCountOfConcurrentAttempts(t *testing.T) {
	const allowed = 30
	for name, attempt := range map[string]func(*fixture, ledger.ID){
		"payments":             func(f *fixture, _ ledger.ID) { f.create(payment.Payment, good, 1, "") },
		"payouts":              func(f *fixture, _ ledger.ID) { f.create(payment.Payout, good, 1, "") },
		"hosted continuations": func(f *fixture, id ledger.ID) { f.mustRecord(f.Continue(cardContinue(id, good))) },
	} {
		t.Run(name, func(t *testing.T) {
			l := limit(directory.Velocity, allowed, nil)
			f := openWithLimits(t, l)
			var waiting [100]ledger.ID
			if strings.HasPrefix(name, "hosted") {
				for i := range waiting {
					waiting[i] = f.createHosted("").Record.ID
				}
			}
			concurrently(20, func(i int) { attempt(f, waiting[i]) })
			f.restart()
			concurrently(80, func(i int) { attempt(f, waiting[20+i]) })
			f.wantAdmitted(allowed, 100-allowed)
			f.wantUsage(l, "", "100 0")
		})
	}
}

func TestDailyVolumeBoundsConcurrentPayoutsAndContinues(t *testing.T) {
	l := limit(directory.DailyVolume, 2_100, nil)
	f := openWithLimits(t, l)
	var waiting [50]ledger.ID
	for i := range waiting {
		waiting[i] = f.createHosted("").Record.ID // for an amount of 70
	}
	concurrently(100, func(i int) {
		if i%2 == 0 {
			f.mustRecord(f.Continue(cardContinue(waiting[i/2], good)))
		} else {
			f.create(payment.Payout, good, 70, "")
		}
	})
	f.wantAdmitted(30, 70)
	f.wantUsage(l, "", "2100 0 0")
}

// The process is killed while the provider has as many calls as the limit allows. After the restart no
// further attempt is admitted until it is known that those calls never arrived.
func TestKillAtAFullLimitAdmitsNoFurtherAttempt(t *testing.T) {
	const allowed = 30
	day, velocity := limit(directory.DailyVolume, 10*allowed, nil), limit(directory.Velocity, 4*allowed, func(l *directory.Limit) { l.Window = time.Hour })
	forever := make(chan struct{})
	r := new(fakeProvider)
	r.submit = func(context.Context, *actors.Call) actors.Outcome {
		<-forever
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	f := openWith(t, func(f *fixture) {
		f.limits = []*directory.Limit{day, velocity}
		f.useProvider(r)
		f.createWait = 50 * time.Millisecond
	})
	t.Cleanup(func() { close(forever) })
	concurrently(2*allowed, func(int) { _, _ = f.createWith(payment.Payment, good, 10, nil) })
	f.waitUntil("all are stored", func() bool {
		passed, breached := f.countAdmitted()
		return passed == allowed && breached == allowed
	})
	f.killAndReopen(func(f *fixture) { f.wrapProvider, f.createWait = nil, 0 })
	f.Runtime.Quiesce()
	pay := func(int) { f.create(payment.Payment, good, 10, "") }
	f.wantUsage(day, "", "0 300 0")
	f.wantUsage(velocity, "", "60 60")
	concurrently(allowed, pay)
	f.wantAdmitted(allowed, 2*allowed)
	f.advance(time.Minute) // the provider's answers say that the calls never arrived
	f.wantUsage(day, "", "0 0 300")
	concurrently(2*allowed, pay)
	f.wantAdmitted(2*allowed, 3*allowed) // velocity allowed 120 of the 150 attempts; the volume had room for 30 of them before the kill and 30 after it
	f.wantUsage(velocity, "", "150 0")
	f.wantUsage(day, "", "300 0 0")
}

// Calls are lost, fail over, and are captured in part, cancelled or returned, components panic, and the
// process is killed, all at random. Still the reserved and settled volume never exceeds its limit, and
// in the end equals the amount that the transactions have moved. The checker compares the counters with
// the transactions.
func TestVolumesEqualMovedMoneyAfterRandomFailures(t *testing.T) {
	c := &chaos{random: newRandom(t)}
	const maxVolume = 300
	day := limit(directory.DailyVolume, maxVolume, nil)
	otherLimit := limit(directory.MonthlyVolume, 200, nil)
	f := openWith(t, func(f *fixture) {
		f.mayGiveUpCharges = true
		r := c.newFakeProvider()
		lose := r.inquire
		f.wrapProvider = func(p actors.Provider) actors.Provider {
			r.Provider, r.inquire = p, nil
			return polledProvider{chaotic{r, lose}, p.(reportScheduler)}
		}
		f.changeTerminal(0, func(s terminalSettings) { s.Priority, s.Fail = 1, simulator.FailRejected })
		otherLimit.Terminal = f.addTerminal(0, func(s terminalSettings) { s.Fail = ""; s.MaxAmount = amountCommand(ledger.ID{}, 20).Amount })
		f.addTerminal(0, func(s terminalSettings) { s.Fail = ""; twoPhase(s); s.Priority = 3 })
		f.limits = []*directory.Limit{day, otherLimit}
		f.onTerminalLookup = func() { c.mayPanic(20) }
		f.handling = 5 * time.Millisecond
		f.createWait = 50 * time.Millisecond
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
	const transactionCount = 60
	cards := []string{good, password, "4000000000000077", "4000000000000341", "4000000000000259", declined}
	for range 4 {
		concurrently(transactionCount, func(i int) {
			_, _ = f.createWith(payment.Payment, cards[i%len(cards)], uint64(5+i%30), func(create *paymentactor.Create) {
				create.Request.TxID = fmt.Sprint("tx", i)
				if i%5 == 0 {
					create.Hosted, create.Card, create.Request.Method = true, nil, ""
				}
			})
			c.requestRandomOperation(f, transactionCount)
			within()
		})
		f.advance(3 * time.Second)
		f.restart()
		within()
	}
	c.mu.Lock()
	c.calm = true
	c.mu.Unlock()
	f.waitUntil("all of them have ended", func() bool {
		f.advance(24 * time.Hour)
		v := f.Journal.View()
		defer v.Close()
		n := 0
		f.transactions(v, func(r *payment.Record, _ posting.Stamp) {
			if needsWakeup(r) {
				n++
			}
		})
		return n == 0
	})
	f.waitUntil("no actor is left", func() bool { return f.Runtime.Outstanding() == 0 })
	if _, breached := f.countAdmitted(); breached == 0 {
		t.Error("no limit has refused anything")
	}
}

// controlledAdmission is an Admission whose counting the test controls.
type controlledAdmission struct {
	paymentactor.Admission
	mu        sync.Mutex
	release   chan struct{} // guarded by mu: counting waits until it is closed; nil: counting does not wait
	waited    bool          // guarded by mu: an attempt has waited for release
	failed    error         // guarded by mu: error with which counting fails; nil: it succeeds
	uncounted int           // guarded by mu: number of attempts that were subtracted again
}

// Count implements payment.Admission.
func (c *controlledAdmission) Count(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt,
	repeats func() (bool, error), answer func(*directory.Limit, error)) {
	c.mu.Lock()
	hold, failed := c.release, c.failed
	c.waited = c.waited || hold != nil
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

// Uncount implements payment.Admission.
func (c *controlledAdmission) Uncount(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) {
	c.mu.Lock()
	c.uncounted++
	c.mu.Unlock()
	c.Admission.Uncount(org, partner, limits, at, a)
}

func (c *controlledAdmission) counting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waited
}

func (c *controlledAdmission) set(hold chan struct{}, failed error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release, c.failed = hold, failed
}

func openWithCounter(t *testing.T, limits ...*directory.Limit) (*fixture, *controlledAdmission) {
	c := new(controlledAdmission)
	return openWith(t, func(f *fixture) {
		f.limits = limits
		f.wrapAdmission = func(a paymentactor.Admission) paymentactor.Admission {
			c.Admission = a
			return c
		}
	}), c
}

// An attempt that cannot be counted is refused, and nothing is stored: the same request is checked
// again when it is repeated.
func TestUncountableAttemptStoresNothing(t *testing.T) {
	l := limit(directory.Velocity, 2, nil)
	f, c := openWithCounter(t, l)
	hosted := f.createHosted("").Record.ID
	broken := errors.New("the store can't be read")
	c.set(nil, broken)
	if _, err := f.tryCreate(payment.Payment, "order"); !errors.Is(err, broken) {
		t.Errorf("a create: %v", err)
	}
	if _, err := f.Continue(cardContinue(hosted, good)); !errors.Is(err, broken) {
		t.Errorf("a continuation: %v", err)
	}
	if r := f.readRecord(hosted); !r.AwaitsPayer() || r.CardBIN != "" {
		t.Errorf("%s with card %q", r.Status, r.CardBIN)
	}
	c.set(nil, nil)
	if r := f.mustRecord(f.tryCreate(payment.Payment, "order")); r.Status != payment.Charged {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	if r := f.mustRecord(f.Continue(cardContinue(hosted, good))); r.Status != payment.Charged {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	f.wantUsage(l, "", "2 0")
}

// If the payer's time ends while the attempt is being counted, and the attempt can then not be counted, the
// transaction ends.
func TestExpiryDuringTheCountingOfAnAttemptIsHandledLater(t *testing.T) {
	l := limit(directory.Velocity, 2, nil)
	f, c := openWithCounter(t, l)
	hosted := f.createHosted("").Record.ID
	hold := make(chan struct{})
	c.set(hold, errors.New("the store can't be read"))
	answer := f.SendContinue(cardContinue(hosted, good))
	f.waitUntil("it is being counted", c.counting)
	if err := f.Runtime.Advance(f.Clock.Now().Add(31 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	f.wantStatus(hosted, payment.Created, "") // the attempt is handled before the expiry
	close(hold)
	mustReturnSoon(t, "the continuation", func() { <-answer })
	f.Runtime.Quiesce()
	f.wantStatus(hosted, payment.Rejected, "payer action expired")
}

// Two pages of one payer use the same key: the second request does not count as an attempt.
func TestContinueWithAClaimedKeyIsNoAttempt(t *testing.T) {
	l := limit(directory.Velocity, 3, nil)
	f, c := openWithCounter(t, l)
	first, second := cardContinue(f.createHosted("").Record.ID, good), cardContinue(f.createHosted("").Record.ID, good)
	first.Key, second.Key = newKey("same", "same"), newKey("same", "same")
	hold := make(chan struct{})
	c.set(hold, nil)
	lateReply := f.SendContinue(second)
	f.waitUntil("it is being counted", c.counting)
	c.set(nil, nil)
	f.mustRecord(f.Continue(first))
	close(hold)
	mustReturnSoon(t, "the second", func() { <-lateReply })
	f.Runtime.Quiesce()
	if r := f.readRecord(second.ID); !r.AwaitsPayer() {
		t.Errorf("the second is %s", r.Status)
	}
	if c.uncounted != 1 {
		t.Errorf("%d attempts were taken back", c.uncounted)
	}
	f.wantUsage(l, "", "1 2")
}

// A rejected attempt is stored with the network on which it was screened, its terminal's.
func TestRejectedAttemptCountsOnTheNetworkOfItsTerminal(t *testing.T) {
	tron := money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	l := limit(directory.Velocity, 1, func(l *directory.Limit) { l.Asset = tron })
	small := limit(directory.PerTransaction, 5, func(l *directory.Limit) { l.Asset = tron })
	f := openWith(t, func(f *fixture) {
		f.limits = []*directory.Limit{l, small}
		f.changeTerminal(0, func(s terminalSettings) { s.Networks = []money.Network{"tron"} })
	})
	pay := func(amount uint64, want string) {
		t.Helper()
		r := f.mustRecord(f.createWith(payment.Payment, good, amount, func(c *paymentactor.Create) { c.Request.Asset.Currency = "USDT" }))
		if failureText(r.Failure) != want || r.Asset != tron {
			t.Errorf("%s %q on %q, want %q", r.Status, failureText(r.Failure), r.Asset.Network, want)
		}
	}
	pay(6, "limit exceeded: per_transaction")
	f.restart()
	f.wantUsage(l, "", "1 0")
	pay(5, "limit exceeded: velocity")
	f.wantUsage(l, "", "2 0")
}

// A partner has at most a hundred active limits; all may apply to one transaction.
func TestHundredLimitsApplyToOneTransaction(t *testing.T) {
	var limits []*directory.Limit
	for i := range directory.MaxLimits {
		limits = append(limits, limit([]directory.LimitKind{directory.DailyVolume, directory.MonthlyVolume}[i%2], 100, nil))
	}
	f := openWith(t, func(f *fixture) {
		f.limits = limits
		f.changeTerminal(0, twoPhase)
	})
	limits[directory.MaxLimits-1].MaxAmount = money.FromUint64(80)
	heldPayment := f.create(payment.Payment, good, 80, "").Record
	f.mustRecord(f.Commit(amountCommand(heldPayment.ID, 50)))
	f.wantCreated(good, 31, payment.Rejected, "limit exceeded: monthly_volume") // the last limit refuses
	f.restart()
	for _, l := range limits[:directory.MaxLimits-1] {
		f.wantUsage(l, "", "50 0 50")
	}
	f.wantUsage(limits[directory.MaxLimits-1], "", "50 0 30")
}
