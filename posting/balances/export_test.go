package balances

import (
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// FromCheckpoint reads the trial balance from the last checkpoint, however far back that is. It holds at most
// twice maxAccounts accounts in memory.
func (r *Reader) FromCheckpoint(view *posting.View, org ledger.ID, q AsOf, maxAccounts int, fn func(ledger.Account, *ledger.Totals)) error {
	c, upToSeq, err := startingPoint(view, org, &q)
	if err != nil {
		return err
	}
	return r.fromCheckpoint(view, org, &q, &c, upToSeq, maxAccounts, collect(fn))
}

// FromPages reads the trial balance from the accounts' pages.
func FromPages(view *posting.View, org ledger.ID, q AsOf, fn func(ledger.Account, *ledger.Totals)) error {
	return fromPages(view, org, &q, collect(fn))
}

func collect(fn func(ledger.Account, *ledger.Totals)) accountFunc {
	return func(key []byte, t *ledger.Totals) (bool, error) {
		a, ok := store.ParseAccountKey(key)
		if !ok {
			return false, damaged("account with key %x", key)
		}
		fn(a, t)
		return true, nil
	}
}

// HasKeptTurnover tells whether the reader keeps a turnover, the sum of the events since a checkpoint, for the
// next page.
func (r *Reader) HasKeptTurnover() bool { return r.cached.Load() != nil }

// CheckpointEvents is the least number of events from one checkpoint to the next within a day.
const CheckpointEvents = minDistance

// FewAccounts is the number of accounts below which a trial balance is read from the accounts' pages.
const FewAccounts = fewAccounts

// MaxKept is the maximum number of accounts in a turnover that is kept for the next page.
const MaxKept = maxKept

// IsNear tells whether a checkpoint is near enough to the event upToSeq to be used for the balance after it.
func IsNear(c *Checkpoint, upToSeq uint64) bool { return isNear(c, upToSeq) }
