package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// InstalmentSale is the sale of an asset that the institution buys for a customer. The price is the cost plus a markup. The
// customer knows both, and pays the price in instalments. In the religious reading the product is called murabaha. The
// institution sells only what it owns, so in every reading (secular or religious) the actions come in this order: order,
// purchase, delivery, activation. Names that begin with sl (sale) belong to this product.
var InstalmentSale = define(&Product{
	Code: 's',
	Variants: map[*Reading]*Variant{
		Secular: {Name: "instalment-sales", Prefix: "IS"},
		Religious: {Name: "murabaha", Prefix: "MRB", Actions: map[string]Action{
			"approve": Approve, "order_asset": OrderAsset, "purchase_asset": PurchaseAsset, "deliver_asset": DeliverAsset,
			"activate": Activate, "record_payment": RecordPayment, "record_delinquency": RecordDelinquency,
		}},
	},
	Columns: schema.NewTable(baseColumns,
		slCustomer, slAsset, slCost, slRate, slInstalmentCount, slDownPayment, slEarnest, slSupplier, slAssetType,
		slMarkup, slPrice, slInstalmentAmount, slSchedule, slTotalPaid, slOutstanding, slRecognised, slDeferred, slDelinquentAmount, slDaysPastDue,
		slActualCost, slAdvance, slDocuments, slDeliveryDate, slStart, slRebate, slCompletedAt,
	),
	States: []Status{Draft, UnderReview, ReviewPassed, Refused, AssetOrdered, AssetPurchased, AssetDelivered, Active, Completed, Cancelled},
	Steps: joinSteps(
		reviewSteps(OrderAsset, AssetOrdered, "the supplier has the order"),
		[]Step{
			{From: AssetOrdered, By: PurchaseAsset, To: AssetPurchased, Why: "the institution owns the asset, and the price is fixed"},
			{From: AssetPurchased, By: DeliverAsset, To: AssetDelivered, Why: "the customer has the asset"},
			{From: AssetDelivered, By: Activate, To: Active, Why: "the asset is sold, and the customer owes the price"},
			{From: Active, By: RecordPayment, To: Active, Why: "the customer has paid a part"},
			{From: Active, By: PayOff, To: Completed, Why: "the customer has paid the rest"},
			{From: Active, By: RecordDelinquency, To: Active, Why: "the overdue amount was reported"},
		},
		onlyIn(Secular, steps(Cancel, Cancelled, "the sale was given up before delivery", Draft, UnderReview, ReviewPassed, AssetOrdered, AssetPurchased)),
		onlyIn(Secular, steps(SettleEarly, Completed, "the customer has paid all at once", Active)),
	),
	Handlers: withReview(
		&ActionHandler{Name: OrderAsset, Moves: Possibly, Body: schema.NewTable(nil, slInAdvance), Do: slOrder},
		&ActionHandler{Name: PurchaseAsset, Moves: Always, Body: schema.NewTable(nil, slInDocuments, slInActualCost), Do: slPurchase},
		&ActionHandler{Name: DeliverAsset, Moves: Always, Body: schema.NewTable(nil, slInDeliveryDate), Do: slDeliver},
		&ActionHandler{Name: Activate, Moves: Always, Body: schema.NewTable(nil, slInStart), Do: slActivate},
		&ActionHandler{Name: RecordPayment, Moves: Always, Body: schema.NewTable(nil, slInPayment), Transitions: []Action{RecordPayment, PayOff},
			Bounds: []BodyBound{atMost(slInPayment.Column, valueOf(slOutstanding), "is more than the %v outstanding")}, Do: slPay},
		&ActionHandler{Name: RecordDelinquency, Moves: Possibly, Body: schema.NewTable(nil, slInLateAmount), Do: slReportLate},
		&ActionHandler{Name: Cancel, Moves: Possibly, Do: slCancel},
		&ActionHandler{Name: SettleEarly, Moves: Always, Body: schema.NewTable(nil, slInRebate),
			Bounds: []BodyBound{atMost(slInRebate.Column, valueOf(slDeferred), "is more than the deferred profit of %v")}, Do: slSettle},
	),
	Type: "asset_type", Customer: "customer_id", NeedsCurrency: true, Schedule: slSchedule.Column,
	Open: slOpen, Balances: slBalances,
	ControlTotals: []ControlTotal{{Account: "I:murabaha", Side: ledger.Credit, Column: slRecognised.Column}},
	ShownByDay:    []*schema.Column{slDaysPastDue.Column},
})

