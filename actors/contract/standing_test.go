package contract

import (
	"strings"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/posting"
)

// column returns the value of a record's column.
func column(t *testing.T, r *contract.Record, name string) any {
	t.Helper()
	for _, c := range r.Product.Columns.Columns {
		if c.Name == name {
			return c.Value(r.Values)
		}
	}
	t.Fatalf("there is no column %s", name)
	return nil
}

// acquireAsset makes a lease for 12 months at 100 each, whose asset is bought. It returns the request to
// activate the lease as of 100 days ago.
func (o *fixture) acquireAsset() Act {
	o.t.Helper()
	made, err := o.service.Create(Create{Org: o.org, Product: contract.Lease, Reading: contract.Secular, Env: money.Prod, Input: parseInput(o.t,
		`{"customer_id":"7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01","region":"AE","lease_type":"operating","asset_description":"A lorry of 12 t",`+
			`"asset_cost":"1200","lease_term_months":12,"monthly_rental":"100"}`)})
	if err != nil {
		o.t.Fatal(err)
	}
	a := Act{Org: o.org, ID: made.Record.ID, Product: contract.Lease, Reading: contract.Secular, Action: contract.Acquire, Input: parseInput(o.t, `{"ownership_documents":["deed"]}`)}
	if _, err := o.service.Act(a); err != nil {
		o.t.Fatal(err)
	}
	a.Action, a.Input = contract.Activate, parseInput(o.t, `{"delivery_date":"2026-05-26"}`) // 100 days ago
	return a
}

// wantOwed waits until nothing is in progress, and checks how much of a lease's due rent is not paid.
func (o *fixture) wantOwed(id ledger.ID, want string) {
	o.t.Helper()
	o.Runtime.Quiesce()
	r, err := o.service.Read(o.org, contract.Lease, contract.Secular, id)
	if err != nil {
		o.t.Fatal(err)
	}
	if got := contract.FormatValue(column(o.t, r.Record, "rent_receivable")); got != want {
		o.t.Errorf("%s are owed, want %s", got, want)
	}
}

// What is overdue is handled at once even if the clock stands still.
func TestOverdueDatesAreHandledWhileTheClockStandsStill(t *testing.T) {
	o := openFixture(t)
	a := o.acquireAsset()
	r, err := o.service.Act(a)
	if err != nil {
		t.Fatal(err)
	}
	if got := contract.FormatValue(column(t, r.Record, "rent_receivable")); got != "0" {
		t.Errorf("the activation answers that %s are owed, want 0", got)
	}
	o.wantOwed(a.ID, "300")
}

// commitActivation makes an activation durable without the actor.
func (o *fixture) commitActivation(a Act) {
	o.t.Helper()
	view := o.Journal.View()
	was, found, err := Load(view, a.Org, a.ID)
	view.Close()
	if err != nil || !found {
		o.t.Fatal(found, err)
	}
	d, err := was.Record.Act(a.Action, a.Input, ledger.MicrosOf(o.Clock.Now()))
	if err != nil {
		o.t.Fatal(err)
	}
	done := make(chan posting.Receipt, 1)
	o.Journal.Submit(changeOf(a.Org, &d, was.Stamp.Version), func(r posting.Receipt) { done <- r })
	r := <-done
	if r.Err != nil {
		o.t.Fatal(r.Err)
	}
	if now := ledger.MicrosOf(o.Clock.Now()); r.Stamps[0].Due > now || r.Stamps[0].Updated <= now {
		o.t.Fatalf("due at %d, booked at %d, and the clock stands at %d: want due by then, and booked after it", r.Stamps[0].Due, r.Stamps[0].Updated, now)
	}
}

