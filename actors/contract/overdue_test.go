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

// newLease makes a lease for 12 months at 100 per month, and buys the leased asset. It returns the request to
// activate the lease as of 100 days ago.
func (f *fixture) newLease() ActionRequest {
	f.t.Helper()
	created, err := f.service.Create(Create{Author: ledger.ByAdminToken.Author(), Org: f.org, Product: contract.Lease, Reading: contract.Secular, Env: money.Prod, Input: parseInput(f.t,
		`{"customer_id":"7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01","region":"AE","lease_type":"operating","asset_description":"A lorry of 12 t",`+
			`"asset_cost":"1200","lease_term_months":12,"monthly_rental":"100"}`)})
	if err != nil {
		f.t.Fatal(err)
	}
	a := ActionRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, ID: created.Record.ID, Product: contract.Lease, Reading: contract.Secular, Action: contract.Acquire, Input: parseInput(f.t, `{"ownership_documents":["deed"]}`)}
	if _, err := f.service.Act(a); err != nil {
		f.t.Fatal(err)
	}
	a.Action, a.Input = contract.Activate, parseInput(f.t, `{"delivery_date":"2026-05-26"}`) // 100 days ago
	return a
}

// wantOwed waits until nothing is in progress, and checks how much due rent of a lease is unpaid.
func (f *fixture) wantOwed(id ledger.ID, want string) {
	f.t.Helper()
	f.Runtime.Quiesce()
	r, err := f.service.Read(f.org, contract.Lease, contract.Secular, id)
	if err != nil {
		f.t.Fatal(err)
	}
	if got := contract.FormatValue(column(f.t, r.Record, "rent_receivable")); got != want {
		f.t.Errorf("%s are owed, want %s", got, want)
	}
}

// Overdue dates are handled at once even if the clock stands still.
func TestOverdueDatesAreHandledWhileTheClockStandsStill(t *testing.T) {
	f := openFixture(t)
	a := f.newLease()
	r, err := f.service.Act(a)
	if err != nil {
		t.Fatal(err)
	}
	if got := contract.FormatValue(column(t, r.Record, "rent_receivable")); got != "0" {
		t.Errorf("the activation answers that %s are owed, want 0", got)
	}
	f.wantOwed(a.ID, "300")
}

// commitActivation makes an activation durable without the actor.
func (f *fixture) commitActivation(a ActionRequest) {
	f.t.Helper()
	view := f.Journal.View()
	loaded, found, err := Load(view, a.Org, a.ID)
	view.Close()
	if err != nil || !found {
		f.t.Fatal(found, err)
	}
	d, err := loaded.Record.Act(a.Action, a.Input, ledger.MicrosOf(f.Clock.Now()))
	if err != nil {
		f.t.Fatal(err)
	}
	done := make(chan posting.Receipt, 1)
	f.Journal.Submit(changeOf(a.Org, &d, loaded.Header.Version, ledger.BySystem.Author()), func(r posting.Receipt) { done <- r })
	r := <-done
	if r.Err != nil {
		f.t.Fatal(r.Err)
	}
	if now := ledger.MicrosOf(f.Clock.Now()); r.Headers[0].Due > now || r.Headers[0].UpdatedAt <= now {
		f.t.Fatalf("due at %d, booked at %d, and the clock stands at %d: want due by then, and booked after it", r.Headers[0].Due, r.Headers[0].UpdatedAt, now)
	}
}

