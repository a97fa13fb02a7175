package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// frequencies lists how often something can happen, such as a payment or a report: the shortest period first.
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

// addMonths returns the day after a number of months of 30 days.
func addMonths(day ledger.Date, months int64) ledger.Date {
	return day + ledger.Date(months*daysPerMonth)
}

// addToTotal adds an amount to a total. If the sum is out of range, it refuses the field that the
// amount came from and returns false.
func (c *Case) addToTotal(total schema.Cell[money.Amount], amount money.Amount, field string) bool {
	sum, err := total.Get(c.values()).Add(amount)
	if err != nil || ledger.MaxAmount.Less(sum) {
		c.refuse(field, "takes %s out of range", total.Name)
		return false
	}
	total.Set(c.values(), sum)
	return true
}

// maxRows is the largest number of rows that a list of reports, such as distributions, may have if its column
// sets no bound. Two such lists of the largest amounts fit into a record.
const maxRows = 3_000

// addRow adds a row to a list of reports. If the list is full, it refuses the field that the row
// came from and returns false.
func (c *Case) addRow(list schema.Cell[[]schema.Row], row schema.Row, field string) bool {
	rows, maxLength := list.Get(c.values()), list.MaxLength
	if maxLength == 0 {
		maxLength = maxRows
	}
	if len(rows) >= maxLength {
		c.refuse(field, "%s has %d rows: no more are taken", list.Name, maxLength)
		return false
	}
	list.Set(c.values(), withRow(rows, row))
	c.extendedColumn = list.Column
	return true
}

// MaxStored is the largest size, in bytes, of a record's stored form after a decision that adds a row to a list
// and does not end the contract. The writer (package posting) accepts a third more, which is room for texts and
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

// advance moves a date one period of the given months forward, unless the result is after schema.MaxYear.
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
	switch earliest := paidIn.Get(c.values()); {
	case day < earliest:
		c.refuse(column.Name, "is %v, and the money was put in on %v", day, earliest)
	case day > c.Today:
		c.refuse(column.Name, "is %v, which is still to come: today is %v", day, c.Today)
	default:
		return day, true
	}
	return 0, false
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