// A step of the clock to the time that it already shows, or a start, finds overdue items too.
func TestEarlierOverdueDatesAreHandledWhileTheClockStandsStill(t *testing.T) {
	o := openFixture(t)
	a, b := o.acquireAsset(), o.acquireAsset()
	o.commitActivation(a)
	if err := o.Runtime.Advance(o.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	o.wantOwed(a.ID, "300")

	o.commitActivation(b)
	o.restart()
	o.wantOwed(b.ID, "300")
}

// While the clock stands still, events are booked some microseconds after the time that it shows. The time of
// a decision is never before the time of an event that was booked earlier. Its dates are those of the clock.
func TestInstantsFollowBookingsAndDatesTheClock(t *testing.T) {
	o := openFixture(t)
	if err := o.Clock.Set(time.Date(2026, 12, 31, 23, 59, 59, 999_999_000, time.UTC)); err != nil {
		t.Fatal(err)
	}
	for _, reading := range contract.Readings {
		made, err := o.service.Create(Create{Org: o.org, Product: contract.Safekeeping, Reading: reading, Env: money.Prod, Input: parseInput(t,
			saved[:len(saved)-1]+`,"compliance_review":{"approved_by":"the board","fatwa_reference":"F-7"}}`)})
		if err != nil {
			t.Fatal(err)
		}
		if reading == contract.Secular {
			made, err = o.service.Act(Act{Org: o.org, ID: made.Record.ID, Product: contract.Safekeeping, Reading: reading, Action: contract.Activate,
				Input: parseInput(t, `{"compliance_review":{"approved_by":"the board"}}`)})
			if err != nil {
				t.Fatal(err)
			}
		}
		for again := range 2 {
			if again == 1 {
				made, err = o.service.Read(o.org, contract.Safekeeping, reading, made.Record.ID)
			}
			at := contract.ReviewedAt.Get(made.Record.Values)
			if err != nil || at < made.Stamp.Started || at > made.Stamp.Updated {
				t.Errorf("%s: reviewed at %d, made at %d, updated at %d, %v", reading.Name, at, made.Stamp.Started, made.Stamp.Updated, err)
			}
			if n := made.Record.Number(made.Stamp.Started, made.Stamp.Number); !strings.Contains(n, "-2026-") {
				t.Errorf("%s: number %s is of another year", reading.Name, n)
			}
		}
		o.wantBookedAfter(made, "2026-12-31")
	}
}

// If the clock stands still and events are booked ahead of it, the time of a review is still not before the
// times of the events that were booked earlier.
func TestReviewIsLaterThanSubmissionWhileTheClockStandsStill(t *testing.T) {
	o := openFixture(t)
	made, err := o.service.Create(Create{Org: o.org, Product: contract.Managed, Reading: contract.Secular, Env: money.Prod, Input: parseInput(t,
		`{"customer_id":"7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01","region":"AE","currency":"AED","capital_amount":"1000","business_type":"trade",`+
			`"profit_sharing_ratio":{"bank":50,"customer":50},"term_months":12}`)})
	if err != nil {
		t.Fatal(err)
	}
	act := func(action contract.Action, body string) Result {
		t.Helper()
		r, err := o.service.Act(Act{Org: o.org, ID: made.Record.ID, Product: contract.Managed, Reading: contract.Secular, Action: action, Input: parseInput(t, body)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	submitted := act(contract.Submit, `{}`)
	reviewed := act(contract.Pass, `{"approved_by":"the board"}`)
	at, before, after := contract.ReviewedAt.Get(reviewed.Record.Values), submitted.Stamp.Updated, reviewed.Stamp.Updated
	if before == made.Stamp.Started || at < before || at > after {
		t.Errorf("made at %d, submitted at %d, reviewed at %d by the record and at %d by the journal", made.Stamp.Started, before, at, after)
	}
}

// wantBookedAfter checks that a contract's last event was booked after the day of its entry.
func (o *fixture) wantBookedAfter(r Result, day string) {
	o.t.Helper()
	view := o.Journal.View()
	defer view.Close()
	e, _, found, err := view.Event(o.org, r.Stamp.LastSeq)
	if err != nil || !found || e.Entry == nil {
		o.t.Fatal(found, err)
	}
	if got := e.Entry.Effective.String(); got != day || e.Booked.Date().String() == day {
		o.t.Errorf("the entry of %s is of %s, want %s", e.Booked.Date(), got, day)
	}
}

// restart opens everything again on the stored state, with the clock unchanged.
func (o *fixture) restart() {
	o.t.Helper()
	o.Close()
	o.start()
}
