package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
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
func (c *Case) grow(total Cell[money.Amount], by money.Amount, field string) bool {
	sum, err := total.Of(c.v()).Add(by)
	if err != nil || ledger.MaxAmount.Less(sum) {
		c.refuse(field, "takes %s out of range", total.Name)
		return false
	}
	total.Set(c.v(), sum)
	return true
}

// added is a list of rows with one more: the list before is shared.
func added(before []Row, row Row) []Row {
	return append(before[:len(before):len(before)], row)
}

// concat puts lists of steps behind each other.
func concat(lists ...[]Step) (all []Step) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// orToday is the day that was given, or else today.
func orToday(c *Case, given Cell[ledger.Date]) ledger.Date {
	if given.Has(c.in) {
		return given.Of(c.in)
	}
	return c.Today
}

// wholePercent is floor(part × 100 ÷ whole).
func wholePercent(part, whole money.Amount) int64 {
	n, small := must(part.MulDivFloor(count(100), whole)).Uint64()
	if !small || n > maxPercent {
		return maxPercent
	}
	return int64(n)
}

// maxPercent is what a percentage that is told is cut at.
const maxPercent = 1 << 53
