package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Safekeeping is money that the institution keeps for a customer. Guaranteed money is mixed with the institution's own
// cash, and money in trust is held in separate accounts. There is no rate, because the institution may not promise a
// return, but it may give a gift (hibah). In the religious reading the product is called wadiah. Names that begin with sk
// (safekeeping) belong to this product.
var Safekeeping = define(&Product{
	Code: 'k',
	Variants: map[*Reading]*Variant{
		Secular: {Name: "safekeeping-deposits", Prefix: "SD", Actions: map[string]Action{
			"activate": Activate, "deposit": DepositMoney, "withdraw": Withdraw, "grant_hibah": GrantHibah, "close": Close,
		}},
		Religious: {Name: "wadiah", Prefix: "WAD", Actions: map[string]Action{"grant_hibah": GrantHibah}, CreationActions: []Action{Approve, Activate}},
	},
	Columns: schema.NewTable(baseColumns,
		skCustomer, skCustodyType, skInitialAmount, skAccountID,
		skBalance, skHibahTotal, skHibahRows, skClosedAt, skClosedBy,
	),
	States: []Status{Pending, ReviewPassed, Active, Closed},
	Steps: joinSteps(
		onlyIn(Religious, []Step{
			{From: Pending, By: Approve, To: ReviewPassed, Why: "the board has approved the contract"},
			{From: ReviewPassed, By: Activate, To: Active, Why: "the customer has brought the money"},
		}),
		onlyIn(Secular, steps(Activate, Active, "the customer has brought the money", Pending)),
		steps(DepositMoney, Active, "the customer has brought more", Active),
		steps(Withdraw, Active, "the customer has taken some back", Active),
		steps(GrantHibah, Active, "the institution has given a gift", Active),
		steps(Close, Closed, "the customer has taken all back", Active),
	),
	Handlers: []*ActionHandler{
		copyHandler(approveHandler),
		{Name: Activate, Moves: Always, Body: schema.NewTable(nil, skInReview), Do: skActivate},
		{Name: DepositMoney, Moves: Always, Body: schema.NewTable(nil, skInDeposit), Do: func(c *ActionContext) { skDeposit(c, skInDeposit.Get(c.input), skInDeposit.Name) }},
		{Name: Withdraw, Moves: Always, Body: schema.NewTable(nil, skInWithdrawal),
			Bounds: []BodyBound{atMost(skInWithdrawal.Column, valueOf(skBalance), "is more than the balance of %v")}, Do: func(c *ActionContext) { skPayOut(c, skInWithdrawal.Get(c.input)) }},
		{Name: GrantHibah, Moves: Always, Body: schema.NewTable(nil, skInGift, skInGrantedBy, skInNote), Needs: skNeedsGuarantee, Do: skGrantHibah},
		{Name: Close, Moves: Possibly, Body: schema.NewTable(nil, skInClosedBy), Do: skClose},
	},
	Type: "custody_type", Customer: "customer_id",
	Open: skOpen, Balances: skBalances,
	ControlTotals: []ControlTotal{{Account: "E:hibah", Side: ledger.Debit, Column: skHibahTotal.Column}},
})

// Actions that only this product has.
const (
	DepositMoney Action = "deposit"
	GrantHibah   Action = "grant_hibah"
)

// Types of custody.
const (
	guaranteed = "guaranteed" // the institution owes the money, and may use it
	inTrust    = "trust"      // the money is held in separate accounts
)

