package ledger

import (
	"fmt"

	"mizan/ledger/money"
)

// Totals are the four running totals of an account, in minor units. No total is ever negative. When pending money is captured
// or voided, it is subtracted from the pending total.
type Totals struct {
	DebitsPosted, CreditsPosted, DebitsPending, CreditsPending money.Amount
}

// Post adds the amount to the posted total of the side.
func (t *Totals) Post(side Side, amount money.Amount) error {
	return addTo(ofSide(side, &t.DebitsPosted, &t.CreditsPosted), amount)
}

// Hold adds the amount to the pending total of the side.
func (t *Totals) Hold(side Side, amount money.Amount) error {
	return addTo(ofSide(side, &t.DebitsPending, &t.CreditsPending), amount)
}

// Release subtracts the amount from the pending total of the side.
func (t *Totals) Release(side Side, amount money.Amount) error {
	total := ofSide(side, &t.DebitsPending, &t.CreditsPending)
	remaining, err := total.Sub(amount)
	if err != nil {
		return fmt.Errorf("release of %v from %v pending", amount, *total)
	}
	*total = remaining
	return nil
}

// Add adds the totals of another account with the same asset. If a sum overflows, it returns money.ErrOverflow.
func (t *Totals) Add(other *Totals) error {
	for _, f := range [...]struct {
		sum   *money.Amount
		added money.Amount
	}{
		{&t.DebitsPosted, other.DebitsPosted},
		{&t.CreditsPosted, other.CreditsPosted},
		{&t.DebitsPending, other.DebitsPending},
		{&t.CreditsPending, other.CreditsPending},
	} {
		if err := addTo(f.sum, f.added); err != nil {
			return err
		}
	}
	return nil
}

// ofSide returns the argument debit if side is Debit, and otherwise the argument credit.
func ofSide[T any](side Side, debit, credit T) T {
	if side == Debit {
		return debit
	}
	return credit
}

func addTo(total *money.Amount, amount money.Amount) error {
	sum, err := total.Add(amount)
	if err != nil {
		return err
	}
	*total = sum
	return nil
}

// Balance returns the difference between posted debits and posted credits. If the total of the given side is larger, the
// difference is positive.
func (t Totals) Balance(side Side) money.Signed {
	if side == Debit {
		return money.Difference(t.DebitsPosted, t.CreditsPosted)
	}
	return money.Difference(t.CreditsPosted, t.DebitsPosted)
}

// Available returns the posted credits minus the posted debits and the pending debits. If the account's normal side is credit,
// this amount can still be paid out.
func (t Totals) Available() money.Signed {
	spent, err := t.DebitsPosted.Add(t.DebitsPending)
	if err != nil {
		// This cannot happen, because the journal's writer refuses an entry after which a sum of totals could overflow. In case
		// of a bug, make nothing available.
		return money.Difference(money.Amount{}, t.DebitsPosted)
	}
	return money.Difference(t.CreditsPosted, spent)
}
