package balances

import (
	"errors"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/period"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/posting/store/damage"
)

// Bounds of the choice between the two ways to read a trial balance: from the accounts' pages, or from a checkpoint.
const (
	fewAccounts      = 16 // fewer accounts than this are read from their pages; most prefixes select the accounts of one partner, which has fewer
	maxBehind        = 4  // a page of a trial balance is read from a checkpoint if at most maxBehind × distance events follow it
	eventsPerAccount = 32 // reading an account's pages takes as long as reading this many events
)

// Bounds of reading a page of a trial balance from the accounts' pages (the stored rows with accounts' lines).
const (
	maxBatch   = 512 // accounts for whose lines the page buffer is searched at once
	maxBatches = 8   // batches for which that is done; for further accounts the page buffer is loaded as a whole
)

// Reader reads trial balances. It caches the sums of events for the next page of the same trial
// balance. The zero value is ready to use. It is safe for concurrent use.
type Reader struct {
	cached atomic.Pointer[turnover]
}

// accountFunc is called with an account's key in checkpoints and the account's totals. The key is valid until
// the call returns.
type accountFunc func(key []byte, t *ledger.Totals) (more bool, err error)

// TrialBalance calls fn with the accounts of an organization that have postings up to the moment that q selects, and
// with their totals, ordered by path, currency and network. Errors: fn's, *store.DamageError, or an I/O error.
func (r *Reader) TrialBalance(view *posting.View, org ledger.ID, q AsOf, fn func(ledger.Account, *ledger.Totals) (more bool, err error)) error {
	row := func(key []byte, t *ledger.Totals) (bool, error) {
		a, ok := store.ParseAccountKey(key)
		if !ok {
			return false, damaged("organization %v: account with key %x", org, key)
		}
		q.After = &a
		return fn(a, t)
	}
	isFew, err := preloadIfFew(view, org, &q)
	if err != nil {
		return err
	}
	if !isFew {
		c, upToSeq, err := startingPoint(view, org, &q)
		if err != nil {
			return err
		}
		if q.isNear(&c, upToSeq) {
			err := r.fromCheckpoint(view, org, &q, &c, upToSeq, q.maxAccounts(), row)
			if _, isNotWhole := errors.AsType[*NotWholeError](err); !isNotWhole {
				return err
			}
		}
	}
	return fromPages(view, org, &q, row)
}

// preloadIfFew tells whether only a few accounts are selected. If so, it searches the page buffer once for the lines
// of all these accounts; the buffered lines of a single account are found faster when its pages are read.
func preloadIfFew(view *posting.View, org ledger.ID, q *AsOf) (bool, error) {
	var accounts []ledger.Account
	err := view.AccountsFrom(org, q.Prefix, q.Env, q.After, func(a ledger.Account) (bool, error) {
		accounts = append(accounts, a)
		return len(accounts) < fewAccounts, nil
	})
	switch {
	case err != nil || len(accounts) == fewAccounts:
		return false, err
	case len(accounts) == 1:
		return true, nil
	}
	return true, view.PreloadBuffer(org, accounts)
}

// startingPoint returns the checkpoint to begin with, and the seq of the last event that counts.
func startingPoint(view *posting.View, org ledger.ID, q *AsOf) (c Checkpoint, upToSeq uint64, err error) {
	end := q.end()
	if c, err = checkpointAt(view, org, end); err != nil {
		return c, 0, err
	}
	head, _, err := view.Head(org)
	if err == nil {
		upToSeq, err = seqUntil(view, org, head, end)
	}
	return c, upToSeq, err
}

// isNear tells whether the checkpoint is near enough to the last event that counts. If it is not, because checkpoints
// are made late or not at all, the accounts' pages are faster to read.
func (q *AsOf) isNear(c *Checkpoint, upToSeq uint64) bool {
	maxEvents := maxBehind * distance(c)
	if !q.Paged {
		maxEvents = max(maxEvents, eventsPerAccount*c.ChainAccounts)
	}
	return c.Seq <= upToSeq && upToSeq-c.Seq <= maxEvents
}

