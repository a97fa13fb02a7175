package contract

import (
	"slices"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/fsm"
	"mizan/ledger/schema"
)

// Status is a contract's state, with the name that it has in the API.
type Status string

// Action is the name of an operation on a contract, which a request or a due timer causes.
type Action string

// States and actions that products share.
const (
	Absent       Status = "none" // before creation; never stored
	Draft        Status = "draft"
	UnderReview  Status = "under_review"
	ReviewPassed Status = "review_passed"
	Refused      Status = "rejected"
	Pending      Status = "pending" // the first state of a product without a review
	Active       Status = "active"
	Closed       Status = "closed"

	Create   Action = "create"
	Submit   Action = "submit"
	Approve  Action = "review"
	Reject   Action = "reject"
	Activate Action = "activate"
	Profit   Action = "profit"
	Loss     Action = "loss"
	Mature   Action = "mature"
	Withdraw Action = "withdraw"
	Close    Action = "close"

	// Continue is the name of an event that only carries a further entry, because the postings of a decision did not fit into
	// one entry. It does not change the state.
	Continue Action = "continue"
)

// Step is a transition of a product's machine.
type Step struct {
	From Status
	By   Action
	To   Status
	Why  string
	Only *Reading // the only reading (secular or religious form) that has the step; nil: all have it
}

