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
	registers map[ledger.ID]*registerFixture

	latest    map[ledger.ID]latest // the state of each contract after its latest decision
	decisions int
}

// registerFixture is the register of an issue's holders. In the service, a caller of this package stores it.
type registerFixture struct {
	subscriptions []Subscription
	holders       []Holder
}

// registerOf returns the register of the holders of an issue.
func (org *orgFixture) registerOf(r *Record) *registerFixture {
	if org.registers == nil {
		org.registers = make(map[ledger.ID]*registerFixture)
	}
	if org.registers[r.ID] == nil {
		org.registers[r.ID] = new(registerFixture)
	}
	return org.registers[r.ID]
}

// addToRegister adds a decision's subscription and the holder's new position to the register, if the decision has them.
func (org *orgFixture) addToRegister(d *Decision) {
	org.t.Helper()
	register, subscription, position := org.registerOf(d.Record), d.NewSubscription, d.InvestorPosition
	if subscription.Number == 0 {
		return
	}
	if subscription.Number != int64(len(register.subscriptions))+1 || position.Number > int64(len(register.holders))+1 || subscription.Holder != position.Number || subscription.Investor != position.Investor {
		org.t.Fatalf("subscription %+v of holder %+v follows %d of %d", subscription, position, len(register.subscriptions), len(register.holders))
	}
	register.subscriptions = append(register.subscriptions, subscription)
	if position.Number > int64(len(register.holders)) {
		register.holders = append(register.holders, position)
	}
	register.holders[position.Number-1] = position
}

// registerPart returns the part of a contract's register that an action needs.
func (org *orgFixture) registerPart(r *Record, name Action, request schema.Input) (part Register) {
	needed, register := r.RegisterQuery(name, request), org.registerOf(r)
	for _, h := range register.holders {
		if h.Investor == needed.Investor {
			part.InvestorPosition = h
		}
	}
	if needed.MaxHolders > 0 {
		part.Holders = register.holders[needed.From-1 : min(len(register.holders), int(needed.From)-1+needed.MaxHolders)]
	}
	return part
}

// decide calls Act with the registerPart of the register that the action needs.
func (org *orgFixture) decide(r *Record, name Action, request schema.Input, now ledger.Micros) (Decision, error) {
	r.Register = org.registerPart(r, name, request)
	return r.Act(name, request, now)
}

// onDue calls OnDue with the registerPart of the register that the timer needs.
func (org *orgFixture) onDue(r *Record, now ledger.Micros) (Decision, bool) {
	r.Register = org.registerPart(r, Batch, nil)
	return r.OnDue(now)
}

// balances returns the expected balances of a contract's own accounts.
func (org *orgFixture) balances(r *Record) []AccountBalance {
	r.Register = Register{Holders: org.registerOf(r).holders}
	return r.Product.Balances(r)
}

// newOrgFixture returns an organization without contracts, at noon of the given day.
func newOrgFixture(t rapid.TB, today string) *orgFixture {
	day, ok := schema.ParseDate(today)
	if !ok {
		t.Fatalf("no date: %s", today)
	}
	return &orgFixture{t: t, now: startOfDay(day) + 12*3600*1_000_000, debit: map[ledger.Path]money.Amount{}, credit: map[ledger.Path]money.Amount{}}
}

// book adds a decision's entries to the accounts, and its subscription to the register.
func (org *orgFixture) book(d *Decision) {
	org.t.Helper()
	org.addToRegister(d)
	for i := range d.Events {
		entry := d.Events[i].Entry
		if entry == nil {
			continue
		}
		if err := entry.Check(); err != nil {
			org.t.Fatalf("%s: %v", d.Events[i].Name, err)
		}
		for _, posting := range entry.Postings {
			totals := org.debit
			if posting.Side == ledger.Credit {
				totals = org.credit
			}
			totals[posting.Account] = must(totals[posting.Account].Add(posting.Amount))
		}
	}
	org.checkDeclarations(d)
}

// balance returns an account's balance on its normal side.
func (org *orgFixture) balance(path ledger.Path) money.Signed {
	if path.NormalSide() == ledger.Debit {
		return money.Difference(org.debit[path], org.credit[path])
	}
	return money.Difference(org.credit[path], org.debit[path])
}

// checkColumns checks that a contract's columns agree with its accounts.
func (org *orgFixture) checkColumns(r *Record) {
	org.t.Helper()
	for _, h := range org.balances(r) {
		if got := org.balance(h.Account); got != h.Signed() {
			org.t.Fatalf("%s holds %v, and the Balances of the %s contract have %v", h.Account, got, r.Status, h.Signed())
		}
	}
}

func (org *orgFixture) open(p *Product, reading *Reading, input schema.Input) *Record {
	org.t.Helper()
	d, err := Open(Proposal{ID: uuid.New(), Product: p, Reading: reading, Env: money.Prod, Input: input, Now: org.now})
	if err != nil {
		org.t.Fatal(err)
	}
	org.book(&d)
	org.checkColumns(d.Record)
	return d.Record
}

func (org *orgFixture) act(r *Record, name Action, input schema.Input) *Record {
	org.t.Helper()
	d, err := org.decide(r, name, input, org.now)
	if err != nil {
		org.t.Fatalf("%s: %v", name, err)
	}
	org.book(&d)
	org.checkColumns(d.Record)
	return d.Record
}

// input returns a request's body. Each pair is a member's name and its JSON value.
func input(pairs ...string) schema.Input {
	body := make(schema.Input)
	for i := 0; i < len(pairs); i += 2 {
		body[pairs[i]] = []byte(pairs[i+1])
	}
	return body
}

// someone is the id of a person, as JSON.
const someone = `"5d0d1a52-6f3e-4a43-9d9e-6a4bd8f6c001"`
