package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Partnership is the product in which the institution and the customer both contribute capital. They share profits in an
// agreed ratio, and losses in proportion to their ownership. In a diminishing partnership the customer buys the
// institution's share, unit by unit. In the religious reading the product is called musharaka. Names that begin with pn
// (partnership) belong to this product.
var Partnership = define(&Product{
	Code: 'p',
	Variants: map[*Reading]*Variant{
		Secular:   {Name: "partnerships", Prefix: "PN"},
		Religious: {Name: "musharaka", Prefix: "MSH", Actions: map[string]Action{"buyout_unit": Buyout}, CreationActions: []Action{Approve, Fund, Activate}},
	},
	Columns: schema.NewTable(baseColumns.WithVisibility(RejectionReason.Column, schema.Metadata),
		pnCustomer, pnKind, pnTotalCapital, pnBankCapital, pnCustomerCapital, pnRatio, pnTerm, pnSchedule, pnRental, pnAsset,
		pnBankPercent, pnCustomerPercent, pnUnits, pnUnitValue, pnUnitsBought, pnBuyouts, pnProfit, pnLoss, pnBankProfit, pnCustomerProfit,
		pnRentPaid, pnShownRent, pnStart, pnEnd, pnNextBuyout, pnLastLoss, pnBankBalance, pnCustomerBalance, pnRentStarted, pnRentsTaken, pnStartPercent, pnLastReport, pnDissolutionReason,
	),
	States: []Status{Draft, UnderReview, ReviewPassed, Refused, Funded, Active, BuyingOut, Completed, Dissolved},
	Steps: joinSteps(
		reviewSteps(Fund, Funded, "the bank and the customer have put their capital in"),
		[]Step{{From: Funded, By: Activate, To: Active, Why: "the venture has begun"}},
		steps(Profit, Active, "profit was shared", Active),
		steps(Profit, BuyingOut, "profit was shared", BuyingOut),
		steps(Loss, Active, "a loss was borne", Active),
		steps(Loss, BuyingOut, "a loss was borne", BuyingOut),
		steps(Rent, Active, "a period of rent has ended", Active),
		steps(Rent, BuyingOut, "a period of rent has ended", BuyingOut),
		steps(Buyout, BuyingOut, "units were bought", Active, BuyingOut),
		steps(BuyoutDone, Completed, "the last unit was bought", Active, BuyingOut),
		steps(Dissolve, Dissolved, "the partnership was given up", Active, BuyingOut),
	),
	Handlers: withReview(
		&ActionHandler{Name: Fund, Moves: Always, Do: pnFund},
		&ActionHandler{Name: Activate, Do: pnActivate},
		&ActionHandler{Name: Profit, Moves: Possibly, Body: schema.NewTable(nil, pnInGrossProfit, pnInPeriodEnd), Do: pnShareProfit},
		&ActionHandler{Name: Loss, Moves: Always, Body: schema.NewTable(nil, pnInLoss), Needs: pnNeedsCapital, Do: pnBearLoss},
		&ActionHandler{Name: Buyout, Moves: Always, Body: schema.NewTable(nil, pnInUnits), Transitions: []Action{Buyout, BuyoutDone},
			Needs: pnNeedsUnits, Bounds: []BodyBound{atMost(pnInUnits.Column, pnUnsold, "only %v are left")}, Do: pnBuyOut},
		&ActionHandler{Name: Dissolve, Moves: Possibly, Body: reasons, Do: pnDissolve},
		&ActionHandler{Name: Rent, Moves: Possibly, Timer: true, Do: pnTakeRent},
	),
	Type: "partnership_type", Customer: "customer_id", ShortLists: true,
	Open: pnOpen, Due: pnDue, Balances: pnBalances,
	ControlTotals: []ControlTotal{
		{Account: Cash, By: Profit, Side: ledger.Debit, Column: pnBankProfit.Column},
		{Account: "I:musharaka", Side: ledger.Credit, Column: pnBankProfit.Column},
		{Account: "I:musharaka_rent", Side: ledger.Credit, Column: pnRentPaid.Column},
	},
})

// States and actions of partnerships. Other products also use Funded, Completed and Fund.
const (
	Funded    Status = "funded"
	BuyingOut Status = "buyout_in_progress"
	Completed Status = "completed"
	Dissolved Status = "dissolved"

	Fund       Action = "fund"
	Buyout     Action = "buyout"
	BuyoutDone Action = "complete_buyout"
	Dissolve   Action = "dissolve"
	Rent       Action = "rent"
)

// Kinds of partnerships.
const (
	permanent   = "permanent"
	diminishing = "diminishing"
)

