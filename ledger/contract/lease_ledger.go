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
	lsDocuments.Set(v, lsInDocuments.Of(c.input))
	for _, item := range []struct{ sent, kept schema.Cell[string] }{{lsInSerial, lsSerial}, {lsInRegistration, lsRegistration}, {lsInInsurance, lsInsurance}} {
		if item.sent.Has(c.input) {
			item.kept.Set(v, item.sent.Of(c.input))
		}
	}
	if lsInInsured.Has(c.input) {
		lsInsured.Set(v, lsInInsured.Of(c.input))
	}
	c.move(c.r.account("A:ijara_asset"), c.r.cash(), lsCost.Of(v))
}

// lsActivate starts the schedule on the day of delivery. The advance rental is billed at once
// and earned over the term.
func lsActivate(c *Case) {
	v, r := c.values(), c.r
	delivered := orToday(c, lsInDelivered)
	lsStart.Set(v, delivered)
	lsEnd.Set(v, after(delivered, lsTerm.Of(v)))
	lsFallen.Set(v, 0)
	lsReceivable.Set(v, lsAdvance.Of(v))
	c.reserve(plus(lsDue.Of(v), lsCost.Of(v)))
	c.effective(delivered)
	c.move(r.account("A:rent_receivable"), r.account("L:unearned_rent"), lsAdvance.Of(v))
	c.move(r.cash(), r.account("L:security_deposit"), lsDeposit.Of(v))
}

// lsNext returns the day on which the schedule's next row falls due.
func lsNext(r *Record) (ledger.Date, Action) {
	v := r.Values
	if r.Status != Active && r.Status != TransferPending || lsFallen.Of(v) == lsTerm.Of(v) {
		return 0, ""
	}
	return after(lsStart.Of(v), lsFallen.Of(v)+1), RentDue
}

func lsFallDue(c *Case) { lsFall(c, 1) }

// lsFall makes the next rows of the schedule fall due. Their rent becomes owed and is paid from
// prepaid rent as far as possible. The rows earn their part of the advance rental and book their
// part of the depreciation.
func lsFall(c *Case, rows int64) {
	v, r := c.values(), c.r
	earned, worn := lsUnearned(v), lsWorn(v)
	lsFallen.Set(v, lsFallen.Of(v)+rows)
	earned, worn = minus(earned, lsUnearned(v)), minus(lsWorn(v), worn)
	rent := times(lsRental.Of(v), rows)
	ahead := rent.Min(lsPrepaid.Of(v))
	lsReceivable.Set(v, plus(lsReceivable.Of(v), minus(rent, ahead)))
	lsPrepaid.Set(v, minus(lsPrepaid.Of(v), ahead))
	owed := r.account("A:rent_receivable")
	c.move(owed, "I:rent", rent)
	c.move(r.account("L:prepaid_rent"), owed, ahead)
	c.move(r.account("L:unearned_rent"), "I:rent", earned)
	c.move("E:depreciation", r.account("A:accumulated_depreciation"), worn)
}

// lsUnearned returns the advance rental less the part that the due rows have earned. The part is
// a cumulative floor, so the last row leaves nothing unearned.
func lsUnearned(v schema.Row) money.Amount {
	return minus(lsAdvance.Of(v), part(lsAdvance.Of(v), lsFallen.Of(v), lsTerm.Of(v)))
}

// lsWorn returns the accumulated depreciation after the due rows. It is a cumulative floor, so
// after the last row the book value is the residual value or the price of the purchase option.
func lsWorn(v schema.Row) money.Amount {
	left := lsResidual
	if lsPurchase.Of(v) {
		left = lsOption
	}
	return part(minus(lsCost.Of(v), left.Of(v)), lsFallen.Of(v), lsTerm.Of(v))
}

// lsPay takes a payment of rent: first for rent that is owed, the rest as prepaid rent. A lease
// that has ended accepts only rent that is still owed.
func lsPay(c *Case) {
	v, r := c.values(), c.r
	paid, owed := lsInAmount.Of(c.input), lsReceivable.Of(v)
	most := owed
	if r.Status == Active || r.Status == TransferPending {
		most = minus(lsDue.Of(v), lsPaid.Of(v))
	}
	if most.Less(paid) {
		c.refuse(lsInAmount.Name, "is more than the %v that is still to be paid", most)
		return
	}
	due := paid.Min(owed)
	ahead := minus(paid, due)
	lsPaid.Set(v, plus(lsPaid.Of(v), paid))
	lsReceivable.Set(v, minus(owed, due))
	lsPrepaid.Set(v, plus(lsPrepaid.Of(v), ahead))
	c.book(dr(r.cash(), paid), cr(r.account("A:rent_receivable"), due), cr(r.account("L:prepaid_rent"), ahead))
}

func lsRecordArrears(c *Case) { c.restate(lsArrears, lsInArrears.Of(c.input)) }

