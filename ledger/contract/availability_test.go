package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// checkAvailable compares the results of Record.Available with Act, for each action of the contract's reading (secular or
// religious). Act must accept an available action with the smallest body that its fields allow, and take one of its steps.
// For any other action, Act must return the error in Availability.Refusal. checkGrid calls checkAvailable in each status, and
// the tests with random actions call it before some of the actions.
func (org *orgFixture) checkAvailable(r *Record, now ledger.Micros) {
	org.t.Helper()
	if _, underWay := r.Progress(); underWay {
		return // no action is possible before the last batch
	}
	r.Register = Register{}
	for _, a := range r.Available(now) {
		body := smallestBody(&a, now.Date())
		if !r.Reading.ParseOptions.LooseAmounts && len(a.Fields) > 0 {
			org.checkBounds(r, &a, body, now)
		}
		r.Register = org.registerPart(r, a.Handler.Name, body)
		d, err := r.Act(a.Handler.Name, body, now)
		if err != nil && a.Refusal == nil && (strings.Contains(err.Error(), "out of range") || strings.Contains(err.Error(), "takes actual_yield above")) {
			continue // a total gets too large, which Available does not check
		}
		if got, want := fmt.Sprint(err), fmt.Sprint(a.Refusal); got != want {
			org.t.Fatalf("%s in status %s with %s: Act returns %s, Available %s", a.Name, r.Status, inputText(body), got, want)
		}
		if err == nil && !slices.ContainsFunc(a.Steps, func(s Step) bool { return s.To == d.Record.Status }) {
			org.t.Fatalf("%s in status %s leads to %s; Available has the steps %v", a.Name, r.Status, d.Record.Status, a.Steps)
		}
		if (a.Refusal == nil || !ledger.IsRefusal(a.Refusal, ledger.Conflict)) && a.Name != "subscribe" && len(a.Before) != 0 {
			org.t.Fatalf("%s in status %s: Available names actions before it: %v", a.Name, r.Status, a.Before)
		}
	}
	r.Register = Register{}
}

// checkBounds checks the bounds in an action's fields: Act refuses a number beyond a bound and accepts the bound itself.
func (org *orgFixture) checkBounds(r *Record, a *Availability, body schema.Input, now ledger.Micros) {
	org.t.Helper()
	for i := range a.Fields {
		f := &a.Fields[i]
		_, largest := f.Bounds()
		if a.Refusal != nil || largest == nil {
			continue
		}
		beyond := withChanges(body, f.Name, numberOf(f, plus(*largest, amountOf(1))))
		if fields := org.faultsOf(r, a, beyond, now); !slices.Equal(fields, []string{f.Name}) {
			org.t.Fatalf("%s in status %s with %s is refused for %v", a.Name, r.Status, inputText(beyond), fields)
		}
		atBound := withChanges(body, f.Name, numberOf(f, *largest))
		if fields := org.faultsOf(r, a, atBound, now); len(fields) != 0 {
			org.t.Fatalf("%s in status %s with %s is refused for %v", a.Name, r.Status, inputText(atBound), fields)
		}
	}
}

// faultsOf returns the fields for which an action is refused.
func (org *orgFixture) faultsOf(r *Record, a *Availability, body schema.Input, now ledger.Micros) []string {
	r.Register = org.registerPart(r, a.Handler.Name, body)
	_, err := r.Act(a.Handler.Name, body, now)
	return faultyFields(err)
}

// numberOf returns a number as JSON.
func numberOf(f *BodyField, n money.Amount) string {
	if f.Kind == schema.KindAmount {
		return `"` + n.String() + `"`
	}
	return n.String()
}

// smallestBody returns the body of an action with only its required fields, which have their smallest values. A date is
// today. If the action requires the first and last day of a period, the period is from 1970 to 9000.
func smallestBody(a *Availability, today ledger.Date) schema.Input {
	body := make(schema.Input)
	for i := range a.Fields {
		f := &a.Fields[i]
		if !f.Required {
			continue
		}
		smallest, _ := f.Bounds()
		value := ""
		switch f.Kind {
		case schema.KindAmount, schema.KindInteger, schema.KindPercent:
			value = numberOf(f, *smallest)
		case schema.KindDate:
			value = `"` + today.String() + `"`
			if n := slices.IndexFunc(a.Handler.RequiredUnlessSet, func(pair RequiredUnlessSet) bool { return pair.BodyColumn == f.Column }); n >= 0 {
				value = []string{`"1970-01-01"`, `"9000-12-31"`}[n]
			}
		case schema.KindID:
			value = `"3e2b0f7c-93a4-4c55-8d53-b9f2f6a7d0aa"` // a new holder
		case schema.KindList:
			value = `["deed 7"]`
		case KindReview:
			value = `{"approved_by":"x","fatwa_reference":"x"}`
		default:
			value = `"x"`
		}
		body[f.Name] = []byte(value)
	}
	return body
}

// With dual control, only a user who has neither created nor submitted a contract can approve it. Without dual control,
// any caller can.
func TestDualControlNeedsAnotherUser(t *testing.T) {
	creator, submitter, other, nobody := ledger.ID{1}, ledger.ID{2}, ledger.ID{3}, ledger.ID{}
	for _, c := range []struct {
		approver    ledger.ID
		dualControl bool
		isForbidden bool
	}{
		{creator, true, true}, {submitter, true, true}, {nobody, true, true}, {other, true, false},
		{creator, false, false}, {submitter, false, false}, {nobody, false, false},
	} {
		now := newOrgFixture(t, "2026-01-01").now
		d, err := Open(Proposal{ID: ledger.ID{9}, Product: Managed, Reading: Secular, Env: money.Prod, Input: input("customer_id", someone, "region", `"AE"`, "currency", `"AED"`, "capital_amount", `"1000"`,
			"business_type", `"trade"`, "profit_sharing_ratio", `{"bank":50,"customer":50}`, "term_months", "12"), Now: now, Caller: Caller{User: creator}})
		if err != nil {
			t.Fatal(err)
		}
		r := d.Record
		r.Caller = Caller{User: submitter, DualControl: true}
		if d, err = r.Act(Submit, nil, now); err != nil {
			t.Fatal(err)
		}
		r = d.Record
		r.Caller = Caller{User: c.approver, DualControl: c.dualControl}
		_, err = r.Act(Approve, input("approved_by", `"Dr. Amin"`), now)
		if ledger.IsRefusal(err, ledger.Forbidden) != c.isForbidden || err != nil && !c.isForbidden {
			t.Errorf("%+v: %v", c, err)
		}
		for _, a := range r.Available(now) {
			if a.Handler.Name == Approve && fmt.Sprint(a.Refusal) != fmt.Sprint(err) {
				t.Errorf("%+v: Available has the refusal %v, Act returns %v", c, a.Refusal, err)
			}
		}
		if _, err := r.Act(Reject, input("reason", `"enough"`), now); err != nil {
			t.Errorf("%+v: a rejection is refused: %v", c, err)
		}
	}
}
