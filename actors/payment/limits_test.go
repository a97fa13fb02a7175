package payment_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Cards of the simulator: two that are charged, and one that is declined.
const (
	good      = "4242424242424242"
	otherCard = "5555555555554444"
	declined  = "4000000000000002"
)

// limit returns a limit on all transactions in usd of the fixture's partner. For a velocity limit the maximum
// is a number of attempts a minute, otherwise an amount.
func limit(kind directory.LimitKind, maximum uint64, change func(*directory.Limit)) *directory.Limit {
	l := &directory.Limit{
		ID: uuid.New(), Org: org, Partner: 1, Kind: kind, Asset: usd, Scope: directory.ScopePartner, Active: true,
	}
	if kind == directory.Velocity {
		l.MaxCount, l.Window = int64(maximum), time.Minute
	} else {
		l.MaxAmount = money.FromUint64(maximum)
	}
	if change != nil {
		change(l)
	}
	return l
}

func openWithLimits(t *testing.T, limits ...*directory.Limit) *fixture {
	return openWith(t, func(f *fixture) { f.limits = limits })
}

// wantUsage checks a limit's usage and returns it. For a volume limit, want is "used reserved remaining"; for
// a velocity limit, "count remaining".
func (f *fixture) wantUsage(l *directory.Limit, subject string, want string) directory.Usage {
	f.t.Helper()
	usage, err := f.accounts.Usage(context.Background(), l, subject)
	if err != nil {
		f.t.Fatal(err)
	}
	got := fmt.Sprintf("%v %v %v", usage.SettledAmount, usage.ReservedAmount, usage.Remaining(l))
	if l.Kind == directory.Velocity {
		got = fmt.Sprintf("%d %v", usage.Count, usage.Remaining(l))
	}
	if got != want {
		f.t.Errorf("usage %s, want %s", got, want)
	}
	return usage
}

// wantCreated creates a transaction, checks its status and failure, and returns it.
func (f *fixture) wantCreated(card string, amount uint64, status payment.Status, reason string) *payment.Record {
	f.t.Helper()
	r := f.create(payment.Payment, card, amount, "").Record
	return f.wantStatus(r.ID, status, reason)
}

func TestAmountAboveTheTransactionLimitIsRejectedBeforeAnyProvider(t *testing.T) {
	f := openWithLimits(t, limit(directory.PerTransaction, 100, nil))
	f.wantCreated(good, 100, payment.Charged, "")
	r := f.wantCreated(good, 101, payment.Rejected, "limit exceeded: per_transaction")
	if n := f.callCount(r.ID); n != 0 {
		t.Errorf("the provider was called %d times", n)
	}
	if a := r.Attempts; len(a) != 1 || a[0].Outcome != payment.AttemptStopped || a[0].Terminal != f.terminals[0].ID || failureText(a[0].Failure) != failureText(r.Failure) {
		t.Errorf("attempts %+v", a)
	}
}

func TestDailyVolumeBoundsConcurrentCreates(t *testing.T) {
	dailyVolume := limit(directory.DailyVolume, 500, nil)
	f := openWithLimits(t, dailyVolume)
	results := make([]*payment.Record, 100)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = f.create(payment.Payment, good, 10, "").Record })
	}
	wg.Wait()
	count := make(map[string]int)
	for _, r := range results {
		count[string(r.Status)+" "+failureText(r.Failure)]++
	}
	if count["charged "] != 50 || count["rejected limit exceeded: daily_volume"] != 50 {
		t.Errorf("ended %v", count)
	}
	f.wantUsage(dailyVolume, "", "500 0 0")
	f.restart()
	f.wantUsage(dailyVolume, "", "500 0 0")
	f.wantCreated(good, 1, payment.Rejected, "limit exceeded: daily_volume")
}