// States and actions that only this product has.
const (
	AssetOrdered   Status = "asset_ordered"
	AssetPurchased Status = "asset_purchased"
	AssetDelivered Status = "asset_delivered"
	Cancelled      Status = "cancelled"

	OrderAsset        Action = "order_asset"
	PurchaseAsset     Action = "purchase_asset"
	DeliverAsset      Action = "deliver_asset"
	RecordPayment     Action = "record_payment"
	PayOff            Action = "pay_off"
	RecordDelinquency Action = "record_delinquency"
	Cancel            Action = "cancel"
	SettleEarly       Action = "settle_early"
)

// The columns, in this order: fields that the request for a sale sets, fields that the service computes, columns of the
// rows in lists, and columns of the actions' request bodies (slIn…).
var (
	slCustomer = schema.ID(32, "customer_id", schema.Required, schema.InShort, schema.Help("the buyer"))
	slAsset    = schema.Text(33, "asset_description", schema.Required, schema.LongerThan(10), schema.AtMost(maxNote),
		schema.Help("description of the asset"))
	slCost            = schema.Amount(34, "asset_cost", schema.Required, schema.InShort, schema.Help("what the asset costs the bank"))
	slRate            = schema.Percent(35, "markup_rate", 0, 100, schema.Required, schema.InShort, schema.Help("markup in percent of the cost"))
	slInstalmentCount = schema.Integer(36, "instalments", 1, 360, schema.Required, schema.Help("number of instalments, one every 30 days"))
	slDownPayment     = schema.Amount(37, "down_payment", schema.Settable, schema.OrZero, schema.Help("what the customer pays at the activation"))
	slEarnest         = schema.Amount(38, "earnest_deposit", schema.Settable, schema.OrZero, schema.Help("what the customer pays when the asset is ordered"))
	slSupplier        = schema.Rows(39, "supplier", slSupplierTable, schema.Settable, schema.Single, schema.Help("who sells the asset to the bank"))
	slAssetType       = schema.Text(40, "asset_type", schema.Settable, schema.Help("type of the asset"))

	slMarkup           = schema.Amount(50, "markup_amount", schema.Help("the bank's profit: the cost times the rate, rounded down"))
	slPrice            = schema.Amount(51, "sale_price", schema.InShort, schema.Help("the cost plus the markup"))
	slInstalmentAmount = schema.Amount(52, "instalment_amount", schema.Help("amount of an instalment; the last instalment takes the remainder"))
	slSchedule         = schema.Rows(53, "payment_schedule", slInstalmentTable, schema.OutOfLists, schema.Computed(slScheduleRows),
		schema.Help("the instalments"))
	slTotalPaid = schema.Amount(54, "total_paid",
		schema.Help("what the customer has paid, including the down payment and the earnest deposit")) // includes down payment and earnest money
	slOutstanding      = schema.Amount(55, "outstanding", schema.InShort, schema.Help("what the customer still owes"))
	slRecognised       = schema.Amount(56, "profit_recognised", schema.Help("the part of the markup that was earned"))
	slDeferred         = schema.Amount(57, "deferred_profit", schema.Help("the part of the markup that is not earned yet"))
	slDelinquentAmount = schema.Amount(58, "delinquent_amount", schema.Help("the overdue amount that was recorded last"))
	slDaysPastDue      = schema.DerivedInteger(59, "days_past_due", schema.Computed(slDaysLate),
		schema.Help("days since the first unpaid instalment was due")) // computed, so key 59 is never stored
	slActualCost   = schema.Amount(60, "actual_cost", schema.Help("what the asset cost in the end"))
	slAdvance      = schema.Amount(61, "supplier_deposit", schema.Help("what the bank paid the supplier in advance"))
	slDocuments    = schema.List(62, "ownership_documents", schema.Help("documents that show the bank's ownership: texts or objects"))
	slDeliveryDate = schema.Date(63, "delivery_date", schema.Help("day of the delivery"))
	slStart        = schema.Date(64, "start_date", schema.Help("first day of the contract"))
	slRebate       = schema.Amount(65, "rebate", schema.Help("amount that the bank waived at an early settlement"))
	slCompletedAt  = schema.Instant(66, "completed_at", schema.Help("when the last amount was paid"))

	slSupplierName  = schema.Text(1, "name", schema.Required, schema.Help("name of the supplier"))
	slSupplierRef   = schema.Text(2, "reference", schema.Settable, schema.Help("reference of the supplier"))
	slSupplierTable = schema.NewTable(nil, slSupplierName, slSupplierRef)

	slNumber          = schema.DerivedInteger(1, "payment_number", schema.Help("number of the instalment"))
	slDueDate         = schema.Date(2, "due_date", schema.Help("when the instalment is due"))
	slAmount          = schema.Amount(3, "amount", schema.Help("amount of the instalment"))
	slCostPart        = schema.Amount(4, "cost_part", schema.Help("the instalment's part of the cost"))
	slProfitPart      = schema.Amount(5, "profit_part", schema.Help("the instalment's part of the markup"))
	slStatus          = schema.Text(6, "status", schema.Help("`pending`, `paid` or `settled`"))
	slInstalmentTable = schema.NewTable(nil, slNumber, slDueDate, slAmount, slCostPart, slProfitPart, slStatus)

	slInAdvance      = schema.Amount(1, "supplier_deposit", schema.Settable, schema.OrZero, schema.Help("what the bank pays the supplier in advance"))
	slInDocuments    = schema.List(1, "ownership_documents", schema.Required, schema.Help("documents that show the bank's ownership: texts or objects"))
	slInActualCost   = schema.Amount(2, "actual_cost", schema.Settable, schema.Help("what the asset cost; if absent, the same as `asset_cost`"))
	slInDeliveryDate = schema.Date(1, "delivery_date", schema.Settable, schema.Help("day of the delivery; today if absent"))
	slInStart        = schema.Date(1, "start_date", schema.Settable, schema.Help("first day of the contract; today if absent"))
	slInPayment      = schema.Amount(1, "amount", schema.Required, schema.Help("what the customer pays, at most the outstanding amount"))
	slInLateAmount   = schema.Amount(1, "amount", schema.Required, schema.OrZero, schema.Help("the overdue amount; zero clears it"))
	slInRebate       = schema.Amount(1, "rebate", schema.Required, schema.OrZero, schema.Help("amount that the bank waives, at most the deferred profit"))
)

