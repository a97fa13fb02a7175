package contract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// contractFixture is one contract with its accounts.
type contractFixture struct {
	*orgFixture
	record       *Record
	decision     Decision          // the last decision
	placeholders *strings.Replacer // replaces ids in accounts and values by {c}, {p} and {q} (see wantPostings)
}

// oneDay is the length of a day on the clock.
const oneDay = ledger.Micros(24 * 3600 * 1_000_000)

// openContract opens a contract at noon of 2026-01-01.
func openContract(t rapid.TB, p *Product, reading *Reading, body schema.Input) *contractFixture {
	t.Helper()
	fixture := &contractFixture{orgFixture: newOrgFixture(t, "2026-01-01")}
	d, err := Open(Proposal{ID: uuid.New(), Product: p, Reading: reading, Env: money.Prod, Input: body, Now: fixture.now})
	if err != nil {
		t.Fatal(err)
	}
	fixture.placeholders = strings.NewReplacer(d.Record.ID.String(), "{c}", strings.Trim(someone, `"`), "{p}", strings.Trim(someoneElse, `"`), "{q}")
	fixture.apply(d)
	return fixture
}

// someoneElse is the id of a person, as JSON. It differs from the constant someone.
const someoneElse = `"7a1c9d40-1f0e-4f57-8a55-0b8f6f0e9a02"`

// apply books a decision. It checks that the contract's Balances list each account of the contract, with its balance.
func (fixture *contractFixture) apply(d Decision) {
	fixture.t.Helper()
	fixture.decision, fixture.record = d, d.Record
	fixture.book(&d)
	fixture.checkColumns(fixture.record)
	balances := fixture.balances(fixture.record)
	for _, totals := range []map[ledger.Path]money.Amount{fixture.debit, fixture.credit} {
		for path := range totals {
			known := slices.ContainsFunc(balances, func(h AccountBalance) bool { return h.Account == path })
			if !known && strings.Contains(string(path), fixture.record.ID.String()) {
				fixture.t.Fatalf("the Balances of the %s contract do not list %s", fixture.record.Status, path)
			}
		}
	}
	fixture.checkStoredForm()
}

// checkStoredForm checks that storing and reading the record does not change it.
func (fixture *contractFixture) checkStoredForm() {
	fixture.t.Helper()
	stored := AppendRecord(nil, fixture.record)
	reread, err := ReadRecord(fixture.record.ID, stored)
	if err != nil {
		fixture.t.Fatal(err)
	}
	if !bytes.Equal(stored, AppendRecord(nil, reread)) || reread.Status != fixture.record.Status {
		fixture.t.Fatalf("the %s record differs after it was stored and read back", fixture.record.Status)
	}
}

// outcomeOf tries an action and returns its result: the next state, "409" for a conflict, or "422"
// and the refused fields. It checks that a refusal changes nothing.
func (fixture *contractFixture) outcomeOf(name Action, body schema.Input) string {
	fixture.t.Helper()
	fixture.checkAvailable(fixture.record, fixture.now)
	recordBefore, storedBefore := fixture.record, AppendRecord(nil, fixture.record)
	d, err := fixture.decide(fixture.record, name, body, fixture.now)
	if !bytes.Equal(storedBefore, AppendRecord(nil, recordBefore)) {
		fixture.t.Fatalf("%s has changed the record before the decision", name)
	}
	if err == nil {
		fixture.apply(d)
		return string(fixture.record.Status)
	}
	if d.Record != nil || d.Events != nil {
		fixture.t.Fatalf("%s was refused, but the decision is not empty", name)
	}
	if ledger.IsRefusal(err, ledger.Conflict) {
		return "409"
	}
	return "422 " + strings.Join(fieldsOf(fixture.t, err), " ")
}

// fieldsOf returns the fields for which an action was refused. The refusal must have a message for each.
func fieldsOf(t rapid.TB, err error) (fields []string) {
	t.Helper()
	var faults *schema.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("refused with %v, which names no field", err)
	}
	for _, f := range faults.List {
		if f.Message == "" {
			t.Fatalf("%s is refused without a message", f.Field)
		}
		fields = append(fields, f.Field)
	}
	return fields
}

