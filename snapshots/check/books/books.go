package books

import (
	"crypto/sha256"
	"hash"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/scan"
)

// For rule 2 of the checker (totals, pages, months), this file checks entries. For each asset and environment the sum
// of debits must equal the sum of credits, both posted and pending. Every entry must balance and have an effective
// day. An entry may close only an open hold (an entry that reserves money).

// Check compares the stored accounts of an organization with the organization's entries.
type Check struct {
	*scan.Scan
	organization   *scan.Organization
	directory      *directory.Facts // knows the partners' overdraft limits
	books          *Books
	bufferedChunks map[string][]bufferedLines // lines in page buffers that no page has yet; key: prefix of the pages' keys
}

// New begins the check of one organization's accounts.
func New(s *scan.Scan, o *scan.Organization, d *directory.Facts) *Check {
	c := &Check{Scan: s, organization: o, directory: d, books: newBooks()}
	c.books.contractAccounts = newContractAccounts(o.Histories)
	return c
}

// Books recomputes an organization's accounts from its entries.
type Books struct {
	accounts map[ledger.Account]*account
	holds    map[uint64]scan.Hold // open pending entries, by the seq of their event
	// shiftedRows are the rows by effective date that must exist. A row by effective date repeats a line whose
	// effective day is not its booked day. The keys are the rows' shortForms, and the values are the seqs of the
	// rows' events.
	shiftedRows map[[16]byte]uint64
	lineCount   uint64

	contractAccounts *contractAccounts // nil if the map accounts also has the accounts that belong to one contract

	key, row []byte                            // buffers
	onLine   func(ledger.Account, *store.Line) // if not nil, it is called with every recomputed line
}

// account is the state of one account after the entries so far.
type account struct {
	totals       ledger.Totals
	forcedDebits money.Amount  // part of the pending debits that was held although too little was available
	linesHash    hash.Hash     // running hash of all lines in the form in which they must be stored
	loweredAt    ledger.Micros // time of the last debit that lowered the available balance
	lineCount    uint64
	pagesRead    bool // the account's pages have been read
}

func newBooks() *Books {
	return &Books{accounts: make(map[ledger.Account]*account), holds: make(map[uint64]scan.Hold), shiftedRows: make(map[[16]byte]uint64)}
}

// account returns the state of an account, and creates it if no entry has touched the account so far.
func (b *Books) account(a ledger.Account) *account {
	found := b.accounts[a]
	if found == nil {
		found = &account{linesHash: sha256.New()}
		b.accounts[a] = found
	}
	return found
}

// book applies an event's entry. It applies a wrong entry as far as possible. It returns the hold that the entry closes.
// fault says what is wrong with the entry, and is empty if nothing is wrong.
func (b *Books) book(e *ledger.Event) (closedHold scan.Hold, fault string) {
	entry := e.Entry
	fault = scan.PostingsFault(entry.Postings)
	if entry.Effective == 0 {
		fault = "has no effective day"
	}
	switch entry.Phase {
	case ledger.Posted:
	case ledger.Pending:
		b.holds[e.Seq] = scan.Hold{Source: e.Source, Postings: entry.Postings, IsForced: isForced(e)}
	case ledger.Capture, ledger.Void:
		var open bool
		if closedHold, open = b.holds[entry.Closes]; !open {
			return closedHold, "closes nothing that is pending"
		}
		delete(b.holds, entry.Closes)
		if entry.Phase == ledger.Void && !samePostings(entry.Postings, closedHold.Postings) {
			fault = "voids something else than is pending"
		}
	default:
		return closedHold, "has an unknown phase"
	}
	if entry.Closes != 0 && entry.Phase != ledger.Capture && entry.Phase != ledger.Void {
		fault = "closes something without being a capture or a void"
	}
	inRange, splitFault := b.apply(e, &closedHold)
	switch {
	case !inRange:
		fault = "takes a total out of its range"
	case fault == "":
		fault = splitFault
	}
	return closedHold, fault
}

