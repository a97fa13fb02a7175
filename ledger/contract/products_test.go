package contract

import (
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
)

// world is a case's surroundings: contracts of one organization, and what their
// entries have left on the accounts.
type world struct {
	t     rapid.TB
	now   ledger.Micros
	debit map[ledger.Path]money.Amount
	other map[ledger.Path]money.Amount
}

func newWorld(t rapid.TB, today string) *world {
	day, ok := ParseDate(today)
	if !ok {
		t.Fatalf("no date: %s", today)
	}
	return &world{t: t, now: at(day) + 12*3600*1_000_000, debit: map[ledger.Path]money.Amount{}, other: map[ledger.Path]money.Amount{}}
}

// book books a decision's entries.
func (w *world) book(d *Decision) {
	w.t.Helper()
	for i := range d.Events {
		e := d.Events[i].Entry
		if e == nil {
			continue
		}
		if err := e.Check(); err != nil {
			w.t.Fatalf("%s: %v", d.Events[i].Name, err)
		}
		for _, p := range e.Postings {
			side := w.debit
			if p.Side == ledger.Credit {
				side = w.other
			}
			side[p.Account] = must(side[p.Account].Add(p.Amount))
		}
	}
}

// balance is what an account holds on its normal side.
func (w *world) balance(path ledger.Path) money.Signed {
	if path.NormalSide() == ledger.Debit {
		return money.Difference(w.debit[path], w.other[path])
	}
	return money.Difference(w.other[path], w.debit[path])
}

// agrees checks that a contract's columns say what its accounts hold.
func (w *world) agrees(r *Record) {
	w.t.Helper()
	for _, h := range r.Product.Holdings(r) {
		if got := w.balance(h.Account); got != h.Balance() {
			w.t.Fatalf("%s holds %v, and the %s contract says %v", h.Account, got, r.Status, h.Balance())
		}
	}
}

func (w *world) open(p *Product, reading *Reading, given Given) *Record {
	w.t.Helper()
	d, err := Open(Proposal{ID: uuid.New(), Product: p, Reading: reading, Env: money.Prod, Given: given, Now: w.now})
	if err != nil {
		w.t.Fatal(err)
	}
	w.book(&d)
	w.agrees(d.Record)
	return d.Record
}

func (w *world) act(r *Record, name Action, given Given) *Record {
	w.t.Helper()
	d, err := r.Act(name, given, w.now)
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	w.book(&d)
	w.agrees(d.Record)
	return d.Record
}

func given(pairs ...string) Given {
	g := make(Given)
	for i := 0; i < len(pairs); i += 2 {
		g[pairs[i]] = []byte(pairs[i+1])
	}
	return g
}

const someone = `"5d0d1a52-6f3e-4a43-9d9e-6a4bd8f6c001"`
