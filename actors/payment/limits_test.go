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

const (
	good     = "4242424242424242"
	another  = "5555555555554444"
	declined = "4000000000000002"
)

// limit returns a limit of the fixture's partner, on all its transactions in usd.
func limit(kind directory.LimitKind, most uint64, change func(*directory.Limit)) *directory.Limit {
	l := &directory.Limit{
		ID: uuid.New(), Org: org, Partner: 1, Kind: kind, Asset: usd, Scope: directory.ScopePartner, Active: true,
	}
	if kind == directory.Velocity {
		l.MaxCount, l.Window = int64(most), time.Minute
	} else {
		l.MaxAmount = money.FromUint64(most)
	}
	if change != nil {
		change(l)
	}
	return l
}

func limited(t *testing.T, limits ...*directory.Limit) *fixture {
	return openAs(t, func(f *fixture) { f.limits = limits })
}

// usage returns "used reserved remaining" of a volume, "used remaining" of a velocity.
func (f *fixture) usage(l *directory.Limit, subject string, want string) directory.Usage {
	f.t.Helper()
	u, err := f.accounts.Usage(context.Background(), l, subject)
	if err != nil {
		f.t.Fatal(err)
	}
	got := fmt.Sprintf("%v %v %v", u.Used, u.Reserved, u.Remaining(l))
	if l.Kind == directory.Velocity {
		got = fmt.Sprintf("%d %v", u.Count, u.Remaining(l))
	}
	if got != want {
		f.t.Errorf("usage %s, want %s", got, want)
	}
	return u
}

// ends creates a transaction and checks its result; it returns the transaction.
func (f *fixture) ends(card string, amount uint64, status payment.Status, reason string) *payment.Record {
	f.t.Helper()
	r := f.create(payment.Payment, card, amount, "").Record
	return f.is(r.ID, status, reason)
}

func TestAnAmountAboveTheLimitOfATransactionIsRejectedBeforeAnyProvider(t *testing.T) {
	f := limited(t, limit(directory.PerTransaction, 100, nil))
	f.ends(good, 100, payment.Charged, "")
	r := f.ends(good, 101, payment.Rejected, "limit exceeded: per_transaction")
	if n := f.calls(r.ID); n != 0 {
		t.Errorf("the provider was called %d times", n)
	}
	if a := r.Attempts; len(a) != 1 || a[0].Outcome != payment.AttemptStopped || a[0].Terminal != f.terminals[0].ID || why(a[0].Failure) != why(r.Failure) {
		t.Errorf("attempts %+v", a)
	}
}

func TestADaysVolumeEndsAtItsLimitUnderAHundredCreatesAtOnce(t *testing.T) {
	l := limit(directory.DailyVolume, 500, nil)
	f := limited(t, l)
	results := make([]*payment.Record, 100)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i] = f.create(payment.Payment, good, 10, "").Record })
	}
	all.Wait()
	count := make(map[string]int)
	for _, r := range results {
		count[string(r.Status)+" "+why(r.Failure)]++
	}
	if count["charged "] != 50 || count["rejected limit exceeded: daily_volume"] != 50 {
		t.Errorf("ended %v", count)
	}
	f.usage(l, "", "500 0 0")
	f.restart()
	f.usage(l, "", "500 0 0")
	f.ends(good, 1, payment.Rejected, "limit exceeded: daily_volume")
}

