package balances

import (
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// FromCheckpoint is TrialBalance from the last checkpoint, however far it is, with memory for so
// many accounts.
func (r *Reader) FromCheckpoint(view *posting.View, org ledger.ID, q AsOf, most int, fn func(ledger.Account, *ledger.Totals)) error {
	c, upToSeq, err := start(view, org, &q)
	if err != nil {
		return err
	}
	return r.fromCheckpoint(view, org, &q, &c, upToSeq, most, collect(fn))
}

// FromPages is TrialBalance from the pages, however many accounts there are.
func FromPages(view *posting.View, org ledger.ID, q AsOf, fn func(ledger.Account, *ledger.Totals)) error {
	return fromPages(view, org, &q, collect(fn))
}

func collect(fn func(ledger.Account, *ledger.Totals)) each {
	return func(key []byte, t *ledger.Totals) (bool, error) {
		a, ok := store.ParseAccountKey(key)
		if !ok {
			return false, damaged("account with key %x", key)
		}
		fn(a, t)
		return true, nil
	}
}

// Keeps tells whether a turnover is kept for the next page.
func (r *Reader) Keeps() bool { return r.kept.Load() != nil }

// CheckpointEvents is the least number of events from one checkpoint to the next within a day.
const CheckpointEvents = checkpointEvents

// FewAccounts is the least number of accounts that are not read from their pages.
const FewAccounts = fewAccounts

// MaxKept is how many accounts are kept for the next page.
const MaxKept = maxKept

// IsNear tells whether a checkpoint is used for a moment after so many events.
func IsNear(c *Checkpoint, upToSeq uint64) bool { return isNear(c, upToSeq) }
