package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Deposit is money that a depositor puts into the investment pool for a term. The bank and the depositor share profits in
// an agreed ratio, and the depositor alone bears losses. The religious reading does not offer this product. Names that
// begin with dp belong to this product.
var Deposit = define(&Product{
	Code:     'd',
	Variants: map[*Reading]*Variant{Secular: {Name: "investment-deposits", Prefix: "ID"}},
	Columns: schema.NewTable(baseColumns,
		dpCustomer, dpPrincipal, dpTerm, dpRatio, dpKind, dpRestrictions, dpFrequency, dpRate, dpEarlyAllowed, dpPenalty, dpAutoRenewal,
		dpAccount, dpProduct, dpOpenedBy,
		dpValue, dpCustomerProfit, dpBankProfit, dpDistributions, dpWithdrawal, dpOpenedOn, dpMaturity, dpNextDistribution, dpRenewedOn, dpRenewals,
		dpClosedAt, dpClosedBy, dpTotalLoss, dpUnsharedSince,
	),
	States: []Status{Pending, Active, Matured, Withdrawn, Closed},
	Steps: joinSteps(
		[]Step{
			{From: Pending, By: Activate, To: Active, Why: "the money is in the pool"},
			{From: Active, By: Profit, To: Active, Why: "profit was shared"},
			{From: Active, By: Loss, To: Active, Why: "the depositor bore a loss"},
			{From: Active, By: Mature, To: Matured, Why: "the maturity date has arrived"},
			{From: Matured, By: Renew, To: Active, Why: "what has accumulated is the principal of another term"},
			{From: Active, By: Withdraw, To: Withdrawn, Why: "the depositor has taken the money before maturity"},
		},
		steps(Close, Closed, "the depositor has been paid", Matured, Withdrawn),
	),
	Handlers: []*ActionHandler{
		{Name: Activate, Moves: Always, Body: schema.NewTable(nil, dpInReview), ReviewIn: dpInReview.Column, Do: dpActivate},
		{Name: Profit, Moves: Possibly, Body: schema.NewTable(nil, dpInGross, dpInProfitEnd), Needs: dpNeedsProfitDay, Do: dpShareProfit},
		{Name: Loss, Moves: Possibly, Body: schema.NewTable(nil, dpInLoss, dpInLossEnd), Needs: dpNeedsValue(dpInLoss.Column, "lost"), Do: dpBearLoss},
		{Name: Mature, Needs: func(c *ActionContext) { c.needPastDate(dpMaturity) }, Do: dpMature},
		{Name: Renew, Moves: Possibly, Body: schema.NewTable(nil, dpInTerm, dpInRatio), Needs: dpNeedsValue(dpValue.Column, "renewed"), Do: dpRenew},
		{Name: Withdraw, Moves: Always, Body: schema.NewTable(nil, dpInWithdrawnBy), Needs: dpNeedsPermission, Do: dpWithdraw},
		{Name: Close, Moves: Possibly, Body: schema.NewTable(nil, dpInClosedBy), Do: dpClose},
	},
	Type: "investment_type", Customer: "customer_id", NeedsCurrency: true,
	Open: dpOpen, Due: dpDue, Balances: dpBalances,
	ControlTotals:  []ControlTotal{{Account: "I:mudarib_share", Side: ledger.Credit, Column: dpDistributions.Column, RowColumn: dpBankShare.Column}},
	EmptyIn:        []Status{Withdrawn}, // the withdrawal has already paid out the depositor
	MutableColumns: []*schema.Column{dpPrincipal.Column, dpTerm.Column, dpRatio.Column},
})

// States and actions that only this product has.
const (
	Withdrawn Status = "withdrawn"

	Renew Action = "renew"
)

// atMaturity is the distribution frequency of a deposit whose profit is distributed only once, on the maturity date.
const atMaturity = "at_maturity"

