package contract

import (
	"slices"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/fsm"
)

// Status is a contract's state, as the API spells it.
type Status string

// Action is what happens to a contract: its event's name in the journal.
type Action string

// States and actions that products share.
const (
	Absent       Status = "none" // before creation: never stored
	Draft        Status = "draft"
	UnderReview  Status = "under_review"
	ReviewPassed Status = "review_passed"
	Refused      Status = "rejected"
	Pending      Status = "pending" // where a product has no review path
	Active       Status = "active"
	Closed       Status = "closed"

	Create   Action = "create"
	Submit   Action = "submit"
	Pass     Action = "review"
	Reject   Action = "reject"
	Activate Action = "activate"
	Profit   Action = "profit"
	Loss     Action = "loss"
	Mature   Action = "mature"
	Withdraw Action = "withdraw"
	Close    Action = "close"

	// Continue is the event of an entry that would not fit into the one before it,
	// of the same Change. It stays in the state.
	Continue Action = "continue"
)

// Step is a transition of a product's machine.
type Step struct {
	From Status
	By   Action
	To   Status
	Why  string
	Only *Reading // nil: in every reading
}

// Target implements fsm.Transition.
func (s Step) Target() Status { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

// Machine is a product's machine in one reading.
type Machine = fsm.Machine[Status, Action, Step]

// Deed is how an action is done.
type Deed struct {
	Name  Action
	Body  *Table   // what it takes; nil: nothing
	Leads []Action // the transitions that it may be; nil: the one of its name
	Free  bool     // it refuses a wrong state itself, in its place among its conditions
	Timer bool     // time does it, and nobody else
	Moves bool     // it may move money: nothing may reach it without a review where one comes first
	Do    func(c *Case)
}

// Face is how a product is reached in a reading.
type Face struct {
	Name    string            // in its addresses
	Prefix  string            // of its contracts' numbers
	Actions map[string]Action // by the names that they have there

	// Opening are the actions that a creation takes at once. Its body has to carry a
	// compliance_review.
	Opening []Action

	// Reviews is the body of a review where it is another than the reading's.
	Reviews *Table
}

// Product is one kind of contract: its columns, its machine, its arithmetic and
// its entries.
type Product struct {
	Code    byte // stored
	Faces   map[*Reading]*Face
	Columns *Table
	States  []Status // the first is that of a new contract
	Steps   []Step
	Deeds   []*Deed

	// Names of columns that lists filter by; empty: they don't.
	Type, Customer string

	// Brief says that lists show the short form.
	Brief bool

	// Currencied says that a currency has to be sent; else it is the region's.
	Currencied bool

	// What else lists filter by; nil: they don't. Arrears tells whether a running
	// contract is in arrears, Ends on which day one ends; 0: it does not run.
	Arrears func(r *Record) bool
	Ends    func(r *Record) ledger.Date

	// Schedule is the column of what is to be paid when; nil: there is none.
	Schedule *Column

	// Open checks what was asked for and fills what follows from it.
	Open func(c *Case)
	// Due is the next thing that time does, and the day on which; 0: nothing.
	Due func(r *Record) (on ledger.Date, what Action)
	// Reads says which part of the register of its holders an action is decided on; nil:
	// the product has no register.
	Reads func(r *Record, name Action, sent Given) Extract
	// Holdings are the contract's own accounts with what its columns say that they
	// hold; those left out hold nothing.
	Holdings func(r *Record) []Holding

	deeds    map[Action]*Deed
	machines map[*Reading]*Machine
}

// define checks a product and compiles its machines.
func define(p *Product) *Product {
	p.deeds = make(map[Action]*Deed)
	p.machines = make(map[*Reading]*Machine)
	for _, d := range p.Deeds {
		assert.That(p.deeds[d.Name] == nil, "contract: two deeds %s", d.Name)
		if d.Leads == nil {
			d.Leads = []Action{d.Name}
		}
		p.deeds[d.Name] = d
	}
	for reading := range p.Faces {
		p.machines[reading] = p.compile(reading)
	}
	return p
}

// compile makes the machine of a reading: of its steps, and of the states and
// actions that these lead to.
func (p *Product) compile(reading *Reading) *Machine {
	table := fsm.Table[Status, Action, Step]{Absent: {Create: {To: p.States[0], Why: "somebody asked for it; nothing has moved"}}}
	states, actions := []Status{Absent}, []Action{Create}
	own := slices.DeleteFunc(slices.Clone(p.Steps), func(s Step) bool { return s.Only != nil && s.Only != reading })
	for _, s := range p.States {
		if s == p.States[0] || slices.ContainsFunc(own, func(to Step) bool { return to.To == s }) {
			table[s] = fsm.Row[Action, Step]{}
			states = append(states, s)
		}
	}
	for _, s := range own {
		_, twice := table[s.From][s.By]
		assert.That(!twice, "contract: two steps %s from %s", s.By, s.From)
		table[s.From][s.By] = s
		if !slices.Contains(actions, s.By) {
			actions = append(actions, s.By)
		}
	}
	return fsm.MustCompile(states, actions, table)
}

// reviews is the body of a review of the product's contracts in a reading.
func (p *Product) reviews(reading *Reading) *Table {
	if own := p.Faces[reading].Reviews; own != nil {
		return own
	}
	return reading.Reviews
}

// Machine is the product's machine in a reading; nil: it has no face there.
func (p *Product) Machine(reading *Reading) *Machine { return p.machines[reading] }

// Deed is how an action is done; nil: the product has no such action.
func (p *Product) Deed(name Action) *Deed { return p.deeds[name] }

// steps writes down steps that only the state differs in.
func steps(by Action, to Status, why string, from ...Status) []Step {
	all := make([]Step, len(from))
	for i := range from {
		all[i] = Step{From: from[i], By: by, To: to, Why: why}
	}
	return all
}

// within are steps that only one reading has.
func within(reading *Reading, all []Step) []Step {
	for i := range all {
		all[i].Only = reading
	}
	return all
}

// reviewed are the steps of the review that most products have, up to the first
// action that moves money, which leads to a state. Where a review comes first it is
// only reached from the state in which that has passed (specification, "States and
// transitions").
func reviewed(first Action, to Status, why string) []Step {
	return []Step{
		{From: Draft, By: Submit, To: UnderReview, Why: "it is to be reviewed"},
		{From: UnderReview, By: Pass, To: ReviewPassed, Why: "the review has passed it"},
		{From: UnderReview, By: Reject, To: Refused, Why: "the review has refused it"},
		{From: Draft, By: Pass, To: ReviewPassed, Why: "the board has approved it", Only: Religious},
		{From: Draft, By: Reject, To: Refused, Why: "the board has refused it", Only: Religious},
		{From: Draft, By: first, To: to, Why: why, Only: Secular},
		{From: ReviewPassed, By: first, To: to, Why: why},
	}
}

// The deeds of a review.
var (
	reason  = text(1, "reason", required, atMost(maxNote))
	reasons = columns(nil, reason)

	submitDeed = &Deed{Name: Submit, Do: func(*Case) {}}
	passDeed   = &Deed{Name: Pass, Do: func(c *Case) {
		Reviewed.Set(c.v(), approvalOf(c.r.Product.reviews(c.reading), c.in))
		ReviewedAt.Set(c.v(), c.Now)
	}}
	rejectDeed = &Deed{Name: Reject, Body: reasons, Do: func(c *Case) { Why.Set(c.v(), reason.Of(c.in)) }}
)

// own is a product's copy of a deed that products share: it is changed when the
// product is defined.
func own(shared *Deed) *Deed {
	copied := *shared
	return &copied
}

// withReview are a product's deeds behind those of its review.
func withReview(deeds ...*Deed) []*Deed {
	return append([]*Deed{own(submitDeed), own(passDeed), own(rejectDeed)}, deeds...)
}
