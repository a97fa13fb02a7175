package contract

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// This file has checks that the tests of several products share. They check booked entries, refusals, the bounds of fields,
// and the effect of every action in every state.

// formatEntries formats the entries of a decision. Each entry has a line with its effective date and its postings. {c} stands
// for the contract's id, and {p} for the id in the constant someone.
func formatEntries(d Decision) string {
	placeholders := strings.NewReplacer(d.Record.ID.String(), "{c}", strings.Trim(someone, `"`), "{p}")
	var entries []string
	for i := range d.Events {
		e := d.Events[i].Entry
		if e == nil {
			continue
		}
		var texts []string
		if e.Effective != 0 {
			texts = append(texts, e.Effective.String())
		}
		for _, p := range e.Postings {
			side := "Dr "
			if p.Side == ledger.Credit {
				side = "Cr "
			}
			texts = append(texts, side+placeholders.Replace(string(p.Account))+" "+p.Amount.String())
		}
		entries = append(entries, strings.Join(texts, ", "))
	}
	return strings.Join(entries, "\n")
}

// wantEntries carries out an action and checks the entries that the action books.
func (org *orgFixture) wantEntries(r *Record, name Action, request schema.Input, want ...string) *Record {
	org.t.Helper()
	d, err := org.decide(r, name, request, org.now)
	if err != nil {
		org.t.Fatalf("%s: %v", name, err)
	}
	org.book(&d)
	org.checkColumns(d.Record)
	wanted, got := strings.Join(want, ", "), formatEntries(d)
	if len(want) > 0 && strings.HasPrefix(want[0], "Dr") { // without a date in want, the date must be today
		got = strings.TrimPrefix(got, org.now.Date().String()+", ")
	}
	if got != wanted {
		org.t.Errorf("%s books\n%s\nwant\n%s", name, got, wanted)
	}
	return d.Record
}

// passDays moves the clock by days. It runs no timers.
func (org *orgFixture) passDays(days int) { org.now += ledger.Micros(days) * 24 * 3600 * 1_000_000 }

// faultyFields returns the fields that an error names; nil if the error is not a refusal of fields.
func faultyFields(err error) (fields []string) {
	var faults *schema.Faults
	if errors.As(err, &faults) {
		for _, f := range faults.List {
			fields = append(fields, f.Field)
		}
	}
	return fields
}

// wantRefused checks that an action is refused for the fields and changes nothing.
func (org *orgFixture) wantRefused(r *Record, name Action, request schema.Input, fields ...string) {
	org.t.Helper()
	before := AppendRecord(nil, r)
	_, err := org.decide(r, name, request, org.now)
	if got := faultyFields(err); !slices.Equal(got, fields) {
		org.t.Errorf("%s with %s in %s: %v, want the fields %q", name, inputText(request), r.Status, err, fields)
	}
	if !bytes.Equal(before, AppendRecord(nil, r)) {
		org.t.Errorf("%s in %s was refused and has changed the contract", name, r.Status)
	}
}

// wantConflict checks that the state does not allow an action, and that the attempt changes
// nothing.
func (org *orgFixture) wantConflict(r *Record, name Action, request schema.Input) {
	org.t.Helper()
	before := AppendRecord(nil, r)
	if _, err := org.decide(r, name, request, org.now); !ledger.IsRefusal(err, ledger.Conflict) {
		org.t.Errorf("%s in %s: %v, want a conflict", name, r.Status, err)
	}
	if !bytes.Equal(before, AppendRecord(nil, r)) {
		org.t.Errorf("%s in %s was refused and has changed the contract", name, r.Status)
	}
}

