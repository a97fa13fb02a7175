package contract

import (
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// orgFixture has the clock of a test, and the accounts and registers of the contracts of one organization.
type orgFixture struct {
	t         rapid.TB
	now       ledger.Micros
	debit     map[ledger.Path]money.Amount // the total booked on each account's debit side
	credit    map[ledger.Path]money.Amount
	registers map[ledger.ID]*registered

	latest    map[ledger.ID]latest // by contract
	decisions int
}

// registered is the register of an issue's holders, which in the service a caller of this package stores.
type registered struct {
	subscriptions []Subscription
	holders       []Holder
}

// registerOf returns a contract's register.
func (w *orgFixture) registerOf(r *Record) *registered {
	if w.registers == nil {
		w.registers = make(map[ledger.ID]*registered)
	}
	if w.registers[r.ID] == nil {
		w.registers[r.ID] = new(registered)
	}
	return w.registers[r.ID]
}

// addToRegister adds to the register what a decision has changed in it.
func (w *orgFixture) addToRegister(d *Decision) {
	w.t.Helper()
	register, s, h := w.registerOf(d.Record), d.Subscribed, d.Position
	if s.Number == 0 {
		return
	}
	if s.Number != int64(len(register.subscriptions))+1 || h.Number > int64(len(register.holders))+1 || s.Holder != h.Number || s.Investor != h.Investor {
		w.t.Fatalf("subscription %+v of holder %+v follows %d of %d", s, h, len(register.subscriptions), len(register.holders))
	}
	register.subscriptions = append(register.subscriptions, s)
	if h.Number > int64(len(register.holders)) {
		register.holders = append(register.holders, h)
	}
	register.holders[h.Number-1] = h
}

// extract returns the extract of a contract's register for an action.
func (w *orgFixture) extract(r *Record, name Action, sent schema.Input) (part Register) {
	e, register := r.RegisterExtract(name, sent), w.registerOf(r)
	for _, h := range register.holders {
		if h.Investor == e.Investor {
			part.Position = h
		}
	}
	if e.MaxHolders > 0 {
		part.Holders = register.holders[e.From-1 : min(len(register.holders), int(e.From)-1+e.MaxHolders)]
	}
	return part
}

// decide calls Act with the extract of the register that the action needs.
func (w *orgFixture) decide(r *Record, name Action, sent schema.Input, now ledger.Micros) (Decision, error) {
	r.Register = w.extract(r, name, sent)
	return r.Act(name, sent, now)
}

// onDue calls OnDue with the extract of the register that the timer needs.
func (w *orgFixture) onDue(r *Record, now ledger.Micros) (Decision, bool) {
	r.Register = w.extract(r, Batch, nil)
	return r.OnDue(now)
}

// holdings returns the expected balances of a contract's own accounts.
func (w *orgFixture) holdings(r *Record) []Holding {
	r.Register = Register{Holders: w.registerOf(r).holders}
	return r.Product.Holdings(r)
}

func newOrgFixture(t rapid.TB, today string) *orgFixture {
	day, ok := schema.ParseDate(today)
	if !ok {
		t.Fatalf("no date: %s", today)
	}
	return &orgFixture{t: t, now: startOfDay(day) + 12*3600*1_000_000, debit: map[ledger.Path]money.Amount{}, credit: map[ledger.Path]money.Amount{}}
}

// book books a decision's entries.
func (w *orgFixture) book(d *Decision) {
	w.t.Helper()
	w.addToRegister(d)
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
				side = w.credit
			}
			side[p.Account] = must(side[p.Account].Add(p.Amount))
		}
	}
	w.checkDeclarations(d)
}

// balance returns an account's balance on its normal side.
func (w *orgFixture) balance(path ledger.Path) money.Signed {
	if path.NormalSide() == ledger.Debit {
		return money.Difference(w.debit[path], w.credit[path])
	}
	return money.Difference(w.credit[path], w.debit[path])
}

// checkColumns checks that a contract's columns agree with its accounts.
func (w *orgFixture) checkColumns(r *Record) {
	w.t.Helper()
	for _, h := range w.holdings(r) {
		if got := w.balance(h.Account); got != h.Balance() {
			w.t.Fatalf("%s holds %v, and the %s contract says %v", h.Account, got, r.Status, h.Balance())
		}
	}
}

func (w *orgFixture) open(p *Product, reading *Reading, input schema.Input) *Record {
	w.t.Helper()
	d, err := Open(Proposal{ID: uuid.New(), Product: p, Reading: reading, Env: money.Prod, Input: input, Now: w.now})
	if err != nil {
		w.t.Fatal(err)
	}
	w.book(&d)
	w.checkColumns(d.Record)
	return d.Record
}

func (w *orgFixture) act(r *Record, name Action, input schema.Input) *Record {
	w.t.Helper()
	d, err := w.decide(r, name, input, w.now)
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	w.book(&d)
	w.checkColumns(d.Record)
	return d.Record
}

func input(pairs ...string) schema.Input {
	g := make(schema.Input)
	for i := 0; i < len(pairs); i += 2 {
		g[pairs[i]] = []byte(pairs[i+1])
	}
	return g
}

// someone is the id of a person, as JSON.
const someone = `"5d0d1a52-6f3e-4a43-9d9e-6a4bd8f6c001"`
