package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Lease is the product in which a lessee pays rent for an asset that the institution owns. An operating lease ends with the
// return of the asset, and a finance lease ends with the transfer of ownership to the lessee. In the religious reading the
// product is called ijara. Names that begin with ls belong to this product.
var Lease = define(&Product{
	Code: 'l',
	Variants: map[*Reading]*Variant{
		Secular: {Name: "leases", Prefix: "LS"},
		Religious: {Name: "ijara", Prefix: "IJR", Actions: map[string]Action{
			"approve": Approve, "reject": Reject, "acquire_asset": Acquire, "activate": Activate, "record_rental": PayRent,
			"record_arrears": RecordArrears, "record_owner_expense": BearExpense, "mark_transfer_pending": MarkTransfer,
			"transfer_ownership": TransferAsset, "return_asset": ReturnAsset, "terminate": Terminate,
		}},
	},
	Columns: schema.NewTable(baseColumns,
		lsCustomer, lsKind, lsAsset, lsCost, lsTerm, lsRental, lsOptionPrice, lsAssetType, lsAdvance, lsDeposit, lsResidual,
		lsSerial, lsLocation, lsSpecifications, lsProduct,
		lsHasPurchaseOption, lsTotalDue, lsTotalPaid, lsSchedule, lsTotalExpenses, lsExpenseRows, lsReturnDate, lsTransferDate,
		lsDocuments, lsRegistration, lsInsurance, lsInsuredUntil, lsStart, lsEnd, lsArrears, lsReceivable, lsTerminationDate, lsReason,
		lsRowsDue, lsPrepaid,
	),
	States: []Status{Draft, UnderReview, ReviewPassed, Refused, AssetAcquired, Active, TransferPending, Completed, Terminated},
	Steps: joinSteps(
		reviewSteps(Acquire, AssetAcquired, "the institution owns the asset"),
		[]Step{
			{From: AssetAcquired, By: Activate, To: Active, Why: "the asset was delivered and its rent begins"},
			{From: Active, By: ReturnAsset, To: Completed, Why: "the asset came back"},
			{From: Active, By: MarkTransfer, To: TransferPending, Why: "the asset is to become the lessee's"},
			{From: Active, By: Terminate, To: Terminated, Why: "the lease was given up"},
		},
		steps(TransferAsset, Completed, "the asset is the lessee's", Active, TransferPending),
		lsRunningSteps(Active), lsRunningSteps(TransferPending),
		steps(PayRent, Completed, "rent that was still owed was paid", Completed),
		steps(PayRent, Terminated, "rent that was still owed was paid", Terminated),
	),
	Handlers: withReview(
		&ActionHandler{Name: Acquire, Moves: Always, Body: schema.NewTable(nil, lsInDocuments, lsInSerial, lsInRegistration, lsInInsurance, lsInInsuredUntil), Do: lsAcquire},
		&ActionHandler{Name: Activate, Moves: Possibly, Body: schema.NewTable(nil, lsInDeliveryDate), Do: lsActivate},
		&ActionHandler{Name: RentDue, Moves: Always, Timer: true, Do: lsRowDue},
		&ActionHandler{Name: PayRent, Moves: Always, Body: schema.NewTable(nil, lsInPayment),
			Bounds: []BodyBound{atMost(lsInPayment.Column, lsPayable, "is more than the %v that is still to be paid")}, Do: lsPay},
		&ActionHandler{Name: RecordArrears, Moves: Possibly, Body: schema.NewTable(nil, lsInArrears), Do: lsRecordArrears},
		&ActionHandler{Name: BearExpense, Moves: Always, Body: schema.NewTable(nil, lsInExpense, lsInDescription, lsInExpenseType),
			Needs: needsRoom(lsExpenseRows, lsInExpense.Column), Do: lsBearExpense},
		&ActionHandler{Name: ReturnAsset, Moves: Always, Needs: lsNeedsKind(operating, "the asset's return"), Do: lsReturn},
		&ActionHandler{Name: MarkTransfer, Needs: lsNeedsKind(finance, "the transfer of the asset"), Do: func(*ActionContext) {}},
		&ActionHandler{Name: TransferAsset, Moves: Always, Needs: lsNeedsRentPaid, Do: lsTransfer},
		&ActionHandler{Name: Terminate, Moves: Always, Body: reasons, Do: lsTerminate},
	),
	Type: "lease_type", Customer: "customer_id",
	Arrears: lsHasArrears, EndDate: lsEndDay, Schedule: lsSchedule.Column,
	Open: lsOpen, Due: lsNextTimer, Balances: lsBalances,
	ControlTotals: []ControlTotal{
		{Account: Cash, By: PayRent, Side: ledger.Debit, Column: lsTotalPaid.Column},
		{Account: "E:owner_expense", Side: ledger.Debit, Column: lsTotalExpenses.Column},
	},
	OpenAfterEnd:   []string{"A:rent_receivable"}, // rent may still be owed after the end
	MutableColumns: []*schema.Column{lsSerial.Column},
})

