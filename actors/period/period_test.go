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
	o := &fixture{World: testkit.NewWorld(t, startTime), t: t, org: uuid.New()}
	o.start()
	o.book(0)
	return o
}

func (o *fixture) start() {
	o.t.Helper()
	o.Open()
	o.service = New(o.Runtime)
	o.Runtime.Start(func(posting.Item) bool { return false })
}

// transferChange returns a Change with a transfer that takes effect on a day; 0: the day of booking.
func transferChange(org ledger.ID, on ledger.Date) *posting.Change {
	return &posting.Change{Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: uuid.New()}, Record: []byte{1},
		Events: []ledger.Event{{Name: "settle", To: "settled", Entry: &ledger.Entry{Phase: ledger.Posted, Effective: on, Postings: []ledger.Posting{
			{Account: ledger.Bank, Asset: eur, Side: ledger.Debit, Amount: money.FromUint64(1)},
			{Account: ledger.PartnerAvailable(1), Asset: eur, Side: ledger.Credit, Amount: money.FromUint64(1)},
		}}}},
	}}}
}

// submit books a transfer on a day, as a command that names the day does; 0: without a day.
func (o *fixture) submit(on ledger.Date) error {
	o.t.Helper()
	change := transferChange(o.org, on)
	if on != 0 {
		change.Dates = []posting.DateGuard{{Org: o.org, Field: "date", On: on}}
	}
	return o.Submit(change).Err
}

// bookOutcome books a transfer that takes effect on a day, as an outcome does: no command names the day.
func (o *fixture) bookOutcome(on ledger.Date) {
	o.t.Helper()
	o.MustSubmit(transferChange(o.org, on))
}

func (o *fixture) book(on ledger.Date) {
	o.t.Helper()
	if err := o.submit(on); err != nil {
		o.t.Fatal(err)
	}
}

// setClockAfter moves the clock into the first instants after a month.
func (o *fixture) setClockAfter(m period.Month) {
	o.t.Helper()
	if err := o.Clock.Set(m.End().Time().Add(time.Hour)); err != nil {
		o.t.Fatal(err)
	}
}

func (o *fixture) close(m period.Month) (Result, error) {
	return o.service.Close(Close{Org: o.org, Month: m, ClosedBy: period.ClosedBy{Login: "chief"}})
}

func (o *fixture) mustClose(m period.Month) *period.Record {
	o.t.Helper()
	r, err := o.close(m)
	if err != nil {
		o.t.Fatal(err)
	}
	return r.Record
}

func (o *fixture) wantCode(err error, code ledger.Code) {
	o.t.Helper()
	if !ledger.IsRefusal(err, code) {
		o.t.Errorf("%v, want %s", err, code)
	}
}

// balanceHash returns the hash of a month's current trial balance.
func (o *fixture) balanceHash(m period.Month) [32]byte {
	o.t.Helper()
	v := o.Journal.View()
	defer v.Close()
	sum, _, err := balances.AtMonthEnd(v, o.org, m)
	if err != nil {
		o.t.Fatal(err)
	}
	return sum
}

func TestClosedMonthAgreesWithItsEventAndRecord(t *testing.T) {
	o := openFixture(t)
	o.setClockAfter(september)
	o.book(0)
	made := o.mustClose(september)
	for range 2 {
		v := o.Journal.View()
		stored, err := v.Period(o.org, september)
		if err != nil || *stored != *made || made.ClosedBy.Login != "chief" || made.Rows != 2 || made.BalanceHash != o.balanceHash(september) {
			t.Errorf("%+v is stored, %v; %+v was told", stored, err, made)
		}
		e, _, _, err := v.Event(o.org, made.Seq)
		if m, sum, ok := period.ReadEvent(&e); err != nil || !ok || m != september || sum != made.BalanceHash || e.Booked != made.At {
			t.Errorf("%+v, %v", e, err)
		}
		v.Close()
		o.World.Close()
		o.start()
	}
	o.wantCode(o.submit(september.Last()), ledger.Invalid)
}

func TestMonthsAreClosedInOrderFromTheFirstOn(t *testing.T) {
	o := openFixture(t)
	_, err := o.close(september)
	o.wantCode(err, ledger.Conflict) // it has not ended
	o.setClockAfter(september + 2)
	_, err = o.close(september - 1)
	o.wantCode(err, ledger.Invalid)
	for m := september; m < september+3; m++ {
		_, err = o.close(m + 1)
		o.wantCode(err, ledger.Conflict)
		o.mustClose(m)
		_, err = o.close(m)
		o.wantCode(err, ledger.Conflict)
	}
	_, err = o.close(september + 3)
	o.wantCode(err, ledger.Conflict) // it has not ended
}

