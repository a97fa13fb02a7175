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

// tenancy is one lease in its world.
type tenancy struct{ *deal }

// leaseBody is an operating lease of four periods: 1000 of cost, 100 of it left at
// the end, 50 a period and 30 up front. Pairs change it; an empty text leaves out.
func leaseBody(pairs ...string) schema.Input {
	return but(given("customer_id", someone, "region", `"AE"`, "lease_type", `"operating"`, "asset_description", `"a forklift truck"`,
		"asset_cost", `"1000"`, "lease_term_months", "4", "monthly_rental", `"50"`, "advance_rental", `"30"`,
		"security_deposit", `"70"`, "residual_value", `"100"`), pairs...)
}

// forFinance makes it a finance lease, whose asset costs 100 at the end.
var forFinance = []string{"lease_type", `"finance"`, "purchase_option_price", `"100"`, "residual_value", ""}

func newLease(t rapid.TB, reading *Reading, body schema.Input) *tenancy {
	t.Helper()
	return &tenancy{strike(t, Lease, reading, body)}
}

// runningLease is a lease that was activated on 2026-01-01.
func runningLease(t rapid.TB, pairs ...string) *tenancy {
	t.Helper()
	l := newLease(t, Secular, leaseBody(pairs...))
	l.do(Acquire, "ownership_documents", `["deed"]`)
	l.do(Activate)
	return l
}

// try is an action's outcome: nothing, "409", or "422" with the first field. A
// refusal leaves no trace.
func (l *tenancy) try(name Action, body schema.Input) string {
	l.t.Helper()
	before := AppendRecord(nil, l.r)
	d, err := l.r.Act(name, body, l.now)
	if err == nil {
		l.take(d)
		return ""
	}
	if !bytes.Equal(before, AppendRecord(nil, l.r)) || d.Record != nil || d.Events != nil {
		l.t.Fatalf("%s was refused, and has left a trace", name)
	}
	return leaseRefusal(err)
}

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

// refused is an action that is refused with a field.
func (l *tenancy) refused(field string, name Action, pairs ...string) {
	l.t.Helper()
	if got := l.try(name, given(pairs...)); got != "422 "+field {
		l.t.Errorf("%s is answered with %q; want 422 %s", name, got, field)
	}
}

// until lets time pass to noon of a day: what falls due by then happens in order.
func (l *tenancy) until(day string) {
	l.t.Helper()
	on, ok := schema.ParseDate(day)
	if !ok {
		l.t.Fatalf("no date: %s", day)
	}
	l.now = at(on) + 12*3600*1_000_000
	l.wake()
}

func (l *tenancy) wake() (rows int) {
	l.t.Helper()
	for {
		d, due := l.r.OnDue(l.now)
		if !due {
			return rows
		}
		l.take(d)
		rows++
	}
}

// entry is the lines of the last decision, {c} for the lease's id.
func (l *tenancy) entry() (lines []string) {
	l.t.Helper()
	for _, e := range l.d.Events {
		if e.Entry == nil {
			continue
		}
		for _, p := range e.Entry.Postings {
			side := "Dr "
			if p.Side == ledger.Credit {
				side = "Cr "
			}
			lines = append(lines, side+strings.ReplaceAll(string(p.Account), l.r.ID.String(), "{c}")+" "+p.Amount.String())
		}
	}
	return lines
}

// booked checks the last decision's lines, in whatever order.
func (l *tenancy) booked(want ...string) {
	l.t.Helper()
	got := l.entry()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		l.t.Errorf("booked\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	if entries := len(l.d.Events); entries != 1 {
		l.t.Errorf("%d events; want one", entries)
	}
}

// holds checks one of the lease's accounts, named without its id.
func (l *tenancy) holds(stem, amount string) {
	l.t.Helper()
	if got := l.balance(l.r.account(stem)).String(); got != amount {
		l.t.Errorf("%s holds %s; want %s", stem, got, amount)
	}
}

// says checks a column's amount.
func (l *tenancy) says(c schema.Cell[money.Amount], amount string) {
	l.t.Helper()
	if got := c.Of(l.r.Values).String(); !c.Has(l.r.Values) || got != amount {
		l.t.Errorf("%s is %s; want %s", c.Name, got, amount)
	}
}

// rows is the schedule's statuses by their first letters: p_aid, o_pen (pending),
// c_ancelled.
func (l *tenancy) rows() string {
	l.t.Helper()
	letters := map[string]string{"paid": "p", "pending": "o", "cancelled": "c"}
	var all strings.Builder
	for _, row := range lsSchedule.Of(l.r.Values) {
		all.WriteString(letters[lsRowStatus.Of(row)])
	}
	return all.String()
}

func leaseDay(t *testing.T, said string) ledger.Date {
	t.Helper()
	on, ok := schema.ParseDate(said)
	if !ok {
		t.Fatalf("no date: %s", said)
	}
	return on
}