// States and actions that only this product has. RentDue is the action of the timer that
// makes a row of the payment schedule fall due.
const (
	AssetAcquired   Status = "asset_acquired"
	TransferPending Status = "transfer_pending"
	Terminated      Status = "terminated"

	Acquire       Action = "acquire"
	RentDue       Action = "rent_due"
	PayRent       Action = "payment"
	RecordArrears Action = "arrears"
	BearExpense   Action = "expense"
	ReturnAsset   Action = "return"
	MarkTransfer  Action = "transfer_pending"
	TransferAsset Action = "transfer"
	Terminate     Action = "terminate"
)

// Kinds of leases.
const (
	operating = "operating"
	finance   = "finance"
)

// maxExpenses is the largest number of expenses of the owner that a lease records. The record stores each expense with its
// description, so the bound keeps the record small.
const maxExpenses = 400

// The columns, in this order: fields that the request for a lease sets, fields that the service computes, columns of the
// rows in lists, and columns of the actions' request bodies (lsIn…).
var (
	lsCustomer = schema.ID(32, "customer_id", schema.Required, schema.InShort, schema.Help("the lessee"))
	lsKind     = schema.Enum(33, "lease_type", []string{operating, finance}, schema.Required, schema.InShort,
		schema.Help("an operating lease ends with the asset's return, a finance lease with its sale"))
	lsAsset = schema.Text(34, "asset_description", schema.Required, schema.InShort, schema.LongerThan(10), schema.AtMost(maxNote),
		schema.Help("description of the asset"))
	lsCost        = schema.Amount(35, "asset_cost", schema.Required, schema.InShort, schema.Help("what the asset costs the bank"))
	lsTerm        = schema.Integer(36, "lease_term_months", 1, 240, schema.Required, schema.InShort, schema.Help("term in months of 30 days"))
	lsRental      = schema.Amount(37, "monthly_rental", schema.Required, schema.InShort, schema.Help("rent for one month"))
	lsOptionPrice = schema.Amount(38, "purchase_option_price", schema.Settable, schema.InShort,
		schema.Help("price at which the lessee buys the asset; required for a finance lease, at most the cost"))
	lsAssetType = schema.Enum(39, "asset_type", []string{"vehicle", "equipment", "real_estate", "aircraft", "vessel", "machinery"}, schema.Settable, schema.InShort,
		schema.Help("type of the asset"))
	lsAdvance        = schema.Amount(40, "advance_rental", schema.Settable, schema.Help("rent that is billed at the activation"))
	lsDeposit        = schema.Amount(41, "security_deposit", schema.Settable, schema.Help("amount that the lessee deposits as security"))
	lsResidual       = schema.Amount(42, "residual_value", schema.Settable, schema.Help("value of the asset at the end, at most the cost"))
	lsSerial         = schema.Text(43, "asset_serial_number", schema.Settable, schema.Help("serial number of the asset"))
	lsLocation       = schema.Text(44, "asset_location", schema.Settable, schema.Help("where the asset is"))
	lsSpecifications = schema.Object(45, "asset_specifications", schema.Settable, schema.Help("further data of the asset"))
	lsProduct        = schema.ID(46, "product_id", schema.Settable, schema.Help("id of the product in your own catalogue"))

	lsHasPurchaseOption = schema.Bool(60, "purchase_option", schema.InShort, schema.Help("whether the lease is a finance lease"))
	lsTotalDue          = schema.Amount(61, "total_rentals_due", schema.InShort, schema.Help("the rent of the whole term, including the advance rental"))
	lsTotalPaid         = schema.Amount(62, "total_rentals_paid", schema.InShort, schema.Help("the rent that was paid"))
	lsSchedule          = schema.Rows(63, "payment_schedule", lsRowTable, schema.OutOfLists, schema.Computed(lsScheduleRows),
		schema.Help("the months of the lease with their rent")) // computed, so key 63 is never stored
	lsTotalExpenses = schema.Amount(64, "total_owner_expenses", schema.Help("sum of the owner's expenses"))
	lsExpenseRows   = schema.Rows(65, "owner_expenses", lsExpenseTable, schema.OutOfLists, schema.AtMost(maxExpenses), schema.Help("the owner's expenses"))
	lsReturnDate    = schema.Date(66, "return_date", schema.Help("day of the return"))
	lsTransferDate  = schema.Date(67, "transfer_date", schema.Help("day of the sale to the lessee"))

	lsDocuments       = schema.List(68, "ownership_documents", schema.Help("documents that show the bank's ownership: texts or objects"))
	lsRegistration    = schema.Text(69, "asset_registration", schema.Help("registration of the asset"))
	lsInsurance       = schema.Text(70, "insurance_policy", schema.Help("number of the insurance policy"))
	lsInsuredUntil    = schema.Date(71, "insurance_expires", schema.Help("end of the insurance"))
	lsStart           = schema.Date(72, "start_date", schema.InShort, schema.Help("first day of the lease"))
	lsEnd             = schema.Date(73, "end_date", schema.InShort, schema.Help("last day of the lease"))
	lsArrears         = schema.Amount(74, "arrears_amount", schema.InShort, schema.Help("the overdue amount that was recorded last"))
	lsReceivable      = schema.Amount(75, "rent_receivable", schema.Help("rent that is due and not paid")) // the balance of A:rent_receivable
	lsTerminationDate = schema.Date(76, "termination_date", schema.Help("day of the termination"))
	lsReason          = schema.Text(77, "termination_reason", schema.Sparse, schema.Help("why the lease was terminated"))
	lsRowsDue         = schema.DerivedInteger(78, "rows_due", schema.NotShown) // number of schedule rows that have fallen due
	lsPrepaid         = schema.Amount(79, "prepaid_rent", schema.NotShown)     // the balance of L:prepaid_rent

	lsNumber    = schema.DerivedInteger(1, "payment_number", schema.Help("number of the payment"))
	lsDueOn     = schema.Date(2, "due_date", schema.Help("when the payment is due"))
	lsRowAmount = schema.Amount(3, "amount", schema.Help("the rent"))
	lsRowStatus = schema.Text(4, "status", schema.Help("`pending`, `paid` or `cancelled`"))
	lsRowTable  = schema.NewTable(nil, lsNumber, lsDueOn, lsRowAmount, lsRowStatus)

	lsExpenseOn          = schema.Date(1, "date", schema.Help("day of the expense"))
	lsExpenseAmount      = schema.Amount(2, "amount", schema.Help("amount of the expense"))
	lsExpenseDescription = schema.Text(3, "description", schema.Help("what the expense was for"))
	lsExpenseType        = schema.Text(4, "type", schema.Help("type of the expense"))
	lsExpenseTable       = schema.NewTable(nil, lsExpenseOn, lsExpenseAmount, lsExpenseDescription, lsExpenseType)

	lsInDocuments = schema.List(1, "ownership_documents", schema.Required,
		schema.Help("documents that show the bank's ownership: texts or objects, at least one"))
	lsInSerial       = schema.Text(2, "asset_serial_number", schema.Settable, schema.Help("serial number of the asset"))
	lsInRegistration = schema.Text(3, "asset_registration", schema.Settable, schema.Help("registration of the asset"))
	lsInInsurance    = schema.Text(4, "insurance_policy", schema.Settable, schema.Help("number of the insurance policy"))
	lsInInsuredUntil = schema.Date(5, "insurance_expires", schema.Settable, schema.Help("end of the insurance"))
	lsInDeliveryDate = schema.Date(1, "delivery_date", schema.Settable, schema.Help("day of the delivery; today if absent"))
	lsInPayment      = schema.Amount(1, "amount", schema.Required, schema.Help("what the lessee pays, at most the rent that is not paid yet"))
	lsInArrears      = schema.Amount(1, "amount", schema.Required, schema.OrZero, schema.Help("the overdue amount; zero clears it"))
	lsInExpense      = schema.Amount(1, "amount", schema.Required, schema.Help("amount of the expense"))
	lsInDescription  = schema.Text(2, "description", schema.Required, schema.AtMost(maxNote), schema.Help("what the expense is for"))
	lsInExpenseType  = schema.Text(3, "type", schema.DefaultTo("maintenance"), schema.Help("type of the expense"))
)

