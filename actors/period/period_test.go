package period

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/period"
	"mizan/posting"
	"mizan/posting/balances"
)

var (
	startTime = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)
	september = period.MonthOf(ledger.DateOf(startTime))
	eur       = money.Asset{Currency: "EUR", Env: money.Prod}
)

// fixture is a service over a real journal; the organization's books began in September.
type fixture struct {
	*testkit.World
	t       *testing.T
	org     ledger.ID
	service *Service
}

func openFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{World: testkit.NewWorld(t, startTime), t: t, org: uuid.New()}
	f.start()
	f.book(0)
	return f
}

func (f *fixture) start() {
	f.t.Helper()
	f.Open()
	f.service = New(f.Runtime)
	f.Runtime.Start(func(posting.DueItem) bool { return false })
}

// transferChange returns a Change with a transfer that takes effect on a day; 0: the day of booking.
func transferChange(org ledger.ID, day ledger.Date) *posting.Change {
	return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: uuid.New()}, Record: []byte{1},
		Events: []ledger.Event{{Name: "settle", To: "settled", Entry: &ledger.Entry{Phase: ledger.Posted, Effective: day, Postings: []ledger.Posting{
			{Account: ledger.Bank, Asset: eur, Side: ledger.Debit, Amount: money.FromUint64(1)},
			{Account: ledger.PartnerAvailable(1), Asset: eur, Side: ledger.Credit, Amount: money.FromUint64(1)},
		}}}},
	}}}
}

// submit books a transfer on a day that a command has named; 0: the command names no day.
func (f *fixture) submit(day ledger.Date) error {
	f.t.Helper()
	change := transferChange(f.org, day)
	if day != 0 {
		change.Dates = []posting.DateGuard{{Org: f.org, Field: "date", On: day}}
	}
	return f.Submit(change).Err
}

// bookOutcome books a transfer that takes effect on a day, as a provider's outcome does: no command has named
// the day.
func (f *fixture) bookOutcome(day ledger.Date) {
	f.t.Helper()
	f.MustSubmit(transferChange(f.org, day))
}

func (f *fixture) book(day ledger.Date) {
	f.t.Helper()
	if err := f.submit(day); err != nil {
		f.t.Fatal(err)
	}
}

// setClockAfter sets the clock to an hour after the end of a month.
func (f *fixture) setClockAfter(m period.Month) {
	f.t.Helper()
	if err := f.Clock.Set(m.End().Time().Add(time.Hour)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) close(m period.Month) (Result, error) {
	return f.service.Close(CloseRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, Month: m, ClosedBy: period.ClosedBy{Login: "chief"}})
}

func (f *fixture) mustClose(m period.Month) *period.Record {
	f.t.Helper()
	r, err := f.close(m)
	if err != nil {
		f.t.Fatal(err)
	}
	return r.Record
}

func (f *fixture) wantCode(err error, code ledger.Code) {
	f.t.Helper()
	if !ledger.IsRefusal(err, code) {
		f.t.Errorf("%v, want %s", err, code)
	}
}

// balanceHash returns the hash of a month's current trial balance.
func (f *fixture) balanceHash(m period.Month) [32]byte {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	hash, _, err := balances.MonthEndHash(v, f.org, m)
	if err != nil {
		f.t.Fatal(err)
	}
	return hash
}

func TestClosedMonthAgreesWithItsEventAndRecord(t *testing.T) {
	f := openFixture(t)
	f.setClockAfter(september)
	f.book(0)
	closed := f.mustClose(september)
	for range 2 {
		v := f.Journal.View()
		stored, err := v.Period(f.org, september)
		if err != nil || *stored != *closed || closed.ClosedBy.Login != "chief" || closed.Rows != 2 || closed.BalanceHash != f.balanceHash(september) {
			t.Errorf("%+v is stored, %v; %+v was returned", stored, err, closed)
		}
		e, _, _, err := v.Event(f.org, closed.Seq)
		if m, hash, ok := period.ReadEvent(&e); err != nil || !ok || m != september || hash != closed.BalanceHash || e.Booked != closed.At {
			t.Errorf("%+v, %v", e, err)
		}
		v.Close()
		f.World.Close()
		f.start()
	}
	f.wantCode(f.submit(september.LastDay()), ledger.Invalid)
}

func TestMonthsAreClosedInOrderFromTheFirstOn(t *testing.T) {
	f := openFixture(t)
	_, err := f.close(september)
	f.wantCode(err, ledger.Conflict) // the month has not ended
	f.setClockAfter(september + 2)
	_, err = f.close(september - 1)
	f.wantCode(err, ledger.Invalid)
	for m := september; m < september+3; m++ {
		_, err = f.close(m + 1)
		f.wantCode(err, ledger.Conflict)
		f.mustClose(m)
		_, err = f.close(m)
		f.wantCode(err, ledger.Conflict)
	}
	_, err = f.close(september + 3)
	f.wantCode(err, ledger.Conflict) // the month has not ended
}

