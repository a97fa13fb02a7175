package contract

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// This file contains the handlers of a lease's actions, with the ledger entries that the actions book.

func lsAcquire(c *ActionContext) {
	v := c.values()
	lsDocuments.Set(v, lsInDocuments.Get(c.input))
	for _, item := range []struct{ bodyColumn, column schema.TypedColumn[string] }{{lsInSerial, lsSerial}, {lsInRegistration, lsRegistration}, {lsInInsurance, lsInsurance}} {
		if item.bodyColumn.Has(c.input) {
			item.column.Set(v, item.bodyColumn.Get(c.input))
		}
	}
	if lsInInsuredUntil.Has(c.input) {
		lsInsuredUntil.Set(v, lsInInsuredUntil.Get(c.input))
	}
	c.move(c.record.account("A:ijara_asset"), c.record.cash(), lsCost.Get(v))
}

// lsActivate starts the schedule on the day of delivery. The advance rental is billed at once, but it becomes income step
// by step over the term.
func lsActivate(c *ActionContext) {
	v, r := c.values(), c.record
	deliveryDay := dateOrToday(c, lsInDeliveryDate)
	lsStart.Set(v, deliveryDay)
	lsEnd.Set(v, addMonths(deliveryDay, lsTerm.Get(v)))
	lsRowsDue.Set(v, 0)
	lsReceivable.Set(v, lsAdvance.Get(v))
	c.setReserve(plus(lsTotalDue.Get(v), lsCost.Get(v)))
	c.setEffectiveDate(deliveryDay)
	c.move(r.account("A:rent_receivable"), r.account("L:unearned_rent"), lsAdvance.Get(v))
	c.move(r.cash(), r.account("L:security_deposit"), lsDeposit.Get(v))
}

// lsNextTimer returns the timer that makes the schedule's next row fall due.
func lsNextTimer(r *Record) (ledger.Date, Action) {
	v := r.Values
	if r.Status != Active && r.Status != TransferPending || lsRowsDue.Get(v) == lsTerm.Get(v) {
		return 0, ""
	}
	return addMonths(lsStart.Get(v), lsRowsDue.Get(v)+1), RentDue
}

func lsRowDue(c *ActionContext) { lsMakeRowsDue(c, 1) }

// lsMakeRowsDue makes the next rows of the schedule fall due. The rent of these rows becomes owed, and prepaid rent pays as
// much of it as possible. For each row, a part of the advance rental becomes income and a part of the depreciation is
// booked.
func lsMakeRowsDue(c *ActionContext, rows int64) {
	v, r := c.values(), c.record
	unearnedBefore, depreciatedBefore := lsUnearned(v), lsDepreciated(v)
	lsRowsDue.Set(v, lsRowsDue.Get(v)+rows)
	earned, depreciation := minus(unearnedBefore, lsUnearned(v)), minus(lsDepreciated(v), depreciatedBefore)
	rent := times(lsRental.Get(v), rows)
	prepaid := rent.Min(lsPrepaid.Get(v))
	lsReceivable.Set(v, plus(lsReceivable.Get(v), minus(rent, prepaid)))
	lsPrepaid.Set(v, minus(lsPrepaid.Get(v), prepaid))
	receivable := r.account("A:rent_receivable")
	c.move(receivable, "I:rent", rent)
	c.move(r.account("L:prepaid_rent"), receivable, prepaid)
	c.move(r.account("L:unearned_rent"), "I:rent", earned)
	c.move("E:depreciation", r.account("A:accumulated_depreciation"), depreciation)
}

// lsUnearned returns the part of the advance rental that is not yet income. The income part is computed for all due rows
// together and rounded down once, so nothing is unearned after the last row.
func lsUnearned(v schema.Row) money.Amount {
	return minus(lsAdvance.Get(v), portion(lsAdvance.Get(v), lsRowsDue.Get(v), lsTerm.Get(v)))
}

// lsDepreciated returns the accumulated depreciation of the rows that have fallen due. It is computed for all these rows
// together and rounded down once. So after the last row the book value is exactly the residual value or, if the lease has a
// purchase option, the price of the option.
func lsDepreciated(v schema.Row) money.Amount {
	endValue := lsResidual
	if lsHasPurchaseOption.Get(v) {
		endValue = lsOptionPrice
	}
	return portion(minus(lsCost.Get(v), endValue.Get(v)), lsRowsDue.Get(v), lsTerm.Get(v))
}

// lsPayable returns the largest payment of rent that the lease accepts. A lease that has ended accepts only rent that is
// still owed.
func lsPayable(r *Record) money.Amount {
	if r.Status == Active || r.Status == TransferPending {
		return minus(lsTotalDue.Get(r.Values), lsTotalPaid.Get(r.Values))
	}
	return lsReceivable.Get(r.Values)
}

// lsPay books a payment of rent. The payment covers owed rent first; what is left is recorded as prepaid rent.
func lsPay(c *ActionContext) {
	v, r := c.values(), c.record
	paid, owed := lsInPayment.Get(c.input), lsReceivable.Get(v)
	owedPart := paid.Min(owed)
	prepaidPart := minus(paid, owedPart)
	lsTotalPaid.Set(v, plus(lsTotalPaid.Get(v), paid))
	lsReceivable.Set(v, minus(owed, owedPart))
	lsPrepaid.Set(v, plus(lsPrepaid.Get(v), prepaidPart))
	c.book(dr(r.cash(), paid), cr(r.account("A:rent_receivable"), owedPart), cr(r.account("L:prepaid_rent"), prepaidPart))
}