// The columns, in this order: fields that the request for a partnership sets, fields that the service computes, columns of
// the rows in lists, and columns of the actions' request bodies (pnIn…).
var (
	pnCustomer = schema.ID(32, "customer_id", schema.Required, schema.InShort, schema.Help("the customer, who is the bank's partner"))
	pnKind     = schema.Enum(33, "partnership_type", []string{permanent, diminishing}, schema.Required, schema.InShort,
		schema.Help("a diminishing partnership ends when the customer has bought the bank's part"))
	pnTotalCapital    = schema.Amount(34, "total_value", schema.Required, schema.InShort, schema.Help("`bank_contribution` plus `customer_contribution`"))
	pnBankCapital     = schema.Amount(35, "bank_contribution", schema.Required, schema.InShort, schema.Help("the bank's capital"))
	pnCustomerCapital = schema.Amount(36, "customer_contribution", schema.Required, schema.InShort, schema.Help("the customer's capital"))
	pnRatio           = shares(37, "profit_sharing_ratio", schema.Required, schema.Help("how profit is shared"))
	pnTerm            = schema.Integer(38, "term_months", 1, maxTerm, schema.Settable,
		schema.Help("term in months of 30 days; required for a diminishing partnership"))
	pnSchedule = schema.Enum(39, "buyout_schedule", frequencies, schema.DefaultTo("monthly"),
		schema.Help("length of a period; in each period the customer has a unit to buy"))
	pnRental = schema.Amount(40, "rental_amount", schema.Settable, schema.Help("rent of a period, in proportion to the bank's part"))
	pnAsset  = schema.Text(41, "asset_description", schema.Settable, schema.AtMost(maxNote), schema.Help("description of the asset"))

	pnBankPercent       = schema.Percent(50, "bank_ownership_percent", 0, 100, schema.InShort, schema.Help("the bank's part in percent"))
	pnCustomerPercent   = schema.Percent(51, "customer_ownership_percent", 0, 100, schema.InShort, schema.Help("the customer's part in percent"))
	pnUnits             = schema.DerivedInteger(52, "units_total", schema.Help("number of units of the bank's capital"))
	pnUnitValue         = schema.Amount(53, "buyout_unit_value", schema.Help("price of a unit; the last unit takes the remainder"))
	pnUnitsBought       = schema.DerivedInteger(54, "units_bought", schema.Help("number of units that the customer has bought"))
	pnBuyouts           = schema.Rows(55, "buyout_history", pnBuyoutTable, schema.Help("the units that were bought"))
	pnProfit            = schema.Amount(56, "total_profit", schema.Help("sum of the profit"))
	pnLoss              = schema.Amount(57, "total_loss", schema.Help("sum of the losses"))
	pnBankProfit        = schema.Amount(58, "bank_profit_share", schema.Help("the bank's profit so far"))
	pnCustomerProfit    = schema.Amount(59, "customer_profit_share", schema.Help("the customer's profit so far"))
	pnRentPaid          = schema.Amount(60, "rental_paid_total", schema.Help("sum of the rent"))
	pnStart             = schema.Date(61, "start_date", schema.Help("first day of the partnership"))
	pnEnd               = schema.Date(62, "expected_end_date", schema.Help("end of the term"))
	pnNextBuyout        = schema.Date(63, "next_buyout_date", schema.Help("when the next unit is to be bought"))
	pnLastLoss          = schema.Rows(64, "last_loss", pnLossTable, schema.InMetadata, schema.Single, schema.Help("the last loss"))
	pnLastReport        = schema.Date(65, "last_profit_date", schema.Help("last day of the period that was reported last"))
	pnDissolutionReason = schema.Text(66, "dissolution_reason", schema.Sparse, schema.Help("why the partnership was dissolved"))
	pnShownRent         = schema.Amount(67, "current_rental_amount", schema.Computed(pnCurrentRent),
		schema.Help("the present rent of a period")) // computed, so key 67 is never stored

	pnBankBalance     = schema.Amount(70, "carried", schema.NotShown)                  // the balance of A:musharaka
	pnCustomerBalance = schema.Amount(71, "partner_capital", schema.NotShown)          // balance of M:partner_capital and of M:venture_assets
	pnRentStarted     = schema.Date(72, "rent_from", schema.NotShown)                  // start of the first rent period
	pnRentsTaken      = schema.DerivedInteger(73, "rents", schema.NotShown)            // number of rent periods that have ended
	pnStartPercent    = schema.DerivedInteger(74, "percent_at_start", schema.NotShown) // the institution's ownership in percent at the funding

	pnBuyoutDate            = schema.Date(1, "date", schema.Help("day of the purchase"))
	pnBuyoutUnits           = schema.DerivedInteger(2, "units", schema.Help("number of units"))
	pnBuyoutPrice           = schema.Amount(3, "amount", schema.Help("what the customer paid"))
	pnBuyoutCustomerPercent = schema.Percent(4, "customer_ownership_percent", 0, 100, schema.Help("the customer's part after the purchase, in percent"))
	pnBuyoutBankPercent     = schema.Percent(5, "bank_ownership_percent", 0, 100, schema.Help("the bank's part after the purchase, in percent"))
	pnBuyoutTable           = schema.NewTable(nil, pnBuyoutDate, pnBuyoutUnits, pnBuyoutPrice, pnBuyoutCustomerPercent, pnBuyoutBankPercent)

	pnLossAmount   = schema.Amount(1, "amount", schema.Help("the loss"))
	pnLossBank     = schema.Amount(2, "bank_share", schema.Help("the bank's share"))
	pnLossCustomer = schema.Amount(3, "customer_share", schema.Help("the customer's share"))
	pnLossDate     = schema.Date(4, "date", schema.Help("day of the loss"))
	pnLossTable    = schema.NewTable(nil, pnLossAmount, pnLossBank, pnLossCustomer, pnLossDate)

	pnInGrossProfit = schema.Amount(1, "gross_profit", schema.Required, schema.OrZero, schema.Help("the profit to share; may be zero"))
	pnInPeriodEnd   = schema.Date(2, "period_end_date", schema.Required, schema.Help("last day of the period"))
	pnInLoss        = schema.Amount(1, "amount", schema.Required, schema.Help("the loss, at most the partnership's present value"))
	pnInUnits       = schema.Integer(1, "units", 1, maxUnits, schema.DefaultTo(int64(1)), schema.Help("number of units, at most the number that is left"))
)