// The books of an organization without any record begin in the current month.
func TestNothingIsClosedBeforeTheBooksBegan(t *testing.T) {
	f := openFixture(t)
	f.org = uuid.New()
	f.setClockAfter(september)
	_, err := f.close(september)
	f.wantCode(err, ledger.Invalid)
}

func TestMonthWithDueItemsIsNotClosed(t *testing.T) {
	f := openFixture(t)
	pending := ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}
	setDue := func(version uint64, due ledger.Micros) {
		f.MustSubmit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
			Org: f.org, Source: pending, Expect: version, Record: []byte{1}, Due: due, Events: []ledger.Event{{Name: "wait", To: "waiting"}},
		}}})
	}
	setDue(0, september.End()-1)
	f.setClockAfter(september) // moves the clock without the runtime, as a sleep of the machine does: no record is woken, and no due items are read
	_, err := f.close(september)
	f.wantCode(err, ledger.Conflict)
	setDue(1, (september + 1).End())
	f.mustClose(september)
}

// If an entry with a date in the month is booked while the month's balance is read, the closing is computed again from the
// current state (invariant 2 in doc.go). Commands can cause this only once.
func TestClosingIsComputedAgainAfterALateEntry(t *testing.T) {
	f := openFixture(t)
	f.setClockAfter(september)
	reads := 0
	f.service.afterRead = func() {
		reads++
		err := f.submit(september.LastDay())
		switch {
		case reads == 1 && err != nil:
			t.Error(err)
		case reads > 1:
			f.wantCode(err, ledger.Unavailable)
		}
	}
	if closed := f.mustClose(september); reads != 2 || closed.BalanceHash != f.balanceHash(september) {
		t.Errorf("it was read %d times", reads)
	}
	f.wantCode(f.submit(september.LastDay()), ledger.Invalid)
}

// After a closing that failed, commands are accepted again (invariant 2 in doc.go).
func TestFailedClosingBlocksNoCommands(t *testing.T) {
	f := openFixture(t)
	f.setClockAfter(september)
	reads := 0
	f.service.afterRead = func() {
		if reads++; reads == 1 {
			f.book(september.LastDay())
			return
		}
		f.wantCode(f.submit(september.LastDay()), ledger.Unavailable)
		if _, err := New(f.service.rt).Close(CloseRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, Month: september}); err != nil {
			t.Error(err)
		}
	}
	_, err := f.close(september)
	f.wantCode(err, ledger.Conflict)
	f.wantCode(f.submit(september.LastDay()), ledger.Invalid)
	f.setClockAfter(september + 1)
	f.book((september + 1).LastDay())
}

// The number of times that one request computes the closing is bounded (invariant 2 in doc.go).
func TestClosingFailsAfterTooManyLateEntries(t *testing.T) {
	f := openFixture(t)
	f.setClockAfter(september)
	reads := 0
	f.service.afterRead = func() {
		reads++
		f.bookOutcome(september.FirstDay())
	}
	_, err := f.close(september)
	f.wantCode(err, ledger.Unavailable)
	if reads != maxTries {
		t.Errorf("it was read %d times", reads)
	}
	f.service.afterRead = nil
	f.mustClose(september)
}

// A repeated request gets the closed month's record, even after later months were closed (invariant 4 in doc.go).
func TestRepeatedRequestGetsItsClosedMonth(t *testing.T) {
	f := openFixture(t)
	f.setClockAfter(september + 1)
	request := CloseRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, Month: september, Key: actors.Key{Scope: actors.UserKeyScope, Text: "k", Hash: [32]byte{1}}}
	firstResult, err := f.service.Close(request)
	if err != nil || firstResult.Replay {
		t.Fatal(firstResult, err)
	}
	f.mustClose(september + 1)
	repeated, err := f.service.Close(request)
	if err != nil || !repeated.Replay || *repeated.Record != *firstResult.Record {
		t.Errorf("%+v, %v", repeated, err)
	}
	request.Month, request.Key.Hash = september+1, [32]byte{2}
	_, err = f.service.Close(request)
	f.wantCode(err, ledger.Conflict)
}

