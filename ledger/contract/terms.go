package contract

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// frequencies lists how often payments or reports can be due. The shortest period comes first.
var frequencies = []string{"monthly", "quarterly", "semi_annually", "annually"}

// periodMonths returns the length of the period that a frequency names, in months of 30 days.
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

// addMonths returns the day that is the given number of months later. A month has 30 days here.
func addMonths(day ledger.Date, months int64) ledger.Date {
	return day + ledger.Date(months*daysPerMonth)
}

// needPastDate refuses an action if the day in a column is in the future.
func (c *ActionContext) needPastDate(column schema.TypedColumn[ledger.Date]) {
	if day := column.Get(c.values()); c.Today < day {
		c.refuse(column.Name, "is %v, which has not arrived", day)
	}
}

// addToTotal adds an amount to a total. If the sum would be out of range, it adds a fault for field, the request's field
// with the amount, and returns false.
func (c *ActionContext) addToTotal(total schema.TypedColumn[money.Amount], amount money.Amount, field string) bool {
	sum, err := total.Get(c.values()).Add(amount)
	if err != nil || ledger.MaxAmount.Less(sum) {
		c.refuse(field, "takes %s out of range", total.Name)
		return false
	}
	total.Set(c.values(), sum)
	return true
}

// maxRows is the largest number of rows in a list of reports, such as distributions, unless the list's column sets another
// bound. A record has room for two lists of this length, even if all amounts are the largest possible.
const maxRows = 3_000

// needsRoom returns a function for ActionHandler.Needs. If the list of reports is full, that function adds a fault for the
// given field of the report.
func needsRoom(list schema.TypedColumn[[]schema.Row], field *schema.Column) func(c *ActionContext) {
	return func(c *ActionContext) {
		if n := maxLength(list); len(list.Get(c.values())) >= n {
			c.refuse(field.Name, "%s has %d rows: no more are taken", list.Name, n)
		}
	}
}

func maxLength(list schema.TypedColumn[[]schema.Row]) int {
	if list.MaxLength != 0 {
		return list.MaxLength
	}
	return maxRows
}

// addRow adds a row to a list of reports. The action's Needs has already checked that the list has room.
func (c *ActionContext) addRow(list schema.TypedColumn[[]schema.Row], row schema.Row) {
	assert.That(len(list.Get(c.values())) < maxLength(list), "contract: %s is full", list.Name)
	list.Set(c.values(), withRow(list.Get(c.values()), row))
	c.extendedColumn = list.Column
}

// MaxStored is the largest size of a record's stored form, in bytes. It is checked only if a decision adds a row to a list
// and does not end the contract. The writer (package posting) accepts records that are a third larger. The difference
// leaves room for texts and objects that are stored once, for columns that timers change, and for the end of the contract.
const MaxStored = 3 * ((1 << 20) + (64 << 10)) / 4

// alwaysFittingRows is a number of rows for which every record has room, whatever else the record contains.
const alwaysFittingRows = 32

// checkRoom returns an error if the decision adds a row that makes the record too large.
func (c *ActionContext) checkRoom() error {
	if c.extendedColumn == nil {
		return nil
	}
	rows, _ := c.extendedColumn.Value(c.values()).([]schema.Row)
	if len(rows) <= alwaysFittingRows || c.record.Product.Machine(c.reading).IsFinal(c.record.Status) || len(AppendRecord(nil, c.record)) <= MaxStored {
		return nil
	}
	c.refuse(c.extendedColumn.Name, "is full: the contract has no room for more")
	return c.faults.Err()
}

// advance moves a date forward by the given number of months of 30 days. If the new date would be after schema.MaxYear, it
// leaves the date unchanged.
func (c *ActionContext) advance(date schema.TypedColumn[ledger.Date], months int64) {
	if day := addMonths(date.Get(c.values()), months); day.Time().Year() <= schema.MaxYear {
		date.Set(c.values(), day)
	}
}

// withRow returns a list with one more row. It does not change the given list, because other records share it.
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

// dateOrToday returns the date in the request, or else today. If the request has a date, it also records the date in
// ActionContext.requestDates, because the writer refuses dates in closed months.
func dateOrToday(c *ActionContext, column schema.TypedColumn[ledger.Date]) ledger.Date {
	if !column.Has(c.input) {
		return c.Today
	}
	day := column.Get(c.input)
	c.requestDates = append(c.requestDates, RequestDate{column.Name, day})
	return day
}

// periodEnd returns the day on which the reported period ends: the date in the request, or else today. It refuses a day in
// the future, and a day before the money was paid in (column paidIn). If it refuses the day, accepted is false.
func periodEnd(c *ActionContext, column schema.TypedColumn[ledger.Date], paidIn schema.TypedColumn[ledger.Date]) (day ledger.Date, accepted bool) {
	day = dateOrToday(c, column)
	if c.needAfterPayIn(column, day, paidIn); day > c.Today && c.noFaults() {
		c.refuse(column.Name, "is %v, which is in the future: today is %v", day, c.Today)
	}
	return day, c.noFaults()
}

// needAfterPayIn refuses a period whose last day is before the day on which the money was paid in (column paidIn).
func (c *ActionContext) needAfterPayIn(column schema.TypedColumn[ledger.Date], day ledger.Date, paidIn schema.TypedColumn[ledger.Date]) {
	if earliest := paidIn.Get(c.values()); day < earliest {
		c.refuse(column.Name, "is %v, which is before the money was put in on %v", day, earliest)
	}
}

// wholePercent returns floor(part × 100 ÷ whole). If the result exceeds maxExact, exact is false, because a client might
// round such a number when it reads the JSON.
func wholePercent(part, whole money.Amount) (percent int64, exact bool) {
	n, fits := must(part.MulDivFloor(amountOf(100), whole)).Uint64()
	return int64(n), fits && n <= maxExact
}

// maxExact is the largest number such that a double (the type that many JSON parsers use) represents every integer up to it
// exactly (RFC 8259, section 6).
const maxExact = 1<<53 - 1