// Bounds that the specification leaves open. A term is at most a hundred years. The bound on units is so high that no
// partnership reaches it.
const (
	maxTerm  = 1200
	maxUnits = 1 << 31

	termWithoutEnd = 120 // in months; used if the request names no term
)

func pnOpen(c *ActionContext) {
	v := c.values()
	bank, customer := pnBankCapital.Get(v), pnCustomerCapital.Get(v)
	if sum, err := bank.Add(customer); err != nil || sum != pnTotalCapital.Get(v) {
		c.refuse(pnTotalCapital.Name, "must equal the sum of the two contributions")
		return
	}
	if pnKind.Get(v) == diminishing {
		if !pnTerm.Has(v) {
			c.refuse(pnTerm.Name, "is required for a diminishing partnership")
			return
		}
		months := periodMonths(pnSchedule.Get(v))
		units := (pnTerm.Get(v) + months - 1) / months
		pnUnits.Set(v, units)
		pnUnitValue.Set(v, portion(bank, 1, units))
		pnUnitsBought.Set(v, 0)
		if pnUnitValue.Get(v).IsZero() {
			c.refuse(pnBankCapital.Name, "is less than one minor unit for each of %d units", units)
		}
	}
	pnSetOwnership(v)
	for _, total := range []schema.TypedColumn[money.Amount]{pnProfit, pnLoss, pnBankProfit, pnCustomerProfit, pnRentPaid} {
		total.Set(v, money.Amount{})
	}
}

// pnSetOwnership computes both partners' percentages of ownership. The customer's is floor((contribution + unit value ×
// units bought) × 100 ÷ total capital), and the institution's is the rest.
func pnSetOwnership(v schema.Row) {
	owned := pnCustomerCapital.Get(v)
	if bought := pnUnitsBought.Get(v); bought > 0 {
		owned = plus(owned, times(pnUnitValue.Get(v), bought))
	}
	percent := must(owned.MulDivFloor(amountOf(100), pnTotalCapital.Get(v)))
	wholePercents, _ := percent.Uint64()
	customerPercent := int64(wholePercents)
	if units := pnUnits.Get(v); units > 0 && pnUnitsBought.Get(v) == units {
		customerPercent = 100 // unit values are rounded down, but the last unit makes the customer the only owner
	}
	pnCustomerPercent.Set(v, customerPercent)
	pnBankPercent.Set(v, 100-customerPercent)
}

