package turnover_test

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"mizan/actors/follower"
	turnoveractor "mizan/actors/turnover"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/codec"
	"mizan/ledger/turnover"
	"mizan/posting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	firstOrg  = ledger.ID{1}
	secondOrg = ledger.ID{2}
	start     = time.Date(2026, 11, 19, 10, 0, 0, 0, time.UTC)
	usd       = money.Asset{Currency: "USD", Env: money.Prod}
)

// fixture is a Counter on a journal, which a test can close and open again, with the figures that a naive count gives.
type fixture struct {
	*testkit.World
	t        testing.TB
	follower *follower.Follower
	counter  *turnoveractor.Counter
	want     map[ledger.ID]map[turnover.PartnerDay]turnover.Day
}

func open(t *testing.T, minUnstored int) *fixture {
	t.Helper()
	f := &fixture{World: testkit.NewWorld(t, start), t: t, want: make(map[ledger.ID]map[turnover.PartnerDay]turnover.Day)}
	f.Open()
	f.follow(minUnstored)
	return f
}

// follow makes the follower and the counter.
func (f *fixture) follow(minUnstored int) {
	f.follower = follower.New(f.Runtime)
	f.counter = turnoveractor.New(f.follower, minUnstored)
}

// restart drops the counts that are only in memory.
func (f *fixture) restart(minUnstored int) {
	f.t.Helper()
	f.Close()
	f.Open()
	f.follow(minUnstored)
}