func inputText(request schema.Input) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(request)) {
		texts = append(texts, name+":"+string(request[name]))
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// openRefused tries to open a contract, and returns the fields for which it was refused.
func openRefused(p *Product, reading *Reading, request schema.Input) (*Record, []string) {
	d, err := Open(Proposal{ID: uuid.New(), Product: p, Reading: reading, Env: money.Prod, Input: request, Now: 1})
	return d.Record, faultyFields(err)
}

// fieldBounds is a field with accepted and refused values.
type fieldBounds struct {
	field    string
	accepted []string
	refused  []string
	required bool
}

// checkBounds checks a product's fields against a table written by hand.
func checkBounds(t *testing.T, p *Product, valid schema.Input, bounds []fieldBounds) {
	t.Helper()
	for _, b := range bounds {
		for _, value := range b.accepted {
			if _, fields := openRefused(p, Secular, withChanges(valid, b.field, value)); fields != nil {
				t.Errorf("%s %s is refused for %q", b.field, value, fields)
			}
		}
		for _, value := range b.refused {
			if _, fields := openRefused(p, Secular, withChanges(valid, b.field, value)); !slices.Equal(fields, []string{b.field}) {
				t.Errorf("%s %s is refused for %q", b.field, value, fields)
			}
		}
		want := []string(nil)
		if b.required {
			want = []string{b.field}
		}
		for _, missing := range []string{"", "null"} {
			if _, fields := openRefused(p, Secular, withChanges(valid, b.field, missing)); !slices.Equal(fields, want) {
				t.Errorf("without %s (%q) it is refused for %q, want %q", b.field, missing, fields, want)
			}
		}
	}
}

// JSON values that fields of one kind accept or refuse.
var (
	notAmounts  = []string{`"0"`, `"-1"`, `"01"`, `"1.5"`, `"1e3"`, `""`, `" 1"`, `1000`, `true`, `{}`, `"1` + strings.Repeat("0", 71) + `1"`}
	notTexts    = []string{`""`, `"  "`, `5`, `{}`, `"` + strings.Repeat("x", 256) + `"`}
	notUUIDs    = []string{`""`, `"5d0d1a52"`, `5`, `"5d0d1a526f3e4a439d9e6a4bd8f6c001"`}
	notRatios   = []string{`{"bank":-10,"customer":110}`, `{"bank":60,"customer":41}`, `{"bank":60,"customer":39}`, `{"bank":100}`, `{"bank":"60","customer":"40"}`, `{"bank":59.5,"customer":40.5}`, `"60"`, `[60,40]`}
	ratios      = []string{`{"bank":0,"customer":100}`, `{"bank":100,"customer":0}`, `{"bank":1,"customer":99}`}
	notRegions  = []string{`"US"`, `"ae"`, `""`, `5`, `"AEX"`}
	notBools    = []string{`"true"`, `1`, `0`, `{}`}
	notDates    = []string{`"2026-02-30"`, `"2026-13-01"`, `"2026-1-1"`, `"20260101"`, `""`, `20260101`, `"2026-01-01T00:00:00Z"`, `"0000-01-01"`, `"1969-12-31"`, `"9001-01-01"`}
	largest     = `"` + ledger.MaxAmount.String() + `"`
	hugeInteger = "9223372036854775808"
)

// gridRow has the transitions out of a state: for the name of each action that the state allows, the next state. Any other
// action must be refused as a conflict.
type gridRow map[string]Status

// scenario checks the effect of every action in every state.
type scenario struct {
	product     *Product
	reading     *Reading
	openingBody schema.Input
	grid        map[Status]gridRow
	paths       map[Status]string       // for a state: the names of the actions that lead to it, separated by spaces
	bodies      map[string]schema.Input // the bodies of the actions, by the names in grid and paths
	afterAYear  string                  // the name of an action before which the test lets a year pass
}

// do tries an action by its name in grid and paths. That is the action's name in URLs of the reading (secular or religious).
// If an action has several bodies, a colon and a word for the body follow, as in "loss:all".
func (sc *scenario) do(org *orgFixture, r *Record, name string) (*Record, error) {
	actionName, _, _ := strings.Cut(name, ":")
	action, ok := sc.product.Action(sc.reading, actionName)
	if !ok {
		action = Action(actionName) // an action without a URL: only paths contain it
	}
	if actionName == sc.afterAYear {
		org.passDays(365)
	}
	d, err := org.decide(r, action, sc.bodies[name], org.now)
	if err != nil {
		return nil, err
	}
	org.book(&d)
	org.checkColumns(d.Record)
	return d.Record, nil
}

// reach returns a contract that the actions in paths have taken to a state.
func (sc *scenario) reach(t *testing.T, state Status) (*orgFixture, *Record) {
	org := newOrgFixture(t, "2026-01-10")
	r := org.open(sc.product, sc.reading, sc.openingBody)
	for name := range strings.FieldsSeq(sc.paths[state]) {
		next, err := sc.do(org, r, name)
		if err != nil {
			t.Fatalf("%s on the way to %s: %v", name, state, err)
		}
		r = next
	}
	if r.Status != state {
		t.Fatalf("the way to %s leads to %s", state, r.Status)
	}
	return org, r
}

func (sc *scenario) check(t *testing.T) {
	t.Helper()
	if got, want := len(sc.product.Machine(sc.reading).States()), len(sc.grid)+1; got != want {
		t.Errorf("%d states, want %d", got, want)
	}
	names := map[string]bool{}
	for _, transitions := range sc.grid {
		for name := range transitions {
			names[name] = true
		}
	}
	for state, transitions := range sc.grid {
		for name := range names {
			org, r := sc.reach(t, state)
			before := AppendRecord(nil, r)
			next, err := sc.do(org, r, name)
			want, legal := transitions[name]
			switch {
			case legal && (err != nil || next.Status != want):
				t.Errorf("%s on %s: %v, want %s", state, name, err, want)
			case !legal && !ledger.IsRefusal(err, ledger.Conflict):
				t.Errorf("%s on %s: %v, want a conflict", state, name, err)
			case !bytes.Equal(before, AppendRecord(nil, r)):
				t.Errorf("%s on %s has changed the record before the decision", state, name)
			}
		}
	}
}

// useSeed gives rapid the seed in MIZAN_SEED, to repeat a run that failed. Rapid prints the seed of such a run.
func useSeed(t *testing.T) {
	if seed := os.Getenv("MIZAN_SEED"); seed != "" {
		if err := flag.Set("rapid.seed", seed); err != nil {
			t.Fatal(err)
		}
	}
}

// sumGenerator generates amounts that are small, large, or the largest possible. The generator is made once,
// because making it takes longer than a whole random test case.
var sumGenerator = rapid.OneOf(
	rapid.StringMatching(`[1-9][0-9]{0,3}`),
	rapid.StringMatching(`[1-9][0-9]{0,3}`),
	rapid.StringMatching(`[1-9][0-9]{17,71}`),
	rapid.SampledFrom([]string{"1", ledger.MaxAmount.String()}),
)

func drawSum(t *rapid.T, label string) *big.Int {
	sum, _ := new(big.Int).SetString(sumGenerator.Draw(t, label), 10)
	return sum
}

// largestSum is the largest amount, as a big.Int.
var largestSum, _ = new(big.Int).SetString(ledger.MaxAmount.String(), 10)

// percentOf returns floor(sum × percent ÷ 100).
func percentOf(sum *big.Int, percent int64) *big.Int {
	product := new(big.Int).Mul(sum, big.NewInt(percent))
	return product.Quo(product, big.NewInt(100))
}

func quoteBig(sum *big.Int) string { return `"` + sum.String() + `"` }

// wantSum checks a column's amount.
func wantSum(t rapid.TB, r *Record, column schema.TypedColumn[money.Amount], want *big.Int) {
	t.Helper()
	if got := column.Get(r.Values).String(); got != want.String() {
		t.Fatalf("the %s contract's %s is %s, want %v", r.Status, column.Name, got, want)
	}
}