func pnFund(c *ActionContext) {
	v := c.values()
	term := int64(termWithoutEnd)
	if pnTerm.Has(v) {
		term = pnTerm.Get(v)
	}
	pnStart.Set(v, c.Today)
	pnEnd.Set(v, addMonths(c.Today, term))
	if pnKind.Get(v) == diminishing {
		pnNextBuyout.Set(v, addMonths(c.Today, periodMonths(pnSchedule.Get(v))))
	}
	pnBankBalance.Set(v, pnBankCapital.Get(v))
	pnCustomerBalance.Set(v, pnCustomerCapital.Get(v))
	pnStartPercent.Set(v, pnBankPercent.Get(v))
	c.setEffectiveDate(c.Today)
	c.move(c.record.account("A:musharaka"), c.record.cash(), pnBankCapital.Get(v))
	c.move(c.record.account("M:venture_assets"), c.record.account("M:partner_capital"), pnCustomerCapital.Get(v))
}

func pnActivate(c *ActionContext) {
	if v := c.values(); pnRental.Has(v) {
		pnRentStarted.Set(v, c.Today)
		pnRentsTaken.Set(v, 0)
		c.setReserve(times(pnRental.Get(v), pnRentPeriods(v)))
	}
}

func pnShareProfit(c *ActionContext) {
	v, r := c.values(), c.record
	day, accepted := periodEnd(c, pnInPeriodEnd, pnStart)
	if !accepted {
		return
	}
	gross := pnInGrossProfit.Get(c.input)
	bankShare, customerShare := pnRatio.Get(v).split(gross)
	if !c.addToTotal(pnProfit, gross, pnInGrossProfit.Name) {
		return
	}
	pnBankProfit.Set(v, plus(pnBankProfit.Get(v), bankShare))
	pnCustomerProfit.Set(v, plus(pnCustomerProfit.Get(v), customerShare))
	pnLastReport.Set(v, max(day, pnLastReport.Get(v))) // a late report does not move the date back
	c.setEffectiveDate(day)
	due, partner := r.account("A:venture_due"), r.account("L:partner_profit")
	c.book(dr(due, gross), cr("I:musharaka", bankShare), cr(partner, customerShare))
	c.book(dr(r.cash(), bankShare), dr(partner, customerShare), cr(due, gross))
}

// pnMaxLoss returns the largest loss that the partners can still bear: the total capital less earlier losses, but at most
// the sum of both partners' balances.
func pnMaxLoss(v schema.Row) money.Amount {
	return minusOrZero(pnTotalCapital.Get(v), pnLoss.Get(v)).Min(plus(pnBankBalance.Get(v), pnCustomerBalance.Get(v)))
}

func pnNeedsCapital(c *ActionContext) {
	if pnMaxLoss(c.values()).IsZero() {
		c.refuse(pnInLoss.Name, "nothing is left that could be lost")
	}
}

// pnBearLoss splits a loss between the partners by their current percentages of ownership. If a partner's part exceeds the
// partner's balance, the other partner bears the excess.
func pnBearLoss(c *ActionContext) {
	v, r := c.values(), c.record
	lost := pnInLoss.Get(c.input).Min(pnMaxLoss(v))
	bankPart := share(lost, pnBankPercent.Get(v)).Min(pnBankBalance.Get(v))
	customerPart := minus(lost, bankPart)
	if excess := minusOrZero(customerPart, pnCustomerBalance.Get(v)); !excess.IsZero() {
		customerPart, bankPart = pnCustomerBalance.Get(v), plus(bankPart, excess)
	}
	pnLoss.Set(v, plus(pnLoss.Get(v), lost))
	pnBankBalance.Set(v, minus(pnBankBalance.Get(v), bankPart))
	pnCustomerBalance.Set(v, minus(pnCustomerBalance.Get(v), customerPart))
	row := pnLossTable.New()
	pnLossAmount.Set(row, lost)
	pnLossBank.Set(row, bankPart)
	pnLossCustomer.Set(row, customerPart)
	pnLossDate.Set(row, c.Today)
	pnLastLoss.Set(v, []schema.Row{row})
	c.move("E:musharaka_loss", r.account("A:musharaka"), bankPart)
	c.move(r.account("M:partner_capital"), r.account("M:venture_assets"), customerPart)
}

func pnNeedsUnits(c *ActionContext) {
	if pnKind.Get(c.values()) != diminishing {
		c.refuse(pnKind.Name, "only a diminishing partnership has units to buy")
	}
}

// pnUnsold returns the number of units that the customer has not bought.
func pnUnsold(r *Record) money.Amount {
	return amountOf(pnUnits.Get(r.Values) - pnUnitsBought.Get(r.Values))
}