// book stores payments that end at once, and counts them by hand.
func (f *fixture) book(org ledger.ID, partner int64, asset money.Asset, amounts ...uint64) {
	f.t.Helper()
	c := &posting.Change{Author: ledger.BySystem.Author()}
	for _, amount := range amounts {
		r := &payment.Record{ID: ledger.TimedID(f.Clock.Now(), uuid.New()), Partner: partner, Status: payment.Charged}
		r.Request = payment.Request{Type: payment.Payment, Amount: money.FromUint64(amount), Asset: asset}
		name := payment.Settle
		if amount%3 == 0 {
			name, r.Status, r.Failure.Code = payment.Decline, payment.Rejected, payment.CardDeclined
		}
		c.Steps = append(c.Steps, posting.Step{
			Org: org, Source: ledger.Source{Kind: ledger.Transaction, ID: r.ID}, Record: codec.Encode(r),
			Events: []ledger.Event{{Name: string(payment.Create), To: string(payment.Created)}, {Name: string(name), From: string(payment.Charging), To: string(r.Status)}},
		})
	}
	f.MustSubmit(c)
	for i := range c.Steps {
		e := c.Steps[i].Events[1]
		figures := turnover.Figures{LastBooked: e.Booked, Charges: turnover.Sum{Count: 1, Amount: money.FromUint64(amounts[i])}}
		if e.Name == string(payment.Decline) {
			figures = turnover.Figures{LastBooked: e.Booked}
			figures.DeclineCounts[10] = 1 // 10 is the index of the error code card_declined
		}
		place := turnover.PartnerDay{Env: asset.Env, Partner: partner, Day: e.Booked.Date()}
		if f.want[org] == nil {
			f.want[org] = make(map[turnover.PartnerDay]turnover.Day)
		}
		day := f.want[org][place]
		if day == nil {
			day = make(turnover.Day)
			f.want[org][place] = day
		}
		must(f.t, day.Add(turnover.Day{{Type: payment.Payment, Currency: asset.Currency}: &figures}))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) count() {
	f.t.Helper()
	must(f.t, f.follower.Follow())
}

// check compares the figures that are read for every partner with the naive count.
func (f *fixture) check() {
	f.t.Helper()
	for org, places := range f.want {
		got := make(map[turnover.PartnerDay]turnover.Day)
		partners := make(map[[2]int64]bool)
		for place := range places {
			partners[[2]int64{place.Partner, int64(place.Env)}] = true
		}
		for p := range partners {
			q := turnoveractor.Query{Org: org, Partner: p[0], Env: money.Env(p[1]), From: ledger.DateOf(start) - 1, To: ledger.DateOf(start) + 100}
			days, _, err := f.counter.Read(q)
			must(f.t, err)
			for _, day := range days {
				got[turnover.PartnerDay{Env: q.Env, Partner: q.Partner, Day: day.Date}] = day.Day
			}
		}
		if !reflect.DeepEqual(got, places) {
			f.t.Fatalf("organization %v: %d partners' days are read, %d booked, and they differ", org, len(got), len(places))
		}
	}
}

// Runs, stores and crashes in a random order count each event once.
func TestEachEventCountsOnceThroughCrashes(t *testing.T) {
	random := testseed.Random(t)
	f := open(t, random.IntN(40))
	for range 150 {
		org, asset := firstOrg, usd
		if random.IntN(4) == 0 {
			org = secondOrg
		}
		if random.IntN(4) == 0 {
			asset = money.Asset{Currency: "EUR", Env: money.Test}
		}
		f.book(org, 1+random.Int64N(20), asset, amountsOf(random)...)
		switch random.IntN(10) {
		case 0, 1, 2:
			f.count()
		case 3:
			must(t, f.Clock.Set(f.Clock.Now().Add(time.Duration(random.IntN(30))*time.Hour)))
		case 4: // a crash while rows are written
			f.count()
			must(t, f.counter.StoreSome(org, random.IntN(4)))
			f.restart(random.IntN(40))
		case 5:
			f.restart(random.IntN(40))
		case 6:
			f.count()
			f.check()
		}
	}
	f.count()
	f.check()
	f.restart(0)
	f.count()
	f.check()
}

func amountsOf(random *rand.Rand) (amounts []uint64) {
	for range 1 + random.IntN(5) {
		amounts = append(amounts, 1+random.Uint64N(1_000_000))
	}
	return amounts
}

// After a restart, only the events that were not stored are counted.
func TestStoredEventsAreNotReadAgain(t *testing.T) {
	f := open(t, 0)
	f.book(firstOrg, 1, usd, 10, 20)
	f.count()
	f.restart(1_000)
	f.book(firstOrg, 1, usd, 40)
	f.count()
	if _, events := f.counter.InMemory(); events != 1 {
		t.Errorf("%d events were counted after the restart", events)
	}
	f.check()
}

// Rows are written only when there are many unstored events for each row.
func TestRowsWaitUntilTheyAreWorthWriting(t *testing.T) {
	f := open(t, 2_500) // with 2,500 events for one row; each day of a partner raises this number by one
	for partner := range int64(50) {
		f.book(firstOrg, 1+partner, usd, make([]uint64, 50)...)
	}
	f.count()
	if days, events := f.counter.InMemory(); days != 50 || events != 2_500 {
		t.Errorf("%d days with %d events are in memory", days, events)
	}
	f.book(firstOrg, 1, usd, make([]uint64, 50)...)
	f.count()
	if days, events := f.counter.InMemory(); days != 0 || events != 0 {
		t.Errorf("after 50 more, %d days with %d events are in memory", days, events)
	}
	f.check()
}

// Many partners do not fill the memory: beyond the bound, their days are written even if each row
// counts few events.
func TestDaysInMemoryAreBounded(t *testing.T) {
	f := open(t, 1_000_000)
	f.counter.BoundDays(20)
	for partner := range int64(21) {
		if days, _ := f.counter.InMemory(); days != int(partner) {
			t.Errorf("%d days of %d partners are in memory", days, partner)
		}
		f.book(firstOrg, 1+partner, usd, 10)
		f.count()
	}
	if days, _ := f.counter.InMemory(); days != 0 {
		t.Errorf("%d days are in memory", days)
	}
	f.check()
}

// Readers see each event once while days move from memory into rows.
func TestReadersSeeEachEventOnceWhileRowsAreStored(t *testing.T) {
	f := open(t, 0)
	q := turnoveractor.Query{Org: firstOrg, Partner: 1, Env: money.Prod, From: ledger.DateOf(start), To: ledger.DateOf(start)}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for last := uint64(0); ; {
				select {
				case <-stop:
					return
				default:
				}
				days, _, err := f.counter.Read(q)
				if err != nil || len(days) > 1 {
					t.Errorf("%d days, %v", len(days), err)
					return
				}
				if len(days) == 0 {
					continue
				}
				figures := days[0].Day[turnover.Key{Type: payment.Payment, Currency: "USD"}]
				if n, amount := figures.Charges.Count, figures.Charges.Amount; n < last || amount != money.FromUint64(n) {
					t.Errorf("%d payments of 1 make %v, after %d", n, amount, last)
					return
				} else {
					last = n
				}
			}
		})
	}
	for range 100 {
		f.book(firstOrg, 1, usd, 1)
		f.count()
	}
	close(stop)
	readers.Wait()
	f.check()
}