func TestVolumesBeginAnewAtMidnightAndAtTheMonthsEndByTheClock(t *testing.T) {
	day, month := limit(directory.DailyVolume, 100, nil), limit(directory.MonthlyVolume, 250, nil)
	f := limited(t, day, month)
	to := func(instant string) {
		t.Helper()
		at, err := time.Parse(time.RFC3339, instant)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Runtime.Advance(at); err != nil {
			t.Fatal(err)
		}
	}
	to("2027-01-30T23:59:59Z")
	f.ends(good, 100, payment.Charged, "")
	f.ends(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	if u := f.usage(day, "", "100 0 0"); u.Resets.Time().Format(time.RFC3339) != "2027-01-31T00:00:00Z" {
		t.Errorf("a day ends at %v", u.Resets.Time())
	}
	to("2027-01-31T00:00:00Z")
	f.usage(day, "", "0 0 100")
	f.ends(good, 100, payment.Charged, "")
	if u := f.usage(month, "", "200 0 50"); u.Resets.Time().Format(time.RFC3339) != "2027-02-01T00:00:00Z" {
		t.Errorf("a month ends at %v", u.Resets.Time())
	}
	to("2027-01-31T23:59:59Z")
	f.ends(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	to("2027-02-01T00:00:00Z")
	f.usage(month, "", "0 0 250")
	f.ends(good, 100, payment.Charged, "")
	f.usage(month, "", "100 0 150")
}

func TestWhatIsUnderWayIsReservedAndWhatMovesNoMoneyIsGivenBack(t *testing.T) {
	l := limit(directory.DailyVolume, 100, nil)
	f := openAs(t, func(f *fixture) {
		f.limits = []*directory.Limit{l}
		f.set(0, twoPhase)
	})
	held := f.create(payment.Payment, good, 100, "").Record
	f.usage(l, "", "0 100 0")
	f.ends(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	f.must(f.Cancel(of(held.ID)))
	f.usage(l, "", "0 0 100")

	held = f.create(payment.Payment, good, 90, "").Record
	f.must(f.Commit(part(held.ID, 60)))
	f.usage(l, "", "60 0 40")
	f.ends(declined, 40, payment.Rejected, "card_declined")
	f.usage(l, "", "60 0 40")
	f.must(f.Refund(part(held.ID, 60)))
	f.usage(l, "", "60 0 40") // refunded money has moved nevertheless
}

func TestAHoldOfYesterdayIsGivenBackToYesterday(t *testing.T) {
	l := limit(directory.DailyVolume, 100, nil)
	f := openAs(t, func(f *fixture) {
		f.limits = []*directory.Limit{l}
		f.set(0, twoPhase)
	})
	held := f.create(payment.Payment, good, 100, "").Record
	f.advance(24 * time.Hour)
	f.create(payment.Payment, good, 70, "")
	f.usage(l, "", "0 70 30")
	f.must(f.Cancel(of(held.ID)))
	f.usage(l, "", "0 70 30")
}

func TestAPayoutsLimitIsJudgedBeforeItsFunds(t *testing.T) {
	l := limit(directory.DailyVolume, 100, func(l *directory.Limit) { l.Type = directory.PayoutTerminal })
	f := limited(t, l)
	r := f.create(payment.Payout, good, 1_000_000_000, "").Record
	f.is(r.ID, payment.Rejected, "limit exceeded: daily_volume")
	f.ends(good, 1_000, payment.Charged, "") // the limit does not apply to a payment
	f.usage(l, "", "0 0 100")
	r = f.create(payment.Payout, good, 100, "").Record
	f.is(r.ID, payment.Charged, "")
	f.usage(l, "", "100 0 0")
}

func TestAVelocityCountsEveryAttemptOfASlidingWindow(t *testing.T) {
	l := limit(directory.Velocity, 3, nil)
	f := limited(t, l)
	f.ends(good, 1, payment.Charged, "") // at 0 s
	f.advance(20 * time.Second)
	f.ends(declined, 1, payment.Rejected, "card_declined") // at 20 s
	f.advance(20 * time.Second)
	r := f.create(payment.Payout, good, 1_000_000_000, "").Record // at 40 s
	f.is(r.ID, payment.Rejected, "insufficient balance")
	f.ends(good, 1, payment.Rejected, "limit exceeded: velocity") // at 40 s: the fourth
	f.usage(l, "", "4 0")
	f.advance(21 * time.Second) // the first has left the window
	f.ends(good, 1, payment.Rejected, "limit exceeded: velocity")
	f.advance(40 * time.Second) // those of 40 s too: the one of 61 s is left
	u := f.usage(l, "", "1 2")
	if want := start.Add(121 * time.Second); u.Resets.Time().Before(want) || u.Resets.Time().After(want.Add(time.Second)) {
		t.Errorf("resets at %v, want %v", u.Resets.Time(), want)
	}
	f.ends(good, 1, payment.Charged, "")
	f.ends(good, 1, payment.Charged, "")
	f.ends(good, 1, payment.Rejected, "limit exceeded: velocity")
}

func TestAVelocityIsKeptAcrossARestart(t *testing.T) {
	partner, card := limit(directory.Velocity, 3, nil), limit(directory.Velocity, 2, func(l *directory.Limit) { l.Scope = directory.ScopeCard })
	f := limited(t, partner, card)
	pay := func(fingerprint string) *payment.Record {
		t.Helper()
		return f.must(f.begin(payment.Payment, good, 1, func(c *paymentactor.Create) { c.Request.CardFingerprint = fingerprint }))
	}
	pay("a")
	pay("b")
	f.restart()
	f.usage(partner, "", "2 1")
	f.usage(card, "a", "1 1")
	pay("a")
	if r := pay("a"); why(r.Failure) != "limit exceeded: velocity" {
		t.Errorf("%s %q", r.Status, why(r.Failure))
	}
	f.restart()
	f.advance(30 * time.Second)
	f.usage(partner, "", "4 0")
	f.usage(card, "a", "3 0")
	f.usage(card, "b", "1 1")
	f.advance(31 * time.Second)
	f.usage(partner, "", "0 3")
}

func TestALimitThatIsSetCountsWhatWasAttemptedBefore(t *testing.T) {
	f := open(t)
	f.ends(good, 1, payment.Charged, "")
	f.ends(good, 1, payment.Charged, "")
	l := limit(directory.Velocity, 3, nil)
	f.limits = []*directory.Limit{l}
	f.ends(good, 1, payment.Charged, "")
	f.ends(good, 1, payment.Rejected, "limit exceeded: velocity")
	wider := *l
	wider.MaxCount = 10_000 // the same limit, changed
	f.limits = []*directory.Limit{&wider}
	f.ends(good, 1, payment.Charged, "")
	f.usage(&wider, "", "5 9995")
}

func TestARepeatedCreateIsNoAttempt(t *testing.T) {
	l := limit(directory.Velocity, 2, nil)
	f := limited(t, l)
	first := f.create(payment.Payment, good, 1, "order").Record
	for range 5 {
		if again := f.create(payment.Payment, good, 1, "order"); again.Record.ID != first.ID || !again.Replay {
			t.Fatalf("another transaction, %v", again.Record.ID)
		}
	}
	f.usage(l, "", "1 1")
	f.ends(good, 1, payment.Charged, "")
	f.ends(good, 1, payment.Rejected, "limit exceeded: velocity")
}

func TestAScopeTakesTogetherWhatIsOfOneSubject(t *testing.T) {
	for scope, set := range map[directory.Scope]func(*paymentactor.Create, string){
		directory.ScopeCard: func(c *paymentactor.Create, of string) { c.Request.CardFingerprint = of },
		directory.ScopeEmail: func(c *paymentactor.Create, of string) {
			c.Request.Customer = []byte(`{"email":"` + of + `@Example.com"}`)
		},
		directory.ScopeIP: func(c *paymentactor.Create, of string) {
			c.Request.PayerIP = netip.MustParseAddr(map[string]string{"a": "203.0.113.7", "b": "2001:db8::1"}[of])
		},
	} {
		t.Run(string(scope), func(t *testing.T) {
			volume := limit(directory.DailyVolume, 100, func(l *directory.Limit) { l.Scope = scope })
			velocity := limit(directory.Velocity, 3, func(l *directory.Limit) { l.Scope = scope })
			f := limited(t, volume, velocity)
			pay := func(of string, amount uint64, want string) {
				t.Helper()
				r := f.must(f.begin(payment.Payment, good, amount, func(c *paymentactor.Create) {
					if of != "" {
						set(c, of)
					}
				}))
				if why(r.Failure) != want {
					t.Errorf("%s %q, want %q", r.Status, why(r.Failure), want)
				}
			}
			pay("a", 100, "")
			pay("a", 1, "limit exceeded: daily_volume")
			pay("b", 100, "")
			pay("", 500, "") // payers without a known subject are not counted together
			pay("a", 1, "limit exceeded: daily_volume")
			pay("a", 1, "limit exceeded: velocity")
			pay("b", 1, "limit exceeded: daily_volume")
		})
	}
}

func TestALimitOfATerminalBoundsWhatGoesThere(t *testing.T) {
	var first, second ledger.ID
	l := limit(directory.DailyVolume, 100, nil)
	f := openAs(t, func(f *fixture) {
		f.limits = []*directory.Limit{l}
		f.set(0, failing(simulator.FailRejected, 1))
		first, second = f.terminals[0].ID, f.add(0, failing("", 2))
		l.Terminal = second
	})
	f.ends(good, 100, payment.Charged, "") // by the second, after the first has refused
	f.usage(l, "", "100 0 0")
	r := f.ends(good, 1, payment.Rejected, "forced_by_terminal") // the second has no room, so the first one's answer stands
	if r.Terminal != first {
		t.Errorf("by %v", r.Terminal)
	}
	f.usage(l, "", "100 0 0")
	l = limit(directory.DailyVolume, 100, func(l *directory.Limit) { l.Terminal = first })
	f.limits = []*directory.Limit{l}
	f.ends(good, 100, payment.Charged, "") // reserved for the first, released with its refusal
	f.usage(l, "", "0 0 100")
	f.ends(good, 101, payment.Rejected, "limit exceeded: daily_volume")
}

func TestAHostedPaymentIsJudgedWhenItsPayerBringsACard(t *testing.T) {
	day, velocity := limit(directory.DailyVolume, 100, nil), limit(directory.Velocity, 2, nil)
	f := limited(t, day, velocity)
	first, second, third := f.hosted("").Record.ID, f.hosted("").Record.ID, f.hosted("").Record.ID
	f.usage(velocity, "", "0 2")
	f.advance(5 * time.Minute)
	amount := f.read(first).Amount
	day.MaxAmount = amount
	f.must(f.Continue(brings(first, good)))
	f.is(first, payment.Charged, "")
	r := f.must(f.Continue(brings(second, good)))
	f.is(second, payment.Rejected, "limit exceeded: daily_volume")
	if r.CardBIN == "" || len(r.Attempts) != 1 {
		t.Errorf("bin %q, attempts %+v", r.CardBIN, r.Attempts)
	}
	f.restart()
	f.usage(velocity, "", "2 0")
	f.must(f.Continue(brings(third, good)))
	f.is(third, payment.Rejected, "limit exceeded: velocity")
}

func TestWhoIsOnTheBlocklistIsRejectedWithTheKindOfTheEntry(t *testing.T) {
	var seen directory.Payer
	f := openAs(t, func(f *fixture) {
		f.blocked = func(p *directory.Payer) string {
			seen = *p
			seen.BIN = bytes.Clone(p.BIN) // the card is wiped
			return "email"
		}
		f.limits = []*directory.Limit{limit(directory.PerTransaction, 1, nil)}
	})
	r := f.must(f.begin(payment.Payment, good, 50, func(c *paymentactor.Create) {
		c.Request.Customer = []byte(`{"email":" Eve@Example.com","phone":"+7 (900) 123-45-67","country":"ru","EMAIL":"other@example.com"}`)
		c.Request.CardFingerprint, c.Request.CardBIN = "print", "424242"
		c.Request.PayerIP = netip.MustParseAddr("203.0.113.7")
	}))
	f.is(r.ID, payment.Rejected, "anti-fraud: email") // checked before the limit
	want := directory.Payer{
		BIN: []byte("42424242"), Card: "print", Email: "eve@example.com", Phone: "79001234567", Country: "RU", IP: netip.MustParseAddr("203.0.113.7"),
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("looked for %+v, want %+v", seen, want)
	}
	if n := f.calls(r.ID); n != 0 {
		t.Errorf("the provider was called %d times", n)
	}
	f.set(0, func(s terminalSettings) { s.Currencies = []money.Currency{"EUR"} })
	f.ends(another, 50, payment.Rejected, "no terminal available") // checked first
}

// Requests that repeat stored ones take no place from other payments, however many there are at
// once.
func TestRepetitionsNeverRejectAnotherPayment(t *testing.T) {
	l := limit(directory.Velocity, 2, nil)
	f := limited(t, l)
	first := f.create(payment.Payment, good, 1, "first").Record
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if r := f.create(payment.Payment, good, 1, "first"); r.Record.ID != first.ID {
				t.Errorf("repeated as %v %q", r.Record.ID, why(r.Record.Failure))
			}
		})
	}
	second := f.create(payment.Payment, good, 1, "second").Record
	all.Wait()
	f.is(second.ID, payment.Charged, "")
	f.usage(l, "", "2 0")
}