// rowSettled is the status that the unpaid rows of the schedule have after an early settlement.
const rowSettled = "settled"

// slUpfront returns the sum of the payments up front, before the first instalment: down payment and earnest deposit.
func slUpfront(v schema.Row) money.Amount { return plus(slDownPayment.Get(v), slEarnest.Get(v)) }

// slAssetCost returns the asset's cost to the institution: after the purchase the actual cost, and before it the expected
// cost.
func slAssetCost(v schema.Row) money.Amount {
	if slActualCost.Has(v) {
		return slActualCost.Get(v)
	}
	return slCost.Get(v)
}

func slOpen(c *ActionContext) {
	v := c.values()
	upfrontField := slDownPayment.Name
	if slDownPayment.Get(v).IsZero() {
		upfrontField = slEarnest.Name
	}
	slSetPrice(c, slCost.Name, upfrontField)
	for _, total := range []schema.TypedColumn[money.Amount]{slTotalPaid, slOutstanding, slRecognised, slDeferred, slDelinquentAmount} {
		total.Set(v, money.Amount{})
	}
}

// slSetPrice computes three columns from the asset's cost: the markup, which is floor(cost × rate ÷ 100), the price, and
// the amount of each instalment except the last. If the price is out of range, it adds a fault for costField instead. If
// the payments up front are not less than the price, it adds a fault for upfrontField.
func slSetPrice(c *ActionContext, costField, upfrontField string) {
	v := c.values()
	cost := slAssetCost(v)
	markup := share(cost, slRate.Get(v))
	price := plus(cost, markup)
	switch {
	case ledger.MaxAmount.Less(price):
		c.refuse(costField, "takes %s out of range", slPrice.Name)
	case !slUpfront(v).Less(price):
		c.refuse(upfrontField, "down_payment and earnest_deposit together must be below the %s of %v", slPrice.Name, price)
	default:
		slMarkup.Set(v, markup)
		slPrice.Set(v, price)
		slInstalmentAmount.Set(v, portion(minus(price, slUpfront(v)), 1, slInstalmentCount.Get(v)))
	}
}