// Read counts the new events itself if they are few; it leaves many to the runs.
func TestReaderCountsOnlyAFewEvents(t *testing.T) {
	f := open(t, 1_000_000)
	q := turnoveractor.Query{Org: firstOrg, Partner: 1, Env: money.Prod, From: ledger.DateOf(start), To: ledger.DateOf(start)}
	booked := 0
	for ; booked < follower.ChunkEvents/2; booked += 100 {
		f.book(firstOrg, 1, usd, make([]uint64, 100)...)
	}
	if days, asOf, err := f.counter.Read(q); err != nil || len(days) != 1 || asOf == 0 {
		t.Errorf("%d days as of %d: %v", len(days), asOf, err)
	}
	f.book(firstOrg, 1, usd, make([]uint64, follower.ChunkEvents/2+1)...)
	days, _, err := f.counter.Read(q)
	must(t, err)
	if got := days[0].Day[turnover.Key{Type: payment.Payment, Currency: "USD"}].Attempts(); got != uint64(booked) {
		t.Errorf("the reader counted %d payments, want the first %d", got, booked)
	}
	f.count()
	f.check()
}

// An event that cannot be counted is reported as an error. Once it can be counted, no event is counted
// twice.
func TestRowOfAnotherFormIsReported(t *testing.T) {
	f := open(t, 1_000)
	f.book(firstOrg, 1, usd, 10)
	place := turnover.PartnerDay{Env: money.Prod, Partner: 1, Day: ledger.DateOf(start)}
	f.MustSubmit(&posting.Change{KVs: []posting.KV{{Org: firstOrg, Key: place.Key(), Value: []byte{9}}}})
	if err := f.follower.Follow(); err == nil {
		t.Error("it was counted")
	}
	if _, _, err := f.counter.Read(turnoveractor.Query{Org: firstOrg, Partner: 1, Env: money.Prod, From: place.Day, To: place.Day}); err == nil {
		t.Error("it was read")
	}
	f.MustSubmit(&posting.Change{KVs: []posting.KV{{Org: firstOrg, Key: place.Key()}}})
	f.count()
	f.check()
}

// Counts that were dropped after a failure are not in memory, and a repeated attempt does not count in the metric.
func TestFailedCountLeavesNothingBehind(t *testing.T) {
	f := open(t, 1_000)
	f.book(firstOrg, 1, usd, 10, 20)
	f.book(secondOrg, 1, usd, 40)
	f.count()
	huge := money.FromUint64(1) // half of what an amount can hold
	for double, err := huge.Add(huge); err == nil; double, err = huge.Add(huge) {
		huge = double
	}
	f.MustSubmit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{f.settled(2, huge), f.settled(2, huge)}})
	for range 3 {
		if err := f.follower.Follow(); err == nil {
			t.Error("an overflow was counted")
		}
		if days, events := f.counter.InMemory(); days != 1 || events != 1 {
			t.Errorf("%d days with %d events are in memory, want only those of the other organization", days, events)
		}
		if n := f.counter.Counted(); n != 4 {
			t.Errorf("%d events were counted, want those before the overflow, each once", n)
		}
	}
}

// settled is the step of a payment that succeeds at once.
func (f *fixture) settled(partner int64, amount money.Amount) posting.Step {
	r := &payment.Record{ID: ledger.TimedID(f.Clock.Now(), uuid.New()), Partner: partner, Status: payment.Charged}
	r.Request = payment.Request{Type: payment.Payment, Amount: amount, Asset: usd}
	return posting.Step{
		Org: firstOrg, Source: ledger.Source{Kind: ledger.Transaction, ID: r.ID}, Record: codec.Encode(r),
		Events: []ledger.Event{{Name: string(payment.Settle), From: string(payment.Charging), To: string(r.Status)}},
	}
}