// The columns, in this order: fields that the request for a deposit sets, fields that the service computes, columns of the
// rows in lists, and columns of the actions' request bodies (dpIn…).
var (
	dpCustomer  = schema.ID(32, "customer_id", schema.Required, schema.InShort, schema.Help("the depositor"))
	dpPrincipal = schema.Amount(33, "initial_amount", schema.Required, schema.InShort,
		schema.Help("the deposited amount; after a renewal, the principal of the present term")) // principal of the current term
	dpTerm  = schema.Integer(34, "term_months", 1, 120, schema.Required, schema.Help("term in months of 30 days"))
	dpRatio = shares(35, "profit_sharing_ratio", schema.Required, schema.Help("how profit is shared"))
	dpKind  = schema.Enum(36, "investment_type", []string{"general", "restricted"}, schema.DefaultTo("general"), schema.InShort,
		schema.Help("whether the money is invested in the common pool or as `investment_restrictions` say"))
	dpRestrictions = schema.Texts(37, "investment_restrictions", schema.Settable, schema.Help("where the money may not be invested; the service only records it"))
	dpFrequency    = schema.Enum(38, "distribution_frequency", []string{"monthly", "quarterly", "semi_annually", atMaturity}, schema.Settable,
		schema.Help("how often profit is distributed"))
	dpRate = schema.Percent(39, "indicative_rate", 0, maxIndicative, schema.Settable,
		schema.Help("expected profit in percent; not used in any calculation"))
	dpEarlyAllowed = schema.Bool(40, "early_withdrawal_allowed", schema.DefaultTo(false), schema.Help("whether the deposit can be withdrawn before maturity"))
	dpPenalty      = schema.Percent(41, "early_withdrawal_penalty_percent", 0, 100, schema.Settable,
		schema.Help("percent of the depositor's profit that an early withdrawal costs"))
	dpAutoRenewal = schema.Bool(42, "auto_renewal", schema.DefaultTo(false), schema.Help("whether the deposit is renewed automatically at maturity"))
	dpAccount     = schema.Text(43, "account_id", schema.Settable, schema.Help("the depositor's account; any text"))
	dpProduct     = schema.ID(44, "product_id", schema.Settable, schema.Help("id of the product in your own catalogue"))
	dpOpenedBy    = schema.Text(45, "opened_by", schema.Settable, schema.Help("who opened the deposit"))

	dpValue          = schema.Amount(50, "current_value", schema.InShort, schema.Help("the deposit's present value"))
	dpCustomerProfit = schema.Amount(51, "customer_profit_share",
		schema.Help("the depositor's profit in the present term")) // of the current term; so are dpBankProfit and dpTotalLoss
	dpBankProfit    = schema.Amount(52, "bank_profit_share", schema.Help("the bank's profit in the present term"))
	dpTotalLoss     = schema.Amount(53, "loss", schema.NotShown)
	dpDistributions = schema.Rows(54, "profit_distributions", dpDistributionTable, schema.Help("the distributions of profit"))
	dpWithdrawal    = schema.Rows(55, "early_withdrawal", dpWithdrawalTable, schema.InMetadata, schema.Single,
		schema.Help("how an early withdrawal was settled"))
	dpOpenedOn         = schema.Date(56, "opening_date", schema.Help("day of the opening"))
	dpMaturity         = schema.Date(57, "maturity_date", schema.InShort, schema.Help("end of the term"))
	dpNextDistribution = schema.Date(58, "next_distribution_date", schema.Help("when the next distribution is due"))
	dpRenewedOn        = schema.Date(59, "last_renewal_date", schema.Help("day of the last renewal"))
	dpRenewals         = schema.DerivedInteger(60, "renewals", schema.Help("number of renewals"))
	dpClosedAt         = schema.Instant(61, "closed_at", schema.Help("when the deposit was closed"))
	dpClosedBy         = schema.Text(62, "closed_by", schema.Help("who closed the deposit"))
	dpUnsharedSince    = schema.Date(63, "unshared_since", schema.NotShown) // maturity date of an ended term whose only profit is not shared yet

	dpDistributedOn     = schema.Date(1, "date", schema.Help("last day of the period"))
	dpGross             = schema.Amount(2, "gross_profit", schema.Help("the profit before it was shared"))
	dpCustomerShare     = schema.Amount(3, "customer_share", schema.Help("the depositor's share"))
	dpBankShare         = schema.Amount(4, "bank_share", schema.Help("the bank's share"))
	dpDistributionTable = schema.NewTable(nil, dpDistributedOn, dpGross, dpCustomerShare, dpBankShare)

	dpPenaltyAmount   = schema.Amount(1, "penalty_amount", schema.Help("the penalty, which is the bank's income"))
	dpPenaltyRate     = schema.Percent(2, "penalty_percent", 0, 100, schema.Help("the penalty in percent of the depositor's profit"))
	dpFinalValue      = schema.Amount(3, "final_value", schema.Help("amount that the depositor got"))
	dpWithdrawalTable = schema.NewTable(nil, dpPenaltyAmount, dpPenaltyRate, dpFinalValue)

	dpInReview      = approval(1, "compliance_review", schema.Settable, schema.Help("the approval of the contract"))
	dpInGross       = schema.Amount(1, "gross_profit", schema.Required, schema.OrZero, schema.Help("the profit to share; may be zero"))
	dpInProfitEnd   = schema.Date(2, "period_end_date", schema.Settable, schema.Help("last day of the period; today if absent"))
	dpInLoss        = schema.Amount(1, "amount", schema.Required, schema.Help("the loss, at most the deposit's value"))
	dpInLossEnd     = schema.Date(2, "period_end_date", schema.Settable, schema.Help("last day of the period; today if absent"))
	dpInTerm        = schema.Integer(1, "term_months", 1, 120, schema.Settable, schema.Help("the new term in months of 30 days; if absent, it is as long as the previous term"))
	dpInRatio       = shares(2, "profit_sharing_ratio", schema.Settable, schema.Help("how profit is shared from now on; if absent, as before"))
	dpInWithdrawnBy = schema.Text(1, "closed_by", schema.Required, schema.Help("who withdraws the deposit"))
	dpInClosedBy    = schema.Text(1, "closed_by", schema.Required, schema.Help("who closes the deposit"))
)

