package balances

import (
	"cmp"
	"errors"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/period"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/posting/store/damage"
)

// Bounds that decide how a trial balance is read: from the accounts' pages (stored rows of lines), or from a checkpoint.
const (
	fewAccounts      = 16    // if fewer accounts than this are in the range, they are read from their pages
	maxOfPage        = 2_048 // if Query.IsPaged is set, up to this many accounts are read from their pages first
	maxBehind        = 4     // the accounts after them are read from a checkpoint if at most maxBehind × distance events follow it
	eventsPerAccount = 32    // reading an account's pages takes as long as reading this many events
)

// Reader reads trial balances and the sums of groups of accounts. It caches the sums of groups, and it caches sums of events
// for the next page of the same trial balance. The zero value is ready to use. A Reader is safe for concurrent use.
type Reader struct {
	cachedTurnover atomic.Pointer[turnover]
	groups         groupCache
	maxOfPage      int // replaces the constant maxOfPage if it is not 0; tests set it, so that a checkpoint is used after fewer accounts
}

// accountFunc is called with an account's key and the account's totals. The key is valid until the call returns.
type accountFunc func(key []byte, t *ledger.Totals) (more bool, err error)

// TrialBalance calls fn with each selected account of an organization that has postings up to the moment in q, and with the
// account's totals. The accounts are ordered by path, currency and network. TrialBalance returns an error of fn, a
// *store.DamageError, or an I/O error.
func (r *Reader) TrialBalance(view *posting.View, org ledger.ID, q Query, fn func(ledger.Account, *ledger.Totals) (more bool, err error)) error {
	row := func(key []byte, t *ledger.Totals) (bool, error) {
		a, ok := store.ParseAccountKey(key)
		if !ok {
			return false, damaged("organization %v: account with key %x", org, key)
		}
		q.After = &a
		if !q.selects(a) {
			return true, nil
		}
		return fn(a, t)
	}
	if q.IsPaged {
		first := cmp.Or(r.maxOfPage, maxOfPage)
		if q.Currency != nil {
			first = min(first, maxPassed)
		}
		isComplete, err := firstFromPages(view, org, &q, first, row)
		if err == nil && !isComplete && q.Currency != nil {
			isComplete, err = r.restOfCurrency(view, org, &q, row)
		}
		if err != nil || isComplete {
			return err
		}
	} else if isFew, err := hasFewAccounts(view, org, &q); err != nil || isFew {
		if err != nil {
			return err
		}
		return fromPages(view, org, &q, row)
	}
	c, upToSeq, err := startingPoint(view, org, &q)
	if err != nil {
		return err
	}
	if q.isNear(&c, upToSeq) {
		err := r.fromCheckpoint(view, org, &q, &c, upToSeq, q.maxAccounts(), row)
		if _, isNotWhole := errors.AsType[*IncompleteCheckpointError](err); !isNotWhole {
			return err
		}
	}
	return fromPages(view, org, &q, row)
}

// firstFromPages calls fn with the first selected accounts, whose totals it reads from their pages. It stops after
// maxAccounts accounts, and sets q.After to the last of them. If there are no more accounts, or fn wants no more, isComplete
// is true.
func firstFromPages(view *posting.View, org ledger.ID, q *Query, maxAccounts int, fn accountFunc) (isComplete bool, err error) {
	var key []byte
	last, count := q.after(), 0
	isComplete = true
	err = view.AccountsFrom(org, q.Prefix, q.Env, last, func(a ledger.Account) (bool, error) {
		if count == maxAccounts {
			isComplete = false
			return false, nil
		}
		count++
		last = &a
		if !q.selects(a) {
			return true, nil
		}
		t, found, err := Account(view, org, a, q)
		if err != nil || !found {
			return true, err
		}
		key = store.AccountKey(key[:0], a)
		return fn(key, &t)
	})
	q.After = last
	return isComplete, err
}

// hasFewAccounts tells whether fewer than fewAccounts accounts follow q.After and have the prefix.
func hasFewAccounts(view *posting.View, org ledger.ID, q *Query) (bool, error) {
	count := 0
	err := view.AccountsFrom(org, q.Prefix, q.Env, q.after(), func(ledger.Account) (bool, error) {
		count++
		return count < fewAccounts, nil
	})
	return count < fewAccounts, err
}

// startingPoint returns the last checkpoint before the moment of a trial balance, and the seq of the last event that counts.
func startingPoint(view *posting.View, org ledger.ID, q *Query) (c Checkpoint, upToSeq uint64, err error) {
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

// isNear tells whether few enough events follow the checkpoint, up to the last event that counts. If checkpoints are made
// late or not at all, too many events follow, and the accounts' pages are faster to read.
func (q *Query) isNear(c *Checkpoint, upToSeq uint64) bool {
	maxEvents := maxBehind * distance(c)
	if !q.IsPaged {
		maxEvents = max(maxEvents, eventsPerAccount*c.ChainAccounts)
	}
	return c.Seq <= upToSeq && upToSeq-c.Seq <= maxEvents
}

// fromPages calls fn with accounts, whose totals it reads from their pages.
func fromPages(view *posting.View, org ledger.ID, q *Query, fn accountFunc) error {
	return correctForDay(view, org, q, fn, func(fn accountFunc) error {
		var key []byte
		return view.AccountsFrom(org, q.Prefix, q.Env, q.after(), func(a ledger.Account) (bool, error) {
			t, found, err := view.TotalsAt(org, a, q.end())
			if err != nil || !found {
				return true, err
			}
			key = store.AccountKey(key[:0], a)
			return fn(key, &t)
		})
	})
}

// fromCheckpoint calls fn with accounts, whose totals it computes: it adds up the checkpoint's chain and the events after the
// checkpoint, up to upToSeq. It holds at most 2×maxAccounts accounts in memory.
func (r *Reader) fromCheckpoint(view *posting.View, org ledger.ID, q *Query, c *Checkpoint, upToSeq uint64, maxAccounts int, fn accountFunc) error {
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

// Account returns an account's totals as of q.At or, if q.EffectiveDate is set, by effective date as of q.EffectiveDate and
// q.BookedUntil. If the account has no posting up to then, found is false. The error is a *store.DamageError or an I/O error.
func Account(view *posting.View, org ledger.ID, a ledger.Account, q *Query) (t ledger.Totals, found bool, err error) {
	t, found, err = view.TotalsAt(org, a, q.end())
	if err != nil || q.EffectiveDate == 0 {
		return t, found, err
	}
	for x, err := range corrections(view, org, keyRangeOf(a), q) {
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

// MonthEndHash computes an organization's trial balance by effective date at the end of a month. It returns the hash and the
// number of rows, as period.BalanceHasher defines them.
func MonthEndHash(view *posting.View, org ledger.ID, m period.Month) (sum [32]byte, rows uint64, err error) {
	b, r := period.NewBalanceHasher(org, m), new(Reader)
	for _, env := range [...]money.Env{money.Prod, money.Test} {
		err := r.TrialBalance(view, org, Query{Env: env, EffectiveDate: m.LastDay()}, func(a ledger.Account, t *ledger.Totals) (bool, error) {
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
