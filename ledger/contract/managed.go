package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Managed is the product in which a manager invests the institution's capital. The two share profits in an agreed ratio,
// but losses reduce only the capital. In the religious reading the product is called mudaraba. Names that begin with mi
// (managed investment) belong to this product.
var Managed = define(&Product{
	Code: 'm',
	Variants: map[*Reading]*Variant{
		Secular: {Name: "managed-investments", Prefix: "MI"},
		Religious: {Name: "mudaraba", Prefix: "MDR", Actions: map[string]Action{
			"approve": Approve, "reject": Reject, "fund": Fund, "activate": Activate,
			"distribute_profit": Profit, "record_loss": Loss, "complete": Complete,
		}},
	},
	Columns: schema.NewTable(baseColumns,
		miManager, miCapital, miBusinessType, miRatio, miTerm, miMandateType, miRestrictions, miDescription, miFrequency,
		miValue, miStart, miExpectedEnd, miEndDate, miDistributions, miBankProfit, miCustomerProfit, miTotalLoss, miLosses, miSettlement,
		miLastReport, miNextReport,
	),
	States: []Status{Draft, UnderReview, ReviewPassed, Refused, Funded, Active, Completed, Liquidated},
	Steps: joinSteps(
		reviewSteps(Fund, Funded, "the capital was handed to the manager"),
		[]Step{
			{From: Funded, By: Activate, To: Active, Why: "the manager works with the capital"},
			{From: Active, By: Profit, To: Active, Why: "profit was shared"},
			{From: Active, By: Loss, To: Active, Why: "the capital bore a loss"},
			{From: Active, By: Liquidate, To: Liquidated, Why: "a loss has left nothing"},
		},
		steps(Complete, Completed, "the capital has come back", Funded, Active),
	),
	Handlers: withReview(
		&ActionHandler{Name: Fund, Moves: Always, Do: miFund},
		&ActionHandler{Name: Activate, Do: miActivate},
		&ActionHandler{Name: Profit, Moves: Possibly, Body: schema.NewTable(nil, miInGrossProfit, miInProfitEnd), Needs: needsRoom(miDistributions, miInGrossProfit.Column), Do: miShareProfit},
		&ActionHandler{Name: Loss, Moves: Always, Body: schema.NewTable(nil, miInLoss, miInLossEnd), Transitions: []Action{Loss, Liquidate},
			Needs: needsRoom(miLosses, miInLoss.Column), Do: miBearLoss},
		&ActionHandler{Name: Complete, Moves: Always, Body: schema.NewTable(nil, miInFinalValue), Do: miComplete},
	),
	Type: "mandate_type", Customer: "customer_id", NeedsCurrency: true,
	Open: miOpen, Balances: miBalances,
	ControlTotals: []ControlTotal{
		{Account: "I:mudaraba", Side: ledger.Credit, Column: miBankProfit.Column},
		{Account: "E:mudaraba_loss", Side: ledger.Debit, Column: miTotalLoss.Column},
	},
})

// States and actions that only this product has.
const (
	Liquidated Status = "liquidated"

	Complete  Action = "complete"
	Liquidate Action = "liquidate" // the transition when the whole capital is lost; no URL names it
)