// maxIndicative is the largest indicative rate, in percent. The rate is only recorded: no calculation uses it.
const maxIndicative = 1000

func dpOpen(c *ActionContext) {
	for _, total := range []schema.TypedColumn[money.Amount]{dpValue, dpCustomerProfit, dpBankProfit, dpTotalLoss} {
		total.Set(c.values(), money.Amount{})
	}
}

// dpActivate books the deposited money. If the reading requires a review, the request for the activation must contain the
// review, because deposits have no separate review step.
func dpActivate(c *ActionContext) {
	v, r := c.values(), c.record
	if dpInReview.Has(c.input) {
		Reviewed.Set(v, dpInReview.Get(c.input))
		ReviewedAt.Set(v, c.Now)
	}
	dpOpenedOn.Set(v, c.Today)
	dpBeginTerm(c)
	dpValue.Set(v, dpPrincipal.Get(v))
	c.setEffectiveDate(c.Today)
	c.move(r.cash(), r.account("Q:capital"), dpPrincipal.Get(v))
	c.move("A:pool", r.cash(), dpPrincipal.Get(v))
}

// dpBeginTerm sets the dates of a term that begins today.
func dpBeginTerm(c *ActionContext) {
	v := c.values()
	dpMaturity.Set(v, addMonths(c.Today, dpTerm.Get(v)))
	dpNextDistribution.Set(v, dpDistributionAfter(v, c.Today))
}

// dpDistributionAfter returns the day of the first distribution after the given day: one period later, but not after the
// maturity date. If the deposit has only one distribution, its day is the maturity date.
func dpDistributionAfter(v schema.Row, day ledger.Date) ledger.Date {
	if frequency := dpFrequency.Get(v); frequency != "" && frequency != atMaturity {
		return min(addMonths(day, periodMonths(frequency)), dpMaturity.Get(v))
	}
	return dpMaturity.Get(v)
}