// lsRunningSteps returns the steps that are possible while rent becomes due. None of these steps changes the state.
func lsRunningSteps(state Status) []Step {
	return []Step{
		{From: state, By: RentDue, To: state, Why: "a row of the schedule has fallen due"},
		{From: state, By: PayRent, To: state, Why: "rent was paid"},
		{From: state, By: RecordArrears, To: state, Why: "what is overdue was recorded"},
		{From: state, By: BearExpense, To: state, Why: "the owner bore an expense"},
	}
}

func lsOpen(c *ActionContext) {
	v := c.values()
	lsHasPurchaseOption.Set(v, lsKind.Get(v) == finance)
	if lsHasPurchaseOption.Get(v) && !lsOptionPrice.Has(v) {
		c.refuse(lsOptionPrice.Name, "is required for a finance lease")
	}
	for _, price := range []schema.TypedColumn[money.Amount]{lsOptionPrice, lsResidual} {
		if lsCost.Get(v).Less(price.Get(v)) {
			c.refuse(price.Name, "is above asset_cost")
		}
	}
	for _, total := range []schema.TypedColumn[money.Amount]{lsTotalDue, lsTotalPaid, lsTotalExpenses, lsArrears, lsReceivable} {
		total.Set(v, money.Amount{})
	}
	c.addToTotal(lsTotalDue, times(lsRental.Get(v), lsTerm.Get(v)), lsRental.Name)
	c.addToTotal(lsTotalDue, lsAdvance.Get(v), lsAdvance.Name)
}