// The columns, in this order: fields that the request for an investment sets, fields that the service computes, columns of
// the rows in lists, and columns of the actions' request bodies (miIn…).
var (
	miManager      = schema.ID(32, "customer_id", schema.Required, schema.InShort, schema.Help("the manager, who works with the capital"))
	miCapital      = schema.Amount(33, "capital_amount", schema.Required, schema.InShort, schema.Help("the capital that the bank provides"))
	miBusinessType = schema.Text(34, "business_type", schema.Required, schema.Help("type of the business"))
	miRatio        = shares(35, "profit_sharing_ratio", schema.Required, schema.Help("how profit is shared"))
	miTerm         = schema.Integer(36, "term_months", 1, 120, schema.Required, schema.Help("term in months of 30 days"))
	miMandateType  = schema.Enum(37, "mandate_type", []string{"restricted", "unrestricted"}, schema.DefaultTo("restricted"), schema.InShort,
		schema.Help("whether `business_restrictions` bind the manager"))
	miRestrictions = schema.Texts(38, "business_restrictions", schema.Settable, schema.Help("what the manager may not do; the service only records it"))
	miDescription  = schema.Text(39, "business_description", schema.Settable, schema.AtMost(maxNote), schema.Help("description of the business"))
	miFrequency    = schema.Enum(40, "reporting_frequency", frequencies, schema.Settable, schema.Help("how often the manager reports"))

	miValue = schema.Amount(50, "current_value", schema.InShort,
		schema.Help("the present value of the bank's capital")) // balance of A:mudaraba; after completion, the final value
	miStart          = schema.Date(51, "start_date", schema.Help("first day of the investment"))
	miExpectedEnd    = schema.Date(52, "expected_end_date", schema.Help("end of the term"))
	miEndDate        = schema.Date(53, "actual_end_date", schema.Help("day on which the investment ended"))
	miDistributions  = schema.Rows(54, "profit_distributions", miDistributionTable, schema.Help("the distributions of profit"))
	miBankProfit     = schema.Amount(55, "bank_profit_share", schema.Help("the bank's profit so far"))
	miCustomerProfit = schema.Amount(56, "customer_profit_share", schema.Help("the manager's profit so far"))
	miTotalLoss      = schema.Amount(57, "total_loss", schema.Help("sum of the losses"))
	miLosses         = schema.Rows(58, "losses", miLossTable, schema.InMetadata, schema.Help("the losses"))
	miSettlement     = schema.Rows(59, "final_settlement", miSettlementTable, schema.InMetadata, schema.Single,
		schema.Help("how the investment was settled at its end"))
	miLastReport = schema.Date(60, "last_reporting_date", schema.Help("last day of the period that was reported last"))
	miNextReport = schema.Date(61, "next_reporting_date", schema.Help("when the next report is due"))

	miDistributionDate  = schema.Date(1, "date", schema.Help("last day of the period"))
	miGrossProfit       = schema.Amount(2, "gross_profit", schema.Help("the profit before it was shared"))
	miBankShare         = schema.Amount(3, "bank_share", schema.Help("the bank's share"))
	miCustomerShare     = schema.Amount(4, "customer_share", schema.Help("the manager's share"))
	miDistributionTable = schema.NewTable(nil, miDistributionDate, miGrossProfit, miBankShare, miCustomerShare)

	miLossDate     = schema.Date(1, "date", schema.Help("day of the loss"))
	miLossAmount   = schema.Amount(2, "loss_amount", schema.Help("the loss"))
	miLossNewValue = schema.Amount(3, "new_value", schema.Help("value of the capital after the loss"))
	miLossTable    = schema.NewTable(nil, miLossDate, miLossAmount, miLossNewValue)

	miReturnedToBank  = schema.Amount(1, "returned_to_bank", schema.Help("what the manager returned"))
	miSettledProfit   = schema.Amount(2, "total_profit", schema.Help("the bank's share of all profit")) // only the bank's share of the profit
	miSettledLoss     = schema.Amount(3, "total_loss", schema.Help("sum of the losses"))
	miVariance        = schema.Signed(4, "variance", schema.Help("`final_value` minus what the manager returned; it is not posted to the ledger"))
	miSettlementTable = schema.NewTable(nil, miReturnedToBank, miSettledProfit, miSettledLoss, miVariance)

	miInGrossProfit = schema.Amount(1, "gross_profit", schema.Required, schema.OrZero, schema.Help("the profit to share; may be zero"))
	miInProfitEnd   = schema.Date(2, "period_end_date", schema.Required, schema.Help("last day of the period"))
	miInLoss        = schema.Amount(1, "amount", schema.Required, schema.Help("the loss, at most `current_value`"))
	miInLossEnd     = schema.Date(2, "period_end_date", schema.Settable, schema.Help("last day of the period; today if absent"))
	miInFinalValue  = schema.Amount(1, "final_value", schema.Required, schema.OrZero, schema.Help("value of the business at the end"))
)

func miOpen(c *ActionContext) {
	for _, total := range []schema.TypedColumn[money.Amount]{miValue, miBankProfit, miCustomerProfit, miTotalLoss} {
		total.Set(c.values(), money.Amount{})
	}
}

func miFund(c *ActionContext) {
	v := c.values()
	miStart.Set(v, c.Today)
	miExpectedEnd.Set(v, addMonths(c.Today, miTerm.Get(v)))
	miValue.Set(v, miCapital.Get(v))
	c.setEffectiveDate(c.Today)
	c.move(c.record.account("A:mudaraba"), c.record.cash(), miCapital.Get(v))
}