func TestVolumesRestartAtMidnightAndMonthEnd(t *testing.T) {
	dailyVolume, monthlyVolume := limit(directory.DailyVolume, 100, nil), limit(directory.MonthlyVolume, 250, nil)
	f := openWithLimits(t, dailyVolume, monthlyVolume)
	advanceTo := func(instant string) {
		t.Helper()
		at, err := time.Parse(time.RFC3339, instant)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Runtime.Advance(at); err != nil {
			t.Fatal(err)
		}
	}
	advanceTo("2027-01-30T23:59:59Z")
	f.wantCreated(good, 100, payment.Charged, "")
	f.wantCreated(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	if usage := f.wantUsage(dailyVolume, "", "100 0 0"); usage.ResetsAt.Time().Format(time.RFC3339) != "2027-01-31T00:00:00Z" {
		t.Errorf("a day ends at %v", usage.ResetsAt.Time())
	}
	advanceTo("2027-01-31T00:00:00Z")
	f.wantUsage(dailyVolume, "", "0 0 100")
	f.wantCreated(good, 100, payment.Charged, "")
	if usage := f.wantUsage(monthlyVolume, "", "200 0 50"); usage.ResetsAt.Time().Format(time.RFC3339) != "2027-02-01T00:00:00Z" {
		t.Errorf("a month ends at %v", usage.ResetsAt.Time())
	}
	advanceTo("2027-01-31T23:59:59Z")
	f.wantCreated(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	advanceTo("2027-02-01T00:00:00Z")
	f.wantUsage(monthlyVolume, "", "0 0 250")
	f.wantCreated(good, 100, payment.Charged, "")
	f.wantUsage(monthlyVolume, "", "100 0 150")
}

func TestVolumeIsReservedDuringACallAndReleasedIfNoMoneyMoves(t *testing.T) {
	dailyVolume := limit(directory.DailyVolume, 100, nil)
	f := openWith(t, func(f *fixture) {
		f.limits = []*directory.Limit{dailyVolume}
		f.changeTerminal(0, twoPhase)
	})
	heldPayment := f.create(payment.Payment, good, 100, "").Record
	f.wantUsage(dailyVolume, "", "0 100 0")
	f.wantCreated(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	f.mustRecord(f.Cancel(partnerCommand(heldPayment.ID)))
	f.wantUsage(dailyVolume, "", "0 0 100")

	heldPayment = f.create(payment.Payment, good, 90, "").Record
	f.mustRecord(f.Commit(amountCommand(heldPayment.ID, 60)))
	f.wantUsage(dailyVolume, "", "60 0 40")
	f.wantCreated(declined, 40, payment.Rejected, "card_declined")
	f.wantUsage(dailyVolume, "", "60 0 40")
	f.mustRecord(f.Refund(amountCommand(heldPayment.ID, 60)))
	f.wantUsage(dailyVolume, "", "60 0 40") // a refund does not reduce the volume
}

func TestVolumeOfAHoldIsReleasedInItsOwnDay(t *testing.T) {
	dailyVolume := limit(directory.DailyVolume, 100, nil)
	f := openWith(t, func(f *fixture) {
		f.limits = []*directory.Limit{dailyVolume}
		f.changeTerminal(0, twoPhase)
	})
	heldPayment := f.create(payment.Payment, good, 100, "").Record
	f.advance(24 * time.Hour)
	f.create(payment.Payment, good, 70, "")
	f.wantUsage(dailyVolume, "", "0 70 30")
	f.mustRecord(f.Cancel(partnerCommand(heldPayment.ID)))
	f.wantUsage(dailyVolume, "", "0 70 30")
}

func TestPayoutLimitIsCheckedBeforeFunds(t *testing.T) {
	dailyVolume := limit(directory.DailyVolume, 100, func(l *directory.Limit) { l.Type = directory.PayoutTerminal })
	f := openWithLimits(t, dailyVolume)
	r := f.create(payment.Payout, good, 1_000_000_000, "").Record
	f.wantStatus(r.ID, payment.Rejected, "limit exceeded: daily_volume")
	f.wantCreated(good, 1_000, payment.Charged, "") // the limit does not apply to a payment
	f.wantUsage(dailyVolume, "", "0 0 100")
	r = f.create(payment.Payout, good, 100, "").Record
	f.wantStatus(r.ID, payment.Charged, "")
	f.wantUsage(dailyVolume, "", "100 0 0")
}

func TestVelocityCountsEveryAttemptInASlidingWindow(t *testing.T) {
	velocity := limit(directory.Velocity, 3, nil)
	f := openWithLimits(t, velocity)
	f.wantCreated(good, 1, payment.Charged, "") // at 0 s
	f.advance(20 * time.Second)
	f.wantCreated(declined, 1, payment.Rejected, "card_declined") // at 20 s
	f.advance(20 * time.Second)
	r := f.create(payment.Payout, good, 1_000_000_000, "").Record // at 40 s
	f.wantStatus(r.ID, payment.Rejected, "insufficient balance")
	f.wantCreated(good, 1, payment.Rejected, "limit exceeded: velocity") // at 40 s: the fourth attempt
	f.wantUsage(velocity, "", "4 0")
	f.advance(21 * time.Second) // the first attempt has left the window
	f.wantCreated(good, 1, payment.Rejected, "limit exceeded: velocity")
	f.advance(40 * time.Second) // the attempts at 40 s have left the window too; it has only the attempt at 61 s
	usage := f.wantUsage(velocity, "", "1 2")
	if want := start.Add(121 * time.Second); usage.ResetsAt.Time().Before(want) || usage.ResetsAt.Time().After(want.Add(time.Second)) {
		t.Errorf("resets at %v, want %v", usage.ResetsAt.Time(), want)
	}
	f.wantCreated(good, 1, payment.Charged, "")
	f.wantCreated(good, 1, payment.Charged, "")
	f.wantCreated(good, 1, payment.Rejected, "limit exceeded: velocity")
}

func TestVelocityCountSurvivesARestart(t *testing.T) {
	partnerLimit, cardLimit := limit(directory.Velocity, 3, nil), limit(directory.Velocity, 2, func(l *directory.Limit) { l.Scope = directory.ScopeCard })
	f := openWithLimits(t, partnerLimit, cardLimit)
	pay := func(fingerprint string) *payment.Record {
		t.Helper()
		return f.mustRecord(f.createWith(payment.Payment, good, 1, func(c *paymentactor.Create) { c.Request.CardFingerprint = fingerprint }))
	}
	pay("a")
	pay("b")
	f.restart()
	f.wantUsage(partnerLimit, "", "2 1")
	f.wantUsage(cardLimit, "a", "1 1")
	pay("a")
	if r := pay("a"); failureText(r.Failure) != "limit exceeded: velocity" {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	f.restart()
	f.advance(30 * time.Second)
	f.wantUsage(partnerLimit, "", "4 0")
	f.wantUsage(cardLimit, "a", "3 0")
	f.wantUsage(cardLimit, "b", "1 1")
	f.advance(31 * time.Second)
	f.wantUsage(partnerLimit, "", "0 3")
}

func TestNewLimitCountsEarlierAttempts(t *testing.T) {
	f := open(t)
	f.wantCreated(good, 1, payment.Charged, "")
	f.wantCreated(good, 1, payment.Charged, "")
	velocity := limit(directory.Velocity, 3, nil)
	f.limits = []*directory.Limit{velocity}
	f.wantCreated(good, 1, payment.Charged, "")
	f.wantCreated(good, 1, payment.Rejected, "limit exceeded: velocity")
	widerLimit := *velocity
	widerLimit.MaxCount = 10_000 // the limit has the same id
	f.limits = []*directory.Limit{&widerLimit}
	f.wantCreated(good, 1, payment.Charged, "")
	f.wantUsage(&widerLimit, "", "5 9995")
}

func TestRepeatedCreateIsNoAttempt(t *testing.T) {
	velocity := limit(directory.Velocity, 2, nil)
	f := openWithLimits(t, velocity)
	firstRecord := f.create(payment.Payment, good, 1, "order").Record
	for range 5 {
		if repetition := f.create(payment.Payment, good, 1, "order"); repetition.Record.ID != firstRecord.ID || !repetition.Replay {
			t.Fatalf("another transaction, %v", repetition.Record.ID)
		}
	}
	f.wantUsage(velocity, "", "1 1")
	f.wantCreated(good, 1, payment.Charged, "")
	f.wantCreated(good, 1, payment.Rejected, "limit exceeded: velocity")
}

func TestLimitScopeCountsTransactionsOfOneSubjectTogether(t *testing.T) {
	for scope, setPayer := range map[directory.Scope]func(*paymentactor.Create, string){
		directory.ScopeCard: func(c *paymentactor.Create, name string) { c.Request.CardFingerprint = name },
		directory.ScopeEmail: func(c *paymentactor.Create, name string) {
			c.Request.Customer = []byte(`{"email":"` + name + `@Example.com"}`)
		},
		directory.ScopeIP: func(c *paymentactor.Create, name string) {
			c.Request.PayerIP = netip.MustParseAddr(map[string]string{"a": "203.0.113.7", "b": "2001:db8::1"}[name])
		},
	} {
		t.Run(string(scope), func(t *testing.T) {
			volume := limit(directory.DailyVolume, 100, func(l *directory.Limit) { l.Scope = scope })
			velocity := limit(directory.Velocity, 3, func(l *directory.Limit) { l.Scope = scope })
			f := openWithLimits(t, volume, velocity)
			pay := func(payer string, amount uint64, want string) {
				t.Helper()
				r := f.mustRecord(f.createWith(payment.Payment, good, amount, func(c *paymentactor.Create) {
					if payer != "" {
						setPayer(c, payer)
					}
				}))
				if failureText(r.Failure) != want {
					t.Errorf("%s %q, want %q", r.Status, failureText(r.Failure), want)
				}
			}
			pay("a", 100, "")
			pay("a", 1, "limit exceeded: daily_volume")
			pay("b", 100, "")
			pay("", 500, "") // payments without the subject are not counted together
			pay("a", 1, "limit exceeded: daily_volume")
			pay("a", 1, "limit exceeded: velocity")
			pay("b", 1, "limit exceeded: daily_volume")
		})
	}
}

func TestTerminalLimitBoundsTransactionsOfThatTerminal(t *testing.T) {
	var firstTerminal, secondTerminal ledger.ID
	dailyVolume := limit(directory.DailyVolume, 100, nil)
	f := openWith(t, func(f *fixture) {
		f.limits = []*directory.Limit{dailyVolume}
		f.changeTerminal(0, withOutcome(simulator.FailRejected, 1))
		firstTerminal, secondTerminal = f.terminals[0].ID, f.addTerminal(0, withOutcome("", 2))
		dailyVolume.Terminal = secondTerminal
	})
	f.wantCreated(good, 100, payment.Charged, "") // charged by the second terminal, after the first has refused
	f.wantUsage(dailyVolume, "", "100 0 0")
	// The second terminal's limit is full, so the result is the refusal of the first.
	r := f.wantCreated(good, 1, payment.Rejected, "forced_by_terminal")
	if r.Terminal != firstTerminal {
		t.Errorf("by %v", r.Terminal)
	}
	f.wantUsage(dailyVolume, "", "100 0 0")
	dailyVolume = limit(directory.DailyVolume, 100, func(l *directory.Limit) { l.Terminal = firstTerminal })
	f.limits = []*directory.Limit{dailyVolume}
	f.wantCreated(good, 100, payment.Charged, "") // the limit's amount is reserved for the first terminal, and released after its refusal
	f.wantUsage(dailyVolume, "", "0 0 100")
	f.wantCreated(good, 101, payment.Rejected, "limit exceeded: daily_volume")
}

func TestLimitsApplyToAHostedPaymentWhenThePayerContinues(t *testing.T) {
	dailyVolume, velocity := limit(directory.DailyVolume, 100, nil), limit(directory.Velocity, 2, nil)
	f := openWithLimits(t, dailyVolume, velocity)
	firstID, secondID, thirdID := f.createHosted("").Record.ID, f.createHosted("").Record.ID, f.createHosted("").Record.ID
	f.wantUsage(velocity, "", "0 2")
	f.advance(5 * time.Minute)
	amount := f.readRecord(firstID).Amount
	dailyVolume.MaxAmount = amount
	f.mustRecord(f.Continue(cardContinue(firstID, good)))
	f.wantStatus(firstID, payment.Charged, "")
	r := f.mustRecord(f.Continue(cardContinue(secondID, good)))
	f.wantStatus(secondID, payment.Rejected, "limit exceeded: daily_volume")
	if r.CardBIN == "" || len(r.Attempts) != 1 {
		t.Errorf("bin %q, attempts %+v", r.CardBIN, r.Attempts)
	}
	f.restart()
	f.wantUsage(velocity, "", "2 0")
	f.mustRecord(f.Continue(cardContinue(thirdID, good)))
	f.wantStatus(thirdID, payment.Rejected, "limit exceeded: velocity")
}

func TestBlockedPayerIsRejectedWithTheKindOfTheEntry(t *testing.T) {
	var checkedPayer directory.Payer
	f := openWith(t, func(f *fixture) {
		f.blocked = func(p *directory.Payer) string {
			checkedPayer = *p
			checkedPayer.BIN = bytes.Clone(p.BIN) // clone it, because the card is wiped later
			return "email"
		}
		f.limits = []*directory.Limit{limit(directory.PerTransaction, 1, nil)}
	})
	r := f.mustRecord(f.createWith(payment.Payment, good, 50, func(c *paymentactor.Create) {
		c.Request.Customer = []byte(`{"email":" Eve@Example.com","phone":"+7 (900) 123-45-67","country":"ru","EMAIL":"other@example.com"}`)
		c.Request.CardFingerprint, c.Request.CardBIN = "print", "424242"
		c.Request.PayerIP = netip.MustParseAddr("203.0.113.7")
	}))
	f.wantStatus(r.ID, payment.Rejected, "anti-fraud: email") // the block list is checked before the limit
	want := directory.Payer{
		BIN: []byte("42424242"), Card: "print", Email: "eve@example.com", Phone: "79001234567", Country: "RU", IP: netip.MustParseAddr("203.0.113.7"),
	}
	if !reflect.DeepEqual(checkedPayer, want) {
		t.Errorf("looked for %+v, want %+v", checkedPayer, want)
	}
	if n := f.callCount(r.ID); n != 0 {
		t.Errorf("the provider was called %d times", n)
	}
	f.changeTerminal(0, func(s terminalSettings) { s.Currencies = []money.Currency{"EUR"} })
	f.wantCreated(otherCard, 50, payment.Rejected, "no terminal available") // the terminal is checked before the limit
}

// Repetitions of stored requests do not count towards a limit, so no other payment is rejected because of
// them, even if many come at once.
func TestRepetitionsNeverRejectAnotherPayment(t *testing.T) {
	velocity := limit(directory.Velocity, 2, nil)
	f := openWithLimits(t, velocity)
	firstRecord := f.create(payment.Payment, good, 1, "first").Record
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if r := f.create(payment.Payment, good, 1, "first"); r.Record.ID != firstRecord.ID {
				t.Errorf("repeated as %v %q", r.Record.ID, failureText(r.Record.Failure))
			}
		})
	}
	secondRecord := f.create(payment.Payment, good, 1, "second").Record
	wg.Wait()
	f.wantStatus(secondRecord.ID, payment.Charged, "")
	f.wantUsage(velocity, "", "2 0")
}
