package ledger

import "mizan/ledger/money"

// Movement is the change that some entries make to an account's four running totals. A field is negative if the entries
// subtract more than they add. The sum of all movements of an account equals its Totals.
type Movement struct {
	DebitsPosted, CreditsPosted, DebitsPending, CreditsPending money.Signed
}

// Post adds a posted amount on the side.
func (m *Movement) Post(side Side, amount money.Amount) error {
	return addSigned(ofSide(side, &m.DebitsPosted, &m.CreditsPosted), money.Signed{Abs: amount})
}

// Hold adds an amount that is held on the side.
func (m *Movement) Hold(side Side, amount money.Amount) error {
	return addSigned(ofSide(side, &m.DebitsPending, &m.CreditsPending), money.Signed{Abs: amount})
}

// Release subtracts an amount that was held on the side.
func (m *Movement) Release(side Side, amount money.Amount) error {
	return addSigned(ofSide(side, &m.DebitsPending, &m.CreditsPending), money.Signed{Abs: amount}.Neg())
}

// Unpost subtracts a posted amount on the side.
func (m *Movement) Unpost(side Side, amount money.Amount) error {
	return addSigned(ofSide(side, &m.DebitsPosted, &m.CreditsPosted), money.Signed{Abs: amount}.Neg())
}

// Add adds another movement of the same account. The error is money.ErrOverflow.
func (m *Movement) Add(other *Movement) error {
	for _, f := range [...]struct{ sum, added *money.Signed }{
		{&m.DebitsPosted, &other.DebitsPosted},
		{&m.CreditsPosted, &other.CreditsPosted},
		{&m.DebitsPending, &other.DebitsPending},
		{&m.CreditsPending, &other.CreditsPending},
	} {
		if f.added.IsZero() {
			continue
		}
		if err := addSigned(f.sum, *f.added); err != nil {
			return err
		}
	}
	return nil
}

// Totals returns the movement as totals; ok is false if a total would be negative.
func (m *Movement) Totals() (t Totals, ok bool) {
	isTotal := [4]bool{}
	t.DebitsPosted, isTotal[0] = m.DebitsPosted.Amount()
	t.CreditsPosted, isTotal[1] = m.CreditsPosted.Amount()
	t.DebitsPending, isTotal[2] = m.DebitsPending.Amount()
	t.CreditsPending, isTotal[3] = m.CreditsPending.Amount()
	return t, isTotal == [4]bool{true, true, true, true}
}

// MovementOf converts an account's totals to a Movement: the sum of all movements of the account.
func MovementOf(t *Totals) Movement {
	return Movement{
		DebitsPosted: money.Signed{Abs: t.DebitsPosted}, CreditsPosted: money.Signed{Abs: t.CreditsPosted},
		DebitsPending: money.Signed{Abs: t.DebitsPending}, CreditsPending: money.Signed{Abs: t.CreditsPending},
	}
}

func addSigned(sum *money.Signed, added money.Signed) error {
	total, err := sum.Add(added)
	if err == nil {
		*sum = total
	}
	return err
}