func miActivate(c *ActionContext) {
	if v := c.values(); miFrequency.Has(v) {
		miNextReport.Set(v, addMonths(c.Today, periodMonths(miFrequency.Get(v))))
	}
}

// miShareProfit divides a reported profit between the bank and the manager. The bank's share is added to the investment's
// value. The manager's share is paid out in the same entry that makes it due.
func miShareProfit(c *ActionContext) {
	v, r := c.values(), c.record
	day, accepted := periodEnd(c, miInProfitEnd, miStart)
	if !accepted {
		return
	}
	gross := miInGrossProfit.Get(c.input)
	bankShare, managerShare := miRatio.Get(v).split(gross)
	row := miDistributionTable.New()
	miDistributionDate.Set(row, day)
	miGrossProfit.Set(row, gross)
	miBankShare.Set(row, bankShare)
	miCustomerShare.Set(row, managerShare)
	c.addRow(miDistributions, row)
	if !c.addToTotal(miValue, bankShare, miInGrossProfit.Name) ||
		!c.addToTotal(miBankProfit, bankShare, miInGrossProfit.Name) || !c.addToTotal(miCustomerProfit, managerShare, miInGrossProfit.Name) {
		return
	}
	miRecordReport(c, day)
	due, manager := r.account("A:venture_due"), r.account("L:manager_profit")
	c.book(dr(r.account("A:mudaraba"), bankShare), dr(due, managerShare), cr("I:mudaraba", bankShare), cr(manager, managerShare))
	c.move(manager, due, managerShare)
}

// miRecordReport records the last day of the reported period, and makes it the effective date of the entry. If the report
// is late, for a period before one already reported, the recorded day stays.
func miRecordReport(c *ActionContext, day ledger.Date) {
	v := c.values()
	miLastReport.Set(v, max(day, miLastReport.Get(v)))
	if miNextReport.Has(v) {
		c.advance(miNextReport, periodMonths(miFrequency.Get(v)))
	}
	c.setEffectiveDate(day)
}

// miBearLoss deducts a loss from the investment's value. If the loss exceeds the value, only the value is deducted, because
// the manager owes no compensation.
func miBearLoss(c *ActionContext) {
	v := c.values()
	day, accepted := periodEnd(c, miInLossEnd, miStart)
	if !accepted {
		return
	}
	lost := miInLoss.Get(c.input).Min(miValue.Get(v))
	remaining := minus(miValue.Get(v), lost)
	row := miLossTable.New()
	miLossDate.Set(row, day)
	miLossAmount.Set(row, lost)
	miLossNewValue.Set(row, remaining)
	c.addRow(miLosses, row)
	miValue.Set(v, remaining)
	miTotalLoss.Set(v, plus(miTotalLoss.Get(v), lost)) // at most the capital plus the bank's profit, so it cannot overflow
	miRecordReport(c, day)
	c.move("E:mudaraba_loss", c.record.account("A:mudaraba"), lost)
	if remaining.IsZero() {
		c.setTransition(Liquidate)
		miSetEnd(c)
	}
}

func miSetEnd(c *ActionContext) {
	miEndDate.Set(c.values(), c.Today)
	miNextReport.Clear(c.values())
}

// miComplete books the return of the capital at its book value. The final_value in the request is the value on which the
// parties have agreed. If it differs from the book value, they settle the difference outside the system.
func miComplete(c *ActionContext) {
	v := c.values()
	returned := miValue.Get(v)
	row := miSettlementTable.New()
	miReturnedToBank.Set(row, returned)
	miSettledProfit.Set(row, miBankProfit.Get(v))
	miSettledLoss.Set(row, miTotalLoss.Get(v))
	miVariance.Set(row, money.Difference(miInFinalValue.Get(c.input), returned))
	miSettlement.Set(v, []schema.Row{row})
	miValue.Set(v, miInFinalValue.Get(c.input))
	miSetEnd(c)
	c.move(c.record.cash(), c.record.account("A:mudaraba"), returned)
}

func miBalances(r *Record) []AccountBalance {
	balance := money.Amount{}
	if r.Status == Funded || r.Status == Active {
		balance = miValue.Get(r.Values)
	}
	return []AccountBalance{
		{r.account("A:mudaraba"), balance},
		{r.account("A:venture_due"), money.Amount{}},
		{r.account("L:manager_profit"), money.Amount{}},
	}
}
