package contract

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// This file has the handlers of a lease's actions and the entries that they book.

func lsAcquire(c *Case) {
	v := c.values()
	lsDocuments.Set(v, lsInDocuments.Get(c.input))
	for _, item := range []struct{ sent, kept schema.Cell[string] }{{lsInSerial, lsSerial}, {lsInRegistration, lsRegistration}, {lsInInsurance, lsInsurance}} {
		if item.sent.Has(c.input) {
			item.kept.Set(v, item.sent.Get(c.input))
		}
	}
	if lsInInsured.Has(c.input) {
		lsInsured.Set(v, lsInInsured.Get(c.input))
	}
	c.move(c.record.account("A:ijara_asset"), c.record.cash(), lsCost.Get(v))
}

// lsActivate starts the schedule on the day of delivery. The advance rental is billed at once
// and earned over the term.
func lsActivate(c *Case) {
	v, r := c.values(), c.record
	delivered := orToday(c, lsInDelivered)
	lsStart.Set(v, delivered)
	lsEnd.Set(v, addMonths(delivered, lsTerm.Get(v)))
	lsRowsDue.Set(v, 0)
	lsReceivable.Set(v, lsAdvance.Get(v))
	c.setReserve(plus(lsDue.Get(v), lsCost.Get(v)))
	c.setEffectiveDate(delivered)
	c.move(r.account("A:rent_receivable"), r.account("L:unearned_rent"), lsAdvance.Get(v))
	c.move(r.cash(), r.account("L:security_deposit"), lsDeposit.Get(v))
}

// lsNext returns the day on which the schedule's next row falls due.
func lsNext(r *Record) (ledger.Date, Action) {
	v := r.Values
	if r.Status != Active && r.Status != TransferPending || lsRowsDue.Get(v) == lsTerm.Get(v) {
		return 0, ""
	}
	return addMonths(lsStart.Get(v), lsRowsDue.Get(v)+1), RentDue
}

func lsRowDue(c *Case) { lsMakeRowsDue(c, 1) }

// lsMakeRowsDue makes the next rows of the schedule fall due. Their rent becomes owed and is paid from
// prepaid rent as far as possible. The rows earn their part of the advance rental and book their
// part of the depreciation.
func lsMakeRowsDue(c *Case, rows int64) {
	v, r := c.values(), c.record
	earned, worn := lsUnearned(v), lsDepreciated(v)
	lsRowsDue.Set(v, lsRowsDue.Get(v)+rows)
	earned, worn = minus(earned, lsUnearned(v)), minus(lsDepreciated(v), worn)
	rent := times(lsRental.Get(v), rows)
	ahead := rent.Min(lsPrepaid.Get(v))
	lsReceivable.Set(v, plus(lsReceivable.Get(v), minus(rent, ahead)))
	lsPrepaid.Set(v, minus(lsPrepaid.Get(v), ahead))
	owed := r.account("A:rent_receivable")
	c.move(owed, "I:rent", rent)
	c.move(r.account("L:prepaid_rent"), owed, ahead)
	c.move(r.account("L:unearned_rent"), "I:rent", earned)
	c.move("E:depreciation", r.account("A:accumulated_depreciation"), worn)
}

// lsUnearned returns the advance rental less the part that the due rows have earned. The part is
// a cumulative floor, so the last row leaves nothing unearned.
func lsUnearned(v schema.Row) money.Amount {
	return minus(lsAdvance.Get(v), portion(lsAdvance.Get(v), lsRowsDue.Get(v), lsTerm.Get(v)))
}

// lsDepreciated returns the accumulated depreciation after the due rows. It is a cumulative floor, so
// after the last row the book value is the residual value or the price of the purchase option.
func lsDepreciated(v schema.Row) money.Amount {
	left := lsResidual
	if lsPurchase.Get(v) {
		left = lsOption
	}
	return portion(minus(lsCost.Get(v), left.Get(v)), lsRowsDue.Get(v), lsTerm.Get(v))
}

// lsPay takes a payment of rent: first for rent that is owed, the rest as prepaid rent. A lease
// that has ended accepts only rent that is still owed.
func lsPay(c *Case) {
	v, r := c.values(), c.record
	paid, owed := lsInAmount.Get(c.input), lsReceivable.Get(v)
	most := owed
	if r.Status == Active || r.Status == TransferPending {
		most = minus(lsDue.Get(v), lsPaid.Get(v))
	}
	if most.Less(paid) {
		c.refuse(lsInAmount.Name, "is more than the %v that is still to be paid", most)
		return
	}
	due := paid.Min(owed)
	ahead := minus(paid, due)
	lsPaid.Set(v, plus(lsPaid.Get(v), paid))
	lsReceivable.Set(v, minus(owed, due))
	lsPrepaid.Set(v, plus(lsPrepaid.Get(v), ahead))
	c.book(dr(r.cash(), paid), cr(r.account("A:rent_receivable"), due), cr(r.account("L:prepaid_rent"), ahead))
}

func lsRecordArrears(c *Case) { c.setArrears(lsArrears, lsInArrears.Get(c.input)) }

