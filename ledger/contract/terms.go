package contract

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// frequencies lists the frequencies of payments and reports, the shortest period first.
var frequencies = []string{"monthly", "quarterly", "semi_annually", "annually"}

// periodMonths returns the length of a frequency's period in months of 30 days.
func periodMonths(frequency string) int64 {
	switch frequency {
	case "quarterly":
		return 3
	case "semi_annually":
		return 6
	case "annually":
		return 12
	}
	return 1
}

// addMonths returns the day that is a number of months, of 30 days each, after a day.
func addMonths(day ledger.Date, months int64) ledger.Date {
	return day + ledger.Date(months*daysPerMonth)
}

// needArrived refuses an action if the day in a column is in the future.
func (c *Case) needArrived(column schema.Cell[ledger.Date]) {
	if day := column.Get(c.values()); c.Today < day {
		c.refuse(column.Name, "is %v, which has not arrived", day)
	}
}

// addToTotal adds an amount to a total. If the sum would be out of range, it adds a fault for the field with the amount and
// returns false.
func (c *Case) addToTotal(total schema.Cell[money.Amount], amount money.Amount, field string) bool {
	sum, err := total.Get(c.values()).Add(amount)
	if err != nil || ledger.MaxAmount.Less(sum) {
		c.refuse(field, "takes %s out of range", total.Name)
		return false
	}
	total.Set(c.values(), sum)
	return true
}

// maxRows is the largest number of rows in a list of reports, such as distributions, if the list's column sets no bound. Two
// such lists of the largest amounts fit into a record.
const maxRows = 3_000

// needsRoom returns a function for ActionHandler.Needs. It adds a fault for a field of the report if the list of these
// reports is full.
func needsRoom(list schema.Cell[[]schema.Row], field *schema.Column) func(c *Case) {
	return func(c *Case) {
		if n := maxLength(list); len(list.Get(c.values())) >= n {
			c.refuse(field.Name, "%s has %d rows: no more are taken", list.Name, n)
		}
	}
}

func maxLength(list schema.Cell[[]schema.Row]) int {
	if list.MaxLength != 0 {
		return list.MaxLength
	}
	return maxRows
}

// addRow adds a row to a list of reports. The action's Needs has checked that the list has room.
func (c *Case) addRow(list schema.Cell[[]schema.Row], row schema.Row) {
	assert.That(len(list.Get(c.values())) < maxLength(list), "contract: %s is full", list.Name)
	list.Set(c.values(), withRow(list.Get(c.values()), row))
	c.extendedColumn = list.Column
}

// MaxStored is the largest size, in bytes, of a record's stored form after a decision that adds a row to a list
// and does not end the contract. The writer (package posting) accepts a third more. That leaves room for texts and
// objects that are stored once, for columns that timers change, and for the end of the contract.
const MaxStored = 3 * ((1 << 20) + (64 << 10)) / 4

// alwaysFittingRows is a number of rows that fit into every record, whatever else the record contains.
const alwaysFittingRows = 32

// checkRoom returns an error if the row that the decision adds makes the record too large.
func (c *Case) checkRoom() error {
	if c.extendedColumn == nil {
		return nil
	}
	rows, _ := c.extendedColumn.Value(c.values()).([]schema.Row)
	if len(rows) <= alwaysFittingRows || c.record.Product.Machine(c.reading).Final(c.record.Status) || len(AppendRecord(nil, c.record)) <= MaxStored {
		return nil
	}
	c.refuse(c.extendedColumn.Name, "is full: the contract has no room for more")
	return c.faults.Err()
}

// advance moves a date forward by a number of months of 30 days, unless the result is after schema.MaxYear.
func (c *Case) advance(date schema.Cell[ledger.Date], months int64) {
	if day := addMonths(date.Get(c.values()), months); day.Time().Year() <= schema.MaxYear {
		date.Set(c.values(), day)
	}
}

// withRow returns the list with one more row. It does not change the old list, which other records
// share.
func withRow(rows []schema.Row, row schema.Row) []schema.Row {
	return append(rows[:len(rows):len(rows)], row)
}

// joinSteps joins lists of steps.
func joinSteps(lists ...[]Step) (all []Step) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// dateOrToday returns the date in the request, or else today. It records a date from the request in
// Case.dated, because the writer refuses a date in a closed month.
func dateOrToday(c *Case, column schema.Cell[ledger.Date]) ledger.Date {
	if !column.Has(c.input) {
		return c.Today
	}
	day := column.Get(c.input)
	c.dated = append(c.dated, Dated{column.Name, day})
	return day
}

// periodEnd returns the day on which the reported period ends: the date in the request, or else
// today. It refuses a day in the future, and a day before the day in the column paidIn, on which the money was paid
// in; accepted is then false.
func periodEnd(c *Case, column schema.Cell[ledger.Date], paidIn schema.Cell[ledger.Date]) (day ledger.Date, accepted bool) {
	day = dateOrToday(c, column)
	if c.needPaidIn(column, day, paidIn); day > c.Today && c.noFaults() {
		c.refuse(column.Name, "is %v, which is in the future: today is %v", day, c.Today)
	}
	return day, c.noFaults()
}

// needPaidIn refuses the last day of a period if it is before the day in the column paidIn.
func (c *Case) needPaidIn(column schema.Cell[ledger.Date], day ledger.Date, paidIn schema.Cell[ledger.Date]) {
	if earliest := paidIn.Get(c.values()); day < earliest {
		c.refuse(column.Name, "is %v, which is before the money was put in on %v", day, earliest)
	}
}

// wholePercent returns floor(part × 100 ÷ whole). exact is false if the result exceeds maxExact, because a client
// might round such a number in JSON.
func wholePercent(part, whole money.Amount) (percent int64, exact bool) {
	n, fits := must(part.MulDivFloor(amountOf(100), whole)).Uint64()
	return int64(n), fits && n <= maxExact
}

// maxExact is the largest integer up to which a double represents every integer (RFC 8259,
// section 6).
const maxExact = 1<<53 - 1
