package contract

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
)

// Case is one decision at work: what an action sees, and what it leads to.
type Case struct {
	Now   ledger.Micros
	Today ledger.Date // the UTC day of the clock; of a timer, the day that it was due
	r     *Record     // the next one
	in    Row         // what the action was given, of its body's table

	reading *Reading
	faults  *Faults
	event   Action // which transition it is, where an action has more than one
	lines   []ledger.Posting
	entries [][]ledger.Posting
	on      ledger.Date  // the effective date; 0: today
	dated   []Dated      // the days that the action was given
	joined  ledger.ID    // who has a part in the contract from now on
	timed   money.Amount // what time may book from now on
	grown   *Column      // the list of rows that has one more

	register   Register     // what the action reads of the holders
	position   Holder       // and the one that it writes; Number 0: none
	subscribed Subscription // with the subscription that it comes from
	underWay   UnderWay
}

// v is the next record's values.
func (c *Case) v() Row { return c.r.Values }

// refuse says that a condition is not met, or that a field is wrong.
func (c *Case) refuse(field, format string, args ...any) { c.faults.add(field, format, args...) }

// fine tells that nothing was refused so far.
func (c *Case) fine() bool { return c.faults.none() }

// leads says which of an action's transitions it is.
func (c *Case) leads(event Action) { c.event = event }

// effective dates the entry.
func (c *Case) effective(on ledger.Date) { c.on = on }

// reserve says how much time may book, from now on, on any account that contracts
// share. A timer is not refused, so whoever starts it is, where there is no room.
func (c *Case) reserve(most money.Amount) { c.timed = most }

// line is one side of an entry.
type line struct {
	side    ledger.Side
	account ledger.Path
	amount  money.Amount
}

func dr(account ledger.Path, amount money.Amount) line { return line{ledger.Debit, account, amount} }
func cr(account ledger.Path, amount money.Amount) line { return line{ledger.Credit, account, amount} }

// book adds lines that balance by themselves. Those of zero are left out. What does
// not fit into one entry goes on in a further one of the same Change, so lines of
// one call are never torn apart.
func (c *Case) book(lines ...line) {
	fits := ledger.MaxPostings - len(c.lines)
	if len(lines) > fits {
		assert.That(len(lines) <= ledger.MaxPostings, "contract: %d lines that balance only together", len(lines))
		c.entries, c.lines = append(c.entries, c.lines), nil
	}
	for _, l := range lines {
		if !l.amount.IsZero() {
			c.lines = append(c.lines, ledger.Posting{Account: l.account, Asset: c.r.Asset, Side: l.side, Amount: l.amount})
		}
	}
}

// move is one debit and one credit.
func (c *Case) move(debit, credit ledger.Path, amount money.Amount) {
	c.book(dr(debit, amount), cr(credit, amount))
}

// restate takes the memorandum of what is late from what was reported before to an
// amount: only the difference is booked, and what is owed does not change.
func (c *Case) restate(late Cell[money.Amount], to money.Amount) {
	was, account := late.Of(c.v()), c.r.account("M:arrears")
	const control ledger.Path = "M:arrears_control"
	c.move(account, control, less(to, was))
	c.move(control, account, less(was, to))
	late.Set(c.v(), to)
}

// difference is what something has brought more or less than what is carried of it: a
// gain where the first amount is more, a loss where it is less.
func (c *Case) difference(got, carried money.Amount, gain, loss ledger.Path) []line {
	if carried.Less(got) {
		return []line{cr(gain, minus(got, carried))}
	}
	return []line{dr(loss, minus(carried, got))}
}
