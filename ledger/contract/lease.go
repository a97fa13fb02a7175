package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Lease is an asset that the institution owns and somebody pays rent for. An
// operating lease ends with the asset's return, a finance lease with the transfer of
// its ownership. Its religious counterpart is ijara.
var Lease = define(&Product{
	Code: 'l',
	Variants: map[*Reading]*Variant{
		Secular: {Name: "leases", Prefix: "LS"},
		Religious: {Name: "ijara", Prefix: "IJR", Actions: map[string]Action{
			"approve": Pass, "reject": Reject, "acquire_asset": Acquire, "activate": Activate, "record_rental": PayRent,
			"record_arrears": RecordArrears, "record_owner_expense": BearExpense, "mark_transfer_pending": MarkTransfer,
			"transfer_ownership": TransferAsset, "return_asset": ReturnAsset, "terminate": Terminate,
		}},
	},
	Columns: columns(base,
		lsCustomer, lsKind, lsAsset, lsCost, lsTerm, lsRental, lsOption, lsAssetType, lsAdvance, lsDeposit, lsResidual,
		lsSerial, lsLocation, lsSpecifications, lsProduct,
		lsPurchase, lsDue, lsPaid, lsSchedule, lsExpenses, lsExpenseRows, lsReturned, lsTransferred,
		lsDocuments, lsRegistration, lsInsurance, lsInsured, lsStart, lsEnd, lsArrears, lsReceivable, lsTerminated, lsReason,
		lsFallen, lsPrepaid,
	),
	States: []Status{Draft, UnderReview, ReviewPassed, Refused, AssetAcquired, Active, TransferPending, Completed, Terminated},
	Steps: concat(
		reviewed(Acquire, AssetAcquired, "the institution owns the asset"),
		[]Step{
			{From: AssetAcquired, By: Activate, To: Active, Why: "the asset was delivered and its rent begins"},
			{From: Active, By: ReturnAsset, To: Completed, Why: "the asset came back"},
			{From: Active, By: MarkTransfer, To: TransferPending, Why: "the asset is to become the lessee's"},
			{From: Active, By: Terminate, To: Terminated, Why: "it was given up"},
		},
		steps(TransferAsset, Completed, "the asset is the lessee's", Active, TransferPending),
		lsRunning(Active), lsRunning(TransferPending),
		steps(PayRent, Completed, "rent that was still owed was paid", Completed),
		steps(PayRent, Terminated, "rent that was still owed was paid", Terminated),
	),
	Handlers: withReview(
		&ActionHandler{Name: Acquire, Moves: true, Body: columns(nil, lsInDocuments, lsInSerial, lsInRegistration, lsInInsurance, lsInInsured), Do: lsAcquire},
		&ActionHandler{Name: Activate, Moves: true, Body: columns(nil, lsInDelivered), Do: lsActivate},
		&ActionHandler{Name: RentDue, Moves: true, Timer: true, Do: lsFallDue},
		&ActionHandler{Name: PayRent, Moves: true, Body: columns(nil, lsInAmount), Do: lsPay},
		&ActionHandler{Name: RecordArrears, Moves: true, Body: columns(nil, lsInArrears), Do: lsRecordArrears},
		&ActionHandler{Name: BearExpense, Moves: true, Body: columns(nil, lsInExpense, lsInDescription, lsInExpenseType), Do: lsBearExpense},
		&ActionHandler{Name: ReturnAsset, Moves: true, Do: lsReturn},
		&ActionHandler{Name: MarkTransfer, Do: lsMarkTransfer},
		&ActionHandler{Name: TransferAsset, Moves: true, Do: lsTransfer},
		&ActionHandler{Name: Terminate, Moves: true, Body: reasons, Do: lsTerminate},
	),
	Type: "lease_type", Customer: "customer_id",
	Arrears: lsInDelay, Ends: lsEnds, Schedule: lsSchedule.Column,
	Open: lsOpen, Due: lsNext, Holdings: lsHoldings,
})