func lsRecordArrears(c *ActionContext) { c.setArrears(lsArrears, lsInArrears.Get(c.input)) }

func lsBearExpense(c *ActionContext) {
	spent := lsInExpense.Get(c.input)
	row := lsExpenseTable.New()
	lsExpenseOn.Set(row, c.Today)
	lsExpenseAmount.Set(row, spent)
	lsExpenseDescription.Set(row, lsInDescription.Get(c.input))
	lsExpenseType.Set(row, lsInExpenseType.Get(c.input))
	if c.addToTotal(lsTotalExpenses, spent, lsInExpense.Name) {
		c.addRow(lsExpenseRows, row)
		c.move("E:owner_expense", c.record.cash(), spent)
	}
}

// lsNeedsKind returns a function for ActionHandler.Needs that refuses an action unless the lease is of the given kind. The
// message says that only this kind of lease ends in the given way.
func lsNeedsKind(kind, ending string) func(c *ActionContext) {
	return func(c *ActionContext) {
		if lsKind.Get(c.values()) != kind {
			c.refuse(lsKind.Name, "only %s lease ends with %s", kind, ending)
		}
	}
}

// lsNeedsRentPaid refuses the transfer of the asset to a lessee who has not paid all rent.
func lsNeedsRentPaid(c *ActionContext) {
	if lsNeedsKind(finance, "the transfer of the asset")(c); !c.noFaults() {
		return
	}
	if owed := minusOrZero(lsTotalDue.Get(c.values()), lsTotalPaid.Get(c.values())); !owed.IsZero() {
		c.refuse(lsTotalPaid.Name, "%v of the rent is outstanding", owed)
	}
}

func lsReturn(c *ActionContext) {
	lsReturnDate.Set(c.values(), c.Today)
	lsTakeBack(c)
}

func lsTerminate(c *ActionContext) {
	lsTerminationDate.Set(c.values(), c.Today)
	lsReason.Set(c.values(), reason.Get(c.input))
	lsTakeBack(c)
}

// lsTakeBack books the asset's return at its book value. Money that the institution owes the lessee is offset against the
// owed rent, and what is left is paid out to the lessee. If rent is still owed then, it stays open until the lessee pays
// it.
func lsTakeBack(c *ActionContext) {
	v, r := c.values(), c.record
	depreciation := lsDepreciated(v)
	c.book(dr(r.account("A:accumulated_depreciation"), depreciation), dr("A:returned_assets", minus(lsCost.Get(v), depreciation)), cr(r.account("A:ijara_asset"), lsCost.Get(v)))
	lsOffset(c, "L:prepaid_rent", lsPrepaid.Get(v))
	lsOffset(c, "L:unearned_rent", lsUnearned(v))
	lsOffset(c, "L:security_deposit", lsDeposit.Get(v))
	lsPrepaid.Clear(v)
	c.setArrears(lsArrears, money.Amount{})
}

// lsOffset uses money that the institution holds for the lessee to pay owed rent, and pays out the rest to the lessee.
func lsOffset(c *ActionContext, stem string, amount money.Amount) {
	v, r := c.values(), c.record
	offset := amount.Min(lsReceivable.Get(v))
	lsReceivable.Set(v, minus(lsReceivable.Get(v), offset))
	c.book(dr(r.account(stem), amount), cr(r.account("A:rent_receivable"), offset), cr(r.cash(), minus(amount, offset)))
}

// lsTransfer sells the asset to a lessee who has paid all rent. First the remaining rows of the schedule fall due. After
// that the asset's book value equals the price of the purchase option, and no rent is owed or prepaid.
func lsTransfer(c *ActionContext) {
	v, r := c.values(), c.record
	lsMakeRowsDue(c, lsTerm.Get(v)-lsRowsDue.Get(v))
	assert.That(lsReceivable.Get(v).IsZero() && lsPrepaid.Get(v).IsZero() && lsUnearned(v).IsZero(), "contract: rent is left of a lease that was wholly paid")
	depreciation, price := lsDepreciated(v), lsOptionPrice.Get(v)
	c.book(append([]line{dr(r.cash(), price), dr(r.account("A:accumulated_depreciation"), depreciation), cr(r.account("A:ijara_asset"), lsCost.Get(v))},
		c.gainOrLoss(price, minus(lsCost.Get(v), depreciation), "I:disposal_gain", "E:disposal_loss")...)...)
	lsOffset(c, "L:security_deposit", lsDeposit.Get(v))
	c.setArrears(lsArrears, money.Amount{})
	lsTransferDate.Set(v, c.Today)
}

// lsBalances returns the balances of a lease's own accounts. If a lease ends before all rent is paid, only
// A:rent_receivable stays open.
func lsBalances(r *Record) []AccountBalance {
	v := r.Values
	asset, depreciation, unearned, deposit := money.Amount{}, money.Amount{}, money.Amount{}, money.Amount{}
	switch r.Status {
	case AssetAcquired:
		asset = lsCost.Get(v)
	case Active, TransferPending:
		asset, depreciation, unearned, deposit = lsCost.Get(v), lsDepreciated(v), lsUnearned(v), lsDeposit.Get(v)
	}
	return []AccountBalance{
		{r.account("A:ijara_asset"), asset},
		{r.account("A:accumulated_depreciation"), depreciation},
		{r.account("A:rent_receivable"), lsReceivable.Get(v)},
		{r.account("L:unearned_rent"), unearned},
		{r.account("L:prepaid_rent"), lsPrepaid.Get(v)},
		{r.account("L:security_deposit"), deposit},
		{r.account("M:arrears"), lsArrears.Get(v)},
	}
}