// apply adds the entry to the accounts' totals, and its lines to the accounts' lines. The lines that release a captured hold
// come first. inRange is false if a total left its range. splitFault says what is wrong with how the entry divides an amount
// between a partner's available balance and the partner's debt, and is empty if nothing is wrong.
func (b *Books) apply(e *ledger.Event, closedHold *scan.Hold) (inRange bool, splitFault string) {
	entry := e.Entry
	inRange = b.release(e, closedHold)
	splitFault = b.splitFault(e)
	for i := range entry.Postings {
		p := &entry.Postings[i]
		accountID := ledger.Account{Path: p.Account, Asset: p.Asset}
		if b.contractAccounts != nil && b.contractAccounts.covers(e, p.Account) {
			inRange = b.contractAccounts.post(accountID, e, i, p) && inRange
			b.lineCount++
			continue
		}
		a := b.account(accountID)
		inRange = a.apply(entry.Phase, p) == nil && inRange
		if p.Side == ledger.Debit && (entry.Phase == ledger.Posted || entry.Phase == ledger.Pending) {
			a.loweredAt = e.Booked
		}
		switch {
		case entry.Phase == ledger.Pending && isForced(e):
			a.changeForced(money.Amount.Add, p)
		case entry.Phase == ledger.Void && closedHold.IsForced:
			a.changeForced(money.Amount.Sub, p)
		}
		b.addLine(accountID, a, e, i, p, entry.Phase)
	}
	return inRange, splitFault
}

// release removes a captured hold from the pending totals. An account to which the capture
// posts nothing gets a line for the release.
func (b *Books) release(e *ledger.Event, closedHold *scan.Hold) (inRange bool) {
	inRange = true
	if e.Entry.Phase != ledger.Capture {
		return inRange
	}
	for i := range closedHold.Postings {
		p := &closedHold.Postings[i]
		accountID := ledger.Account{Path: p.Account, Asset: p.Asset}
		a := b.account(accountID)
		inRange = a.totals.Release(p.Side, p.Amount) == nil && inRange
		if closedHold.IsForced {
			a.changeForced(money.Amount.Sub, p)
		}
		if !slices.ContainsFunc(e.Entry.Postings, func(q ledger.Posting) bool { return q.Account == p.Account && q.Asset == p.Asset }) {
			b.addLine(accountID, a, e, len(e.Entry.Postings)+i, p, ledger.Void)
		}
	}
	return inRange
}

// apply changes the account's totals by a posting.
func (a *account) apply(phase ledger.Phase, p *ledger.Posting) error {
	switch phase {
	case ledger.Pending:
		return a.totals.Hold(p.Side, p.Amount)
	case ledger.Void:
		return a.totals.Release(p.Side, p.Amount)
	}
	return a.totals.Post(p.Side, p.Amount)
}

// addLine adds a line to the account's running hash. A line is a posting, or the release of a posting, and the
// account's totals after it. The account's pages must contain the line.
func (b *Books) addLine(accountID ledger.Account, a *account, e *ledger.Event, index int, p *ledger.Posting, phase ledger.Phase) {
	l := store.Line{Seq: e.Seq, Index: index, Booked: e.Booked, Side: p.Side, Phase: phase, Amount: p.Amount, Totals: a.totals}
	b.row = store.EncodeLine(b.row[:0], &l)
	a.linesHash.Write(b.row)
	a.lineCount++
	b.lineCount++
	if e.Entry.Effective != e.Booked.Date() {
		b.key = store.KeyShifted(b.key[:0], ledger.ID{}, accountID, e.Entry.Effective, e.Seq, index)
		b.shiftedRows[shortForm(b.key, b.row)] = e.Seq
	}
	if b.onLine != nil {
		b.onLine(accountID, &l)
	}
}

// shortForm returns the short form of a row by effective date that is kept in memory: a hash of the row's content and
// of its key without the organization.
func shortForm(key, row []byte) (short [16]byte) {
	h := sha256.New()
	h.Write(key[1+len(ledger.ID{}):])
	h.Write(row)
	copy(short[:], h.Sum(nil))
	return short
}

// samePostings tells whether two lists have the same postings, in any order.
func samePostings(a, b []ledger.Posting) bool {
	count := func(list []ledger.Posting, p ledger.Posting) (n int) {
		for i := range list {
			if list[i] == p {
				n++
			}
		}
		return n
	}
	return len(a) == len(b) && !slices.ContainsFunc(a, func(p ledger.Posting) bool { return count(a, p) != count(b, p) })
}