func slOrder(c *ActionContext) {
	v, r := c.values(), c.record
	advance := slInAdvance.Get(c.input)
	if slInAdvance.Has(c.input) {
		slAdvance.Set(v, advance)
	}
	c.move(r.cash(), r.account("L:earnest_deposit"), slEarnest.Get(v))
	c.move(r.account("A:supplier_advance"), r.cash(), advance)
}

func slPurchase(c *ActionContext) {
	v, r := c.values(), c.record
	cost := slCost.Get(v)
	if slInActualCost.Has(c.input) {
		cost = slInActualCost.Get(c.input)
	}
	slActualCost.Set(v, cost)
	slDocuments.Set(v, slInDocuments.Get(c.input))
	if slSetPrice(c, slInActualCost.Name, slInActualCost.Name); !c.noFaults() {
		return
	}
	advance := slAdvance.Get(v)
	c.book(
		dr(r.account("A:inventory"), cost), dr(r.cash(), minusOrZero(advance, cost)),
		cr(r.account("A:supplier_advance"), advance), cr(r.cash(), minusOrZero(cost, advance)),
	)
}

func slDeliver(c *ActionContext) {
	day := dateOrToday(c, slInDeliveryDate)
	slDeliveryDate.Set(c.values(), day)
	c.setEffectiveDate(day)
	c.move(c.record.account("A:inventory_delivered"), c.record.account("A:inventory"), slAssetCost(c.values()))
}

func slActivate(c *ActionContext) {
	v, r := c.values(), c.record
	day := dateOrToday(c, slInStart)
	slStart.Set(v, day)
	c.setEffectiveDate(day)
	price, markup, upfront := slPrice.Get(v), slMarkup.Get(v), slUpfront(v)
	slOutstanding.Set(v, price)
	slDeferred.Set(v, markup)
	receivable, deferred := r.account("A:receivable"), r.account("L:deferred_profit")
	c.book(dr(receivable, price), cr(r.account("A:inventory_delivered"), slAssetCost(v)), cr(deferred, markup))
	c.book(dr(r.cash(), slDownPayment.Get(v)), dr(r.account("L:earnest_deposit"), slEarnest.Get(v)), cr(receivable, upfront))
	slAddPayment(c, upfront)
}

// slAddPayment adds a payment to the totals and recognises the profit that the payment earns: floor(markup × total paid ÷
// price), less the profit recognised before.
func slAddPayment(c *ActionContext, paid money.Amount) {
	v := c.values()
	slTotalPaid.Set(v, plus(slTotalPaid.Get(v), paid))
	slOutstanding.Set(v, minus(slOutstanding.Get(v), paid))
	earned := minus(slEarned(v, slTotalPaid.Get(v)), slRecognised.Get(v))
	slRecognise(c, earned)
}

// slEarned returns the part of the markup that is earned once the customer has paid the given part of the price.
func slEarned(v schema.Row, paid money.Amount) money.Amount {
	return must(slMarkup.Get(v).MulDivFloor(paid, slPrice.Get(v)))
}

func slRecognise(c *ActionContext, earned money.Amount) {
	v := c.values()
	slRecognised.Set(v, plus(slRecognised.Get(v), earned))
	slDeferred.Set(v, minus(slDeferred.Get(v), earned))
	c.move(c.record.account("L:deferred_profit"), "I:murabaha", earned)
}

func slPay(c *ActionContext) {
	v, r := c.values(), c.record
	paid := slInPayment.Get(c.input)
	c.move(r.cash(), r.account("A:receivable"), paid)
	slAddPayment(c, paid)
	if slOutstanding.Get(v).IsZero() {
		c.setTransition(PayOff)
		slComplete(c)
	}
}

func slReportLate(c *ActionContext) { c.setArrears(slDelinquentAmount, slInLateAmount.Get(c.input)) }

// slComplete ends a sale that was paid in full. It sets the arrears to zero.
func slComplete(c *ActionContext) {
	c.setArrears(slDelinquentAmount, money.Amount{})
	slCompletedAt.Set(c.values(), c.Now)
}