func lsBearExpense(c *Case) {
	spent := lsInExpense.Of(c.input)
	row := lsExpense.New()
	lsExpenseOn.Set(row, c.Today)
	lsExpenseAmount.Set(row, spent)
	lsExpenseFor.Set(row, lsInDescription.Of(c.input))
	lsExpenseType.Set(row, lsInExpenseType.Of(c.input))
	if c.keep(lsExpenseRows, row, lsInExpense.Name) && c.grow(lsExpenses, spent, lsInExpense.Name) {
		c.move("E:owner_expense", c.r.cash(), spent)
	}
}

// lsIs refuses an action that only the other kind of lease has, and then returns false.
func lsIs(c *Case, kind, what string) bool {
	if lsKind.Of(c.values()) == kind {
		return true
	}
	c.refuse(lsKind.Name, "only %s lease ends with %s", kind, what)
	return false
}

func lsReturn(c *Case) {
	if !lsIs(c, operating, "the asset's return") {
		return
	}
	lsReturned.Set(c.values(), c.Today)
	lsTakeBack(c)
}

func lsTerminate(c *Case) {
	lsTerminated.Set(c.values(), c.Today)
	lsReason.Set(c.values(), reason.Of(c.input))
	lsTakeBack(c)
}

// lsTakeBack takes the asset over at its book value and sets what the institution owes the
// lessee off against the owed rent; it pays out the rest. Rent that is still owed afterwards
// stays open until it is paid.
func lsTakeBack(c *Case) {
	v, r := c.values(), c.r
	worn := lsWorn(v)
	c.book(dr(r.account("A:accumulated_depreciation"), worn), dr("A:returned_assets", minus(lsCost.Of(v), worn)), cr(r.account("A:ijara_asset"), lsCost.Of(v)))
	lsSetOff(c, "L:prepaid_rent", lsPrepaid.Of(v))
	lsSetOff(c, "L:unearned_rent", lsUnearned(v))
	lsSetOff(c, "L:security_deposit", lsDeposit.Of(v))
	lsPrepaid.Clear(v)
	c.restate(lsArrears, money.Amount{})
}

// lsSetOff sets money held for the lessee off against the owed rent and pays out the rest.
func lsSetOff(c *Case, stem string, held money.Amount) {
	v, r := c.values(), c.r
	due := held.Min(lsReceivable.Of(v))
	lsReceivable.Set(v, minus(lsReceivable.Of(v), due))
	c.book(dr(r.account(stem), held), cr(r.account("A:rent_receivable"), due), cr(r.cash(), minus(held, due)))
}

func lsMarkTransfer(c *Case) { lsIs(c, finance, "the transfer of the asset") }

// lsTransfer sells the asset to a lessee who has paid all rent. The rows that are not yet due
// fall due first; after them the book value is the price of the purchase option, and no rent is
// owed or prepaid.
func lsTransfer(c *Case) {
	if !lsIs(c, finance, "the transfer of the asset") {
		return
	}
	v, r := c.values(), c.r
	if owed := less(lsDue.Of(v), lsPaid.Of(v)); !owed.IsZero() {
		c.refuse(lsPaid.Name, "%v of the rent is outstanding", owed)
		return
	}
	lsFall(c, lsTerm.Of(v)-lsFallen.Of(v))
	assert.That(lsReceivable.Of(v).IsZero() && lsPrepaid.Of(v).IsZero() && lsUnearned(v).IsZero(), "contract: rent is left of a lease that was wholly paid")
	worn, price := lsWorn(v), lsOption.Of(v)
	c.book(append([]line{dr(r.cash(), price), dr(r.account("A:accumulated_depreciation"), worn), cr(r.account("A:ijara_asset"), lsCost.Of(v))},
		c.difference(price, minus(lsCost.Of(v), worn), "I:disposal_gain", "E:disposal_loss")...)...)
	lsSetOff(c, "L:security_deposit", lsDeposit.Of(v))
	c.restate(lsArrears, money.Amount{})
	lsTransferred.Set(v, c.Today)
}

// lsHoldings returns the balances of a lease's own accounts. Only A:rent_receivable may stay
// open when a lease ends before all rent is paid.
func lsHoldings(r *Record) []Holding {
	v := r.Values
	asset, worn, unearned, deposit := money.Amount{}, money.Amount{}, money.Amount{}, money.Amount{}
	switch r.Status {
	case AssetAcquired:
		asset = lsCost.Of(v)
	case Active, TransferPending:
		asset, worn, unearned, deposit = lsCost.Of(v), lsWorn(v), lsUnearned(v), lsDeposit.Of(v)
	}
	return []Holding{
		{r.account("A:ijara_asset"), asset},
		{r.account("A:accumulated_depreciation"), worn},
		{r.account("A:rent_receivable"), lsReceivable.Of(v)},
		{r.account("L:unearned_rent"), unearned},
		{r.account("L:prepaid_rent"), lsPrepaid.Of(v)},
		{r.account("L:security_deposit"), deposit},
		{r.account("M:arrears"), lsArrears.Of(v)},
	}
}