// fromPages reads the totals of each account from its pages.
func fromPages(view *posting.View, org ledger.ID, q *AsOf, fn accountFunc) error {
	return correctForDay(view, org, q, fn, func(fn accountFunc) error {
		var key []byte
		return eachAccount(view, org, q, func(a ledger.Account) (bool, error) {
			t, found, err := view.TotalsAt(org, a, q.end())
			if err != nil || !found {
				return true, err
			}
			key = store.AccountKey(key[:0], a)
			return fn(key, &t)
		})
	})
}

// eachAccount calls fn with the selected accounts in batches, and searches the page buffer for the lines of a batch at
// once. A caller that stops after a page reads few batches. For a caller that reads all accounts, or that reads many
// because few had lines by an early moment, the view loads the page buffer as a whole.
func eachAccount(view *posting.View, org ledger.ID, q *AsOf, fn func(ledger.Account) (more bool, err error)) error {
	after, batch := q.After, make([]ledger.Account, 0, maxBatch)
	for batches := 1; ; batches++ {
		batch = batch[:0]
		err := view.AccountsFrom(org, q.Prefix, q.Env, after, func(a ledger.Account) (bool, error) {
			batch = append(batch, a)
			return len(batch) < maxBatch, nil
		})
		if err == nil && q.Paged && batches <= maxBatches {
			err = view.PreloadBuffer(org, batch)
		}
		if err != nil {
			return err
		}
		for _, a := range batch {
			if more, err := fn(a); err != nil || !more {
				return err
			}
		}
		if len(batch) < maxBatch {
			return nil
		}
		last := batch[maxBatch-1]
		after = &last
	}
}

// fromCheckpoint adds the events up to upToSeq to the totals of a checkpoint. It holds at most twice
// maxAccounts accounts in memory.
func (r *Reader) fromCheckpoint(view *posting.View, org ledger.ID, q *AsOf, c *Checkpoint, upToSeq uint64, maxAccounts int, fn accountFunc) error {
	chain, err := readChain(view, org, c.CheckpointID)
	if err != nil {
		return err
	}
	return correctForDay(view, org, q, fn, func(fn accountFunc) error {
		moved, err := r.turnover(view, org, q.keyRange(), c.Seq, upToSeq, maxAccounts)
		if err != nil {
			return err
		}
		return r.sum(view, chain, moved, q.keyRange(), maxAccounts, func(key []byte, m *ledger.Movement) (bool, error) {
			t, ok := m.Totals()
			if !ok {
				return false, damaged("organization %v: account with key %x has a negative total", org, key)
			}
			return fn(key, &t)
		})
	})
}

// Account returns an account's totals as of q.At or, by effective date, as of q.On and q.Seen; false if the account has
// no posting up to then. Errors: *store.DamageError, or an I/O error.
func Account(view *posting.View, org ledger.ID, a ledger.Account, q *AsOf) (t ledger.Totals, found bool, err error) {
	t, found, err = view.TotalsAt(org, a, q.end())
	if err != nil || q.On == 0 {
		return t, found, err
	}
	for x, err := range crossings(view, org, keyRangeOf(a), q) {
		if err == nil {
			err = x.applyTo(org, &t)
		}
		if err != nil {
			return t, false, err
		}
		found = true
	}
	return t, found, nil
}

// AtMonthEnd returns the hash and the number of rows of an organization's trial balance by
// effective date at a month's end, in the form of period.Balance.
func AtMonthEnd(view *posting.View, org ledger.ID, m period.Month) (sum [32]byte, rows uint64, err error) {
	b, r := period.NewBalance(org, m), new(Reader)
	for _, env := range [...]money.Env{money.Prod, money.Test} {
		err := r.TrialBalance(view, org, AsOf{Env: env, On: m.LastDay()}, func(a ledger.Account, t *ledger.Totals) (bool, error) {
			b.Add(a, t)
			return true, nil
		})
		if err != nil {
			return sum, 0, err
		}
	}
	sum, rows = b.Sum()
	return sum, rows, nil
}

// damaged returns the error for rows that contradict each other.
func damaged(format string, args ...any) error { return damage.New("", format, args...) }