// slDaysLate returns the number of days by which the first unpaid row of the schedule is late on the day of reading. It
// returns 0 if no row is late.
func slDaysLate(v schema.Row) any {
	if !slStart.Has(v) || slCompletedAt.Has(v) {
		return int64(0)
	}
	unpaidRow, instalment := slInstalmentCount.Get(v)-1, slInstalmentAmount.Get(v)
	if !instalment.IsZero() {
		paidRows, fits := must(minus(slTotalPaid.Get(v), slUpfront(v)).DivFloor(instalment)).Uint64()
		if fits && paidRows < uint64(unpaidRow) {
			unpaidRow = int64(paidRows)
		}
	}
	return max(0, int64(readingDay.Get(v)-addMonths(slStart.Get(v), unpaidRow+1)))
}

func slCancel(c *ActionContext) {
	v, r := c.values(), c.record
	switch r.Status {
	case AssetOrdered:
		c.move(r.account("L:earnest_deposit"), r.cash(), slEarnest.Get(v))
		c.move(r.cash(), r.account("A:supplier_advance"), slAdvance.Get(v))
	case AssetPurchased:
		c.move(r.account("L:earnest_deposit"), r.cash(), slEarnest.Get(v))
		c.move("A:returned_assets", r.account("A:inventory"), slAssetCost(v))
	}
}

func slSettle(c *ActionContext) {
	v, r := c.values(), c.record
	rebate, owed, deferred := slInRebate.Get(c.input), slOutstanding.Get(v), slDeferred.Get(v)
	paid := minus(owed, rebate)
	slRebate.Set(v, rebate)
	slTotalPaid.Set(v, plus(slTotalPaid.Get(v), paid))
	slOutstanding.Set(v, money.Amount{})
	slDeferred.Set(v, minus(deferred, rebate))
	c.book(dr(r.cash(), paid), dr(r.account("L:deferred_profit"), rebate), cr(r.account("A:receivable"), owed))
	slRecognise(c, slDeferred.Get(v))
	slComplete(c)
}

// slScheduleRows computes the schedule. The first row is due 30 days after the start. The instalments are rounded down, and
// the last row makes up the difference. A row's profit is the profit that is recognised when the row is paid.
func slScheduleRows(v schema.Row) any {
	if !slStart.Has(v) {
		return nil
	}
	n, instalment, sumThroughRow := slInstalmentCount.Get(v), slInstalmentAmount.Get(v), slUpfront(v)
	remaining, earned := minus(slPrice.Get(v), sumThroughRow), slEarned(v, sumThroughRow)
	rows := make([]schema.Row, n)
	for i := range rows {
		if i == len(rows)-1 {
			instalment = remaining
		}
		sumThroughRow, remaining = plus(sumThroughRow, instalment), minus(remaining, instalment)
		profit := minus(slEarned(v, sumThroughRow), earned)
		earned = plus(earned, profit)
		row := slInstalmentTable.New()
		slNumber.Set(row, int64(i+1))
		slDueDate.Set(row, addMonths(slStart.Get(v), int64(i+1)))
		slAmount.Set(row, instalment)
		slCostPart.Set(row, minus(instalment, profit))
		slProfitPart.Set(row, profit)
		slStatus.Set(row, slRowStatus(v, sumThroughRow))
		rows[i] = row
	}
	return rows
}

// slRowStatus returns the status of a row. sumThroughRow is the sum of the payments up front and of all rows up to and
// including this row. The row counts as paid when the customer has paid that sum.
func slRowStatus(v schema.Row, sumThroughRow money.Amount) string {
	switch {
	case !slTotalPaid.Get(v).Less(sumThroughRow):
		return rowPaid
	case slCompletedAt.Has(v):
		return rowSettled
	}
	return rowPending
}

func slBalances(r *Record) []AccountBalance {
	v := r.Values
	var earnest, advance, inventory, delivered money.Amount
	switch r.Status {
	case AssetOrdered:
		earnest, advance = slEarnest.Get(v), slAdvance.Get(v)
	case AssetPurchased:
		earnest, inventory = slEarnest.Get(v), slAssetCost(v)
	case AssetDelivered:
		earnest, delivered = slEarnest.Get(v), slAssetCost(v)
	}
	return []AccountBalance{
		{r.account("L:earnest_deposit"), earnest},
		{r.account("A:supplier_advance"), advance},
		{r.account("A:inventory"), inventory},
		{r.account("A:inventory_delivered"), delivered},
		{r.account("A:receivable"), slOutstanding.Get(v)},
		{r.account("L:deferred_profit"), slDeferred.Get(v)},
		{r.account("M:arrears"), slDelinquentAmount.Get(v)},
	}
}
