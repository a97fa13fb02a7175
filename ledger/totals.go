package ledger

import (
	"fmt"

	"mizan/ledger/money"
)

// Totals are an account's four running totals, in minor units. None is ever negative. A pending
// total decreases when the pending money is captured or voided.
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

// Add adds the totals of another account of the same asset. The error is money.ErrOverflow.
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

// ofSide returns the argument debit or credit, whichever belongs to the side.
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

// Balance returns the posted balance: positive if it is on the given side, negative if it is on the other side.
func (t Totals) Balance(side Side) money.Signed {
	if side == Debit {
		return money.Difference(t.DebitsPosted, t.CreditsPosted)
	}
	return money.Difference(t.CreditsPosted, t.DebitsPosted)
}

// Available returns posted credits less posted debits less pending debits. This is the amount that can still be paid out of
// an account whose normal side is credit.
func (t Totals) Available() money.Signed {
	spent, err := t.DebitsPosted.Add(t.DebitsPending)
	if err != nil {
		// The writer refuses an entry after which a sum of totals could overflow. If a sum overflows
		// anyway, nothing is available.
		return money.Difference(money.Amount{}, t.DebitsPosted)
	}
	return money.Difference(t.CreditsPosted, spent)
}
