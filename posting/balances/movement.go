package balances

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// movement is the amounts that are added to and subtracted from an account's totals.
type movement struct{ plus, minus ledger.Totals }

// apply adds the movement to the totals. If floored is set, a pending total that would become negative becomes
// zero. That happens if a hold takes effect later than the entry that closes it.
func (m *movement) apply(t *ledger.Totals, floored bool) error {
	for _, f := range [...]struct {
		total, plus, minus *money.Amount
		pending            bool
	}{
		{&t.DebitsPosted, &m.plus.DebitsPosted, &m.minus.DebitsPosted, false},
		{&t.CreditsPosted, &m.plus.CreditsPosted, &m.minus.CreditsPosted, false},
		{&t.DebitsPending, &m.plus.DebitsPending, &m.minus.DebitsPending, true},
		{&t.CreditsPending, &m.plus.CreditsPending, &m.minus.CreditsPending, true},
	} {
		sum, err := f.total.Add(*f.plus)
		if err != nil {
			return err
		}
		if floored && f.pending && sum.Less(*f.minus) {
			*f.total = money.Amount{}
			continue
		}
		if *f.total, err = sum.Sub(*f.minus); err != nil {
			return err
		}
	}
	return nil
}
