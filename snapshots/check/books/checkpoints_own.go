package books

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
	"mizan/snapshots/check/scan"
)

// move notes what an event puts on contracts' own accounts, while a checkpoint comes.
func (p *Checkpoints) move(e *ledger.Event) {
	if p.books.own == nil || p.head.Seq == 0 || e.Entry == nil {
		return
	}
	for i := range e.Entry.Postings {
		posting := &e.Entry.Postings[i]
		if !p.books.own.has(e, posting.Account) {
			continue
		}
		key := string(store.AccountKey(nil, ledger.Account{Path: posting.Account, Asset: posting.Asset}))
		t := p.moved[key]
		if t == nil {
			t = new(ledger.Totals)
			p.moved[key] = t
		}
		if t.Post(posting.Side, posting.Amount) != nil {
			p.doubt = true
		}
	}
}

// totals are those of all accounts now, in the order of their keys: of the accounts that
// the books keep, and of contracts' own.
func (p *Checkpoints) totals() iter.Seq2[string, *ledger.Totals] {
	return func(yield func(string, *ledger.Totals) bool) {
		own, stop := iter.Pull2(p.own())
		defer stop()
		key, t, more := own()
		for _, a := range p.ordered() {
			for ; more && key < a.key; key, t, more = own() {
				if !yield(key, t) {
					return
				}
			}
			if a.made.lines > 0 && !yield(a.key, &a.made.totals) {
				return
			}
		}
		for ; more; key, t, more = own() {
			if !yield(key, t) {
				return
			}
		}
	}
}

// own are the totals of contracts' own accounts: those of the last checkpoint, with what
// was moved since.
func (p *Checkpoints) own() iter.Seq2[string, *ledger.Totals] {
	return func(yield func(string, *ledger.Totals) bool) {
		keys := slices.SortedFunc(maps.Keys(p.moved), cmp.Compare)
		next := 0
		for before, t := range p.before() {
			for ; next < len(keys) && keys[next] < before; next++ {
				if !yield(keys[next], p.moved[keys[next]]) {
					return
				}
			}
			if next < len(keys) && keys[next] == before {
				m := p.moved[before]
				if t.Post(ledger.Debit, m.DebitsPosted) != nil || t.Post(ledger.Credit, m.CreditsPosted) != nil {
					p.doubt = true
				}
				next++
			}
			if !yield(before, t) {
				return
			}
		}
		for ; next < len(keys); next++ {
			if !yield(keys[next], p.moved[keys[next]]) {
				return
			}
		}
	}
}

// before are the totals of contracts' own accounts in the last checkpoint. If it can't
// be read, nothing that rests on it can be said.
func (p *Checkpoints) before() iter.Seq2[string, *ledger.Totals] {
	return func(yield func(string, *ledger.Totals) bool) {
		if p.books.own == nil {
			return
		}
		for place := range p.last.Parts {
			row, found, err := p.View.KV(p.organization.ID, store.KeyCheckpointPart(p.last.Seq, place))
			if err != nil || !found {
				p.doubt = true
				return
			}
			more := true
			err = store.DecodeCheckpointPart(row, func(key []byte, t *ledger.Totals) (bool, error) {
				at, ok := store.ParseAccountKey(key)
				if !ok {
					p.doubt = true
					return true, nil
				}
				if _, own := scan.OwnerContract(at.Path); own && p.books.accounts[at] == nil {
					totals := *t
					more = yield(string(key), &totals)
				}
				return more, nil
			})
			if err != nil {
				p.doubt = true
			}
			if !more {
				return
			}
		}
	}
}
