package balances

import (
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// FromCheckpoint reads the trial balance from the last checkpoint, however far back that is. It holds at most
// twice maxAccounts accounts in memory.
func (r *Reader) FromCheckpoint(view *posting.View, org ledger.ID, q Query, maxAccounts int, fn func(ledger.Account, *ledger.Totals)) error {
	c, upToSeq, err := startingPoint(view, org, &q)
	if err != nil {
		return err
	}
	return r.fromCheckpoint(view, org, &q, &c, upToSeq, maxAccounts, collect(fn))
}

// FromPages reads the trial balance from the accounts' pages.
func FromPages(view *posting.View, org ledger.ID, q Query, fn func(ledger.Account, *ledger.Totals)) error {
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
func (r *Reader) HasKeptTurnover() bool { return r.cachedTurnover.Load() != nil }

// SetMaxOfPage sets how many accounts of a page the reader takes from the accounts' pages before it uses checkpoints.
func (r *Reader) SetMaxOfPage(accounts int) { r.maxOfPage = accounts }

// MaxOfPage is how many accounts of a page a reader takes from the accounts' pages if SetMaxOfPage is not called.
const MaxOfPage = maxOfPage

// SetTime replaces the clock by which the reader knows the age of cached sums of groups.
func (r *Reader) SetTime(now func() time.Time) { r.groups.now = now }

// CheckpointEvents is the least number of events from one checkpoint to the next within a day.
const CheckpointEvents = minDistance

// FewAccounts is the number of accounts below which a trial balance is read from the accounts' pages.
const FewAccounts = fewAccounts

// MaxKept is the maximum number of accounts in a turnover that is kept for the next page.
const MaxKept = maxKept

// IsNear tells whether a trial balance after the event upToSeq is read from a checkpoint, because the checkpoint is near enough
// to the event. paged says that only a page of the trial balance is read.
func IsNear(c *Checkpoint, upToSeq uint64, paged bool) bool {
	return (&Query{IsPaged: paged}).isNear(c, upToSeq)
}

// DraftCheckpointInShortRows is BuildCheckpoint with rows so short that a few accounts need index rows.
func DraftCheckpointInShortRows(view *posting.View, org ledger.ID, previous *Checkpoint, seq uint64, write func(posting.KV) error) (*Checkpoint, error) {
	return buildCheckpoint(view, org, previous, seq, maxTurnover, 100, write)
}

// DraftCheckpointOfManyAccounts is BuildCheckpoint as if there were too many accounts to sum their events at once.
func DraftCheckpointOfManyAccounts(view *posting.View, org ledger.ID, previous *Checkpoint, seq uint64, write func(posting.KV) error) (*Checkpoint, error) {
	return buildCheckpoint(view, org, previous, seq, 5, 100, write)
}

// IsListed tells whether the reader's index lists the accounts in a currency.
func (r *Reader) IsListed(org ledger.ID, env money.Env, code money.Currency) bool {
	l := r.groups.of(org).currencies.lists[currency{env, code}]
	return l != nil && !l.isTooLong
}

// MaxListed is the maximum number of accounts that the index lists in one currency.
const MaxListed = maxListed

// Bounds of how old a moment may be that is shown as the present.
const (
	FewNewEvents = fewNewEvents
	MaxAge       = maxAge
)

// CheckpointsToMerge returns how many checkpoints of a chain are merged into a new checkpoint.
var CheckpointsToMerge = checkpointsToMerge

// ReadChain returns a checkpoint, its base, the base's base and so on.
func ReadChain(view *posting.View, org ledger.ID, c *Checkpoint) ([]Checkpoint, error) {
	return readChain(view, org, c.CheckpointID)
}

// Distance returns the number of events from a checkpoint to the next on a day with many events.
var Distance = distance

// MaxChain is the maximum number of checkpoints that a reader adds up.
const MaxChain = maxChain
