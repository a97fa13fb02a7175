package contract

import "mizan/ledger/money"

// Ratio is how profit is shared, in whole percent that add up to 100.
type Ratio struct{ Bank, Customer int64 }

// split is a profit by the ratio: the bank's part is floored, and the customer takes
// what that leaves.
func (r Ratio) split(gross money.Amount) (bank, customer money.Amount) {
	bank = share(gross, r.Bank)
	return bank, minus(gross, bank)
}

// Approval is the conclusion of a review: what was sent of the texts that a review
// has in the reading, in their order. It is never filled in by the service.
type Approval []Said

// Said is one text of an approval, under the name of its field.
type Said struct{ Name, Text string }

// Given reports whether there was a review.
func (a Approval) Given() bool { return len(a) > 0 }

// Texts calls fn with what was sent.
func (a Approval) Texts(fn func(name, text string)) {
	for _, said := range a {
		fn(said.Name, said.Text)
	}
}

// approvalOf is what a row of a review's table says.
func approvalOf(t *Table, r Row) (a Approval) {
	for _, c := range t.Columns {
		if text, ok := r[c.place].(string); ok {
			a = append(a, Said{c.Name, text})
		}
	}
	return a
}

// Arithmetic that stays in range because Check bounds what a contract may hold
// (invariant 4 of the package): a mistake in it is ours, and stops the decision.

func plus(a, b money.Amount) money.Amount { return must(a.Add(b)) }

func minus(a, b money.Amount) money.Amount { return must(a.Sub(b)) }

// less is a − b, and zero where b is more.
func less(a, b money.Amount) money.Amount {
	if a.Less(b) {
		return money.Amount{}
	}
	return minus(a, b)
}

// part is floor(a × num ÷ den).
func part(a money.Amount, num, den int64) money.Amount {
	return must(a.MulDivFloor(count(num), count(den)))
}

// share is floor(a × percent ÷ 100).
func share(a money.Amount, percent int64) money.Amount { return part(a, percent, 100) }

func times(a money.Amount, n int64) money.Amount { return must(a.Mul(count(n))) }

// count is a number that is not negative.
func count(n int64) money.Amount { return money.FromUint64(uint64(n)) }

// days are the periods of every term: a month is 30 of them.
const days = 30