// do carries out an action, which must be accepted.
func (fixture *contractFixture) do(name Action, pairs ...string) {
	fixture.t.Helper()
	statusBefore := fixture.record.Status
	if got := fixture.outcomeOf(name, input(pairs...)); got == "409" || strings.HasPrefix(got, "422") {
		fixture.t.Fatalf("%s in state %s: the result is %s", name, statusBefore, got)
	}
}

// wantRefused tries an action, which must be refused for the field.
func (fixture *contractFixture) wantRefused(field string, name Action, pairs ...string) {
	fixture.t.Helper()
	if got := fixture.outcomeOf(name, input(pairs...)); got != "422 "+field {
		fixture.t.Errorf("%s: the result is %s; want 422 %s", name, got, field)
	}
}

// passDays moves the clock by days, and then runs the due timers in order.
func (fixture *contractFixture) passDays(days int) {
	fixture.t.Helper()
	fixture.now += ledger.Micros(days) * oneDay
	for {
		d, due := fixture.onDue(fixture.record, fixture.now)
		if !due {
			return
		}
		fixture.apply(d)
	}
}

// wantPostings checks the lines of the last decision, in their order. In the accounts' names, {c} stands for the contract's
// id, {p} for the id in the constant someone, and {q} for the id in someoneElse.
func (fixture *contractFixture) wantPostings(want ...string) {
	fixture.t.Helper()
	var got []string
	for _, e := range fixture.decision.Events {
		if e.Entry == nil {
			continue
		}
		for _, p := range e.Entry.Postings {
			side := "Dr"
			if p.Side == ledger.Credit {
				side = "Cr"
			}
			got = append(got, fmt.Sprintf("%s %s %v", side, fixture.placeholders.Replace(string(p.Account)), p.Amount))
		}
	}
	if !slices.Equal(got, want) {
		fixture.t.Errorf("booked\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// wantEffective checks the effective date of the last decision's entry.
func (fixture *contractFixture) wantEffective(day string) {
	fixture.t.Helper()
	if got := fixture.decision.Events[0].Entry.Effective.String(); got != day {
		fixture.t.Errorf("dated %s; want %s", got, day)
	}
}

// wantColumns checks values of the contract. Each pair is a column's name and the text of its value; the text is "" if there
// is no value.
func (fixture *contractFixture) wantColumns(pairs ...string) {
	fixture.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := valueText(fixture.column(pairs[i]).Value(fixture.record.AsOf(0, fixture.now.Date()).Values)); got != pairs[i+1] {
			fixture.t.Errorf("%s is %s; want %s", pairs[i], got, pairs[i+1])
		}
	}
}

func (fixture *contractFixture) column(name string) *schema.Column {
	fixture.t.Helper()
	for _, c := range fixture.record.Product.Columns.Columns {
		if c.Name == name {
			return c
		}
	}
	fixture.t.Fatalf("there is no column %s", name)
	return nil
}

// rowsOf returns the rows of a column that is a list. Each row is the text of its values, in order.
func (fixture *contractFixture) rowsOf(name string) (rows []string) {
	fixture.t.Helper()
	c := fixture.column(name)
	list, _ := c.Value(fixture.record.Values).([]schema.Row)
	for _, row := range list {
		var values []string
		for _, column := range c.Nested.Columns {
			values = append(values, fixture.placeholders.Replace(valueText(column.Value(row))))
		}
		rows = append(rows, strings.Join(values, " "))
	}
	return rows
}

// wantRows checks the rows of a column.
func (fixture *contractFixture) wantRows(name string, want ...string) {
	fixture.t.Helper()
	if got := fixture.rowsOf(name); !slices.Equal(got, want) {
		fixture.t.Errorf("%s is\n\t%s\nwant\n\t%s", name, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func valueText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	case ledger.Micros:
		return v.Time().Format("2006-01-02T15:04:05Z")
	}
	return fmt.Sprint(value)
}

// withChanges returns a copy of a body. Each pair is a member and its new value; an empty value removes
// the member.
func withChanges(body schema.Input, pairs ...string) schema.Input {
	changed := make(schema.Input)
	for name, value := range body {
		changed[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		if changed[pairs[i]] = []byte(pairs[i+1]); pairs[i+1] == "" {
			delete(changed, pairs[i])
		}
	}
	return changed
}

// fieldCase is a value for a member of a body. refusedField is the field that is refused because of the value; empty if the
// value is accepted.
type fieldCase struct{ member, value, refusedField string }

// openWithChanges opens a contract for each trial, with one member changed, and checks which field is
// refused.
func openWithChanges(t *testing.T, p *Product, reading *Reading, body schema.Input, trials []fieldCase) {
	t.Helper()
	for _, trial := range trials {
		changed := withChanges(body, trial.member, trial.value)
		d, err := Open(Proposal{ID: uuid.New(), Product: p, Reading: reading, Env: money.Prod, Input: changed, Now: newOrgFixture(t, "2026-01-01").now})
		name := fmt.Sprintf("%s %.60s", trial.member, trial.value)
		switch {
		case err == nil && trial.refusedField != "":
			t.Errorf("%s is accepted; want %s refused", name, trial.refusedField)
		case err != nil && d.Record != nil:
			t.Errorf("%s is refused, but the decision is not empty", name)
		case err != nil:
			if got := strings.Join(fieldsOf(t, err), " "); got != trial.refusedField {
				t.Errorf("%s is refused for %q; want %q", name, got, trial.refusedField)
			}
		}
	}
}

// gridMove is an action with its body. It is tried after the given number of days has passed.
type gridMove struct {
	name  Action
	input schema.Input
	days  int
}

// grid has expected results. For each state and for each name of an action, it has the next state or a refusal such as "422
// amount". If a state has no result for an action, the action must be refused as a conflict.
type grid map[Status]map[string]string

// checkGrid checks a product's grid in a reading (secular or religious): it tries each of the moves in each state. For each
// state, routes has the names of the moves that lead to it from a new contract.
func checkGrid(t *testing.T, p *Product, reading *Reading, body schema.Input, moves map[string]gridMove, routes map[Status][]string, want grid) {
	t.Helper()
	for state, row := range want {
		for name := range row {
			if _, known := moves[name]; !known {
				t.Fatalf("%s: there is no move %s", state, name)
			}
		}
		for name, move := range moves {
			fixture := openContract(t, p, reading, body)
			for _, step := range routes[state] {
				fixture.passDays(moves[step].days)
				fixture.do(moves[step].name, pairsOf(moves[step].input)...)
			}
			if fixture.record.Status != state {
				t.Fatalf("the route to %s leads to %s", state, fixture.record.Status)
			}
			fixture.passDays(move.days)
			wantOutcome := row[name]
			if wantOutcome == "" {
				wantOutcome = "409"
			}
			if got := fixture.outcomeOf(move.name, move.input); got != wantOutcome {
				t.Errorf("%s: %s in state %s: the result is %s; want %s", reading.Name, name, state, got, wantOutcome)
			}
		}
	}
	if got, states := len(want), len(p.Machine(reading).States())-1; got != states {
		t.Errorf("%s: the grid has %d states; the machine %d", reading.Name, got, states)
	}
}

func pairsOf(body schema.Input) (pairs []string) {
	for name, value := range body {
		pairs = append(pairs, name, string(value))
	}
	return pairs
}

// boardReview returns the body of the religious reading's review.
func boardReview() schema.Input {
	return input("approved_by", `"the board"`, "fatwa_reference", `"F-7"`)
}

// allActionNames returns the names of all actions of all products: those in URLs and the internal ones.
func allActionNames() map[string]bool {
	names := make(map[string]bool)
	for _, p := range Products {
		for _, variant := range p.Variants {
			for name := range variant.Actions {
				names[name] = true
			}
		}
		for _, handler := range p.Handlers {
			names[string(handler.Name)] = true
			for _, action := range handler.Transitions {
				names[string(action)] = true
			}
		}
	}
	return names
}

// checkNames checks a product's name, its prefix of contract numbers, and its actions in a reading (secular or religious).
// The product must have no other actions in this reading.
func checkNames(t *testing.T, p *Product, reading *Reading, name, prefix string, want map[string]Action) {
	t.Helper()
	if Find(reading, name) != p || p.Variants[reading].Prefix != prefix {
		t.Errorf("the product does not have the name %s and the prefix %s", name, prefix)
	}
	for action := range allActionNames() {
		if got, ok := p.Action(reading, action); ok != (want[action] != "") || ok && got != want[action] {
			t.Errorf("%s: %s is accepted: %v (%s); want %q", name, action, ok, got, want[action])
		}
	}
	for action := range want {
		if !allActionNames()[action] {
			t.Errorf("%s: no product has the action %s", name, action)
		}
	}
}
