package contract

import (
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Ratio is the ratio in which the bank and the customer share profit. Both parts are whole percentages and add up to 100.
type Ratio struct{ Bank, Customer int64 }

// split divides a profit: the bank's part is rounded down, and the customer gets the rest.
func (r Ratio) split(gross money.Amount) (bank, customer money.Amount) {
	bank = share(gross, r.Bank)
	return bank, minus(gross, bank)
}

// Approval is the result of a review. It contains the texts of the review's request, in the order of the review's columns.
// If a text is missing in the request, the service does not fill it in.
type Approval []ApprovalText

// ApprovalText is one field of an Approval.
type ApprovalText struct{ Name, Text string }

// IsGiven tells whether the review took place.
func (a Approval) IsGiven() bool { return len(a) > 0 }

// Texts calls fn with each text.
func (a Approval) Texts(fn func(name, text string)) {
	for _, field := range a {
		fn(field.Name, field.Text)
	}
}

// approvalOf returns the approval that the body of a review contains. row is the body, with the table's columns.
func approvalOf(table *schema.Table, row schema.Row) (a Approval) {
	for _, c := range table.Columns {
		if text, ok := c.Stored(row).(string); ok {
			a = append(a, ApprovalText{c.Name, text})
		}
	}
	return a
}

// The following arithmetic does not overflow, because the package bounds all amounts (doc.go, invariant 4).

func plus(a, b money.Amount) money.Amount { return must(a.Add(b)) }

func minus(a, b money.Amount) money.Amount { return must(a.Sub(b)) }

// minusOrZero returns a − b, or zero if b is larger.
func minusOrZero(a, b money.Amount) money.Amount {
	if a.Less(b) {
		return money.Amount{}
	}
	return minus(a, b)
}

// portion returns floor(a × numerator ÷ denominator).
func portion(a money.Amount, numerator, denominator int64) money.Amount {
	return must(a.MulDivFloor(amountOf(numerator), amountOf(denominator)))
}

// share returns floor(a × percent ÷ 100).
func share(a money.Amount, percent int64) money.Amount { return portion(a, percent, 100) }

func times(a money.Amount, n int64) money.Amount { return must(a.Mul(amountOf(n))) }

// amountOf converts a non-negative number to an amount.
func amountOf(n int64) money.Amount { return money.FromUint64(uint64(n)) }

// daysPerMonth is the length of a contract month in days.
const daysPerMonth = 30