// Statuses of the schedule's rows. A row is cancelled if the lease ended before the row fell due. No rent is owed for a
// cancelled row.
const (
	rowPending   = "pending"
	rowPaid      = "paid"
	rowCancelled = "cancelled"
)

// lsScheduleRows computes the schedule of a lease that has started. There is one row for each period of 30 days, and the
// first row is due one period after the start. The advance rental is owed in addition to the rent of the rows, and has no
// row of its own. Payments cover the advance rental first, and then the rows in order.
func lsScheduleRows(v schema.Row) any {
	if !lsStart.Has(v) {
		return nil
	}
	coveredRows := lsCoveredRows(v)
	hasEnded := lsReturnDate.Has(v) || lsTransferDate.Has(v) || lsTerminationDate.Has(v)
	schedule := make([]schema.Row, lsTerm.Get(v))
	for i := range schedule {
		number := int64(i) + 1
		status := rowPending
		switch {
		case hasEnded && number > lsRowsDue.Get(v):
			status = rowCancelled
		case number <= coveredRows:
			status = rowPaid
		}
		row := lsRowTable.New()
		lsNumber.Set(row, number)
		lsDueOn.Set(row, addMonths(lsStart.Get(v), number))
		lsRowAmount.Set(row, lsRental.Get(v))
		lsRowStatus.Set(row, status)
		schedule[i] = row
	}
	return schedule
}

// lsCoveredRows returns the number of schedule rows that are paid. When a lease ends, money that the institution owes the
// lessee is used to pay owed rent, so this money pays rows, too. So the function does not use the sum of the payments, but
// the billed rent less the receivable, plus the prepaid rent.
func lsCoveredRows(v schema.Row) int64 {
	covered := plus(minusOrZero(lsBilled(v), lsReceivable.Get(v)), lsPrepaid.Get(v))
	n, _ := must(minusOrZero(covered, lsAdvance.Get(v)).DivFloor(lsRental.Get(v))).Uint64()
	return int64(n)
}

// lsBilled returns the advance rental plus the rent of the rows that have fallen due.
func lsBilled(v schema.Row) money.Amount {
	return plus(lsAdvance.Get(v), times(lsRental.Get(v), lsRowsDue.Get(v)))
}

// lsHasArrears tells whether the lease is active and arrears are recorded for it.
func lsHasArrears(r *Record) bool { return r.Status == Active && !lsArrears.Get(r.Values).IsZero() }

// lsEndDay returns the day on which the term of an active lease ends. If the lease is not active, it returns 0.
func lsEndDay(r *Record) ledger.Date {
	if r.Status != Active {
		return 0
	}
	return lsEnd.Get(r.Values)
}
