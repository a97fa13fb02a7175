package contract

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// ActionContext is the working state of one decision: the input that a handler reads, and the results that the handler
// sets.
type ActionContext struct {
	Now    ledger.Micros
	Today  ledger.Date // the UTC day of the clock; for a timer, the day on which it was due
	caller Caller
	record *Record    // the record after the decision
	input  schema.Row // the request's body, with the columns of ActionHandler.Body

	reading        *Reading
	faults         *schema.Faults
	transition     Action             // the state transition to make, one of ActionHandler.Transitions
	lines          []ledger.Posting   // the lines of the current entry
	entries        [][]ledger.Posting // the lines of the entries before the current one
	effectiveDate  ledger.Date        // the effective date of all entries; 0 if it is Today
	requestDates   []RequestDate      // the dates in the request's body
	newParty       ledger.ID          // a person who becomes a party to the contract
	reserve        money.Amount       // the largest amount that timers may book on any shared account
	extendedColumn *schema.Column     // the list column to which the handler added a row

	register       Register     // the part of the register of certificate holders that the decision needs
	holderPosition Holder       // the holder's new row in the register; its Number is 0 if there is none
	subscription   Subscription // the subscription that the decision adds to the register
	batchPhase     BatchPhase
}

// values returns the column values of the record after the decision. Handlers read and change them.
func (c *ActionContext) values() schema.Row { return c.record.Values }

// refuse adds a fault: a wrong field or an unmet condition.
func (c *ActionContext) refuse(field, format string, args ...any) {
	c.faults.Add(field, format, args...)
}

// setCaller writes the id of the requesting user to a column. If no user made the request, the column does not change.
func (c *ActionContext) setCaller(column schema.TypedColumn[ledger.ID]) {
	if c.caller.User != (ledger.ID{}) {
		column.Set(c.values(), c.caller.User)
	}
}

// noFaults tells whether the checks have found no fault so far.
func (c *ActionContext) noFaults() bool { return c.faults.IsEmpty() }

// setTransition selects the transition to make, one of ActionHandler.Transitions.
func (c *ActionContext) setTransition(transition Action) { c.transition = transition }

// setEffectiveDate sets the effective date of the decision's entries.
func (c *ActionContext) setEffectiveDate(day ledger.Date) { c.effectiveDate = day }

// setReserve sets the largest amount that timers may book on any shared account. A timer is never refused, so the amount is
// reserved in advance: if an account has no room for it, the writer (package posting) refuses the action that starts the
// timer.
func (c *ActionContext) setReserve(amount money.Amount) { c.reserve = amount }

// line is one debit or credit of an entry.
type line struct {
	side    ledger.Side
	account ledger.Path
	amount  money.Amount
}

func dr(account ledger.Path, amount money.Amount) line { return line{ledger.Debit, account, amount} }
func cr(account ledger.Path, amount money.Amount) line { return line{ledger.Credit, account, amount} }

// book adds lines whose debits equal their credits. It omits lines with the amount zero. If the lines do not fit into the
// current entry, book starts a new entry with them. All entries of a decision are stored in one Change, as a whole or not
// at all.
func (c *ActionContext) book(lines ...line) {
	free := ledger.MaxPostings - len(c.lines)
	if len(lines) > free {
		assert.That(len(lines) <= ledger.MaxPostings, "contract: %d lines that balance only together", len(lines))
		c.entries, c.lines = append(c.entries, c.lines), nil
	}
	for _, l := range lines {
		if !l.amount.IsZero() {
			c.lines = append(c.lines, ledger.Posting{Account: l.account, Asset: c.record.Asset, Side: l.side, Amount: l.amount})
		}
	}
}

// move books one debit and one credit.
func (c *ActionContext) move(debit, credit ledger.Path, amount money.Amount) {
	c.book(dr(debit, amount), cr(credit, amount))
}

// setArrears records the reported amount of arrears in the column arrears and as the balance of the memorandum account
// M:arrears. It books only the difference from the amount reported before. The customer's debt itself does not change.
func (c *ActionContext) setArrears(arrears schema.TypedColumn[money.Amount], amount money.Amount) {
	before, account := arrears.Get(c.values()), c.record.account("M:arrears")
	const control ledger.Path = "M:arrears_control"
	c.move(account, control, minusOrZero(amount, before))
	c.move(control, account, minusOrZero(before, amount))
	arrears.Set(c.values(), amount)
}

// gainOrLoss returns the line for the difference between the proceeds and the carrying amount: a gain if the proceeds are
// higher, otherwise a loss. The line's amount may be zero; the function book omits such a line.
func (c *ActionContext) gainOrLoss(proceeds, carryingAmount money.Amount, gain, loss ledger.Path) []line {
	if carryingAmount.Less(proceeds) {
		return []line{cr(gain, minus(proceeds, carryingAmount))}
	}
	return []line{dr(loss, minus(carryingAmount, proceeds))}
}
