package balances

import (
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// Bounds of turnovers. A turnover contains, for each account, the sum of the changes that a range of events makes to the
// account's totals.
const (
	maxTurnover = 65_536 // number of accounts to which a turnover is cut when it has more than twice as many
	maxHolds    = 65_536 // maximum number of pending entries in memory; if a capture closes another pending entry, that one is read from the journal
	maxKept     = 16_384 // maximum number of accounts in the cached turnover: about 8 MB
	minKept     = 1_024  // minimum number of events in a cached turnover; a turnover of fewer events is not cached
)

// turnover contains, for each account, the sum of the changes that the events after a checkpoint make to the account's
// totals. If there are too many accounts, it contains only the first ones.
type turnover struct {
	org               ledger.ID
	afterSeq, upToSeq uint64   // the turnover is the sum of the events after afterSeq, up to and including upToSeq
	keys              keyRange // range of the accounts in the turnover; keys.until is lowered when there are too many accounts
	isTruncated       bool     // keys.until was lowered
	movements         map[string]*ledger.Movement
	order             []string // the sorted keys of movements
}

// accountCount returns the number of accounts with postings in the events. If the turnover was cut because there were too
// many accounts, accountCount returns a lower bound of their number. The result depends only on the events.
func (t *turnover) accountCount() uint64 {
	if t.isTruncated {
		return 2 * maxTurnover
	}
	return uint64(len(t.order))
}

// turnoverBuilder adds up the changes of events in a turnover.
type turnoverBuilder struct {
	*turnover
	reader      entryReader
	maxAccounts int
	key         []byte // buffer for an account's key
}

// maxAccounts returns the number of accounts to which a turnover for the query is cut when it has more than twice as many. If
// the caller reads page by page, the number is so small that the turnover can always be cached.
func (q *Query) maxAccounts() int {
	if q.IsPaged {
		return maxKept / 2
	}
	return maxTurnover
}

// turnover returns the turnover of the events after afterSeq and up to upToSeq, for the accounts in the range keys. If there
// are too many accounts, the turnover contains only the beginning of the range. If the cached turnover is for the same events
// and contains the beginning of the range, turnover returns it. Otherwise it computes a new turnover, and caches this
// turnover if it has few accounts and many events. A cached turnover stays valid because the journal's past never changes.
func (r *Reader) turnover(view *posting.View, org ledger.ID, keys keyRange, afterSeq, upToSeq uint64, maxAccounts int) (*turnover, error) {
	t := r.cachedTurnover.Load()
	if t != nil && t.org == org && t.afterSeq == afterSeq && t.upToSeq == upToSeq && t.keys.has(keys.from) {
		return t, nil
	}
	t, err := computeTurnover(view, org, keys, afterSeq, upToSeq, maxAccounts)
	if err == nil && upToSeq >= afterSeq+minKept && len(t.order) <= maxKept {
		r.cachedTurnover.Store(t)
	}
	return t, err
}

// computeTurnover sums the events after afterSeq and up to upToSeq.
func computeTurnover(view *posting.View, org ledger.ID, keys keyRange, afterSeq, upToSeq uint64, maxAccounts int) (*turnover, error) {
	result := &turnover{org: org, afterSeq: afterSeq, upToSeq: upToSeq, keys: keys, movements: make(map[string]*ledger.Movement)}
	t := &turnoverBuilder{turnover: result, reader: entryReader{org: org, maxHolds: maxHolds}, maxAccounts: maxAccounts}
	err := t.reader.eachMove(view, afterSeq, upToSeq, t.move)
	result.order = slices.Sorted(maps.Keys(result.movements))
	return result, err
}

// move adds a posting's amount to the movement of its account.
func (t *turnoverBuilder) move(seq uint64, p *ledger.Posting, add addFunc) error {
	m := t.movementOf(p)
	if m == nil {
		return nil
	}
	if err := add(m, p.Side, p.Amount); err != nil {
		return damaged("organization %v: event %d: %v", t.org, seq, err)
	}
	if len(t.movements) > 2*t.maxAccounts {
		t.truncate()
	}
	return nil
}

// movementOf returns the movement of a posting's account. If the account is outside the turnover's range of keys, it returns
// nil.
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

// truncate drops the last accounts of the turnover. From now on, the turnover ignores postings to them.
func (t *turnoverBuilder) truncate() {
	sortedKeys := slices.Sorted(maps.Keys(t.movements))
	t.keys.until, t.isTruncated = sortedKeys[t.maxAccounts], true
	for _, key := range sortedKeys[t.maxAccounts:] {
		delete(t.movements, key)
	}
}
