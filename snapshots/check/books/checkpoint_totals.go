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

// noteMoved adds an event's postings to p.movedTotals, if they are on accounts that belong to one contract and
// if another checkpoint follows.
func (p *Checkpoints) noteMoved(e *ledger.Event) {
	if p.books.contractAccounts == nil || p.head.Seq == 0 || e.Entry == nil {
		return
	}
	for i := range e.Entry.Postings {
		posting := &e.Entry.Postings[i]
		if !p.books.contractAccounts.covers(e, posting.Account) {
			continue
		}
		key := string(store.AccountKey(nil, ledger.Account{Path: posting.Account, Asset: posting.Asset}))
		t := p.movedTotals[key]
		if t == nil {
			t = new(ledger.Totals)
			p.movedTotals[key] = t
		}
		if t.Post(posting.Side, posting.Amount) != nil {
			p.mismatch = true
		}
	}
}

// totals returns the current totals of all accounts, ordered by key.
func (p *Checkpoints) totals() iter.Seq2[string, *ledger.Totals] {
	return func(yield func(string, *ledger.Totals) bool) {
		nextOfContract, stop := iter.Pull2(p.contractTotals())
		defer stop()
		key, t, more := nextOfContract()
		for _, a := range p.accountsInOrder() {
			for ; more && key < a.key; key, t, more = nextOfContract() {
				if !yield(key, t) {
					return
				}
			}
			if a.account.lines > 0 && !yield(a.key, &a.account.totals) {
				return
			}
		}
		for ; more; key, t, more = nextOfContract() {
			if !yield(key, t) {
				return
			}
		}
	}
}

// contractTotals returns the totals of accounts that belong to one contract: their totals in the last
// checkpoint plus the postings since then.
func (p *Checkpoints) contractTotals() iter.Seq2[string, *ledger.Totals] {
	return func(yield func(string, *ledger.Totals) bool) {
		keys := slices.SortedFunc(maps.Keys(p.movedTotals), cmp.Compare)
		next := 0
		for key, t := range p.previousContractTotals() {
			for ; next < len(keys) && keys[next] < key; next++ {
				if !yield(keys[next], p.movedTotals[keys[next]]) {
					return
				}
			}
			if next < len(keys) && keys[next] == key {
				m := p.movedTotals[key]
				if t.Post(ledger.Debit, m.DebitsPosted) != nil || t.Post(ledger.Credit, m.CreditsPosted) != nil {
					p.mismatch = true
				}
				next++
			}
			if !yield(key, t) {
				return
			}
		}
		for ; next < len(keys); next++ {
			if !yield(keys[next], p.movedTotals[keys[next]]) {
				return
			}
		}
	}
}

// previousContractTotals returns the totals that accounts belonging to one contract have in the last
// compared checkpoint. If that checkpoint can't be read, it sets p.mismatch.
func (p *Checkpoints) previousContractTotals() iter.Seq2[string, *ledger.Totals] {
	return func(yield func(string, *ledger.Totals) bool) {
		if p.books.contractAccounts == nil {
			return
		}
		for part := range p.lastHead.Parts {
			row, found, err := p.View.KV(p.organization.ID, store.KeyCheckpointPart(p.lastHead.Seq, part))
			if err != nil || !found {
				p.mismatch = true
				return
			}
			more := true
			err = store.DecodeCheckpointPart(row, func(key []byte, t *ledger.Totals) (bool, error) {
				accountID, ok := store.ParseAccountKey(key)
				if !ok {
					p.mismatch = true
					return true, nil
				}
				if _, ofContract := scan.OwnerContract(accountID.Path); ofContract && p.books.accounts[accountID] == nil {
					totals := *t
					more = yield(string(key), &totals)
				}
				return more, nil
			})
			if err != nil {
				p.mismatch = true
			}
			if !more {
				return
			}
		}
	}
}
