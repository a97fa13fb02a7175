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
	return openAs(t, func(h *fixture) { h.limits = limits })
}

// usage returns "used reserved remaining" of a volume, "used remaining" of a velocity.
func (h *fixture) usage(l *directory.Limit, subject string, want string) directory.Usage {
	h.t.Helper()
	u, err := h.accounts.Usage(context.Background(), l, subject)
	if err != nil {
		h.t.Fatal(err)
	}
	got := fmt.Sprintf("%v %v %v", u.Used, u.Reserved, u.Remaining(l))
	if l.Kind == directory.Velocity {
		got = fmt.Sprintf("%d %v", u.Count, u.Remaining(l))
	}
	if got != want {
		h.t.Errorf("usage %s, want %s", got, want)
	}
	return u
}

// ends creates a transaction and checks its result; it returns the transaction.
func (h *fixture) ends(card string, amount uint64, status payment.Status, reason string) *payment.Record {
	h.t.Helper()
	r := h.create(payment.Payment, card, amount, "").Record
	return h.is(r.ID, status, reason)
}

func TestAnAmountAboveTheLimitOfATransactionIsRejectedBeforeAnyProvider(t *testing.T) {
	h := limited(t, limit(directory.PerTransaction, 100, nil))
	h.ends(good, 100, payment.Charged, "")
	r := h.ends(good, 101, payment.Rejected, "limit exceeded: per_transaction")
	if n := h.calls(r.ID); n != 0 {
		t.Errorf("the provider was called %d times", n)
	}
	if a := r.Attempts; len(a) != 1 || a[0].Outcome != payment.AttemptStopped || a[0].Terminal != h.terminals[0].ID || why(a[0].Failure) != why(r.Failure) {
		t.Errorf("attempts %+v", a)
	}
}

func TestADaysVolumeEndsAtItsLimitUnderAHundredCreatesAtOnce(t *testing.T) {
	l := limit(directory.DailyVolume, 500, nil)
	h := limited(t, l)
	results := make([]*payment.Record, 100)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i] = h.create(payment.Payment, good, 10, "").Record })
	}
	all.Wait()
	count := make(map[string]int)
	for _, r := range results {
		count[string(r.Status)+" "+why(r.Failure)]++
	}
	if count["charged "] != 50 || count["rejected limit exceeded: daily_volume"] != 50 {
		t.Errorf("ended %v", count)
	}
	h.usage(l, "", "500 0 0")
	h.restart()
	h.usage(l, "", "500 0 0")
	h.ends(good, 1, payment.Rejected, "limit exceeded: daily_volume")
}

