package balances

import (
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// Bounds of turnovers (sums of what events add to accounts' totals).
const (
	maxTurnover = 65_536 // maximum number of accounts; a turnover with twice as many is cut to this number
	maxHolds    = 65_536 // maximum number of cached pending entries, which captures may close; others are read from the journal
	maxKept     = 16_384 // maximum number of accounts in the cached turnover: about 8 MB
	minKept     = 1_024  // minimum number of events in a cached turnover; one with fewer is computed again
)

// turnover is the sum of what the events after a checkpoint add to and subtract from accounts'
// totals. If there are too many accounts, it has only the first ones.
type turnover struct {
	org               ledger.ID
	afterSeq, upToSeq uint64   // its events are those after afterSeq, up to and including upToSeq
	keys              keyRange // keys.until is lowered when there are too many accounts
	movements         map[string]*ledger.Movement
	order             []string // the sorted keys of movements
}

// weight returns the number of accounts that the events move; if that is too large for a turnover, a lower bound of it.
// The result depends on the events alone.
func (t *turnover) weight() uint64 {
	if t.keys.until != "" {
		return 2 * maxTurnover
	}
	return uint64(len(t.order))
}

// turnoverBuilder sums events into a turnover.
type turnoverBuilder struct {
	*turnover
	view        *posting.View
	maxAccounts int
	holds       map[uint64][]ledger.Posting // seq → postings of a pending entry
	key         []byte                      // buffer for an account's key
}

// maxAccounts returns the number of accounts to which a turnover for the query is cut when it has twice as
// many. For a caller that reads pages, the number is so small that the turnover can always be cached.
func (q *AsOf) maxAccounts() int {
	if q.Paged {
		return maxKept / 2
	}
	return maxTurnover
}

// turnover returns the turnover of the events after afterSeq and up to upToSeq, for the range keys or, if that
// has too many accounts, for its beginning. It returns the cached turnover if that fits. Otherwise it computes
// a new one, and caches that if it has few accounts and many events. A cached turnover stays valid because the
// journal's past never changes.
func (r *Reader) turnover(view *posting.View, org ledger.ID, keys keyRange, afterSeq, upToSeq uint64, maxAccounts int) (*turnover, error) {
	t := r.cached.Load()
	if t != nil && t.org == org && t.afterSeq == afterSeq && t.upToSeq == upToSeq && t.keys.has(keys.from) {
		return t, nil
	}
	t, err := computeTurnover(view, org, keys, afterSeq, upToSeq, maxAccounts)
	if err == nil && upToSeq >= afterSeq+minKept && len(t.order) <= maxKept {
		r.cached.Store(t)
	}
	return t, err
}

// computeTurnover sums the events after afterSeq and up to upToSeq.
func computeTurnover(view *posting.View, org ledger.ID, keys keyRange, afterSeq, upToSeq uint64, maxAccounts int) (*turnover, error) {
	result := &turnover{org: org, afterSeq: afterSeq, upToSeq: upToSeq, keys: keys, movements: make(map[string]*ledger.Movement)}
	if afterSeq >= upToSeq {
		return result, nil
	}
	t := &turnoverBuilder{turnover: result, view: view, maxAccounts: maxAccounts, holds: make(map[uint64][]ledger.Posting)}
	last := afterSeq
	err := view.EventsAscending(org, afterSeq+1, func(e ledger.Event, _ []byte) (bool, error) {
		last = e.Seq
		return e.Seq < upToSeq, t.book(&e)
	})
	if err == nil && last != upToSeq {
		err = damaged("organization %v: event %d is missing", org, upToSeq)
	}
	result.order = slices.Sorted(maps.Keys(result.movements))
	return result, err
}

func (t *turnoverBuilder) book(e *ledger.Event) error {
	if e.Entry == nil {
		return nil
	}
	switch e.Entry.Phase {
	case ledger.Pending:
		if len(t.holds) < maxHolds {
			t.holds[e.Seq] = e.Entry.Postings
		}
	case ledger.Capture:
		if err := t.release(e.Entry.Closes); err != nil {
			return err
		}
	}
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		m := t.movementOf(p)
		if m == nil {
			continue
		}
		var err error
		switch e.Entry.Phase {
		case ledger.Pending:
			err = m.Hold(p.Side, p.Amount)
		case ledger.Void:
			err = m.Release(p.Side, p.Amount)
		default:
			err = m.Post(p.Side, p.Amount)
		}
		if err != nil {
			return damaged("organization %v: event %d: %v", t.org, e.Seq, err)
		}
	}
	if e.Entry.Phase == ledger.Void {
		delete(t.holds, e.Entry.Closes)
	}
	if len(t.movements) > 2*t.maxAccounts {
		t.shrink()
	}
	return nil
}

// release subtracts the pending amounts of the hold that a capture closes.
func (t *turnoverBuilder) release(holdSeq uint64) error {
	postings, isCached := t.holds[holdSeq]
	if !isCached {
		hold, _, found, err := t.view.Event(t.org, holdSeq)
		if err != nil {
			return err
		}
		if !found || hold.Entry == nil {
			return damaged("organization %v: event %d holds nothing", t.org, holdSeq)
		}
		postings = hold.Entry.Postings
	}
	delete(t.holds, holdSeq)
	for i := range postings {
		if m := t.movementOf(&postings[i]); m != nil {
			if err := m.Release(postings[i].Side, postings[i].Amount); err != nil {
				return damaged("organization %v: event %d: %v", t.org, holdSeq, err)
			}
		}
	}
	return nil
}

// movementOf returns the movement of a posting's account; nil if the account is outside the keys.
func (t *turnoverBuilder) movementOf(p *ledger.Posting) *ledger.Movement {
	t.key = store.AccountKey(t.key[:0], ledger.Account{Path: p.Account, Asset: p.Asset})
	if m := t.movements[string(t.key)]; m != nil {
		return m
	}
	key := string(t.key)
	if !t.keys.has(key) {
		return nil
	}
	m := new(ledger.Movement)
	t.movements[key] = m
	return m
}

// shrink drops the last accounts of the turnover, and ignores them from now on.
func (t *turnoverBuilder) shrink() {
	sortedKeys := slices.Sorted(maps.Keys(t.movements))
	t.keys.until = sortedKeys[t.maxAccounts]
	for _, key := range sortedKeys[t.maxAccounts:] {
		delete(t.movements, key)
	}
}
