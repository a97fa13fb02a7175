package contract

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// leaseFixture is one lease with its accounts.
type leaseFixture struct{ *contractFixture }

// leaseBody returns a request for an operating lease of four periods. Its asset costs 1000 and has a residual
// value of 100; the rent is 50 for each period, and 30 in advance. The pairs are members and their new
// values; an empty value removes the member.
func leaseBody(pairs ...string) schema.Input {
	return withChanges(input("customer_id", someone, "region", `"AE"`, "lease_type", `"operating"`, "asset_description", `"a forklift truck"`,
		"asset_cost", `"1000"`, "lease_term_months", "4", "monthly_rental", `"50"`, "advance_rental", `"30"`,
		"security_deposit", `"70"`, "residual_value", `"100"`), pairs...)
}

// financeChanges are pairs for leaseBody that make it a request for a finance lease with a purchase price of 100.
var financeChanges = []string{"lease_type", `"finance"`, "purchase_option_price", `"100"`, "residual_value", ""}

func newLease(t rapid.TB, reading *Reading, body schema.Input) *leaseFixture {
	t.Helper()
	return &leaseFixture{openContract(t, Lease, reading, body)}
}

// runningLease returns a lease that was activated on 2026-01-01.
func runningLease(t rapid.TB, pairs ...string) *leaseFixture {
	t.Helper()
	lease := newLease(t, Secular, leaseBody(pairs...))
	lease.do(Acquire, "ownership_documents", `["deed"]`)
	lease.do(Activate)
	return lease
}

// tryAction tries an action and returns its refusal: "409", or "422" with the first field; empty if it is
// accepted. It checks that a refusal changes nothing.
func (lease *leaseFixture) tryAction(name Action, body schema.Input) string {
	lease.t.Helper()
	before := AppendRecord(nil, lease.record)
	d, err := lease.record.Act(name, body, lease.now)
	if err == nil {
		lease.apply(d)
		return ""
	}
	if !bytes.Equal(before, AppendRecord(nil, lease.record)) || d.Record != nil || d.Events != nil {
		lease.t.Fatalf("%s was refused, but the decision is not empty", name)
	}
	return leaseRefusal(err)
}

// leaseRefusal formats a refusal in the form that tryAction returns.
func leaseRefusal(err error) string {
	var faults *schema.Faults
	if errors.As(err, &faults) {
		return "422 " + faults.List[0].Field
	}
	if ledger.IsRefusal(err, ledger.Conflict) {
		return "409"
	}
	return err.Error()
}

// wantRefusal tries an action, which must be refused for the field.
func (lease *leaseFixture) wantRefusal(field string, name Action, pairs ...string) {
	lease.t.Helper()
	if got := lease.tryAction(name, input(pairs...)); got != "422 "+field {
		lease.t.Errorf("%s: the result is %q; want 422 %s", name, got, field)
	}
}

// passUntil moves the clock to noon of a day, and then runs the due timers in order.
func (lease *leaseFixture) passUntil(day string) {
	lease.t.Helper()
	date, ok := schema.ParseDate(day)
	if !ok {
		lease.t.Fatalf("no date: %s", day)
	}
	lease.now = startOfDay(date) + 12*3600*1_000_000
	lease.runDueRows()
}

// runDueRows runs the due timers, and returns the number of rows that have fallen due.
func (lease *leaseFixture) runDueRows() (rows int) {
	lease.t.Helper()
	for {
		d, due := lease.record.OnDue(lease.now)
		if !due {
			return rows
		}
		lease.apply(d)
		rows++
	}
}

// lastLines returns the lines of the last decision, with {c} for the lease's id.
func (lease *leaseFixture) lastLines() (lines []string) {
	lease.t.Helper()
	for _, e := range lease.decision.Events {
		if e.Entry == nil {
			continue
		}
		for _, p := range e.Entry.Postings {
			side := "Dr "
			if p.Side == ledger.Credit {
				side = "Cr "
			}
			lines = append(lines, side+strings.ReplaceAll(string(p.Account), lease.record.ID.String(), "{c}")+" "+p.Amount.String())
		}
	}
	return lines
}

// wantLines checks the lines of the last decision. Their order does not matter.
func (lease *leaseFixture) wantLines(want ...string) {
	lease.t.Helper()
	got := lease.lastLines()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		lease.t.Errorf("booked\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	if entries := len(lease.decision.Events); entries != 1 {
		lease.t.Errorf("%d events; want one", entries)
	}
}

// wantBalance checks one of the lease's accounts, named without the lease's id.
func (lease *leaseFixture) wantBalance(stem, amount string) {
	lease.t.Helper()
	if got := lease.balance(lease.record.account(stem)).String(); got != amount {
		lease.t.Errorf("%s holds %s; want %s", stem, got, amount)
	}
}

// wantAmount checks a column's amount.
func (lease *leaseFixture) wantAmount(c schema.TypedColumn[money.Amount], amount string) {
	lease.t.Helper()
	if got := c.Get(lease.record.Values).String(); !c.Has(lease.record.Values) || got != amount {
		lease.t.Errorf("%s is %s; want %s", c.Name, got, amount)
	}
}

// statusLetters returns a letter for the status of each row of the schedule: p for paid, o for pending, c for
// cancelled.
func (lease *leaseFixture) statusLetters() string {
	lease.t.Helper()
	letters := map[string]string{"paid": "p", "pending": "o", "cancelled": "c"}
	var text strings.Builder
	for _, row := range lsSchedule.Get(lease.record.Values) {
		text.WriteString(letters[lsRowStatus.Get(row)])
	}
	return text.String()
}

func parseDay(t *testing.T, text string) ledger.Date {
	t.Helper()
	day, ok := schema.ParseDate(text)
	if !ok {
		t.Fatalf("no date: %s", text)
	}
	return day
}
