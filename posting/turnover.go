package posting

import (
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// Bounds of turnovers.
const (
	maxTurnover = 65_536 // accounts in a turnover; up to twice as many while it is built
	maxHolds    = 65_536 // cached pending entries that a capture may close; others are read from the journal
	maxShared   = 16_384 // accounts in the turnover kept for the next page: about 8 MB
	leastTurns  = 1_024  // events; a turnover of fewer is not worth keeping
)

// keys is a range of accounts, by their keys in checkpoints.
type keys struct {
	from  string // inclusive
	until string // exclusive; empty: no bound
}

func (k keys) has(key string) bool { return key >= k.from && (k.until == "" || key < k.until) }

// turnover is the sum of what the events after a checkpoint add to and subtract from accounts'
// totals. If there are too many accounts, it has only the first ones.
type turnover struct {
	org            ledger.ID
	after, through uint64 // the range of events: exclusive, inclusive
	keys           keys   // until is lowered when there are too many accounts
	moved          map[string]*movement
	order          []string // the sorted keys of moved
}

// turnoverBuilder builds a turnover.
type turnoverBuilder struct {
	*turnover
	view  *View
	most  int
	holds map[uint64][]ledger.Posting
	key   []byte
}

// movement is what is added to an account's totals, and what is subtracted.
type movement struct{ plus, minus ledger.Totals }

// shared returns a turnover of all accounts, which the journal caches for the reader of the next
// page of the same trial balance. It stays valid because the events between two events never
// change. It is nil if it is not worth caching or has too many accounts.
func (v *View) shared(org ledger.ID, after, through uint64) (*turnover, error) {
	if t := v.turned.Load(); t != nil && t.org == org && t.after == after && t.through == through {
		return t, nil
	}
	if through < after+leastTurns {
		return nil, nil
	}
	t, err := v.turn(org, keys{}, after, through, maxShared)
	if err != nil || t.keys.until != "" {
		return nil, err
	}
	if len(t.order) <= maxShared {
		v.turned.Store(t)
	}
	return t, nil
}

// turn sums the events after one and up to another.
func (v *View) turn(org ledger.ID, k keys, after, through uint64, most int) (*turnover, error) {
	done := &turnover{org: org, after: after, through: through, keys: k, moved: make(map[string]*movement)}
	if after >= through {
		return done, nil
	}
	t := &turnoverBuilder{turnover: done, view: v, most: most, holds: make(map[uint64][]ledger.Posting)}
	last := after
	err := v.EventsAscending(org, after+1, func(e ledger.Event, _ []byte) (bool, error) {
		last = e.Seq
		return e.Seq < through, t.book(&e)
	})
	if err == nil && last != through {
		err = damaged("organization %v: event %d is missing", org, through)
	}
	done.order = slices.Sorted(maps.Keys(done.moved))
	return done, err
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
		m := t.of(p)
		if m == nil {
			continue
		}
		var err error
		switch e.Entry.Phase {
		case ledger.Pending:
			err = m.plus.Hold(p.Side, p.Amount)
		case ledger.Void:
			err = m.minus.Hold(p.Side, p.Amount)
		default:
			err = m.plus.Post(p.Side, p.Amount)
		}
		if err != nil {
			return damaged("organization %v: event %d: %v", t.org, e.Seq, err)
		}
	}
	if e.Entry.Phase == ledger.Void {
		delete(t.holds, e.Entry.Closes)
	}
	if len(t.moved) > 2*t.most {
		t.shrink()
	}
	return nil
}

// release subtracts what a capture closes.
func (t *turnoverBuilder) release(closes uint64) error {
	postings, kept := t.holds[closes]
	if !kept {
		held, _, found, err := t.view.Event(t.org, closes)
		if err != nil {
			return err
		}
		if !found || held.Entry == nil {
			return damaged("organization %v: event %d holds nothing", t.org, closes)
		}
		postings = held.Entry.Postings
	}
	delete(t.holds, closes)
	for i := range postings {
		if m := t.of(&postings[i]); m != nil {
			if err := m.minus.Hold(postings[i].Side, postings[i].Amount); err != nil {
				return damaged("organization %v: event %d: %v", t.org, closes, err)
			}
		}
	}
	return nil
}

// of returns the movement of a posting's account; nil if the account is outside the keys.
func (t *turnoverBuilder) of(p *ledger.Posting) *movement {
	t.key = store.AccountKey(t.key[:0], ledger.Account{Path: p.Account, Asset: p.Asset})
	if m := t.moved[string(t.key)]; m != nil {
		return m
	}
	key := string(t.key)
	if !t.keys.has(key) {
		return nil
	}
	m := new(movement)
	t.moved[key] = m
	return m
}

// shrink drops the last accounts and excludes them from now on.
func (t *turnoverBuilder) shrink() {
	all := slices.Sorted(maps.Keys(t.moved))
	t.keys.until = all[t.most]
	for _, key := range all[t.most:] {
		delete(t.moved, key)
	}
}

// apply adds the movement to an account's totals.
func (m *movement) apply(t *ledger.Totals) error {
	c := crossing{plus: m.plus, minus: m.minus}
	return c.sum(t, false)
}
