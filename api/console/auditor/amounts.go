package auditor

import "mizan/ledger/money"

// sided is a balance with its side, debit or credit.
type sided struct {
	Amount string // minor units, not negative; a balance of "0" has no side
	Debit  bool
	Credit bool
}

// sidedOf returns the difference of debits and credits. A text that is not an amount counts as 0.
func sidedOf(debits, credits string) sided {
	d, _ := money.Parse(debits)
	c, _ := money.Parse(credits)
	difference := money.Difference(d, c)
	return sided{Amount: difference.Abs.String(), Debit: !difference.IsZero() && !difference.Negative, Credit: !difference.IsZero() && difference.Negative}
}

// balanceOf returns the balance of the posted amounts.
func (t *totals) balanceOf() sided { return sidedOf(t.DebitsPosted, t.CreditsPosted) }

// Held tells whether money is held on the account.
func (t *totals) Held() bool { return !isZero(t.DebitsPending) || !isZero(t.CreditsPending) }

func isZero(amount string) bool { return amount == "0" || amount == "" }

// movedSince returns the amounts that were posted on the two sides after an earlier moment.
func (t *totals) movedSince(earlier *totals) (debits, credits string) {
	return difference(t.DebitsPosted, earlier.DebitsPosted), difference(t.CreditsPosted, earlier.CreditsPosted)
}

// difference returns a − b, with a minus sign if it is negative.
func difference(a, b string) string {
	x, _ := money.Parse(a)
	y, _ := money.Parse(b)
	return money.Difference(x, y).String()
}