// Its own states and actions. A row of the schedule falls due by time.
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

// The kinds of leases.
const (
	operating = "operating"
	finance   = "finance"
)

// maxExpenses bounds a lease's owner's expenses: each is in its record, with what was
// said of it.
const maxExpenses = 400

var (
	lsCustomer       = id(32, "customer_id", required, short)
	lsKind           = enum(33, "lease_type", []string{operating, finance}, required, short)
	lsAsset          = text(34, "asset_description", required, short, longerThan(10), atMost(maxNote))
	lsCost           = amount(35, "asset_cost", required, short)
	lsTerm           = integer(36, "lease_term_months", 1, 240, required, short)
	lsRental         = amount(37, "monthly_rental", required, short)
	lsOption         = amount(38, "purchase_option_price", asked, short)
	lsAssetType      = enum(39, "asset_type", []string{"vehicle", "equipment", "real_estate", "aircraft", "vessel", "machinery"}, asked, short)
	lsAdvance        = amount(40, "advance_rental", asked)
	lsDeposit        = amount(41, "security_deposit", asked)
	lsResidual       = amount(42, "residual_value", asked)
	lsSerial         = text(43, "asset_serial_number", asked)
	lsLocation       = text(44, "asset_location", asked)
	lsSpecifications = object(45, "asset_specifications", asked)
	lsProduct        = id(46, "product_id", asked)

	lsPurchase    = boolean(60, "purchase_option", short)
	lsDue         = amount(61, "total_rentals_due", short)
	lsPaid        = amount(62, "total_rentals_paid", short)
	lsSchedule    = rows(63, "payment_schedule", lsRow, deep, computed(lsRows)) // so 63 is never stored
	lsExpenses    = amount(64, "total_owner_expenses")
	lsExpenseRows = rows(65, "owner_expenses", lsExpense, deep, atMost(maxExpenses))
	lsReturned    = date(66, "return_date")
	lsTransferred = date(67, "transfer_date")

	lsDocuments    = list(68, "ownership_documents")
	lsRegistration = text(69, "asset_registration")
	lsInsurance    = text(70, "insurance_policy")
	lsInsured      = date(71, "insurance_expires")
	lsStart        = date(72, "start_date", short)
	lsEnd          = date(73, "end_date", short)
	lsArrears      = amount(74, "arrears_amount", short)
	lsReceivable   = amount(75, "rent_receivable") // the balance of A:rent_receivable
	lsTerminated   = date(76, "termination_date")
	lsReason       = text(77, "termination_reason", sparse)
	lsFallen       = derived(78, "rows_due", hidden)    // of the schedule, from its first on
	lsPrepaid      = amount(79, "prepaid_rent", hidden) // the balance of L:prepaid_rent

	lsNumber    = derived(1, "payment_number")
	lsDueOn     = date(2, "due_date")
	lsRowAmount = amount(3, "amount")
	lsRowStatus = text(4, "status")
	lsRow       = columns(nil, lsNumber, lsDueOn, lsRowAmount, lsRowStatus)

	lsExpenseOn     = date(1, "date")
	lsExpenseAmount = amount(2, "amount")
	lsExpenseFor    = text(3, "description")
	lsExpenseType   = text(4, "type")
	lsExpense       = columns(nil, lsExpenseOn, lsExpenseAmount, lsExpenseFor, lsExpenseType)

	lsInDocuments    = list(1, "ownership_documents", required)
	lsInSerial       = text(2, "asset_serial_number", asked)
	lsInRegistration = text(3, "asset_registration", asked)
	lsInInsurance    = text(4, "insurance_policy", asked)
	lsInInsured      = date(5, "insurance_expires", asked)
	lsInDelivered    = date(1, "delivery_date", asked)
	lsInAmount       = amount(1, "amount", required)
	lsInArrears      = amount(1, "amount", required, orZero)
	lsInExpense      = amount(1, "amount", required)
	lsInDescription  = text(2, "description", required, atMost(maxNote))
	lsInExpenseType  = text(3, "type", defaultTo("maintenance"))
)

