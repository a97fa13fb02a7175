package contract

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Case is a decision in progress: the input of a handler, and what the handler decides.
type Case struct {
	Now    ledger.Micros
	Today  ledger.Date // the UTC day of the clock; for a timer, the day on which it was due
	record *Record     // the record after the decision
	input  schema.Row  // the body, a row of the handler's Body

	reading        *Reading
	faults         *schema.Faults
	transition     Action             // the action's name, or another transition in ActionHandler.Transitions
	lines          []ledger.Posting   // of the current entry
	entries        [][]ledger.Posting // the entries before the current one
	effectiveDate  ledger.Date        // of all entries; 0: today
	dated          []Dated            // dates in the body
	newParty       ledger.ID          // a person who becomes a party to the contract
	reserved       money.Amount       // what timers may book on shared accounts
	extendedColumn *schema.Column     // the list column that got a row

	register       Register     // the extract of the register of an issue's holders
	holderPosition Holder       // the holder's new row; Number 0: none
	subscription   Subscription // the subscription that changes holderPosition
	underWay       UnderWay
}

// values returns the values of the record after the decision.
func (c *Case) values() schema.Row { return c.record.Values }

// refuse adds a fault: a wrong field or an unmet condition.
func (c *Case) refuse(field, format string, args ...any) { c.faults.Add(field, format, args...) }

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

// book adds lines that balance among themselves, and omits lines whose amount is zero. If the lines do not fit
// into the current entry, all of them go into a new entry of the same Change (what one decision makes durable,
// as a whole).
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

// setArrears sets the column arrears and the memorandum account of arrears to an amount. It books only the
// difference from the amount reported before; the debt itself does not change.
func (c *Case) setArrears(arrears schema.Cell[money.Amount], amount money.Amount) {
	before, account := arrears.Get(c.values()), c.record.account("M:arrears")
	const control ledger.Path = "M:arrears_control"
	c.move(account, control, minusOrZero(amount, before))
	c.move(control, account, minusOrZero(before, amount))
	arrears.Set(c.values(), amount)
}

// gainOrLoss returns the line that books the difference of proceeds and carrying amount as a gain or a loss. If
// the difference is zero, book omits the line.
func (c *Case) gainOrLoss(proceeds, carryingAmount money.Amount, gain, loss ledger.Path) []line {
	if carryingAmount.Less(proceeds) {
		return []line{cr(gain, minus(proceeds, carryingAmount))}
	}
	return []line{dr(loss, minus(carryingAmount, proceeds))}
}
