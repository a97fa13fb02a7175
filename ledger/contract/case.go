package contract

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Case is a decision that is being made: the input of a handler, and the handler's results.
type Case struct {
	Now    ledger.Micros
	Today  ledger.Date // the UTC day of the clock; for a timer, the day on which it was due
	caller Caller
	record *Record    // the record after the decision
	input  schema.Row // the request's body, a row of the table ActionHandler.Body

	reading        *Reading
	faults         *schema.Faults
	transition     Action             // the action's name, or another transition in ActionHandler.Transitions
	lines          []ledger.Posting   // the lines of the current entry
	entries        [][]ledger.Posting // the lines of each earlier entry
	effectiveDate  ledger.Date        // the effective date of all entries; 0: today
	dated          []Dated            // the dates in the request's body
	newParty       ledger.ID          // a person who becomes a party to the contract
	reserved       money.Amount       // the largest amount that timers may book on any shared account
	extendedColumn *schema.Column     // the list column to which a row was added

	register       Register     // the part of the register of certificate holders that the decision needs
	holderPosition Holder       // the holder's new row; Number 0: none
	subscription   Subscription // the subscription that changes holderPosition
	batchPhase     BatchPhase
}

// values returns the values of the record after the decision.
func (c *Case) values() schema.Row { return c.record.Values }

// refuse adds a fault: a wrong field or an unmet condition.
func (c *Case) refuse(field, format string, args ...any) { c.faults.Add(field, format, args...) }

// setCaller sets a column to the user who requests the decision, if there is one.
func (c *Case) setCaller(column schema.Cell[ledger.ID]) {
	if c.caller.User != (ledger.ID{}) {
		column.Set(c.values(), c.caller.User)
	}
}

// noFaults tells whether there is no fault so far.
func (c *Case) noFaults() bool { return c.faults.Empty() }

// setTransition selects one of the action's possible transitions.
func (c *Case) setTransition(transition Action) { c.transition = transition }

// setEffectiveDate sets the effective date of the entry.
func (c *Case) setEffectiveDate(day ledger.Date) { c.effectiveDate = day }

// setReserve sets the largest amount that timers may book on any shared account. A timer is never refused, so
// the writer (package posting) refuses the action that starts the timer if an account has no room for the
// amount.
func (c *Case) setReserve(amount money.Amount) { c.reserved = amount }

// line is one debit or credit of an entry.
type line struct {
	side    ledger.Side
	account ledger.Path
	amount  money.Amount
}

func dr(account ledger.Path, amount money.Amount) line { return line{ledger.Debit, account, amount} }
func cr(account ledger.Path, amount money.Amount) line { return line{ledger.Credit, account, amount} }

// book adds lines that balance among themselves. It omits lines with the amount zero. If the lines do not fit into the
// current entry, all of them go into a new entry of the same Change (everything that one decision makes durable, all or
// nothing).
func (c *Case) book(lines ...line) {
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
func (c *Case) move(debit, credit ledger.Path, amount money.Amount) {
	c.book(dr(debit, amount), cr(credit, amount))
}

// setArrears sets the column arrears, and the balance of the memorandum account of arrears, to an amount. It books only the
// difference from the amount that was reported before. The debt itself does not change.
func (c *Case) setArrears(arrears schema.Cell[money.Amount], amount money.Amount) {
	before, account := arrears.Get(c.values()), c.record.account("M:arrears")
	const control ledger.Path = "M:arrears_control"
	c.move(account, control, minusOrZero(amount, before))
	c.move(control, account, minusOrZero(before, amount))
	arrears.Set(c.values(), amount)
}

// gainOrLoss returns the line that books the difference between proceeds and carrying amount as a gain or a loss. The line's
// amount may be zero: the function book omits such a line.
func (c *Case) gainOrLoss(proceeds, carryingAmount money.Amount, gain, loss ledger.Path) []line {
	if carryingAmount.Less(proceeds) {
		return []line{cr(gain, minus(proceeds, carryingAmount))}
	}
	return []line{dr(loss, minus(carryingAmount, proceeds))}
}