// lsRunning is what happens to a lease whose rent runs.
func lsRunning(state Status) []Step {
	return []Step{
		{From: state, By: RentDue, To: state, Why: "a row of the schedule has fallen due"},
		{From: state, By: PayRent, To: state, Why: "rent was paid"},
		{From: state, By: RecordArrears, To: state, Why: "what is overdue was recorded"},
		{From: state, By: BearExpense, To: state, Why: "the owner bore an expense"},
	}
}

func lsOpen(c *Case) {
	v := c.values()
	lsPurchase.Set(v, lsKind.Of(v) == finance)
	if lsPurchase.Of(v) && !lsOption.Has(v) {
		c.refuse(lsOption.Name, "is required for a finance lease")
	}
	for _, left := range []Cell[money.Amount]{lsOption, lsResidual} {
		if lsCost.Of(v).Less(left.Of(v)) {
			c.refuse(left.Name, "is above asset_cost")
		}
	}
	for _, total := range []Cell[money.Amount]{lsDue, lsPaid, lsExpenses, lsArrears, lsReceivable} {
		total.Set(v, money.Amount{})
	}
	c.grow(lsDue, times(lsRental.Of(v), lsTerm.Of(v)), lsRental.Name)
	c.grow(lsDue, lsAdvance.Of(v), lsAdvance.Name)
}

// The statuses of the schedule's rows. A row of a lease that has ended before it
// fell due is owed by nobody.
const (
	rowPending   = "pending"
	rowPaid      = "paid"
	rowCancelled = "cancelled"
)

// lsRows is the schedule, once it runs: a row a period of 30 days, the first due one
// period after the start. The advance rental is on top: it is no row, and what is
// paid covers it before it covers the rows in their order.
func lsRows(v Row) any {
	if !lsStart.Has(v) {
		return nil
	}
	paid := lsCovered(v)
	ended := lsReturned.Has(v) || lsTransferred.Has(v) || lsTerminated.Has(v)
	schedule := make([]Row, lsTerm.Of(v))
	for i := range schedule {
		number := int64(i) + 1
		status := rowPending
		switch {
		case ended && number > lsFallen.Of(v):
			status = rowCancelled
		case number <= paid:
			status = rowPaid
		}
		row := lsRow.New()
		lsNumber.Set(row, number)
		lsDueOn.Set(row, after(lsStart.Of(v), number))
		lsRowAmount.Set(row, lsRental.Of(v))
		lsRowStatus.Set(row, status)
		schedule[i] = row
	}
	return schedule
}

// lsCovered is how many rows are paid: with payments, or at the lease's end with
// what the institution owed the lessee. It is what was billed less what is owed,
// and what was paid ahead.
func lsCovered(v Row) int64 {
	covered := plus(less(lsBilled(v), lsReceivable.Of(v)), lsPrepaid.Of(v))
	n, _ := must(less(covered, lsAdvance.Of(v)).DivFloor(lsRental.Of(v))).Uint64()
	return int64(n)
}

// lsBilled is the advance rental and the rent of the rows that have fallen due.
func lsBilled(v Row) money.Amount {
	return plus(lsAdvance.Of(v), times(lsRental.Of(v), lsFallen.Of(v)))
}

// lsInDelay tells whether an active lease is in arrears: by what was recorded.
func lsInDelay(r *Record) bool { return r.Status == Active && !lsArrears.Of(r.Values).IsZero() }

// lsEnds is the day on which an active lease's term is over.
func lsEnds(r *Record) ledger.Date {
	if r.Status != Active {
		return 0
	}
	return lsEnd.Of(r.Values)
}