func dpShareProfit(c *ActionContext) {
	v, r := c.values(), c.record
	day, accepted := periodEnd(c, dpInProfitEnd, dpOpenedOn)
	if !accepted {
		return
	}
	if earliest := dpEarliestProfit(v); day < earliest {
		c.refuse(dpInProfitEnd.Name, "is %v, but must be %v or later: %s is %s", day, earliest, dpFrequency.Name, atMaturity)
		return
	}
	gross := dpInGross.Get(c.input)
	bankShare, customerShare := dpRatio.Get(v).split(gross)
	row := dpDistributionTable.New()
	dpDistributedOn.Set(row, day)
	dpGross.Set(row, gross)
	dpCustomerShare.Set(row, customerShare)
	dpBankShare.Set(row, bankShare)
	c.addRow(dpDistributions, row)
	if !c.addToTotal(dpValue, customerShare, dpInGross.Name) ||
		!c.addToTotal(dpCustomerProfit, customerShare, dpInGross.Name) || !c.addToTotal(dpBankProfit, bankShare, dpInGross.Name) {
		return
	}
	dpSetNextDistribution(v)
	c.setEffectiveDate(day)
	c.book(dr("A:pool", gross), cr(r.account("Q:profit"), customerShare), cr("I:mudarib_share", bankShare))
}

// dpEarliestProfit returns the earliest day for which profit may be reported. A term with the frequency atMaturity has its
// only distribution on the maturity date or later. If the deposit is renewed before that distribution, the distribution may
// follow in the next term. For any other frequency there is no earliest day, and the result is 0.
func dpEarliestProfit(v schema.Row) ledger.Date {
	switch {
	case dpFrequency.Get(v) != atMaturity:
		return 0
	case dpUnsharedSince.Has(v):
		return dpUnsharedSince.Get(v)
	}
	return dpMaturity.Get(v)
}

// dpNeedsProfitDay refuses a profit report that comes before the earliest day. It also refuses a second report for a term
// that has only one distribution.
func dpNeedsProfitDay(c *ActionContext) {
	v := c.values()
	switch earliest := dpEarliestProfit(v); {
	case dpFrequency.Get(v) == atMaturity && !dpUnsharedSince.Has(v) && !dpNextDistribution.Has(v):
		c.refuse(dpFrequency.Name, "is %s: the profit of the term has been shared", atMaturity)
	case c.Today < earliest:
		c.refuse(dpMaturity.Name, "is %v, which has not arrived: %s is %s", earliest, dpFrequency.Name, atMaturity)
	default:
		needsRoom(dpDistributions, dpInGross.Column)(c)
	}
}

// dpNeedsValue returns a function for ActionHandler.Needs that refuses an action on a deposit that has lost everything.
func dpNeedsValue(field *schema.Column, participle string) func(c *ActionContext) {
	return func(c *ActionContext) {
		if dpValue.Get(c.values()).IsZero() {
			c.refuse(field.Name, "nothing is left that could be %s", participle)
		}
	}
}

// dpSetNextDistribution sets the day of the next distribution. If the term has only one distribution, it clears the day,
// because no other distribution follows.
func dpSetNextDistribution(v schema.Row) {
	switch {
	case dpFrequency.Get(v) != atMaturity:
		dpNextDistribution.Set(v, dpDistributionAfter(v, dpNextDistribution.Get(v)))
	case dpUnsharedSince.Has(v):
		dpUnsharedSince.Clear(v)
	default:
		dpNextDistribution.Clear(v)
	}
}

// dpBearLoss deducts a loss from the deposit's value. If the loss exceeds the value, only the value is deducted. Profit
// that was shared before stays as it is recorded.
func dpBearLoss(c *ActionContext) {
	v := c.values()
	day, accepted := periodEnd(c, dpInLossEnd, dpOpenedOn)
	if !accepted {
		return
	}
	loss := dpInLoss.Get(c.input).Min(dpValue.Get(v))
	dpValue.Set(v, minus(dpValue.Get(v), loss))
	dpTotalLoss.Set(v, plus(dpTotalLoss.Get(v), loss)) // at most principal plus profit, so it cannot overflow
	c.setEffectiveDate(day)
	c.move(c.record.account(lossStem), "A:pool", loss)
}

func dpMature(c *ActionContext) {
	if v := c.values(); dpFrequency.Get(v) == atMaturity && dpNextDistribution.Has(v) {
		dpUnsharedSince.Set(v, dpMaturity.Get(v))
	}
	dpNextDistribution.Clear(c.values())
}

