package auditor

import "mizan/ledger/money"

// sidedBalance is a balance with its side, debit or credit.
type sidedBalance struct {
	Amount string // minor units, not negative; a balance of "0" has no side
	Debit  bool
	Credit bool
}

// sidedOf returns the difference between debits and credits. If a text is not an amount, it counts as 0.
func sidedOf(debits, credits string) sidedBalance {
	d, _ := money.Parse(debits)
	c, _ := money.Parse(credits)
	difference := money.Difference(d, c)
	return sidedBalance{Amount: difference.Abs.String(), Debit: !difference.IsZero() && !difference.Negative, Credit: !difference.IsZero() && difference.Negative}
}

// balanceOf returns the balance of the posted amounts.
func (t *totals) balanceOf() sidedBalance { return sidedOf(t.DebitsPosted, t.CreditsPosted) }

// Held tells whether the account contains held money.
func (t *totals) Held() bool { return !isZero(t.DebitsPending) || !isZero(t.CreditsPending) }

func isZero(amount string) bool { return amount == "0" || amount == "" }

// movedSince returns the debits and the credits that were posted after an earlier moment. earlier are the totals at that
// moment.
func (t *totals) movedSince(earlier *totals) (debits, credits string) {
	return difference(t.DebitsPosted, earlier.DebitsPosted), difference(t.CreditsPosted, earlier.CreditsPosted)
}

// difference returns a − b. A negative result has a minus sign.
func difference(a, b string) string {
	x, _ := money.Parse(a)
	y, _ := money.Parse(b)
	return money.Difference(x, y).String()
}
