package posting

import (
	"mizan/ledger"
	"mizan/posting/store"
)

// CarriedOn is TrialBalance from the last checkpoint at any cost, with memory for so many
// accounts.
func (v *View) CarriedOn(org ledger.ID, q AsOf, most int, fn func(ledger.Account, *ledger.Totals)) error {
	c, through, err := v.from(org, &q)
	if err != nil {
		return err
	}
	return v.asOf(org, &q, &c, through, most, collect(fn))
}

// EachAlone is TrialBalance by reading each account's pages.
func (v *View) EachAlone(org ledger.ID, q AsOf, fn func(ledger.Account, *ledger.Totals)) error {
	return v.eachAlone(org, &q, func(a ledger.Account, t *ledger.Totals) (bool, error) {
		fn(a, t)
		return true, nil
	})
}

func collect(fn func(ledger.Account, *ledger.Totals)) func(key []byte, t *ledger.Totals) (bool, error) {
	return func(key []byte, t *ledger.Totals) (bool, error) {
		a, ok := store.ParseAccountKey(key)
		if !ok {
			return false, damaged("account with key %x", key)
		}
		fn(a, t)
		return true, nil
	}
}

// Shares tells whether the turnover since a checkpoint is kept for the next page.
func (j *Journal) Shares() bool { return j.turnover.Load() != nil }

// CheckpointEvents is the least number of events from one checkpoint to the next within a day.
const CheckpointEvents = checkpointEvents