// Target implements fsm.Transition.
func (s Step) Target() Status { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

// Machine is the state machine of a product in a reading (secular or religious).
type Machine = fsm.Machine[Status, Action, Step]

// MovesMoney tells whether an event moves money, that is, has an entry.
type MovesMoney uint8

// The possible answers.
const (
	Never    MovesMoney = iota
	Possibly            // if the amount is above zero
	Always
)

func (m MovesMoney) String() string { return [...]string{"never", "possibly", "always"}[m] }

// ActionHandler describes how an action is carried out.
type ActionHandler struct {
	Name        Action
	Body        *schema.Table // columns of the request's body; nil: no body
	Transitions []Action      // possible transitions; nil: only the transition with the action's name
	ChecksState bool          // Do itself checks the contract's state, in its own order of checks
	Timer       bool          // only a timer runs the action
	Moves       MovesMoney    // whether the action's event moves money; unless Never, a required review must come first
	AfterReview bool          // a required review must come first, although the action moves no money

	// RequiredUnlessSet lists columns of the body that are required if the contract has no value for them. ReviewIn is a
	// column of the body that is required if the contract's reading (secular or religious) requires a review; nil: none.
	RequiredUnlessSet []RequiredUnlessSet
	ReviewIn          *schema.Column
	// Needs checks the conditions that depend on the contract and the day, but not on the body. It changes nothing. Limits
	// are bounds on values of the body that depend on the contract, in the order of the checks. Do is called if Needs and
	// Limits refuse nothing. Record.Available calls Needs and Limits too, to find out before a request whether the action is
	// possible.
	Needs  func(c *Case)
	Limits []Limit
	Do     func(c *Case)
}

// RequiredUnlessSet is a column of a body, and the contract's column for the same value. The body needs the value unless the
// contract has it.
type RequiredUnlessSet struct{ BodyColumn, Column *schema.Column }

// Variant is a product's form in the API in one reading (secular or religious).
type Variant struct {
	Name    string            // the product's name in URLs
	Prefix  string            // the prefix of contract numbers
	Actions map[string]Action // actions by their names in URLs; nil: each Action is also the name in URLs

	// Opening lists the actions that are carried out together with the creation of a contract. If there are any, the request
	// for the contract must have a compliance_review.
	Opening []Action

	// Reviews has the columns of a review's body; nil: they are those of Reading.Reviews.
	Reviews *schema.Table
}

// ControlTotal is a column with the sum of a contract's postings on an account that contracts share. The checker compares the
// sum of the column over all contracts with the account's balance. So each product that posts on the account needs a
// ControlTotal that counts these postings.
type ControlTotal struct {
	Account   ledger.Path    // Cash means the institution's cash accounts of all regions
	By        Action         // only entries of this action count; empty: the entries of all actions
	Side      ledger.Side    // postings on the other side are deducted
	Column    *schema.Column // an amount, or a list of rows
	RowColumn *schema.Column // if Column is a list of rows: the column of the rows that is added up
}

// Product is a kind of contract: its columns, machine, arithmetic and entries.
type Product struct {
	Code     byte // stored in records
	Variants map[*Reading]*Variant
	Columns  *schema.Table
	States   []Status // the first is the state of a new contract
	Steps    []Step
	Handlers []*ActionHandler

	// Type and Customer name the columns by which lists can be filtered.
	Type, Customer string

	// ShortLists tells whether lists show only the columns with InShort.
	ShortLists bool

	// NeedsCurrency tells whether the request must name a currency. If it need not, the region's currency
	// is the default.
	NeedsCurrency bool

	// Arrears and Ends are for further filters of lists; nil if the product does not have the filter. Arrears tells whether
	// an active contract is in arrears. Ends returns the day on which an active contract ends; 0 if the contract is not
	// active.
	Arrears func(r *Record) bool
	Ends    func(r *Record) ledger.Date

	// Schedule is the column of the payment schedule; nil: none.
	Schedule *schema.Column

	// Open checks a request for a contract and fills the derived columns. It books nothing: a
	// creation moves money only by the actions in Variant.Opening.
	Open func(c *Case)
	// Due returns the next timer and its day; day 0 if no timer is set.
	Due func(r *Record) (day ledger.Date, timer Action)
	// RegisterExtract says which part of the register of an issue's holders an action needs; nil if the
	// product has no register.
	RegisterExtract func(r *Record, name Action, request schema.Input) Extract
	// Holdings returns the balances of the contract's own accounts, computed from the contract's columns. An own account that
	// is not in the result has the balance zero.
	Holdings func(r *Record) []Holding

	// Totals lists columns with sums of postings on shared accounts. The checker compares them with the entries.
	Totals []ControlTotal

	// A contract that has ended has no balance on its own accounts, except on those with a stem (the path
	// without the contract's id) in OpenAfterEnd. In the states in EmptyIn it has no such balance either,
	// although the contract has not ended.
	OpenAfterEnd []string
	EmptyIn      []Status

	// MutableColumns lists columns that a request for a contract sets and that an action may change. ShownByDay lists columns
	// whose values depend on the day on which the record is read.
	MutableColumns, ShownByDay []*schema.Column

	handlers map[Action]*ActionHandler
	machines map[*Reading]*Machine
}

// define checks a product, compiles its state machines and returns it.
func define(p *Product) *Product {
	p.handlers = make(map[Action]*ActionHandler)
	p.machines = make(map[*Reading]*Machine)
	for _, handler := range p.Handlers {
		assert.That(p.handlers[handler.Name] == nil, "contract: two handlers %s", handler.Name)
		if handler.Transitions == nil {
			handler.Transitions = []Action{handler.Name}
		}
		p.handlers[handler.Name] = handler
	}
	for _, total := range p.Totals {
		assert.That(p.Columns.ByName(total.Column.Name) == total.Column, "contract: the control total %s is not a column", total.Column.Name)
		assert.That(total.Column.Place != schema.Hidden && total.Column.Place != schema.Metadata, "contract: responses do not show the control total %s beside the other columns", total.Column.Name)
		assert.That(total.By == "" || p.handlers[total.By] != nil, "contract: the control total %s counts the unknown action %s", total.Column.Name, total.By)
	}
	for reading := range p.Variants {
		p.machines[reading] = p.compile(reading)
	}
	return p
}

// compile builds the product's state machine in a reading (secular or religious). It omits states that no step of the reading
// reaches.
func (p *Product) compile(reading *Reading) *Machine {
	table := fsm.Table[Status, Action, Step]{Absent: {Create: {To: p.States[0], Why: "somebody asked for it; nothing has moved"}}}
	states, actions := []Status{Absent}, []Action{Create}
	applicable := slices.DeleteFunc(slices.Clone(p.Steps), func(s Step) bool { return s.Only != nil && s.Only != reading })
	for _, state := range p.States {
		if state == p.States[0] || slices.ContainsFunc(applicable, func(step Step) bool { return step.To == state }) {
			table[state] = fsm.Row[Action, Step]{}
			states = append(states, state)
		}
	}
	for _, s := range applicable {
		_, isDuplicate := table[s.From][s.By]
		assert.That(!isDuplicate, "contract: two steps %s from %s", s.By, s.From)
		table[s.From][s.By] = s
		if !slices.Contains(actions, s.By) {
			actions = append(actions, s.By)
		}
	}
	return fsm.MustCompile(states, actions, table)
}

// Reviews returns the columns of the body of a review in a reading (secular or religious).
func (p *Product) Reviews(reading *Reading) *schema.Table {
	if variantReviews := p.Variants[reading].Reviews; variantReviews != nil {
		return variantReviews
	}
	return reading.Reviews
}

// Machine returns the state machine in a reading (secular or religious); nil if the product has no variant in the reading.
func (p *Product) Machine(reading *Reading) *Machine { return p.machines[reading] }

// HoldsNothing tells whether a contract in the status has no balance on its own accounts, except on those in
// OpenAfterEnd. That is so in the statuses in EmptyIn and in a status that no step leaves.
func (p *Product) HoldsNothing(reading *Reading, status Status) bool {
	machine := p.Machine(reading)
	for _, action := range machine.Events() {
		if step, ok := machine.Next(status, action); ok && step.To != status {
			return slices.Contains(p.EmptyIn, status)
		}
	}
	return true
}

// Handler returns the handler of an action; nil if the product has no such action.
func (p *Product) Handler(name Action) *ActionHandler { return p.handlers[name] }

// steps returns one step from each of the given states.
func steps(action Action, to Status, why string, from ...Status) []Step {
	list := make([]Step, len(from))
	for i := range from {
		list[i] = Step{From: from[i], By: action, To: to, Why: why}
	}
	return list
}

// onlyIn restricts steps to one reading (secular or religious).
func onlyIn(reading *Reading, list []Step) []Step {
	for i := range list {
		list[i].Only = reading
	}
	return list
}

// reviewSteps returns the steps of the review that most products have, and the steps of firstMove, the first action that
// moves money. In a reading (secular or religious) that requires a review, firstMove is possible only from ReviewPassed
// (specification, "States and transitions").
func reviewSteps(firstMove Action, to Status, why string) []Step {
	return []Step{
		{From: Draft, By: Submit, To: UnderReview, Why: "it is to be reviewed"},
		{From: UnderReview, By: Approve, To: ReviewPassed, Why: "the review has passed it"},
		{From: UnderReview, By: Reject, To: Refused, Why: "the review has refused it"},
		{From: Draft, By: Approve, To: ReviewPassed, Why: "the board has approved it", Only: Religious},
		{From: Draft, By: Reject, To: Refused, Why: "the board has refused it", Only: Religious},
		{From: Draft, By: firstMove, To: to, Why: why, Only: Secular},
		{From: ReviewPassed, By: firstMove, To: to, Why: why},
	}
}

// The handlers of a review, and the columns of a body with a reason. Rejections and some other actions have such a body.
var (
	reason  = schema.Text(1, "reason", schema.Required, schema.AtMost(maxNote), schema.Help("why"))
	reasons = schema.NewTable(nil, reason)

	submitHandler = &ActionHandler{Name: Submit, Do: func(c *Case) { c.setCaller(submittedBy) }}
	passHandler   = &ActionHandler{Name: Approve, Do: func(c *Case) {
		Reviewed.Set(c.values(), approvalOf(c.record.Product.Reviews(c.reading), c.input))
		ReviewedAt.Set(c.values(), c.Now)
	}}
	rejectHandler = &ActionHandler{Name: Reject, Body: reasons, Do: func(c *Case) { RejectionReason.Set(c.values(), reason.Get(c.input)) }}
)

// copyHandler returns a copy of a shared handler for one product, because define changes handlers.
func copyHandler(shared *ActionHandler) *ActionHandler {
	copied := *shared
	return &copied
}

// withReview returns the handlers of a review, followed by a product's own handlers.
func withReview(handlers ...*ActionHandler) []*ActionHandler {
	return append([]*ActionHandler{copyHandler(submitHandler), copyHandler(passHandler), copyHandler(rejectHandler)}, handlers...)
}
