package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Managed is capital that a manager works with: profit is shared by an agreed ratio,
// and a loss is borne by the capital alone. Its religious counterpart is mudaraba.
var Managed = define(&Product{
	Code: 'm',
	Variants: map[*Reading]*Variant{
		Secular: {Name: "managed-investments", Prefix: "MI"},
		Religious: {Name: "mudaraba", Prefix: "MDR", Actions: map[string]Action{
			"approve": Pass, "reject": Reject, "fund": Fund, "activate": Activate,
			"distribute_profit": Profit, "record_loss": Loss, "complete": Complete,
		}},
	},
	Columns: columns(base,
		miManager, miCapital, miBusiness, miRatio, miTerm, miMandate, miRestrictions, miDescription, miFrequency,
		miValue, miStart, miExpected, miEnded, miDistributions, miBankProfit, miTheirProfit, miLost, miLosses, miSettlement,
		miReported, miNextReport,
	),
	States: []Status{Draft, UnderReview, ReviewPassed, Refused, Funded, Active, Completed, Liquidated},
	Steps: concat(
		reviewed(Fund, Funded, "the capital was handed to the manager"),
		[]Step{
			{From: Funded, By: Activate, To: Active, Why: "the manager works with the capital"},
			{From: Active, By: Profit, To: Active, Why: "profit was shared"},
			{From: Active, By: Loss, To: Active, Why: "the capital bore a loss"},
			{From: Active, By: Liquidate, To: Liquidated, Why: "a loss has left nothing"},
		},
		steps(Complete, Completed, "the capital has come back", Funded, Active),
	),
	Handlers: withReview(
		&ActionHandler{Name: Fund, Moves: true, Do: miFund},
		&ActionHandler{Name: Activate, Do: miActivate},
		&ActionHandler{Name: Profit, Moves: true, Body: columns(nil, miInGross, miInProfitEnd), Do: miShareProfit},
		&ActionHandler{Name: Loss, Moves: true, Body: columns(nil, miInLoss, miInLossEnd), Transitions: []Action{Loss, Liquidate}, Do: miBearLoss},
		&ActionHandler{Name: Complete, Moves: true, Body: columns(nil, miInFinal), Do: miComplete},
	),
	Type: "mandate_type", Customer: "customer_id", NeedsCurrency: true,
	Open: miOpen, Holdings: miHoldings,
})

// Its own states and actions.
const (
	Liquidated Status = "liquidated"

	Complete  Action = "complete"
	Liquidate Action = "liquidate" // a loss that leaves nothing: no address has it
)

var (
	miManager      = id(32, "customer_id", required, short)
	miCapital      = amount(33, "capital_amount", required, short)
	miBusiness     = text(34, "business_type", required)
	miRatio        = shares(35, "profit_sharing_ratio", required)
	miTerm         = integer(36, "term_months", 1, 120, required)
	miMandate      = enum(37, "mandate_type", []string{"restricted", "unrestricted"}, defaultTo("restricted"), short)
	miRestrictions = texts(38, "business_restrictions", asked)
	miDescription  = text(39, "business_description", asked, atMost(maxNote))
	miFrequency    = enum(40, "reporting_frequency", frequencies, asked)

	miValue         = amount(50, "current_value", short) // the balance of A:mudaraba while there is one
	miStart         = date(51, "start_date")
	miExpected      = date(52, "expected_end_date")
	miEnded         = date(53, "actual_end_date")
	miDistributions = rows(54, "profit_distributions", miDistribution)
	miBankProfit    = amount(55, "bank_profit_share")
	miTheirProfit   = amount(56, "customer_profit_share")
	miLost          = amount(57, "total_loss")
	miLosses        = rows(58, "losses", miLossRow, inMetadata)
	miSettlement    = rows(59, "final_settlement", miSettlementRow, inMetadata, single)
	miReported      = date(60, "last_reporting_date")
	miNextReport    = date(61, "next_reporting_date")

	miDistributedOn = date(1, "date")
	miGross         = amount(2, "gross_profit")
	miBankShare     = amount(3, "bank_share")
	miTheirShare    = amount(4, "customer_share")
	miDistribution  = columns(nil, miDistributedOn, miGross, miBankShare, miTheirShare)

	miLossDate   = date(1, "date")
	miLossAmount = amount(2, "loss_amount")
	miLossLeft   = amount(3, "new_value")
	miLossRow    = columns(nil, miLossDate, miLossAmount, miLossLeft)

	miReturned      = amount(1, "returned_to_bank")
	miSettledProfit = amount(2, "total_profit") // the bank's share
	miSettledLoss   = amount(3, "total_loss")
	miVariance      = signed(4, "variance")
	miSettlementRow = columns(nil, miReturned, miSettledProfit, miSettledLoss, miVariance)

	miInGross     = amount(1, "gross_profit", required, orZero)
	miInProfitEnd = date(2, "period_end_date", required)
	miInLoss      = amount(1, "amount", required)
	miInLossEnd   = date(2, "period_end_date", asked)
	miInFinal     = amount(1, "final_value", required, orZero)
)