func pnBuyOut(c *ActionContext) {
	v, r := c.values(), c.record
	units, unsold := pnInUnits.Get(c.input), pnUnits.Get(v)-pnUnitsBought.Get(v)
	price, carryingAmount := times(pnUnitValue.Get(v), units), pnBankBalance.Get(v)
	soldAmount := portion(carryingAmount, units, unsold) // a sale of all remaining units takes the whole carrying amount
	pnUnitsBought.Set(v, pnUnitsBought.Get(v)+units)
	pnSetOwnership(v)
	pnBankBalance.Set(v, minus(carryingAmount, soldAmount))
	pnCustomerBalance.Set(v, plus(pnCustomerBalance.Get(v), soldAmount))
	row := pnBuyoutTable.New()
	pnBuyoutDate.Set(row, c.Today)
	pnBuyoutUnits.Set(row, units)
	pnBuyoutPrice.Set(row, price)
	pnBuyoutCustomerPercent.Set(row, pnCustomerPercent.Get(v))
	pnBuyoutBankPercent.Set(row, pnBankPercent.Get(v))
	c.addRow(pnBuyouts, row) // the list has room: there are no more units than months in the longest term
	c.book(append([]line{dr(r.cash(), price), cr(r.account("A:musharaka"), soldAmount)}, c.gainOrLoss(price, soldAmount, "I:unit_gain", "E:unit_loss")...)...)
	c.move(r.account("M:venture_assets"), r.account("M:partner_capital"), soldAmount)
	if units < unsold {
		pnNextBuyout.Set(v, addMonths(pnNextBuyout.Get(v), periodMonths(pnSchedule.Get(v))))
		return
	}
	c.setTransition(BuyoutDone)
	pnNextBuyout.Clear(v)
	pnReverseCapital(c)
}

// pnReverseCapital removes the customer's capital from the two memorandum accounts. It is called when the partnership ends.
func pnReverseCapital(c *ActionContext) {
	c.move(c.record.account("M:partner_capital"), c.record.account("M:venture_assets"), pnCustomerBalance.Get(c.values()))
	pnCustomerBalance.Set(c.values(), money.Amount{})
}

func pnDissolve(c *ActionContext) {
	v := c.values()
	pnDissolutionReason.Set(v, reason.Get(c.input))
	pnNextBuyout.Clear(v)
	c.move(ledger.Path("A:partner_receivable:"+pnCustomer.Get(v).String()), c.record.account("A:musharaka"), pnBankBalance.Get(v))
	pnBankBalance.Set(v, money.Amount{})
	pnReverseCapital(c)
}

// pnRentPeriods returns the number of rent periods. The first period begins at the activation, and the last one ends on or
// before the expected end of the partnership.
func pnRentPeriods(v schema.Row) int64 {
	return max(0, int64(pnEnd.Get(v)-pnRentStarted.Get(v))) / (daysPerMonth * periodMonths(pnSchedule.Get(v)))
}

// pnCurrentRent returns the present rent for one period, or nil if the partnership has no rent.
func pnCurrentRent(v schema.Row) any {
	switch {
	case !pnRental.Has(v):
		return nil
	case !pnStartPercent.Has(v): // not funded yet
		return pnRental.Get(v)
	}
	return pnRent(v)
}

// pnRent returns the present rent for one period. The rent falls in proportion to the percentage that the institution still
// owns. The institution's percentage at the start, by which pnRent divides, is never zero, because the customer's
// percentage was rounded down.
func pnRent(v schema.Row) money.Amount {
	return portion(pnRental.Get(v), pnBankPercent.Get(v), pnStartPercent.Get(v))
}

func pnTakeRent(c *ActionContext) {
	v := c.values()
	rent := pnRent(v)
	pnRentsTaken.Set(v, pnRentsTaken.Get(v)+1)
	pnRentPaid.Set(v, plus(pnRentPaid.Get(v), rent))
	c.move(c.record.cash(), "I:musharaka_rent", rent)
}

// pnDue returns the day on which the current rent period ends, and the action Rent. After the last period it returns zero.
func pnDue(r *Record) (ledger.Date, Action) {
	v := r.Values
	if (r.Status != Active && r.Status != BuyingOut) || !pnRentStarted.Has(v) || pnRentsTaken.Get(v) >= pnRentPeriods(v) {
		return 0, ""
	}
	return addMonths(pnRentStarted.Get(v), periodMonths(pnSchedule.Get(v))*(pnRentsTaken.Get(v)+1)), Rent
}

func pnBalances(r *Record) []AccountBalance {
	v := r.Values
	return []AccountBalance{
		{r.account("A:musharaka"), pnBankBalance.Get(v)},
		{r.account("M:venture_assets"), pnCustomerBalance.Get(v)},
		{r.account("M:partner_capital"), pnCustomerBalance.Get(v)},
		{r.account("A:venture_due"), money.Amount{}},
		{r.account("L:partner_profit"), money.Amount{}},
	}
}
