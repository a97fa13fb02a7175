package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
)

// projection computes the totals that accounts would have after entries are booked, without booking them. It also splits
// postings. A posting may name a second account, its spill account; then a part of the posting may go to that account.
// checkFunds checks the projected totals.
type projection struct {
	writer   *writer
	accounts []projectedAccount // accounts with projected totals; they are few, so they are searched linearly
	postings []ledger.Posting   // postings of the entry that book has booked last, after splitting
}

type projectedAccount struct {
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
	f.accounts = append(f.accounts, projectedAccount{accountKey{org, a}, f.writer.account(org, a).totals})
	return &f.accounts[len(f.accounts)-1].totals
}

// split replaces each posting that may be split by one posting on its own account, one on its spill account, or both. The
// totals of the two accounts determine the amounts.
func (f *projection) split(org ledger.ID, entry *ledger.Entry) {
	if !hasSpill(entry) {
		return
	}
	f.reset()
	assert.NoError(f.book(org, entry))
	entry.Postings = append([]ledger.Posting(nil), f.postings...)
}

func hasSpill(entry *ledger.Entry) bool {
	for i := range entry.Postings {
		if entry.Postings[i].Spill != "" {
			return true
		}
	}
	return false
}

// book books an entry in the projection. First it books the amounts that a capture releases. Then it books each posting,
// which it splits according to the totals after the previous postings.
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

// move adds a posting to the totals of its account.
func move(t *ledger.Totals, phase ledger.Phase, p *ledger.Posting) error {
	switch phase {
	case ledger.Pending:
		return t.Hold(p.Side, p.Amount)
	case ledger.Void:
		return t.Release(p.Side, p.Amount)
	}
	return t.Post(p.Side, p.Amount)
}

// add appends a posting to f.postings. It appends two postings if the posting is split and both accounts get a part.
func (f *projection) add(org ledger.ID, p *ledger.Posting) {
	ownPart := *p
	if ownPart.Spill == "" {
		f.postings = append(f.postings, ownPart)
		return
	}
	spillPart := ledger.Posting{Account: ownPart.Spill, Asset: ownPart.Asset, Side: ownPart.Side}
	ownPart.Spill = ""
	if ownPart.Side == ledger.Credit {
		// A credit first pays the debt on the spill account.
		owed := f.totals(org, ledger.Account{Path: spillPart.Account, Asset: ownPart.Asset}).Balance(ledger.Debit)
		if !owed.Negative {
			spillPart.Amount = owed.Abs.Min(ownPart.Amount)
		}
	} else {
		// A debit takes the available balance of its own account. The rest becomes debt on the spill account.
		available := f.totals(org, ledger.Account{Path: ownPart.Account, Asset: ownPart.Asset}).Available()
		spillPart.Amount = ownPart.Amount
		if !available.Negative {
			spillPart.Amount, _ = ownPart.Amount.Sub(available.Abs.Min(ownPart.Amount))
		}
	}
	remaining, err := ownPart.Amount.Sub(spillPart.Amount)
	assert.NoError(err) // the part for the spill account is at most the posting's amount
	if ownPart.Amount = remaining; !remaining.IsZero() {
		f.postings = append(f.postings, ownPart)
	}
	if !spillPart.Amount.IsZero() {
		f.postings = append(f.postings, spillPart)
	}
}