func TestVolumesBeginAnewAtMidnightAndAtTheMonthsEndByTheClock(t *testing.T) {
	day, month := limit(directory.DailyVolume, 100, nil), limit(directory.MonthlyVolume, 250, nil)
	h := limited(t, day, month)
	to := func(instant string) {
		t.Helper()
		at, err := time.Parse(time.RFC3339, instant)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Runtime.Advance(at); err != nil {
			t.Fatal(err)
		}
	}
	to("2027-01-30T23:59:59Z")
	h.ends(good, 100, payment.Charged, "")
	h.ends(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	if u := h.usage(day, "", "100 0 0"); u.Resets.Time().Format(time.RFC3339) != "2027-01-31T00:00:00Z" {
		t.Errorf("a day ends at %v", u.Resets.Time())
	}
	to("2027-01-31T00:00:00Z")
	h.usage(day, "", "0 0 100")
	h.ends(good, 100, payment.Charged, "")
	if u := h.usage(month, "", "200 0 50"); u.Resets.Time().Format(time.RFC3339) != "2027-02-01T00:00:00Z" {
		t.Errorf("a month ends at %v", u.Resets.Time())
	}
	to("2027-01-31T23:59:59Z")
	h.ends(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	to("2027-02-01T00:00:00Z")
	h.usage(month, "", "0 0 250")
	h.ends(good, 100, payment.Charged, "")
	h.usage(month, "", "100 0 150")
}

func TestWhatIsUnderWayIsReservedAndWhatMovesNoMoneyIsGivenBack(t *testing.T) {
	l := limit(directory.DailyVolume, 100, nil)
	h := openAs(t, func(h *fixture) {
		h.limits = []*directory.Limit{l}
		h.set(0, twoPhase)
	})
	held := h.create(payment.Payment, good, 100, "").Record
	h.usage(l, "", "0 100 0")
	h.ends(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	h.must(h.Cancel(of(held.ID)))
	h.usage(l, "", "0 0 100")

	held = h.create(payment.Payment, good, 90, "").Record
	h.must(h.Commit(part(held.ID, 60)))
	h.usage(l, "", "60 0 40")
	h.ends(declined, 40, payment.Rejected, "card_declined")
	h.usage(l, "", "60 0 40")
	h.must(h.Refund(part(held.ID, 60)))
	h.usage(l, "", "60 0 40") // refunded money has moved nevertheless
}

func TestAHoldOfYesterdayIsGivenBackToYesterday(t *testing.T) {
	l := limit(directory.DailyVolume, 100, nil)
	h := openAs(t, func(h *fixture) {
		h.limits = []*directory.Limit{l}
		h.set(0, twoPhase)
	})
	held := h.create(payment.Payment, good, 100, "").Record
	h.advance(24 * time.Hour)
	h.create(payment.Payment, good, 70, "")
	h.usage(l, "", "0 70 30")
	h.must(h.Cancel(of(held.ID)))
	h.usage(l, "", "0 70 30")
}

func TestAPayoutsLimitIsJudgedBeforeItsFunds(t *testing.T) {
	l := limit(directory.DailyVolume, 100, func(l *directory.Limit) { l.Type = directory.PayoutTerminal })
	h := limited(t, l)
	r := h.create(payment.Payout, good, 1_000_000_000, "").Record
	h.is(r.ID, payment.Rejected, "limit exceeded: daily_volume")
	h.ends(good, 1_000, payment.Charged, "") // the limit does not apply to a payment
	h.usage(l, "", "0 0 100")
	r = h.create(payment.Payout, good, 100, "").Record
	h.is(r.ID, payment.Charged, "")
	h.usage(l, "", "100 0 0")
}

func TestAVelocityCountsEveryAttemptOfASlidingWindow(t *testing.T) {
	l := limit(directory.Velocity, 3, nil)
	h := limited(t, l)
	h.ends(good, 1, payment.Charged, "") // at 0 s
	h.advance(20 * time.Second)
	h.ends(declined, 1, payment.Rejected, "card_declined") // at 20 s
	h.advance(20 * time.Second)
	r := h.create(payment.Payout, good, 1_000_000_000, "").Record // at 40 s
	h.is(r.ID, payment.Rejected, "insufficient balance")
	h.ends(good, 1, payment.Rejected, "limit exceeded: velocity") // at 40 s: the fourth
	h.usage(l, "", "4 0")
	h.advance(21 * time.Second) // the first has left the window
	h.ends(good, 1, payment.Rejected, "limit exceeded: velocity")
	h.advance(40 * time.Second) // those of 40 s too: the one of 61 s is left
	u := h.usage(l, "", "1 2")
	if want := start.Add(121 * time.Second); u.Resets.Time().Before(want) || u.Resets.Time().After(want.Add(time.Second)) {
		t.Errorf("resets at %v, want %v", u.Resets.Time(), want)
	}
	h.ends(good, 1, payment.Charged, "")
	h.ends(good, 1, payment.Charged, "")
	h.ends(good, 1, payment.Rejected, "limit exceeded: velocity")
}

func TestAVelocityIsKeptAcrossARestart(t *testing.T) {
	partner, card := limit(directory.Velocity, 3, nil), limit(directory.Velocity, 2, func(l *directory.Limit) { l.Scope = directory.ScopeCard })
	h := limited(t, partner, card)
	pay := func(print string) *payment.Record {
		t.Helper()
		return h.must(h.begin(payment.Payment, good, 1, func(c *paymentactor.Create) { c.Request.CardFingerprint = print }))
	}
	pay("a")
	pay("b")
	h.restart()
	h.usage(partner, "", "2 1")
	h.usage(card, "a", "1 1")
	pay("a")
	if r := pay("a"); why(r.Failure) != "limit exceeded: velocity" {
		t.Errorf("%s %q", r.Status, why(r.Failure))
	}
	h.restart()
	h.advance(30 * time.Second)
	h.usage(partner, "", "4 0")
	h.usage(card, "a", "3 0")
	h.usage(card, "b", "1 1")
	h.advance(31 * time.Second)
	h.usage(partner, "", "0 3")
}

func TestALimitThatIsSetCountsWhatWasAttemptedBefore(t *testing.T) {
	h := open(t)
	h.ends(good, 1, payment.Charged, "")
	h.ends(good, 1, payment.Charged, "")
	l := limit(directory.Velocity, 3, nil)
	h.limits = []*directory.Limit{l}
	h.ends(good, 1, payment.Charged, "")
	h.ends(good, 1, payment.Rejected, "limit exceeded: velocity")
	wider := *l
	wider.MaxCount = 10_000 // the same limit, changed
	h.limits = []*directory.Limit{&wider}
	h.ends(good, 1, payment.Charged, "")
	h.usage(&wider, "", "5 9995")
}

func TestARepeatedCreateIsNoAttempt(t *testing.T) {
	l := limit(directory.Velocity, 2, nil)
	h := limited(t, l)
	first := h.create(payment.Payment, good, 1, "order").Record
	for range 5 {
		if again := h.create(payment.Payment, good, 1, "order"); again.Record.ID != first.ID || !again.Replay {
			t.Fatalf("another transaction, %v", again.Record.ID)
		}
	}
	h.usage(l, "", "1 1")
	h.ends(good, 1, payment.Charged, "")
	h.ends(good, 1, payment.Rejected, "limit exceeded: velocity")
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
			pace := limit(directory.Velocity, 3, func(l *directory.Limit) { l.Scope = scope })
			h := limited(t, volume, pace)
			pay := func(of string, amount uint64, want string) {
				t.Helper()
				r := h.must(h.begin(payment.Payment, good, amount, func(c *paymentactor.Create) {
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
	h := openAs(t, func(h *fixture) {
		h.limits = []*directory.Limit{l}
		h.set(0, failing(directory.FailRejected, 1))
		first, second = h.terminals[0].ID, h.add(0, failing("", 2))
		l.Terminal = second
	})
	h.ends(good, 100, payment.Charged, "") // by the second, after the first has refused
	h.usage(l, "", "100 0 0")
	r := h.ends(good, 1, payment.Rejected, "forced_by_terminal") // the second has no room, so the first one's answer stands
	if r.Terminal != first {
		t.Errorf("by %v", r.Terminal)
	}
	h.usage(l, "", "100 0 0")
	l = limit(directory.DailyVolume, 100, func(l *directory.Limit) { l.Terminal = first })
	h.limits = []*directory.Limit{l}
	h.ends(good, 100, payment.Charged, "") // reserved for the first, released with its refusal
	h.usage(l, "", "0 0 100")
	h.ends(good, 101, payment.Rejected, "limit exceeded: daily_volume")
}

func TestAHostedPaymentIsJudgedWhenItsPayerBringsACard(t *testing.T) {
	day, pace := limit(directory.DailyVolume, 100, nil), limit(directory.Velocity, 2, nil)
	h := limited(t, day, pace)
	first, second, third := h.hosted("").Record.ID, h.hosted("").Record.ID, h.hosted("").Record.ID
	h.usage(pace, "", "0 2")
	h.advance(5 * time.Minute)
	amount := h.read(first).Amount
	day.MaxAmount = amount
	h.must(h.Continue(brings(first, good)))
	h.is(first, payment.Charged, "")
	r := h.must(h.Continue(brings(second, good)))
	h.is(second, payment.Rejected, "limit exceeded: daily_volume")
	if r.CardBIN == "" || len(r.Attempts) != 1 {
		t.Errorf("bin %q, attempts %+v", r.CardBIN, r.Attempts)
	}
	h.restart()
	h.usage(pace, "", "2 0")
	h.must(h.Continue(brings(third, good)))
	h.is(third, payment.Rejected, "limit exceeded: velocity")
}

func TestWhoIsOnTheBlocklistIsRejectedWithTheKindOfTheEntry(t *testing.T) {
	var seen directory.Payer
	h := openAs(t, func(h *fixture) {
		h.blocked = func(p *directory.Payer) string {
			seen = *p
			seen.BIN = bytes.Clone(p.BIN) // the card is wiped
			return "email"
		}
		h.limits = []*directory.Limit{limit(directory.PerTransaction, 1, nil)}
	})
	r := h.must(h.begin(payment.Payment, good, 50, func(c *paymentactor.Create) {
		c.Request.Customer = []byte(`{"email":" Eve@Example.com","phone":"+7 (900) 123-45-67","country":"ru","EMAIL":"other@example.com"}`)
		c.Request.CardFingerprint, c.Request.CardBIN = "print", "424242"
		c.Request.PayerIP = netip.MustParseAddr("203.0.113.7")
	}))
	h.is(r.ID, payment.Rejected, "anti-fraud: email") // checked before the limit
	want := directory.Payer{
		BIN: []byte("42424242"), Card: "print", Email: "eve@example.com", Phone: "79001234567", Country: "RU", IP: netip.MustParseAddr("203.0.113.7"),
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("looked for %+v, want %+v", seen, want)
	}
	if n := h.calls(r.ID); n != 0 {
		t.Errorf("the provider was called %d times", n)
	}
	h.set(0, func(s *directory.Settings) { s.Currencies = []money.Currency{"EUR"} })
	h.ends(another, 50, payment.Rejected, "no terminal available") // checked first
}

// Requests that repeat stored ones take no place from other payments, however many there are at
// once.
func TestRepetitionsNeverRejectAnotherPayment(t *testing.T) {
	l := limit(directory.Velocity, 2, nil)
	h := limited(t, l)
	first := h.create(payment.Payment, good, 1, "first").Record
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if r := h.create(payment.Payment, good, 1, "first"); r.Record.ID != first.ID {
				t.Errorf("repeated as %v %q", r.Record.ID, why(r.Record.Failure))
			}
		})
	}
	second := h.create(payment.Payment, good, 1, "second").Record
	all.Wait()
	h.is(second.ID, payment.Charged, "")
	h.usage(l, "", "2 0")
}