// The columns, in this order: fields that the request for a deposit sets, fields that the service computes, columns of the
// rows in lists, and columns of the actions' request bodies (skIn…).
var (
	skCustomer    = schema.ID(32, "customer_id", schema.Required, schema.InShort, schema.Help("the depositor"))
	skCustodyType = schema.Enum(33, "custody_type", []string{guaranteed, inTrust}, schema.Required, schema.InShort,
		schema.Help("`guaranteed`: the bank owes the money; `trust`: the money is kept separately"))
	skInitialAmount = schema.Amount(34, "initial_amount", schema.Required, schema.InShort, schema.Help("amount that is paid in at the activation"))
	skAccountID     = schema.Text(36, "account_id", schema.Settable, schema.Help("the depositor's account; any text"))

	skBalance    = schema.Amount(50, "balance", schema.InShort, schema.Help("the present balance"))
	skHibahTotal = schema.Amount(51, "hibah_total", schema.Help("sum of the gifts (hibah)"))
	skHibahRows  = schema.Rows(52, "hibah_history", skHibahTable, schema.Help("the gifts"))
	skClosedAt   = schema.Instant(53, "closed_at", schema.Help("when the deposit was closed"))
	skClosedBy   = schema.Text(54, "closed_by", schema.Help("who closed the deposit"))

	skHibahDate      = schema.Date(1, "date", schema.Help("day of the gift"))
	skHibahAmount    = schema.Amount(2, "amount", schema.Help("amount of the gift"))
	skHibahNote      = schema.Text(3, "note", schema.Help("a remark"))
	skHibahGrantedBy = schema.Text(4, "granted_by", schema.Help("who granted the gift"))
	skHibahTable     = schema.NewTable(nil, skHibahDate, skHibahAmount, skHibahNote, skHibahGrantedBy)

	skInReview     = approval(1, "compliance_review", schema.Settable, schema.Help("the approval of the contract"))
	skInDeposit    = schema.Amount(1, "amount", schema.Required, schema.Help("amount that is paid in"))
	skInWithdrawal = schema.Amount(1, "amount", schema.Required, schema.Help("amount that is paid out, at most the balance"))
	skInGift       = schema.Amount(1, "amount", schema.Required, schema.Help("amount of the gift"))
	skInGrantedBy  = schema.Text(2, "granted_by", schema.Required, schema.Help("who grants the gift"))
	skInNote       = schema.Text(3, "note", schema.Settable, schema.AtMost(maxNote), schema.Help("a remark"))
	skInClosedBy   = schema.Text(1, "closed_by", schema.Required, schema.Help("who closes the deposit"))
)

func skOpen(c *ActionContext) {
	skBalance.Set(c.values(), money.Amount{})
	skHibahTotal.Set(c.values(), money.Amount{})
}

// skMoneyPaths returns the asset account with the customer's money, and the liability account with what the institution
// owes the customer.
func skMoneyPaths(r *Record) (asset, liability ledger.Path) {
	if skCustodyType.Get(r.Values) == inTrust {
		return r.account("A:segregated_cash"), r.account("L:trust")
	}
	return r.cash(), r.account("L:wadiah")
}

func skActivate(c *ActionContext) {
	v := c.values()
	if skInReview.Has(c.input) {
		Reviewed.Set(v, skInReview.Get(c.input))
		ReviewedAt.Set(v, c.Now)
	}
	skDeposit(c, skInitialAmount.Get(v), skInitialAmount.Name)
}

// skDeposit adds money to the deposit. If the balance would become too large, it adds a fault for the given field instead.
func skDeposit(c *ActionContext, amount money.Amount, field string) {
	if !c.addToTotal(skBalance, amount, field) {
		return
	}
	asset, liability := skMoneyPaths(c.record)
	c.move(asset, liability, amount)
}

// skPayOut returns money to the customer.
func skPayOut(c *ActionContext, amount money.Amount) {
	skBalance.Set(c.values(), minus(skBalance.Get(c.values()), amount))
	asset, liability := skMoneyPaths(c.record)
	c.move(liability, asset, amount)
}

// skNeedsGuarantee refuses a gift for a deposit in trust. The institution may not use money in trust, so it earns nothing
// from which it could pay a gift.
func skNeedsGuarantee(c *ActionContext) {
	if skCustodyType.Get(c.values()) != guaranteed {
		c.refuse(skCustodyType.Name, "only a guaranteed deposit is given hibah")
		return
	}
	needsRoom(skHibahRows, skInGift.Column)(c)
}

func skGrantHibah(c *ActionContext) {
	gift := skInGift.Get(c.input)
	row := skHibahTable.New()
	skHibahDate.Set(row, c.Today)
	skHibahAmount.Set(row, gift)
	skHibahGrantedBy.Set(row, skInGrantedBy.Get(c.input))
	if skInNote.Has(c.input) {
		skHibahNote.Set(row, skInNote.Get(c.input))
	}
	if !c.addToTotal(skBalance, gift, skInGift.Name) || !c.addToTotal(skHibahTotal, gift, skInGift.Name) {
		return
	}
	c.addRow(skHibahRows, row)
	_, liability := skMoneyPaths(c.record)
	c.move("E:hibah", liability, gift)
}

func skClose(c *ActionContext) {
	v := c.values()
	skClosedAt.Set(v, c.Now)
	skClosedBy.Set(v, skInClosedBy.Get(c.input))
	skPayOut(c, skBalance.Get(v))
}

func skBalances(r *Record) []AccountBalance {
	balance := skBalance.Get(r.Values)
	var guaranteedBalance, trustBalance money.Amount
	if skCustodyType.Get(r.Values) == inTrust {
		trustBalance = balance
	} else {
		guaranteedBalance = balance
	}
	return []AccountBalance{{r.account("L:wadiah"), guaranteedBalance}, {r.account("A:segregated_cash"), trustBalance}, {r.account("L:trust"), trustBalance}}
}