func miOpen(c *Case) {
	for _, total := range []Cell[money.Amount]{miValue, miBankProfit, miTheirProfit, miLost} {
		total.Set(c.values(), money.Amount{})
	}
}

func miFund(c *Case) {
	v := c.values()
	miStart.Set(v, c.Today)
	miExpected.Set(v, after(c.Today, miTerm.Of(v)))
	miValue.Set(v, miCapital.Of(v))
	c.effective(c.Today)
	c.move(c.r.account("A:mudaraba"), c.r.cash(), miCapital.Of(v))
}

func miActivate(c *Case) {
	if v := c.values(); miFrequency.Has(v) {
		miNextReport.Set(v, after(c.Today, periodMonths(miFrequency.Of(v))))
	}
}

// miShareProfit lets the value grow by the bank's share. The manager's is due and
// paid in the same entry.
func miShareProfit(c *Case) {
	v, r := c.values(), c.r
	on, fine := periodEnd(c, miInProfitEnd, miStart)
	if !fine {
		return
	}
	gross := miInGross.Of(c.input)
	bank, theirs := miRatio.Of(v).split(gross)
	row := miDistribution.New()
	miDistributedOn.Set(row, on)
	miGross.Set(row, gross)
	miBankShare.Set(row, bank)
	miTheirShare.Set(row, theirs)
	if !c.keep(miDistributions, row, miInGross.Name) || !c.grow(miValue, bank, miInGross.Name) ||
		!c.grow(miBankProfit, bank, miInGross.Name) || !c.grow(miTheirProfit, theirs, miInGross.Name) {
		return
	}
	miReport(c, on)
	due, manager := r.account("A:venture_due"), r.account("L:manager_profit")
	c.book(dr(r.account("A:mudaraba"), bank), dr(due, theirs), cr("I:mudaraba", bank), cr(manager, theirs))
	c.move(manager, due, theirs)
}

// miReport says up to which day the manager has reported, which dates the entry. A
// report that comes late does not take the date back.
func miReport(c *Case, on ledger.Date) {
	v := c.values()
	miReported.Set(v, max(on, miReported.Of(v)))
	if miNextReport.Has(v) {
		c.advance(miNextReport, periodMonths(miFrequency.Of(v)))
	}
	c.effective(on)
}

// miBearLoss takes a loss off the capital, and never more than there is: the manager
// owes nothing.
func miBearLoss(c *Case) {
	v := c.values()
	on, fine := periodEnd(c, miInLossEnd, miStart)
	if !fine {
		return
	}
	lost := miInLoss.Of(c.input).Min(miValue.Of(v))
	left := minus(miValue.Of(v), lost)
	row := miLossRow.New()
	miLossDate.Set(row, on)
	miLossAmount.Set(row, lost)
	miLossLeft.Set(row, left)
	if !c.keep(miLosses, row, miInLoss.Name) {
		return
	}
	miValue.Set(v, left)
	miLost.Set(v, plus(miLost.Of(v), lost)) // at most the capital and the bank's profit
	miReport(c, on)
	c.move("E:mudaraba_loss", c.r.account("A:mudaraba"), lost)
	if left.IsZero() {
		c.setTransition(Liquidate)
		miEnd(c)
	}
}

func miEnd(c *Case) {
	miEnded.Set(c.values(), c.Today)
	miNextReport.Clear(c.values())
}

// miComplete takes back what the books say that the capital has become. What the
// parties found instead is the final value; they settle the variance elsewhere.
func miComplete(c *Case) {
	v := c.values()
	returned := miValue.Of(v)
	row := miSettlementRow.New()
	miReturned.Set(row, returned)
	miSettledProfit.Set(row, miBankProfit.Of(v))
	miSettledLoss.Set(row, miLost.Of(v))
	miVariance.Set(row, money.Difference(miInFinal.Of(c.input), returned))
	miSettlement.Set(v, []Row{row})
	miValue.Set(v, miInFinal.Of(c.input))
	miEnd(c)
	c.move(c.r.cash(), c.r.account("A:mudaraba"), returned)
}

func miHoldings(r *Record) []Holding {
	carried := money.Amount{}
	if r.Status == Funded || r.Status == Active {
		carried = miValue.Of(r.Values)
	}
	return []Holding{
		{r.account("A:mudaraba"), carried},
		{r.account("A:venture_due"), money.Amount{}},
		{r.account("L:manager_profit"), money.Amount{}},
	}
}