func lsBearExpense(c *Case) {
	spent := lsInExpense.Get(c.input)
	row := lsExpense.New()
	lsExpenseOn.Set(row, c.Today)
	lsExpenseAmount.Set(row, spent)
	lsExpenseFor.Set(row, lsInDescription.Get(c.input))
	lsExpenseType.Set(row, lsInExpenseType.Get(c.input))
	if c.addRow(lsExpenseRows, row, lsInExpense.Name) && c.addToTotal(lsExpenses, spent, lsInExpense.Name) {
		c.move("E:owner_expense", c.record.cash(), spent)
	}
}

// lsRequireKind refuses an action that only the other kind of lease has, and then returns false.
func lsRequireKind(c *Case, kind, what string) bool {
	if lsKind.Get(c.values()) == kind {
		return true
	}
	c.refuse(lsKind.Name, "only %s lease ends with %s", kind, what)
	return false
}

func lsReturn(c *Case) {
	if !lsRequireKind(c, operating, "the asset's return") {
		return
	}
	lsReturned.Set(c.values(), c.Today)
	lsTakeBack(c)
}

func lsTerminate(c *Case) {
	lsTerminated.Set(c.values(), c.Today)
	lsReason.Set(c.values(), reason.Get(c.input))
	lsTakeBack(c)
}

// lsTakeBack takes the asset over at its book value and sets what the institution owes the
// lessee off against the owed rent; it pays out the rest. Rent that is still owed afterwards
// stays open until it is paid.
func lsTakeBack(c *Case) {
	v, r := c.values(), c.record
	worn := lsDepreciated(v)
	c.book(dr(r.account("A:accumulated_depreciation"), worn), dr("A:returned_assets", minus(lsCost.Get(v), worn)), cr(r.account("A:ijara_asset"), lsCost.Get(v)))
	lsSetOff(c, "L:prepaid_rent", lsPrepaid.Get(v))
	lsSetOff(c, "L:unearned_rent", lsUnearned(v))
	lsSetOff(c, "L:security_deposit", lsDeposit.Get(v))
	lsPrepaid.Clear(v)
	c.setArrears(lsArrears, money.Amount{})
}

// lsSetOff sets money held for the lessee off against the owed rent and pays out the rest.
func lsSetOff(c *Case, stem string, held money.Amount) {
	v, r := c.values(), c.record
	due := held.Min(lsReceivable.Get(v))
	lsReceivable.Set(v, minus(lsReceivable.Get(v), due))
	c.book(dr(r.account(stem), held), cr(r.account("A:rent_receivable"), due), cr(r.cash(), minus(held, due)))
}

func lsMarkTransfer(c *Case) { lsRequireKind(c, finance, "the transfer of the asset") }

// lsTransfer sells the asset to a lessee who has paid all rent. The rows that are not yet due
// fall due first; after them the book value is the price of the purchase option, and no rent is
// owed or prepaid.
func lsTransfer(c *Case) {
	if !lsRequireKind(c, finance, "the transfer of the asset") {
		return
	}
	v, r := c.values(), c.record
	if owed := minusOrZero(lsDue.Get(v), lsPaid.Get(v)); !owed.IsZero() {
		c.refuse(lsPaid.Name, "%v of the rent is outstanding", owed)
		return
	}
	lsMakeRowsDue(c, lsTerm.Get(v)-lsRowsDue.Get(v))
	assert.That(lsReceivable.Get(v).IsZero() && lsPrepaid.Get(v).IsZero() && lsUnearned(v).IsZero(), "contract: rent is left of a lease that was wholly paid")
	worn, price := lsDepreciated(v), lsOption.Get(v)
	c.book(append([]line{dr(r.cash(), price), dr(r.account("A:accumulated_depreciation"), worn), cr(r.account("A:ijara_asset"), lsCost.Get(v))},
		c.gainOrLoss(price, minus(lsCost.Get(v), worn), "I:disposal_gain", "E:disposal_loss")...)...)
	lsSetOff(c, "L:security_deposit", lsDeposit.Get(v))
	c.setArrears(lsArrears, money.Amount{})
	lsTransferred.Set(v, c.Today)
}

// lsHoldings returns the balances of a lease's own accounts. Only A:rent_receivable may stay
// open when a lease ends before all rent is paid.
func lsHoldings(r *Record) []Holding {
	v := r.Values
	asset, worn, unearned, deposit := money.Amount{}, money.Amount{}, money.Amount{}, money.Amount{}
	switch r.Status {
	case AssetAcquired:
		asset = lsCost.Get(v)
	case Active, TransferPending:
		asset, worn, unearned, deposit = lsCost.Get(v), lsDepreciated(v), lsUnearned(v), lsDeposit.Get(v)
	}
	return []Holding{
		{r.account("A:ijara_asset"), asset},
		{r.account("A:accumulated_depreciation"), worn},
		{r.account("A:rent_receivable"), lsReceivable.Get(v)},
		{r.account("L:unearned_rent"), unearned},
		{r.account("L:prepaid_rent"), lsPrepaid.Get(v)},
		{r.account("L:security_deposit"), deposit},
		{r.account("M:arrears"), lsArrears.Get(v)},
	}
}