// dpRenew starts a new term today. The deposit's value becomes the new principal, and the totals of profit and loss start
// again at zero.
func dpRenew(c *ActionContext) {
	v, r := c.values(), c.record
	if dpInTerm.Has(c.input) {
		dpTerm.Set(v, dpInTerm.Get(c.input))
	}
	if dpInRatio.Has(c.input) {
		dpRatio.Set(v, dpInRatio.Get(c.input))
	}
	c.move(r.account("Q:profit"), r.account("Q:capital"), dpCustomerProfit.Get(v))
	c.move(r.account("Q:capital"), r.account(lossStem), dpTotalLoss.Get(v))
	dpPrincipal.Set(v, dpValue.Get(v))
	for _, total := range []schema.TypedColumn[money.Amount]{dpCustomerProfit, dpBankProfit, dpTotalLoss} {
		total.Set(v, money.Amount{})
	}
	dpRenewedOn.Set(v, c.Today)
	dpRenewals.Set(v, dpRenewals.Get(v)+1)
	dpBeginTerm(c)
}

func dpNeedsPermission(c *ActionContext) {
	if !dpEarlyAllowed.Get(c.values()) {
		c.refuse(dpEarlyAllowed.Name, "the deposit does not allow it")
	}
}

// dpWithdraw pays out a deposit before maturity. The penalty is a part of the depositor's profit, so it never reduces the
// principal. After a loss, the deposit's value may be less than the penalty. Then the depositor is paid nothing.
func dpWithdraw(c *ActionContext) {
	v := c.values()
	rate := dpPenalty.Get(v)
	penalty := share(dpCustomerProfit.Get(v), rate)
	finalValue := minusOrZero(dpValue.Get(v), penalty)
	row := dpWithdrawalTable.New()
	dpPenaltyAmount.Set(row, penalty)
	dpPenaltyRate.Set(row, rate)
	dpFinalValue.Set(row, finalValue)
	dpWithdrawal.Set(v, []schema.Row{row})
	dpNextDistribution.Clear(v)
	dpClosedBy.Set(v, dpInWithdrawnBy.Get(c.input))
	dpPay(c, finalValue)
	dpValue.Set(v, finalValue)
}

func dpClose(c *ActionContext) {
	v := c.values()
	dpClosedAt.Set(v, c.Now)
	dpClosedBy.Set(v, dpInClosedBy.Get(c.input))
	if c.record.Status == Matured { // a withdrawn deposit was paid out at the withdrawal
		dpPay(c, dpValue.Get(v))
	}
}

// dpPay pays out the depositor and closes the deposit's accounts. If the paid amount is less than the deposit's value, the
// difference is the penalty and stays in the pool.
func dpPay(c *ActionContext, paid money.Amount) {
	v, r := c.values(), c.record
	c.book(
		dr(r.account("Q:capital"), dpPrincipal.Get(v)), dr(r.account("Q:profit"), dpCustomerProfit.Get(v)),
		cr(r.account(lossStem), dpTotalLoss.Get(v)), cr(currentAccount(dpCustomer.Get(v)), paid), cr(c.reading.WithdrawalPenalty, minus(dpValue.Get(v), paid)),
	)
	c.move(r.cash(), "A:pool", paid)
}

// dpDue returns the next timer of a deposit that is renewed automatically: first the maturity, then the renewal. A deposit
// that has lost everything is not renewed.
func dpDue(r *Record) (ledger.Date, Action) {
	v := r.Values
	switch {
	case !dpAutoRenewal.Get(v):
		return 0, ""
	case r.Status == Active:
		return dpMaturity.Get(v), Mature
	case r.Status == Matured && !dpValue.Get(v).IsZero():
		return dpMaturity.Get(v), Renew
	}
	return 0, ""
}

func dpBalances(r *Record) []AccountBalance {
	v := r.Values
	capital, profit, loss := money.Amount{}, money.Amount{}, money.Amount{}
	if r.Status == Active || r.Status == Matured {
		capital, profit, loss = dpPrincipal.Get(v), dpCustomerProfit.Get(v), dpTotalLoss.Get(v)
	}
	return []AccountBalance{
		{r.account("Q:capital"), capital},
		{r.account("Q:profit"), profit},
		{r.account(lossStem), loss},
	}
}
