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

// Rule 2, the totals that a checkpoint must have. A checkpoint stores all accounts of an organization with their totals
// after one event. Most accounts are in memory with their totals. The *contract accounts* are not: each of them belongs to
// one contract, so there are very many. Their totals are computed from the previous checkpoint and the postings since then.

// addContractPostings adds an event's postings on contract accounts to p.postedSinceLastHead, if another checkpoint follows.
func (p *Checkpoints) addContractPostings(e *ledger.Event) {
	if p.books.contractAccounts == nil || p.nextHead.Seq == 0 || e.Entry == nil {
		return
	}
	for i := range e.Entry.Postings {
		posting := &e.Entry.Postings[i]
		if !p.books.contractAccounts.covers(e, posting.Account) {
			continue
		}
		key := string(store.AccountKey(nil, ledger.Account{Path: posting.Account, Asset: posting.Asset}))
		t := p.postedSinceLastHead[key]
		if t == nil {
			t = new(ledger.Totals)
			p.postedSinceLastHead[key] = t
		}
		if t.Post(posting.Side, posting.Amount) != nil {
			p.hasMismatch = true
		}
	}
}

// totals returns the current totals of all accounts, ordered by key.
func (p *Checkpoints) totals() iter.Seq2[string, *ledger.Totals] {
	return func(yield func(string, *ledger.Totals) bool) {
		nextContractTotals, stop := iter.Pull2(p.contractTotals())
		defer stop()
		key, t, more := nextContractTotals()
		for _, a := range p.accountsInOrder() {
			for ; more && key < a.key; key, t, more = nextContractTotals() {
				if !yield(key, t) {
					return
				}
			}
			if a.account.lineCount > 0 && !yield(a.key, &a.account.totals) {
				return
			}
		}
		for ; more; key, t, more = nextContractTotals() {
			if !yield(key, t) {
				return
			}
		}
	}
}

// contractTotals returns the current totals of the contract accounts, ordered by key. They are the totals in the last
// compared checkpoint plus the postings since then.
func (p *Checkpoints) contractTotals() iter.Seq2[string, *ledger.Totals] {
	return func(yield func(string, *ledger.Totals) bool) {
		keys := slices.SortedFunc(maps.Keys(p.postedSinceLastHead), cmp.Compare)
		next := 0
		for key, t := range p.previousContractTotals() {
			for ; next < len(keys) && keys[next] < key; next++ {
				if !yield(keys[next], p.postedSinceLastHead[keys[next]]) {
					return
				}
			}
			if next < len(keys) && keys[next] == key {
				moved := p.postedSinceLastHead[key]
				if t.Post(ledger.Debit, moved.DebitsPosted) != nil || t.Post(ledger.Credit, moved.CreditsPosted) != nil {
					p.hasMismatch = true
				}
				next++
			}
			if !yield(key, t) {
				return
			}
		}
		for ; next < len(keys); next++ {
			if !yield(keys[next], p.postedSinceLastHead[keys[next]]) {
				return
			}
		}
	}
}

// previousContractTotals returns the totals that the contract accounts have in the last compared checkpoint. If that
// checkpoint can't be read, p.hasMismatch becomes true.
func (p *Checkpoints) previousContractTotals() iter.Seq2[string, *ledger.Totals] {
	return func(yield func(string, *ledger.Totals) bool) {
		if p.books.contractAccounts == nil {
			return
		}
		for part := range p.lastHead.Parts {
			row, found, err := p.View.KV(p.organization.ID, store.KeyCheckpointPart(p.lastHead.Seq, part))
			if err != nil || !found {
				p.hasMismatch = true
				return
			}
			more := true
			err = store.DecodeCheckpointPart(row, func(key []byte, t *ledger.Totals) (bool, error) {
				accountID, ok := store.ParseAccountKey(key)
				if !ok {
					p.hasMismatch = true
					return true, nil
				}
				if _, isOfContract := scan.OwnerContract(accountID.Path); isOfContract && p.books.accounts[accountID] == nil {
					totals := *t
					more = yield(string(key), &totals)
				}
				return more, nil
			})
			if err != nil {
				p.hasMismatch = true
			}
			if !more {
				return
			}
		}
	}
}
