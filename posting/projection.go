package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
)

// projection computes the totals that accounts would have if entries were booked, without booking them. The method checkFunds
// checks these projected totals. A projection also splits postings: if a posting names a second account, its spill account, a
// part of the posting's amount may go to that account.
type projection struct {
	writer   *writer
	accounts []projectedAccount // accounts and their projected totals, so few that they are searched linearly
	postings []ledger.Posting   // postings of the last entry that book has booked, after they were split
}

type projectedAccount struct {
	accountKey
	totals ledger.Totals
}

func (f *projection) reset() { f.accounts = f.accounts[:0] }

// totals returns an account's projected totals. The pointer is valid until the next call of totals.
func (f *projection) totals(org ledger.ID, a ledger.Account) *ledger.Totals {
	for i := range f.accounts {
		if found := &f.accounts[i]; found.account == a && found.org == org {
			return &found.totals
		}
	}
	f.accounts = append(f.accounts, projectedAccount{accountKey{org, a}, f.writer.account(org, a).totals})
	return &f.accounts[len(f.accounts)-1].totals
}

// split splits the postings that have a spill account. Such a posting is replaced with one on its own account, one on the spill
// account, or both. The amounts depend on the totals of the two accounts.
func (f *projection) split(org ledger.ID, entry *ledger.Entry) {
	if !maySplit(entry) {
		return
	}
	f.reset()
	assert.NoError(f.book(org, entry))
	entry.Postings = append([]ledger.Posting(nil), f.postings...)
}

func maySplit(entry *ledger.Entry) bool {
	for i := range entry.Postings {
		if entry.Postings[i].SplitWith != "" {
			return true
		}
	}
	return false
}

// book books an entry in the projection. First it subtracts the amounts that a capture releases. Then it books the postings in
// their order. Each posting is split according to the totals after the postings before it.
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

// move changes the totals of an account by a posting. If the phase is Void, the posting's amount is released. Otherwise it is
// added.
func move(t *ledger.Totals, phase ledger.Phase, p *ledger.Posting) error {
	switch phase {
	case ledger.Pending:
		return t.Hold(p.Side, p.Amount)
	case ledger.Void:
		return t.Release(p.Side, p.Amount)
	}
	return t.Post(p.Side, p.Amount)
}

// add appends a posting to f.postings. If the posting has a spill account, and both accounts get a part of the amount, add
// appends two postings.
func (f *projection) add(org ledger.ID, p *ledger.Posting) {
	ownPart := *p
	if ownPart.SplitWith == "" {
		f.postings = append(f.postings, ownPart)
		return
	}
	spillPart := ledger.Posting{Account: ownPart.SplitWith, Asset: ownPart.Asset, Side: ownPart.Side}
	ownPart.SplitWith = ""
	if ownPart.Side == ledger.Credit {
		// A credit pays the debt on the spill account first.
		owed := f.totals(org, ledger.Account{Path: spillPart.Account, Asset: ownPart.Asset}).Balance(ledger.Debit)
		if !owed.Negative {
			spillPart.Amount = owed.Abs.Min(ownPart.Amount)
		}
	} else {
		// A debit uses the available balance of its own account first. The rest becomes debt on the spill account.
		available := f.totals(org, ledger.Account{Path: ownPart.Account, Asset: ownPart.Asset}).Available()
		spillPart.Amount = ownPart.Amount
		if !available.Negative {
			spillPart.Amount, _ = ownPart.Amount.Sub(available.Abs.Min(ownPart.Amount))
		}
	}
	remaining, err := ownPart.Amount.Sub(spillPart.Amount)
	assert.NoError(err) // the spill account's part is never more than the posting's amount
	if ownPart.Amount = remaining; !remaining.IsZero() {
		f.postings = append(f.postings, ownPart)
	}
	if !spillPart.Amount.IsZero() {
		f.postings = append(f.postings, spillPart)
	}
}
