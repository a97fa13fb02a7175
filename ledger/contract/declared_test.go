package contract

import (
	"math/big"
	"reflect"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// A product declares some facts for the checker of stores: Moves, ControlTotals, OpenAfterEnd, EmptyIn, MutableColumns and
// ShownByDay. For every contract that a test of this package makes, checkDeclarations compares these declarations with what
// the product does.

// checkDeclarations compares a decision on a contract with the declarations of the contract's
// product.
func (org *orgFixture) checkDeclarations(d *Decision) {
	org.t.Helper()
	r := d.Record
	previous := org.latest[r.ID]
	if org.latest == nil {
		org.latest = make(map[ledger.ID]latest)
	}
	current := latest{r, previous.action}
	for _, e := range d.Events {
		if name := Action(e.Name); name != Continue && name != Batch {
			current.action = name
		}
	}
	org.latest[r.ID] = current
	org.checkMovements(d)
	org.checkEmptyAccounts(r)
	if org.decisions++; org.decisions%16 == 0 { // not every time, because long schedules take time to compute
		org.checkShownByDay(r)
	}
	created := d.Events[0].Name == string(Create)
	if previous.record == nil && !created {
		return // the test has made this record itself, without decisions
	}
	org.checkTotals(previous, d)
	if !created {
		org.checkMutableColumns(previous.record, r)
	}
}

// latest is the state of a contract after its latest decision.
type latest struct {
	record *Record
	action Action // the last action that was neither a continuation nor a batch
}

// checkMovements checks that events that never move money have no entry, and that those that always do have one.
func (org *orgFixture) checkMovements(d *Decision) {
	org.t.Helper()
	p := d.Record.Product
	for _, e := range d.Events {
		moves := Always
		if name := Action(e.Name); name != Continue {
			moves = p.Moves(name) // the handler's declaration is valid for all transitions of the action
		}
		if e.Entry != nil && moves == Never || e.Entry == nil && moves == Always {
			org.t.Fatalf("%s: %s has the entry %v, and Moves is %q", p.Variants[d.Record.Reading].Name, e.Name, e.Entry, moves)
		}
	}
}

// checkEmptyAccounts checks that the contract's own accounts are empty when they must be.
func (org *orgFixture) checkEmptyAccounts(r *Record) {
	org.t.Helper()
	if _, underWay := r.Progress(); underWay || !r.Product.HasNoBalances(r.Reading, r.Status) {
		return
	}
	for _, h := range org.balances(r) {
		stem, _, _ := strings.Cut(string(h.Account), ":"+r.ID.String())
		if !h.Amount.IsZero() && !slices.Contains(r.Product.OpenAfterEnd, stem) {
			org.t.Fatalf("%s holds %v, the contract is %s, and OpenAfterEnd does not list %s", h.Account, h.Amount, r.Status, stem)
		}
	}
}

// checkTotals checks that each control total of the product changes by the sum that the decision posts on the total's
// account. If only other products have a control total for an account, the decision must post nothing on that account.
func (org *orgFixture) checkTotals(previous latest, d *Decision) {
	org.t.Helper()
	p := d.Record.Product
	for _, product := range Products {
		for _, total := range product.ControlTotals {
			booked := bookedOn(&total, previous.action, d)
			isCounted := slices.ContainsFunc(p.ControlTotals, func(t ControlTotal) bool { return t.Account == total.Account && t.By == total.By })
			if !isCounted && booked.Sign() != 0 {
				org.t.Fatalf("%s posts on %s, on which %s of %s counts the entries of %q; it needs a control total on that account too",
					p.Variants[d.Record.Reading].Name, total.Account, total.Column.Name, product.Variants[Secular].Name, total.By)
			}
		}
	}
	for i := range p.ControlTotals {
		total := &p.ControlTotals[i]
		change, booked := totalIn(total, d.Record), bookedOn(total, previous.action, d)
		if change.Sub(change, totalIn(total, previous.record)); change.Cmp(booked) != 0 {
			org.t.Fatalf("%s: %s changes by %v, and the entries post %v on %s", p.Variants[d.Record.Reading].Name, total.Column.Name, change, booked, total.Account)
		}
	}
}

// bookedOn returns the sum of the decision's postings that a control total counts. action is the action of the contract's
// previous decision; a batch counts as a part of that action.
func bookedOn(total *ControlTotal, action Action, d *Decision) *big.Int {
	sum := new(big.Int)
	for _, e := range d.Events {
		if name := Action(e.Name); name != Continue && name != Batch {
			action = name
		}
		if e.Entry == nil || total.By != "" && total.By != action {
			continue
		}
		for _, l := range e.Entry.Postings {
			switch {
			case l.Account != total.Account && (total.Account != Cash || !strings.HasPrefix(string(l.Account), string(Cash)+":")):
			case l.Side == total.Side:
				sum.Add(sum, asBig(l.Amount))
			default:
				sum.Sub(sum, asBig(l.Amount))
			}
		}
	}
	return sum
}

// totalIn returns the value of a control total in a record; 0 if r is nil.
func totalIn(total *ControlTotal, r *Record) *big.Int {
	sum := new(big.Int)
	if r == nil {
		return sum
	}
	if total.RowColumn == nil {
		amount, _ := total.Column.Value(r.Values).(money.Amount)
		return asBig(amount)
	}
	rows, _ := total.Column.Value(r.Values).([]schema.Row)
	for _, row := range rows {
		amount, _ := total.RowColumn.Value(row).(money.Amount)
		sum.Add(sum, asBig(amount))
	}
	return sum
}

func asBig(a money.Amount) *big.Int {
	n, _ := new(big.Int).SetString(a.String(), 10)
	return n
}

// checkMutableColumns checks that an action changes no column that the request for the contract set, except those in
// MutableColumns.
func (org *orgFixture) checkMutableColumns(previous, r *Record) {
	org.t.Helper()
	for _, c := range r.Product.Columns.Columns {
		if c.Settable && c != ClientMetadata.Column && !slices.Contains(r.Product.MutableColumns, c) && !reflect.DeepEqual(c.Stored(previous.Values), c.Stored(r.Values)) {
			org.t.Fatalf("an action changes %s, which a request for a contract sets, and MutableColumns does not list it", c.Name)
		}
	}
}

// checkShownByDay checks that no column depends on the day on which a record is read, except those in
// ShownByDay.
func (org *orgFixture) checkShownByDay(r *Record) {
	org.t.Helper()
	today, later := r.AsOf(0, org.now.Date()), r.AsOf(0, org.now.Date()+400)
	for _, c := range r.Product.Columns.Columns {
		if c.Visibility != schema.Hidden && !slices.Contains(r.Product.ShownByDay, c) && !reflect.DeepEqual(c.Value(today.Values), c.Value(later.Values)) {
			org.t.Fatalf("%s depends on the day on which the contract is read, and ShownByDay does not list it", c.Name)
		}
	}
}
