package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Loan is a benevolent loan: money that the institution lends to a customer, who repays exactly
// that amount. Neither reading charges anything, before or after the due date. The institution
// may forgive the rest of an overdue loan. The religious counterpart is qard.
var Loan = define(&Product{
	Code: 'q',
	Variants: map[*Reading]*Variant{
		Secular: {Name: "benevolent-loans", Prefix: "BL"},
		Religious: {Name: "qard", Prefix: "QRD", Actions: map[string]Action{
			"approve": Pass, "reject": Reject, "disburse": Disburse, "repay": Repay, "forgive": Forgive,
		}},
	},
	Columns: schema.NewTable(base,
		lnCustomer, lnAmount, lnDue, lnPurpose,
		lnOutstanding, lnPaid, lnForgiven, lnStart, lnCompleted, lnForgivenBy,
	),
	States: []Status{Draft, UnderReview, ReviewPassed, Refused, Active, Overdue, Completed, Forgiven},
	Steps: concat(
		reviewSteps(Disburse, Active, "the customer has the money"),
		[]Step{{From: Active, By: BecomeOverdue, To: Overdue, Why: "the due date is over"}},
		steps(RepayRest, Completed, "the customer has repaid the rest", Active, Overdue),
		lnPartly(Active), lnPartly(Overdue),
		steps(Forgive, Forgiven, "the institution has waived the rest", Overdue),
	),
	Handlers: withReview(
		&ActionHandler{Name: Disburse, Moves: Always, Do: lnDisburse},
		&ActionHandler{Name: Repay, Moves: Always, Body: schema.NewTable(nil, lnInAmount), Transitions: []Action{Repay, RepayRest}, Do: lnRepay},
		&ActionHandler{Name: BecomeOverdue, Timer: true, Do: func(*Case) {}},
		&ActionHandler{Name: Forgive, Moves: Always, Body: schema.NewTable(nil, lnInForgivenBy), Do: lnForgive},
	),
	Type: "purpose", Customer: "customer_id",
	Open: lnOpen, Due: lnNext, Holdings: lnHoldings,
	Totals: []ControlTotal{
		{Account: Cash, By: Repay, Side: ledger.Debit, Column: lnPaid.Column},
		{Account: lnExpense, Side: ledger.Debit, Column: lnForgiven.Column},
	},
})

// States and actions that only this product has. BecomeOverdue is the timer's action on the day
// after the due date.
const (
	Overdue  Status = "overdue"
	Forgiven Status = "forgiven"

	Disburse      Action = "disburse"
	Repay         Action = "repay"
	RepayRest     Action = "repay_rest"
	BecomeOverdue Action = "overdue"
	Forgive       Action = "forgive"
)

// lnExpense is the account of what the institution has forgiven.
const lnExpense ledger.Path = "E:qard_forgiven"

var (
	lnCustomer = schema.ID(32, "customer_id", schema.Required, schema.InShort)
	lnAmount   = schema.Amount(33, "amount", schema.Required, schema.InShort)
	lnDue      = schema.Date(34, "due_date", schema.Required, schema.InShort)
	lnPurpose  = schema.Text(35, "purpose", schema.Settable, schema.AtMost(maxNote))

	lnOutstanding = schema.Amount(50, "outstanding", schema.InShort)
	lnPaid        = schema.Amount(51, "total_paid")
	lnForgiven    = schema.Amount(52, "forgiven_amount")
	lnStart       = schema.Date(53, "start_date")
	lnCompleted   = schema.Instant(54, "completed_at")
	lnForgivenBy  = schema.Text(55, "forgiven_by")

	lnInAmount     = schema.Amount(1, "amount", schema.Required)
	lnInForgivenBy = schema.Text(1, "forgiven_by", schema.Required)
)

// lnPartly returns the step of a part's repayment, which does not change the state.
func lnPartly(state Status) []Step {
	return steps(Repay, state, "the customer has repaid a part", state)
}

func lnOpen(c *Case) {
	v := c.values()
	if due := lnDue.Get(v); due < c.Today {
		c.refuse(lnDue.Name, "is %v, which is over: today is %v", due, c.Today)
	}
	for _, total := range []schema.Cell[money.Amount]{lnOutstanding, lnPaid, lnForgiven} {
		total.Set(v, money.Amount{})
	}
}

func lnDisburse(c *Case) {
	v, r := c.values(), c.record
	lnStart.Set(v, c.Today)
	lnOutstanding.Set(v, lnAmount.Get(v))
	c.move(r.account("A:receivable"), r.cash(), lnAmount.Get(v))
}

func lnRepay(c *Case) {
	v, r := c.values(), c.record
	paid, owed := lnInAmount.Get(c.input), lnOutstanding.Get(v)
	if owed.Less(paid) {
		c.refuse(lnInAmount.Name, "is more than the %v outstanding", owed)
		return
	}
	lnPaid.Set(v, plus(lnPaid.Get(v), paid))
	lnOutstanding.Set(v, minus(owed, paid))
	c.move(r.cash(), r.account("A:receivable"), paid)
	if lnOutstanding.Get(v).IsZero() {
		c.setTransition(RepayRest)
		lnCompleted.Set(v, c.Now)
	}
}

func lnForgive(c *Case) {
	v, rest := c.values(), lnOutstanding.Get(c.values())
	lnForgiven.Set(v, rest)
	lnForgivenBy.Set(v, lnInForgivenBy.Get(c.input))
	lnOutstanding.Set(v, money.Amount{})
	lnCompleted.Set(v, c.Now)
	c.move(lnExpense, c.record.account("A:receivable"), rest)
}

// lnNext returns the day on which an active loan becomes overdue: the one after its due date.
func lnNext(r *Record) (ledger.Date, Action) {
	if r.Status != Active {
		return 0, ""
	}
	return lnDue.Get(r.Values) + 1, BecomeOverdue
}

func lnHoldings(r *Record) []Holding {
	return []Holding{{r.account("A:receivable"), lnOutstanding.Get(r.Values)}}
}
