package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
)

// projection computes the totals that accounts would have after entries are booked. It splits the
// postings that spill. checkFunds checks the projected totals.
type projection struct {
	writer   *writer
	accounts []projected // few, so they are searched linearly
	postings []ledger.Posting
}

type projected struct {
	accountKey
	totals ledger.Totals
}

func (f *projection) reset() { f.accounts = f.accounts[:0] }

// totals returns an account's projected totals. The pointer is valid until the next call.
func (f *projection) totals(org ledger.ID, a ledger.Account) *ledger.Totals {
	for i := range f.accounts {
		if found := &f.accounts[i]; found.account == a && found.org == org {
			return &found.totals
		}
	}
	f.accounts = append(f.accounts, projected{accountKey{org, a}, f.writer.account(org, a).totals})
	return &f.accounts[len(f.accounts)-1].totals
}

// split replaces each posting of the entry that spills by the postings on both accounts. Their amounts
// follow from the accounts' totals.
func (f *projection) split(org ledger.ID, entry *ledger.Entry) {
	if !spills(entry) {
		return
	}
	f.reset()
	assert.NoError(f.book(org, entry))
	entry.Postings = append([]ledger.Posting(nil), f.postings...)
}

func spills(entry *ledger.Entry) bool {
	for i := range entry.Postings {
		if entry.Postings[i].Spill != "" {
			return true
		}
	}
	return false
}

// book books an entry in the projection: first what a capture releases, then each posting, split by the
// totals after the previous postings. Afterwards f.postings has the postings as split.
func (f *projection) book(org ledger.ID, entry *ledger.Entry) error {
	for i := range entry.Released {
		p := &entry.Released[i]
		if err := f.totals(org, ledger.Account{Path: p.Account, Asset: p.Asset}).Release(p.Side, p.Amount); err != nil {
			return err
		}
	}
	f.postings = f.postings[:0]
	for i := range entry.Postings {
		from := len(f.postings)
		f.add(org, &entry.Postings[i])
		for k := range f.postings[from:] {
			p := &f.postings[from+k]
			if err := move(f.totals(org, ledger.Account{Path: p.Account, Asset: p.Asset}), entry.Phase, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// move adds a posting to its account's totals.
func move(t *ledger.Totals, phase ledger.Phase, p *ledger.Posting) error {
	switch phase {
	case ledger.Pending:
		return t.Hold(p.Side, p.Amount)
	case ledger.Void:
		return t.Release(p.Side, p.Amount)
	}
	return t.Post(p.Side, p.Amount)
}

// add appends a posting, as two postings if it spills and both accounts get a part.
func (f *projection) add(org ledger.ID, p *ledger.Posting) {
	unspilled := *p
	if unspilled.Spill == "" {
		f.postings = append(f.postings, unspilled)
		return
	}
	spilled := ledger.Posting{Account: unspilled.Spill, Asset: unspilled.Asset, Side: unspilled.Side}
	unspilled.Spill = ""
	if unspilled.Side == ledger.Credit {
		// A credit first pays the debt.
		owed := f.totals(org, ledger.Account{Path: spilled.Account, Asset: unspilled.Asset}).Balance(ledger.Debit)
		if !owed.Negative {
			spilled.Amount = owed.Abs.Min(unspilled.Amount)
		}
	} else {
		// A debit takes the available balance; the rest becomes debt.
		available := f.totals(org, ledger.Account{Path: unspilled.Account, Asset: unspilled.Asset}).Available()
		spilled.Amount = unspilled.Amount
		if !available.Negative {
			spilled.Amount, _ = unspilled.Amount.Sub(available.Abs.Min(unspilled.Amount))
		}
	}
	remaining, err := unspilled.Amount.Sub(spilled.Amount)
	assert.NoError(err) // spilled.Amount is a part of rest.Amount
	if unspilled.Amount = remaining; !remaining.IsZero() {
		f.postings = append(f.postings, unspilled)
	}
	if !spilled.Amount.IsZero() {
		f.postings = append(f.postings, spilled)
	}
}
