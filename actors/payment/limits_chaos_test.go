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
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// limitsFilledBy returns limits that are full after one transaction of the amount.
func limitsFilledBy(amount uint64) []*directory.Limit {
	return []*directory.Limit{
		limit(directory.PerTransaction, amount, nil),
		limit(directory.DailyVolume, amount, nil),
		limit(directory.MonthlyVolume, amount, nil),
		limit(directory.Velocity, 1, func(l *directory.Limit) { l.Window = time.Hour }),
	}
}

// concurrently calls the function n times at once.
func concurrently(n int, call func(int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { call(i) })
	}
	wg.Wait()
}

// countAdmitted counts the transactions that passed the limits, and those that a limit has refused. It
// does not count hosted transactions that still wait for their payers.
func (f *fixture) countAdmitted() (admitted, breached int) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	f.transactions(v, func(r *payment.Record, _ posting.RecordHeader) {
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
	if gotAdmitted, gotBreached := f.countAdmitted(); gotAdmitted != admitted || gotBreached != breached {
		f.t.Errorf("%d were admitted and %d refused, want %d and %d", gotAdmitted, gotBreached, admitted, breached)
	}
}

// Of a hundred concurrent attempts, exactly as many are admitted as the limit allows, even with a restart
// in between.
func TestVelocityLimitAdmitsItsCountOfConcurrentAttempts(t *testing.T) {
	const maxAttempts = 30
	for name, attempt := range map[string]func(*fixture, ledger.ID){
		"payments":             func(f *fixture, _ ledger.ID) { f.create(payment.Payment, good, 1, "") },
		"payouts":              func(f *fixture, _ ledger.ID) { f.create(payment.Payout, good, 1, "") },
		"hosted continuations": func(f *fixture, id ledger.ID) { f.mustRecord(f.Continue(cardContinue(id, good))) },
	} {
		t.Run(name, func(t *testing.T) {
			velocity := limit(directory.Velocity, maxAttempts, nil)
			f := openWithLimits(t, velocity)
			var hostedIDs [100]ledger.ID
			if strings.HasPrefix(name, "hosted") {
				for i := range hostedIDs {
					hostedIDs[i] = f.createHosted("").Record.ID
				}
			}
			concurrently(20, func(i int) { attempt(f, hostedIDs[i]) })
			f.restart()
			concurrently(80, func(i int) { attempt(f, hostedIDs[20+i]) })
			f.wantAdmitted(maxAttempts, 100-maxAttempts)
			f.wantUsage(velocity, "", "100 0")
		})
	}
}

func TestDailyVolumeBoundsConcurrentPayoutsAndContinues(t *testing.T) {
	dailyVolume := limit(directory.DailyVolume, 2_100, nil)
	f := openWithLimits(t, dailyVolume)
	var hostedIDs [50]ledger.ID
	for i := range hostedIDs {
		hostedIDs[i] = f.createHosted("").Record.ID // the amount of each is 70
	}
	concurrently(100, func(i int) {
		if i%2 == 0 {
			f.mustRecord(f.Continue(cardContinue(hostedIDs[i/2], good)))
		} else {
			f.create(payment.Payout, good, 70, "")
		}
	})
	f.wantAdmitted(30, 70)
	f.wantUsage(dailyVolume, "", "2100 0 0")
}

// The process is killed while the provider has as many calls as the limit allows. After the restart no
// further attempt is admitted until it is known that those calls never arrived.
func TestKillAtAFullLimitAdmitsNoFurtherAttempt(t *testing.T) {
	const maxPayments = 30
	dailyVolume, velocity := limit(directory.DailyVolume, 10*maxPayments, nil), limit(directory.Velocity, 4*maxPayments, func(l *directory.Limit) { l.Window = time.Hour })
	forever := make(chan struct{})
	provider := new(fakeProvider)
	provider.submit = func(context.Context, *actors.Call) actors.Outcome {
		<-forever
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	f := openWith(t, func(f *fixture) {
		f.limits = []*directory.Limit{dailyVolume, velocity}
		f.useProvider(provider)
		f.createWait = 50 * time.Millisecond
	})
	t.Cleanup(func() { close(forever) })
	concurrently(2*maxPayments, func(int) { _, _ = f.createWith(payment.Payment, good, 10, nil) })
	f.waitUntil("all are stored", func() bool {
		admitted, breached := f.countAdmitted()
		return admitted == maxPayments && breached == maxPayments
	})
	f.killAndReopen(func(f *fixture) { f.wrapProvider, f.createWait = nil, 0 })
	f.Runtime.Quiesce()
	pay := func(int) { f.create(payment.Payment, good, 10, "") }
	f.wantUsage(dailyVolume, "", "0 300 0")
	f.wantUsage(velocity, "", "60 60")
	concurrently(maxPayments, pay)
	f.wantAdmitted(maxPayments, 2*maxPayments)
	f.advance(time.Minute) // the provider's answers say that the calls never arrived
	f.wantUsage(dailyVolume, "", "0 0 300")
	concurrently(2*maxPayments, pay)
	f.wantAdmitted(2*maxPayments, 3*maxPayments) // velocity allowed 120 of the 150 attempts; the volume had room for 30 of them before the kill and for 30 after the kill
	f.wantUsage(velocity, "", "150 0")
	f.wantUsage(dailyVolume, "", "300 0 0")
}

// At random, calls are lost, charges fail over or are captured in part, cancelled or returned, components panic, and the
// process is killed. Still the reserved and settled volume never exceeds its limit, and in the end equals the amount that
// the transactions have moved. The checker compares the counters with the transactions.
func TestVolumesEqualMovedMoneyAfterRandomFailures(t *testing.T) {
	c := &chaos{random: testseed.Random(t)}
	const maxVolume = 300
	dailyVolume := limit(directory.DailyVolume, maxVolume, nil)
	otherLimit := limit(directory.MonthlyVolume, 200, nil)
	f := openWith(t, func(f *fixture) {
		f.mayGiveUpCharges = true
		provider := c.newFakeProvider()
		lose := provider.inquire
		f.wrapProvider = func(p actors.Provider) actors.Provider {
			provider.Provider, provider.inquire = p, nil
			return polledProvider{chaoticProvider{provider, lose}, p.(reportScheduler)}
		}
		f.changeTerminal(0, func(s terminalSettings) { s.Priority, s.Fail = 1, simulator.FailRejected })
		otherLimit.Terminal = f.addTerminal(0, func(s terminalSettings) { s.Fail = ""; s.MaxAmount = amountCommand(ledger.ID{}, 20).Amount })
		f.addTerminal(0, func(s terminalSettings) { s.Fail = ""; twoPhase(s); s.Priority = 3 })
		f.limits = []*directory.Limit{dailyVolume, otherLimit}
		f.onTerminalLookup = func() { c.mayPanic(20) }
		f.handling = 5 * time.Millisecond
		f.createWait = 50 * time.Millisecond
	})
	checkVolumes := func() (used money.Amount) {
		t.Helper()
		for _, l := range f.limits {
			usage, err := f.accounts.Usage(context.Background(), l, "")
			if err != nil {
				t.Fatal(err)
			}
			if sum, err := usage.SettledAmount.Add(usage.ReservedAmount); err != nil || l.MaxAmount.Less(sum) {
				t.Errorf("%s: %v used and %v reserved", l.Kind, usage.SettledAmount, usage.ReservedAmount)
			}
			if l == dailyVolume {
				used = usage.SettledAmount
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
			checkVolumes()
		})
		f.advance(3 * time.Second)
		f.restart()
		checkVolumes()
	}
	c.mu.Lock()
	c.isCalm = true
	c.mu.Unlock()
	f.waitUntil("all of them have ended", func() bool {
		f.advance(24 * time.Hour)
		v := f.Journal.View()
		defer v.Close()
		n := 0
		f.transactions(v, func(r *payment.Record, _ posting.RecordHeader) {
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
	hasWaited bool          // guarded by mu: an attempt has waited for release
	failure   error         // guarded by mu: error with which counting fails; nil: it succeeds
	uncounted int           // guarded by mu: number of attempts that were subtracted again
}

// Count implements payment.Admission.
func (c *controlledAdmission) Count(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt,
	isRepetition func() (bool, error), answer func(*directory.Limit, error)) {
	c.mu.Lock()
	release, failure := c.release, c.failure
	c.hasWaited = c.hasWaited || release != nil
	c.mu.Unlock()
	go func() {
		if release != nil {
			<-release
		}
		if failure != nil {
			answer(nil, failure)
			return
		}
		c.Admission.Count(org, partner, limits, at, a, isRepetition, answer)
	}()
}

// Uncount implements payment.Admission.
func (c *controlledAdmission) Uncount(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) {
	c.mu.Lock()
	c.uncounted++
	c.mu.Unlock()
	c.Admission.Uncount(org, partner, limits, at, a)
}

func (c *controlledAdmission) hasBegunCounting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hasWaited
}

func (c *controlledAdmission) setCounting(release chan struct{}, failure error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release, c.failure = release, failure
}

func openWithControlledAdmission(t *testing.T, limits ...*directory.Limit) (*fixture, *controlledAdmission) {
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
	velocity := limit(directory.Velocity, 2, nil)
	f, admission := openWithControlledAdmission(t, velocity)
	hostedID := f.createHosted("").Record.ID
	errBroken := errors.New("the store can't be read")
	admission.setCounting(nil, errBroken)
	if _, err := f.tryCreate(payment.Payment, "order"); !errors.Is(err, errBroken) {
		t.Errorf("a create: %v", err)
	}
	if _, err := f.Continue(cardContinue(hostedID, good)); !errors.Is(err, errBroken) {
		t.Errorf("a continuation: %v", err)
	}
	if r := f.readRecord(hostedID); !r.AwaitsPayer() || r.CardBIN != "" {
		t.Errorf("%s with card %q", r.Status, r.CardBIN)
	}
	admission.setCounting(nil, nil)
	if r := f.mustRecord(f.tryCreate(payment.Payment, "order")); r.Status != payment.Charged {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	if r := f.mustRecord(f.Continue(cardContinue(hostedID, good))); r.Status != payment.Charged {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	f.wantUsage(velocity, "", "2 0")
}

// If the payer's time ends while the attempt is being counted, and the attempt can then not be counted, the
// transaction ends.
func TestExpiryDuringTheCountingOfAnAttemptIsHandledLater(t *testing.T) {
	velocity := limit(directory.Velocity, 2, nil)
	f, admission := openWithControlledAdmission(t, velocity)
	hostedID := f.createHosted("").Record.ID
	release := make(chan struct{})
	admission.setCounting(release, errors.New("the store can't be read"))
	answer := f.SendContinue(cardContinue(hostedID, good))
	f.waitUntil("it is being counted", admission.hasBegunCounting)
	if err := f.Runtime.Advance(f.Clock.Now().Add(31 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	f.wantStatus(hostedID, payment.Created, "") // the attempt is handled before the expiry
	close(release)
	mustReturnSoon(t, "the continuation", func() { <-answer })
	f.Runtime.Quiesce()
	f.wantStatus(hostedID, payment.Rejected, "payer action expired")
}

// Two requests of one payer have the same idempotency key: the second does not count as an attempt.
func TestContinueWithAClaimedKeyIsNoAttempt(t *testing.T) {
	velocity := limit(directory.Velocity, 3, nil)
	f, admission := openWithControlledAdmission(t, velocity)
	firstContinue, secondContinue := cardContinue(f.createHosted("").Record.ID, good), cardContinue(f.createHosted("").Record.ID, good)
	firstContinue.Key, secondContinue.Key = newKey("same", "same"), newKey("same", "same")
	release := make(chan struct{})
	admission.setCounting(release, nil)
	secondReply := f.SendContinue(secondContinue)
	f.waitUntil("it is being counted", admission.hasBegunCounting)
	admission.setCounting(nil, nil)
	f.mustRecord(f.Continue(firstContinue))
	close(release)
	mustReturnSoon(t, "the second", func() { <-secondReply })
	f.Runtime.Quiesce()
	if r := f.readRecord(secondContinue.ID); !r.AwaitsPayer() {
		t.Errorf("the second is %s", r.Status)
	}
	if admission.uncounted != 1 {
		t.Errorf("%d attempts were taken back", admission.uncounted)
	}
	f.wantUsage(velocity, "", "1 2")
}

// A rejected attempt is stored with the network of its terminal, on which it was screened.
func TestRejectedAttemptCountsOnTheNetworkOfItsTerminal(t *testing.T) {
	tron := money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	velocity := limit(directory.Velocity, 1, func(l *directory.Limit) { l.Asset = tron })
	perTransaction := limit(directory.PerTransaction, 5, func(l *directory.Limit) { l.Asset = tron })
	f := openWith(t, func(f *fixture) {
		f.limits = []*directory.Limit{velocity, perTransaction}
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
	f.wantUsage(velocity, "", "1 0")
	pay(5, "limit exceeded: velocity")
	f.wantUsage(velocity, "", "2 0")
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