// The books of an organization without any record begin in the current month.
func TestNothingIsClosedBeforeTheBooksBegan(t *testing.T) {
	o := openFixture(t)
	o.org = uuid.New()
	o.setClockAfter(september)
	_, err := o.close(september)
	o.wantCode(err, ledger.Invalid)
}

func TestMonthWithDueItemsIsNotClosed(t *testing.T) {
	o := openFixture(t)
	waits := ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}
	move := func(expect uint64, due ledger.Micros) {
		o.MustSubmit(&posting.Change{Steps: []posting.Step{{
			Org: o.org, Source: waits, Expect: expect, Record: []byte{1}, Due: due, Events: []ledger.Event{{Name: "wait", To: "waiting"}},
		}}})
	}
	move(0, september.End()-1)
	o.setClockAfter(september) // the runtime does not notice, as after a sleep of the machine: it wakes nothing and reads no due items
	_, err := o.close(september)
	o.wantCode(err, ledger.Conflict)
	move(1, (september + 1).End())
	o.mustClose(september)
}

// Invariant 2: if something is dated into the month while its balance is read, the closing is
// computed again from the current state. Commands can cause that once.
func TestClosingIsComputedAgainAfterALateEntry(t *testing.T) {
	o := openFixture(t)
	o.setClockAfter(september)
	reads := 0
	o.service.afterRead = func() {
		reads++
		err := o.submit(september.Last())
		switch {
		case reads == 1 && err != nil:
			t.Error(err)
		case reads > 1:
			o.wantCode(err, ledger.Unavailable)
		}
	}
	if made := o.mustClose(september); reads != 2 || made.BalanceHash != o.balanceHash(september) {
		t.Errorf("it was read %d times", reads)
	}
	o.wantCode(o.submit(september.Last()), ledger.Invalid)
}

// Invariant 2: after a closing that failed, commands are accepted again.
func TestFailedClosingBlocksNoCommands(t *testing.T) {
	o := openFixture(t)
	o.setClockAfter(september)
	reads := 0
	o.service.afterRead = func() {
		if reads++; reads == 1 {
			o.book(september.Last())
			return
		}
		o.wantCode(o.submit(september.Last()), ledger.Unavailable)
		if _, err := New(o.service.rt).Close(Close{Org: o.org, Month: september}); err != nil {
			t.Error(err)
		}
	}
	_, err := o.close(september)
	o.wantCode(err, ledger.Conflict)
	o.wantCode(o.submit(september.Last()), ledger.Invalid)
	o.setClockAfter(september + 1)
	o.book((september + 1).Last())
}

// Invariant 2: the number of tries is bounded.
func TestClosingFailsAfterTooManyLateEntries(t *testing.T) {
	o := openFixture(t)
	o.setClockAfter(september)
	reads := 0
	o.service.afterRead = func() {
		reads++
		o.bookOutcome(september.First())
	}
	_, err := o.close(september)
	o.wantCode(err, ledger.Unavailable)
	if reads != maxTries {
		t.Errorf("it was read %d times", reads)
	}
	o.service.afterRead = nil
	o.mustClose(september)
}

// Invariant 4.
func TestRepeatedRequestGetsItsClosedMonth(t *testing.T) {
	o := openFixture(t)
	o.setClockAfter(september + 1)
	request := Close{Org: o.org, Month: september, Key: actors.Key{Scope: actors.UserKeyScope, Text: "k", Hash: [32]byte{1}}}
	first, err := o.service.Close(request)
	if err != nil || first.Replay {
		t.Fatal(first, err)
	}
	o.mustClose(september + 1)
	again, err := o.service.Close(request)
	if err != nil || !again.Replay || *again.Record != *first.Record {
		t.Errorf("%+v, %v", again, err)
	}
	request.Month, request.Key.Hash = september+1, [32]byte{2}
	_, err = o.service.Close(request)
	o.wantCode(err, ledger.Conflict)
}

