package ledger

import "mizan/ledger/money"

// Movement is the difference that some entries make to the four running totals of an account. If the entries subtract more from
// a total than they add, its field is negative. The sum of all movements of an account equals the account's Totals.
type Movement struct {
	DebitsPosted, CreditsPosted, DebitsPending, CreditsPending money.Signed
}

// Post adds the amount to the posted total of the side.
func (m *Movement) Post(side Side, amount money.Amount) error {
	return addSigned(ofSide(side, &m.DebitsPosted, &m.CreditsPosted), money.Signed{Abs: amount})
}

// Hold adds the amount to the pending total of the side.
func (m *Movement) Hold(side Side, amount money.Amount) error {
	return addSigned(ofSide(side, &m.DebitsPending, &m.CreditsPending), money.Signed{Abs: amount})
}

// Release subtracts the amount from the pending total of the side.
func (m *Movement) Release(side Side, amount money.Amount) error {
	return addSigned(ofSide(side, &m.DebitsPending, &m.CreditsPending), money.Signed{Abs: amount}.Neg())
}

// Unpost subtracts the amount from the posted total of the side.
func (m *Movement) Unpost(side Side, amount money.Amount) error {
	return addSigned(ofSide(side, &m.DebitsPosted, &m.CreditsPosted), money.Signed{Abs: amount}.Neg())
}

// Add adds another movement of the same account. If a sum overflows, it returns money.ErrOverflow.
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

// Totals converts the movement to Totals. If a field is negative, ok is false.
func (m *Movement) Totals() (t Totals, ok bool) {
	isTotal := [4]bool{}
	t.DebitsPosted, isTotal[0] = m.DebitsPosted.Amount()
	t.CreditsPosted, isTotal[1] = m.CreditsPosted.Amount()
	t.DebitsPending, isTotal[2] = m.DebitsPending.Amount()
	t.CreditsPending, isTotal[3] = m.CreditsPending.Amount()
	return t, isTotal == [4]bool{true, true, true, true}
}

// MovementOf converts an account's Totals to a Movement, which is the sum of all movements of the account.
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