// Dates that were already overdue are handled when the service starts, and when the clock is set to the time that it
// already shows.
func TestStartAndUnchangedClockHandleOverdueDates(t *testing.T) {
	f := openFixture(t)
	a, b := f.newLease(), f.newLease()
	f.commitActivation(a)
	if err := f.Runtime.Advance(f.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	f.wantOwed(a.ID, "300")

	f.commitActivation(b)
	f.restart()
	f.wantOwed(b.ID, "300")
}

// While the clock stands still, events are booked some microseconds after the time that it shows. The time of a decision is
// the clock's time or the booked time of the contract's last event, whichever is later. But the days that the decision stores
// are always the clock's day.
func TestDecisionsTakeTimesFromBookingsAndDatesFromTheClock(t *testing.T) {
	f := openFixture(t)
	if err := f.Clock.Set(time.Date(2026, 12, 31, 23, 59, 59, 999_999_000, time.UTC)); err != nil {
		t.Fatal(err)
	}
	for _, reading := range contract.Readings {
		created, err := f.service.Create(Create{Author: ledger.ByAdminToken.Author(), Org: f.org, Product: contract.Safekeeping, Reading: reading, Env: money.Prod, Input: parseInput(t,
			depositBody[:len(depositBody)-1]+`,"compliance_review":{"approved_by":"the board","fatwa_reference":"F-7"}}`)})
		if err != nil {
			t.Fatal(err)
		}
		if reading == contract.Secular {
			created, err = f.service.Act(ActionRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, ID: created.Record.ID, Product: contract.Safekeeping, Reading: reading, Action: contract.Activate,
				Input: parseInput(t, `{"compliance_review":{"approved_by":"the board"}}`)})
			if err != nil {
				t.Fatal(err)
			}
		}
		for round := range 2 {
			if round == 1 { // check the same with the contract that is read from the store
				created, err = f.service.Read(f.org, contract.Safekeeping, reading, created.Record.ID)
			}
			reviewedAt := contract.ReviewedAt.Get(created.Record.Values)
			if err != nil || reviewedAt < created.Header.StartedAt || reviewedAt > created.Header.UpdatedAt {
				t.Errorf("%s: reviewed at %d, made at %d, updated at %d, %v", reading.Name, reviewedAt, created.Header.StartedAt, created.Header.UpdatedAt, err)
			}
			if n := created.Record.Number(created.Header.StartedAt, created.Header.Number); !strings.Contains(n, "-2026-") {
				t.Errorf("%s: number %s is of another year", reading.Name, n)
			}
		}
		f.wantBookedAfter(created, "2026-12-31")
	}
}

// While the clock stands still, events are booked ahead of the time that it shows. The time of a review is still not
// before the times of the events that were booked earlier.
func TestReviewIsLaterThanSubmissionWhileTheClockStandsStill(t *testing.T) {
	f := openFixture(t)
	created, err := f.service.Create(Create{Author: ledger.ByAdminToken.Author(), Org: f.org, Product: contract.Managed, Reading: contract.Secular, Env: money.Prod, Input: parseInput(t,
		`{"customer_id":"7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01","region":"AE","currency":"AED","capital_amount":"1000","business_type":"trade",`+
			`"profit_sharing_ratio":{"bank":50,"customer":50},"term_months":12}`)})
	if err != nil {
		t.Fatal(err)
	}
	act := func(action contract.Action, body string) Result {
		t.Helper()
		r, err := f.service.Act(ActionRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, ID: created.Record.ID, Product: contract.Managed, Reading: contract.Secular, Action: action, Input: parseInput(t, body)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	submitted := act(contract.Submit, `{}`)
	reviewed := act(contract.Approve, `{"approved_by":"the board"}`)
	reviewedAt, submittedAt, bookedAt := contract.ReviewedAt.Get(reviewed.Record.Values), submitted.Header.UpdatedAt, reviewed.Header.UpdatedAt
	if submittedAt == created.Header.StartedAt || reviewedAt < submittedAt || reviewedAt > bookedAt {
		t.Errorf("made at %d, submitted at %d, reviewed at %d by the record and at %d by the journal", created.Header.StartedAt, submittedAt, reviewedAt, bookedAt)
	}
}

// wantBookedAfter checks that the entry of a contract's last event takes effect on the given day, although the event was
// booked after that day.
func (f *fixture) wantBookedAfter(r Result, day string) {
	f.t.Helper()
	view := f.Journal.View()
	defer view.Close()
	e, _, found, err := view.Event(f.org, r.Header.LastSeq)
	if err != nil || !found || e.Entry == nil {
		f.t.Fatal(found, err)
	}
	if got := e.Entry.Effective.String(); got != day || e.Booked.Date().String() == day {
		f.t.Errorf("the entry of %s is of %s, want %s", e.Booked.Date(), got, day)
	}
}

// restart opens everything again on the stored state, with the clock unchanged.
func (f *fixture) restart() {
	f.t.Helper()
	f.Close()
	f.start()
}
