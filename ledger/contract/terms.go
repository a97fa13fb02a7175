package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// frequencies are how often something comes again, the shortest first.
var frequencies = []string{"monthly", "quarterly", "semi_annually", "annually"}

// periodMonths is how many months, of 30 days each, a frequency's period has.
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

// after is the day so many months of 30 days behind another.
func after(on ledger.Date, months int64) ledger.Date { return on + ledger.Date(months*days) }

// grow adds to a total, and refuses the field that it came from where it would be
// out of range.
func (c *Case) grow(total schema.Cell[money.Amount], by money.Amount, field string) bool {
	sum, err := total.Of(c.values()).Add(by)
	if err != nil || ledger.MaxAmount.Less(sum) {
		c.refuse(field, "takes %s out of range", total.Name)
		return false
	}
	total.Set(c.values(), sum)
	return true
}

// maxRows bounds a list of reports that a contract keeps, such as its distributions,
// where its column names no bound: two such lists of the largest amounts fit into a
// record.
const maxRows = 3_000

// keep adds a row to a list of reports, and refuses the field that it came from
// where the list is full.
func (c *Case) keep(list schema.Cell[[]schema.Row], row schema.Row, field string) bool {
	before, most := list.Of(c.values()), list.MaxLength
	if most == 0 {
		most = maxRows
	}
	if len(before) >= most {
		c.refuse(field, "%s has %d rows: no more are taken", list.Name, most)
		return false
	}
	list.Set(c.values(), added(before, row))
	c.extendedColumn = list.Column
	return true
}

// MaxStored is how many bytes a record may have, in its stored form, behind a decision
// that adds a row to a list and does not end the contract. A record of the writer takes
// a third more, so that room is left for whatever else may follow: texts and objects
// that are kept once, what time counts, and the end.
const MaxStored = 3 * ((1 << 20) + (64 << 10)) / 4

// fewRows are so few that no list of them fills a record, whatever is in them.
const fewRows = 32

// full refuses a row for which the record has no room.
func (c *Case) full() error {
	if c.extendedColumn == nil {
		return nil
	}
	rows, _ := c.extendedColumn.Value(c.values()).([]schema.Row)
	if len(rows) <= fewRows || c.r.Product.Machine(c.reading).Final(c.r.Status) || len(AppendRecord(nil, c.r)) <= MaxStored {
		return nil
	}
	c.refuse(c.extendedColumn.Name, "is full: the contract has no room for more")
	return c.faults.Err()
}

// advance takes a date a period on, unless that would leave the calendar.
func (c *Case) advance(next schema.Cell[ledger.Date], months int64) {
	if on := after(next.Of(c.values()), months); on.Time().Year() <= schema.MaxYear {
		next.Set(c.values(), on)
	}
}

// added is a list of rows with one more: the list before is shared.
func added(before []schema.Row, row schema.Row) []schema.Row {
	return append(before[:len(before):len(before)], row)
}

// concat puts lists of steps behind each other.
func concat(lists ...[]Step) (all []Step) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// orToday is the day that was given, or else today. What was given is noted: it may
// be in a month that is closed.
func orToday(c *Case, given schema.Cell[ledger.Date]) ledger.Date {
	if !given.Has(c.input) {
		return c.Today
	}
	on := given.Of(c.input)
	c.dated = append(c.dated, Dated{given.Name, on})
	return on
}

// periodEnd is the day on which a period ends whose result is reported: the one that was
// given, or else today. It is not before the money was put in, and not to come; false: it
// is refused.
func periodEnd(c *Case, given schema.Cell[ledger.Date], putIn schema.Cell[ledger.Date]) (on ledger.Date, fine bool) {
	on = orToday(c, given)
	switch from := putIn.Of(c.values()); {
	case on < from:
		c.refuse(given.Name, "is %v, and the money was put in on %v", on, from)
	case on > c.Today:
		c.refuse(given.Name, "is %v, which is still to come: today is %v", on, c.Today)
	default:
		return on, true
	}
	return 0, false
}

// wholePercent is floor(part × 100 ÷ whole); false: it is more than every reader of
// JSON takes for what it is.
func wholePercent(part, whole money.Amount) (percent int64, exact bool) {
	n, small := must(part.MulDivFloor(count(100), whole)).Uint64()
	return int64(n), small && n <= maxExact
}

// maxExact is the largest integer up to which a double has every one (RFC 8259, 6).
const maxExact = 1<<53 - 1