// Of 64 concurrent closings of a month one succeeds; with the same key all get its result.
func TestConcurrentRequestsCloseAMonthOnce(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		o := openFixture(t)
		o.setClockAfter(september)
		var all sync.WaitGroup
		results := make(chan Result, 64)
		for range 64 {
			all.Go(func() {
				c := Close{Org: o.org, Month: september}
				if keyed {
					c.Key = actors.Key{Scope: actors.UserKeyScope, Text: "k", Hash: [32]byte{1}}
				}
				r, err := o.service.Close(c)
				switch {
				case err == nil:
					results <- r
				case keyed || !ledger.IsRefusal(err, ledger.Conflict):
					t.Errorf("keyed %v: %v", keyed, err)
				}
			})
		}
		all.Wait()
		close(results)
		closed, answered := 0, 0
		for r := range results {
			answered++
			if !r.Replay {
				closed++
			}
		}
		if want := map[bool]int{false: 1, true: 64}[keyed]; closed != 1 || answered != want {
			t.Errorf("keyed %v: %d have closed it and %d were told so", keyed, closed, answered)
		}
	}
}

// Invariant 4, also if the first request with the key closes the month while this one reads.
func TestRequestGetsTheMonthThatItsKeyClosedMeanwhile(t *testing.T) {
	o := openFixture(t)
	o.setClockAfter(september)
	request := Close{Org: o.org, Month: september, Key: actors.Key{Scope: actors.UserKeyScope, Text: "k", Hash: [32]byte{1}}}
	var first Result
	o.service.afterRead = func() {
		var err error
		if first, err = New(o.service.rt).Close(request); err != nil || first.Replay {
			t.Fatal(first, err)
		}
	}
	again, err := o.service.Close(request)
	if err != nil || !again.Replay || *again.Record != *first.Record {
		t.Errorf("%+v, %v", again, err)
	}
}

// Invariant 3.
func TestOneTrialBalanceIsReadAtATime(t *testing.T) {
	o := openFixture(t)
	o.setClockAfter(september)
	reads := 0
	o.service.afterRead = func() {
		reads++
		select {
		case o.service.balanceTurn <- struct{}{}:
			t.Error("another one has a turn meanwhile")
		default:
		}
	}
	o.mustClose(september)
	select {
	case o.service.balanceTurn <- struct{}{}:
	default:
		t.Error("the turn was kept")
	}
	if reads != 1 {
		t.Errorf("it was read %d times", reads)
	}
}

// Invariant 4: a repeated request does not wait for a turn.
func TestRepeatedRequestDoesNotWaitForItsTurn(t *testing.T) {
	o := openFixture(t)
	o.setClockAfter(september)
	request := Close{Org: o.org, Month: september, Key: actors.Key{Scope: actors.UserKeyScope, Text: "k", Hash: [32]byte{1}}}
	if _, err := o.service.Close(request); err != nil {
		t.Fatal(err)
	}
	o.service.balanceTurn <- struct{}{}
	o.service.wait = time.Nanosecond
	if again, err := o.service.Close(request); err != nil || !again.Replay {
		t.Errorf("%+v, %v", again, err)
	}
}

// Invariant 3: a request whose time is over before its turn comes is refused with "try again", and has
// closed nothing.
func TestRequestThatTimesOutInTheQueueClosesNothing(t *testing.T) {
	o := openFixture(t)
	o.setClockAfter(september)
	o.service.balanceTurn <- struct{}{}
	o.service.wait = time.Nanosecond
	_, err := o.close(september)
	o.wantCode(err, ledger.Unavailable)
	o.service.wait = closeWait
	<-o.service.balanceTurn
	o.mustClose(september)
}

// If the claim of a key names a month that is not closed, the store is damaged, and there is no reply.
func TestKeyWithoutAClosedMonthIsAnError(t *testing.T) {
	o := openFixture(t)
	o.setClockAfter(september)
	key := actors.Key{Scope: actors.UserKeyScope, Text: "k", Hash: [32]byte{1}}
	o.MustSubmit(&posting.Change{
		Claims: []ledger.Claim{key.Claim(o.org, september.Source(), nil)},
		Steps: []posting.Step{{Org: o.org, Source: ledger.Source{Kind: ledger.User, ID: uuid.New()}, Record: []byte{1},
			Events: []ledger.Event{{Name: "create", To: "active"}}}},
	})
	if _, err := o.service.Close(Close{Org: o.org, Month: september, Key: key}); !errors.Is(err, errClaim) {
		t.Errorf("%v", err)
	}
}
