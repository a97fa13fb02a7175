package contract

import (
	"slices"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/fsm"
	"mizan/ledger/schema"
)

// Status is a contract's state. The text is the state's name in the API.
type Status string

// Action is the name of an operation on a contract. A request or a due timer starts the operation.
type Action string

// States and actions that several products share.
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

	// Continue is the name of an event that only contains a further entry, because a decision's postings did not fit into
	// one entry. Such an event does not change the state.
	Continue Action = "continue"
)

// Step is a transition of a product's state machine.
type Step struct {
	From Status
	By   Action
	To   Status
	Why  string
	Only *Reading // the only reading (secular or religious form) with this step; nil: all readings
}

// Target implements fsm.Transition.
func (s Step) Target() Status { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

// Machine is the state machine of a product in a reading (secular or religious).
type Machine = fsm.Machine[Status, Action, Step]

// MovesMoney tells whether an event moves money, that is, whether it has a ledger entry.
type MovesMoney uint8

// The values of MovesMoney.
const (
	Never    MovesMoney = iota
	Possibly            // if the amount is above zero
	Always
)

func (m MovesMoney) String() string { return [...]string{"never", "possibly", "always"}[m] }

// ActionHandler describes how an action is carried out.
type ActionHandler struct {
	Name        Action
	Body        *schema.Table // the columns of the request's body; nil: the action has no body
	Transitions []Action      // the possible transitions; nil: only the transition with the action's name
	ChecksState bool          // Needs checks the contract's state itself, in its own order of checks
	Timer       bool          // only a timer can run the action
	Moves       MovesMoney    // whether the action moves money; if it may, a required review must come first
	AfterReview bool          // a required review must come first although the action moves no money

	// RequiredUnlessSet lists columns of the body that are required if the contract does not have the value yet. ReviewIn
	// is the column of the body for the review. It is required if the contract's reading (secular or religious) requires a
	// review. ReviewIn is nil if the action has no such column.
	RequiredUnlessSet []RequiredUnlessSet
	ReviewIn          *schema.Column
	// Needs checks the conditions that depend on the contract and the day, but not on the body. It changes nothing. Limits
	// are bounds that the contract sets for values of the body, in the order in which they are checked. Do carries out the
	// action; it is called only if Needs and Bounds refuse nothing. Record.Available also calls Needs and Bounds, to find
	// out before a request whether the action is possible.
	Needs  func(c *ActionContext)
	Bounds []BodyBound
	Do     func(c *ActionContext)
}

// RequiredUnlessSet pairs a column of a request's body with the contract's column for the same value. If the contract has
// no such value yet, the body must contain it.
type RequiredUnlessSet struct{ BodyColumn, Column *schema.Column }

// Variant says how the API presents a product in one reading (secular or religious).
type Variant struct {
	Name    string            // the product's name in URLs
	Prefix  string            // the prefix of contract numbers
	Actions map[string]Action // maps names in URLs to actions; nil: the names are the same

	// CreationActions lists the actions that the creation of a contract carries out at once. If there are any, the request
	// for the contract must contain a compliance_review.
	CreationActions []Action

	// Reviews contains the columns of a review's request body. If it is nil, Reading.Reviews applies.
	Reviews *schema.Table
}

// ControlTotal declares a column that contains the sum of a contract's postings on a shared account. The checker adds up
// the column over all contracts and compares the sum with the account's balance. So each product that posts on the account
// needs a ControlTotal for its postings.
type ControlTotal struct {
	Account   ledger.Path    // Cash means the institution's cash accounts of all regions
	By        Action         // only postings of this action count; empty: the postings of all actions
	Side      ledger.Side    // postings on this side are added, and those on the other side are deducted
	Column    *schema.Column // an amount, or a list of rows
	RowColumn *schema.Column // if Column is a list of rows: the column that is added up over the rows
}

// Product is a kind of contract, such as a lease. It declares the columns, the state machine and the action handlers.
type Product struct {
	Code     byte // stored in records
	Variants map[*Reading]*Variant
	Columns  *schema.Table
	States   []Status // the first one is the state of a new contract
	Steps    []Step
	Handlers []*ActionHandler

	// Type and Customer name two columns by which clients can filter lists of contracts.
	Type, Customer string

	// ShortLists tells whether lists of contracts show only the columns with InShort.
	ShortLists bool

	// NeedsCurrency tells whether the request for a contract must name a currency. If not, the region's currency is the
	// default.
	NeedsCurrency bool

	// Arrears and EndDate are for two further filters of lists. Each is nil if the product does not have the filter.
	// Arrears tells whether a contract is active and in arrears. Ends returns the day on which an active contract ends, and
	// 0 for other contracts.
	Arrears func(r *Record) bool
	EndDate func(r *Record) ledger.Date

	// Schedule is the column with the payment schedule. It is nil if the product has none.
	Schedule *schema.Column

	// Open checks the request for a new contract and computes the columns that the request does not set. It books nothing.
	// If a creation moves money, the actions in Variant.CreationActions do so.
	Open func(c *ActionContext)
	// Due returns the next timer and the day on which it is due. The day is 0 if there is no timer.
	Due func(r *Record) (day ledger.Date, timer Action)
	// RegisterQuery says which part of the register of certificate holders an action needs. It is nil if the product has
	// no register.
	RegisterQuery func(r *Record, name Action, request schema.Input) RegisterQuery
	// Balances returns the balances of the contract's own accounts, computed from the contract's columns. Own accounts that
	// are not in the result have the balance zero.
	Balances func(r *Record) []AccountBalance

	// ControlTotals lists the columns that contain sums of postings on shared accounts. The checker compares them with the
	// journal.
	ControlTotals []ControlTotal

	// OpenAfterEnd lists stems of accounts (the path without the contract's id). When a contract has ended, all its own
	// accounts have the balance zero, except those with these stems. EmptyIn lists states in which the same is true
	// although the contract has not ended.
	OpenAfterEnd []string
	EmptyIn      []Status

	// MutableColumns lists the columns that the request for a contract sets and that an action may change later. ShownByDay
	// lists the columns whose values depend on the day on which the record is read.
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
	for _, total := range p.ControlTotals {
		assert.That(p.Columns.ByName(total.Column.Name) == total.Column, "contract: the control total %s is not a column", total.Column.Name)
		assert.That(total.Column.Visibility != schema.Hidden && total.Column.Visibility != schema.Metadata, "contract: responses do not show the control total %s beside the other columns", total.Column.Name)
		assert.That(total.By == "" || p.handlers[total.By] != nil, "contract: the control total %s counts the unknown action %s", total.Column.Name, total.By)
	}
	for reading := range p.Variants {
		p.machines[reading] = p.compile(reading)
	}
	return p
}

// compile builds the product's state machine for a reading (secular or religious). It omits states that no step in this
// reading reaches.
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

// Reviews returns the columns of a review's request body in a reading (secular or religious).
func (p *Product) Reviews(reading *Reading) *schema.Table {
	if variantReviews := p.Variants[reading].Reviews; variantReviews != nil {
		return variantReviews
	}
	return reading.Reviews
}

// Machine returns the product's state machine for a reading (secular or religious), or nil if the product is not offered in
// this reading.
func (p *Product) Machine(reading *Reading) *Machine { return p.machines[reading] }

// HasNoBalances tells whether a contract in the given status has no balance on its own accounts, except on those in
// OpenAfterEnd. This is true of the statuses in EmptyIn, and of a status that no step leaves.
func (p *Product) HasNoBalances(reading *Reading, status Status) bool {
	machine := p.Machine(reading)
	for _, action := range machine.Events() {
		if step, ok := machine.Next(status, action); ok && step.To != status {
			return slices.Contains(p.EmptyIn, status)
		}
	}
	return true
}

// Handler returns the handler of an action, or nil if the product has no such action.
func (p *Product) Handler(name Action) *ActionHandler { return p.handlers[name] }

// steps returns the same step from each of the given states.
func steps(action Action, to Status, why string, from ...Status) []Step {
	list := make([]Step, len(from))
	for i := range from {
		list[i] = Step{From: from[i], By: action, To: to, Why: why}
	}
	return list
}

// onlyIn restricts the steps to one reading (secular or religious), and returns them.
func onlyIn(reading *Reading, list []Step) []Step {
	for i := range list {
		list[i].Only = reading
	}
	return list
}

// reviewSteps returns the steps of the review that most products have, followed by the steps of firstMove, the first action
// that moves money. If the reading (secular or religious) requires a review, firstMove is possible only in the state
// ReviewPassed (specification, "States and transitions").
func reviewSteps(firstMove Action, to Status, why string) []Step {
	return []Step{
		{From: Draft, By: Submit, To: UnderReview, Why: "the contract is to be reviewed"},
		{From: UnderReview, By: Approve, To: ReviewPassed, Why: "the review has approved the contract"},
		{From: UnderReview, By: Reject, To: Refused, Why: "the review has refused the contract"},
		{From: Draft, By: Approve, To: ReviewPassed, Why: "the board has approved the contract", Only: Religious},
		{From: Draft, By: Reject, To: Refused, Why: "the board has refused the contract", Only: Religious},
		{From: Draft, By: firstMove, To: to, Why: why, Only: Secular},
		{From: ReviewPassed, By: firstMove, To: to, Why: why},
	}
}

// The handlers of a review, and the columns of a request body that contains only a reason. Rejections and some other
// actions have such a body.
var (
	reason  = schema.Text(1, "reason", schema.Required, schema.AtMost(maxNote), schema.Help("why"))
	reasons = schema.NewTable(nil, reason)

	submitHandler  = &ActionHandler{Name: Submit, Do: func(c *ActionContext) { c.setCaller(submittedBy) }}
	approveHandler = &ActionHandler{Name: Approve, Do: func(c *ActionContext) {
		Reviewed.Set(c.values(), approvalOf(c.record.Product.Reviews(c.reading), c.input))
		ReviewedAt.Set(c.values(), c.Now)
	}}
	rejectHandler = &ActionHandler{Name: Reject, Body: reasons, Do: func(c *ActionContext) { RejectionReason.Set(c.values(), reason.Get(c.input)) }}
)

// copyHandler copies a handler that several products share, because define changes the handlers of a product.
func copyHandler(shared *ActionHandler) *ActionHandler {
	copied := *shared
	return &copied
}

// withReview returns the handlers of a review, followed by a product's own handlers.
func withReview(handlers ...*ActionHandler) []*ActionHandler {
	return append([]*ActionHandler{copyHandler(submitHandler), copyHandler(approveHandler), copyHandler(rejectHandler)}, handlers...)
}