// Of 64 concurrent requests one closes the month. The others are refused or, if all have the same key, get
// the same result.
func TestConcurrentRequestsCloseAMonthOnce(t *testing.T) {
	for _, hasKey := range []bool{false, true} {
		f := openFixture(t)
		f.setClockAfter(september)
		var callers sync.WaitGroup
		results := make(chan Result, 64)
		for range 64 {
			callers.Go(func() {
				c := CloseRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, Month: september}
				if hasKey {
					c.Key = actors.Key{Scope: actors.UserKeyScope, Text: "k", Hash: [32]byte{1}}
				}
				r, err := f.service.Close(c)
				switch {
				case err == nil:
					results <- r
				case hasKey || !ledger.IsRefusal(err, ledger.Conflict):
					t.Errorf("keyed %v: %v", hasKey, err)
				}
			})
		}
		callers.Wait()
		close(results)
		closings, replies := 0, 0
		for r := range results {
			replies++
			if !r.Replay {
				closings++
			}
		}
		if want := map[bool]int{false: 1, true: 64}[hasKey]; closings != 1 || replies != want {
			t.Errorf("keyed %v: %d requests closed the month and %d got its record", hasKey, closings, replies)
		}
	}
}

// A second request with the same key also gets the closed month if the first request closes the month while the second one
// reads the trial balance (invariant 4 in doc.go).
func TestRequestGetsTheMonthThatItsKeyClosedMeanwhile(t *testing.T) {
	f := openFixture(t)
	f.setClockAfter(september)
	request := CloseRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, Month: september, Key: actors.Key{Scope: actors.UserKeyScope, Text: "k", Hash: [32]byte{1}}}
	var firstResult Result
	f.service.afterRead = func() {
		var err error
		if firstResult, err = New(f.service.rt).Close(request); err != nil || firstResult.Replay {
			t.Fatal(firstResult, err)
		}
	}
	repeated, err := f.service.Close(request)
	if err != nil || !repeated.Replay || *repeated.Record != *firstResult.Record {
		t.Errorf("%+v, %v", repeated, err)
	}
}

// Of many closings that are requested at once, only one reads a trial balance at a time (invariant 3 in doc.go).
func TestOneTrialBalanceIsReadAtATime(t *testing.T) {
	f := openFixture(t)
	f.setClockAfter(september)
	reads := 0
	f.service.afterRead = func() {
		reads++
		select {
		case f.service.balanceTurn <- struct{}{}:
			t.Error("another one has a turn meanwhile")
		default:
		}
	}
	f.mustClose(september)
	select {
	case f.service.balanceTurn <- struct{}{}:
	default:
		t.Error("the turn was kept")
	}
	if reads != 1 {
		t.Errorf("it was read %d times", reads)
	}
}

// A repeated request reads no trial balance, so it does not wait for its turn (invariant 4 in doc.go).
func TestRepeatedRequestDoesNotWaitForItsTurn(t *testing.T) {
	f := openFixture(t)
	f.setClockAfter(september)
	request := CloseRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, Month: september, Key: actors.Key{Scope: actors.UserKeyScope, Text: "k", Hash: [32]byte{1}}}
	if _, err := f.service.Close(request); err != nil {
		t.Fatal(err)
	}
	f.service.balanceTurn <- struct{}{}
	f.service.wait = time.Nanosecond
	if repeated, err := f.service.Close(request); err != nil || !repeated.Replay {
		t.Errorf("%+v, %v", repeated, err)
	}
}

// A request whose time is over before it may read the trial balance is refused with "try again", and has closed nothing
// (invariant 3 in doc.go).
func TestRequestThatTimesOutInTheQueueClosesNothing(t *testing.T) {
	f := openFixture(t)
	f.setClockAfter(september)
	f.service.balanceTurn <- struct{}{}
	f.service.wait = time.Nanosecond
	_, err := f.close(september)
	f.wantCode(err, ledger.Unavailable)
	f.service.wait = closeWait
	<-f.service.balanceTurn
	f.mustClose(september)
}

// If the claim of a key names a month that is not closed, the store is damaged, and there is no reply.
func TestKeyWithoutAClosedMonthIsAnError(t *testing.T) {
	f := openFixture(t)
	f.setClockAfter(september)
	key := actors.Key{Scope: actors.UserKeyScope, Text: "k", Hash: [32]byte{1}}
	f.MustSubmit(&posting.Change{
		Author: ledger.BySystem.Author(),
		Claims: []ledger.Claim{key.Claim(f.org, september.Source(), nil)},
		Steps: []posting.Step{{Org: f.org, Source: ledger.Source{Kind: ledger.User, ID: uuid.New()}, Record: []byte{1},
			Events: []ledger.Event{{Name: "create", To: "active"}}}},
	})
	if _, err := f.service.Close(CloseRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, Month: september, Key: key}); !errors.Is(err, errDamagedClaim) {
		t.Errorf("%v", err)
	}
}
