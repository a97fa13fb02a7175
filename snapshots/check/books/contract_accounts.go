package books

import (
	"bytes"
	"crypto/sha256"
	"hash/maphash"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/scan"
)

// For rule 2 of the checker (totals, pages, months), this file checks accounts that belong to one contract. A store
// has several such accounts for each contract, so these accounts are not kept in memory. Instead the check sums the hashes
// of their lines (stored postings) twice: once from the journal and once from the pages. While it reads pages, it also
// checks the running totals from line to line. If the sums differ, or running totals are wrong, the check books everything
// again with all accounts in memory.

// contractAccounts compares the accounts that belong to one contract without keeping them in memory. It compares two
// sums of hashes of their lines: from the journal and from the pages. The hashes do not cover the running totals.
type contractAccounts struct {
	seed         maphash.Seed
	journalSum   lineSum                        // sum of the lines that follow from the journal
	pageSum      lineSum                        // sum of the lines on the pages
	hasMismatch  bool                           // the running totals of some line do not follow from the line before it
	accounts     uint64                         // the number of accounts with pages
	sums         map[money.Asset]*ledger.Totals // totals of all these accounts, by asset
	shiftedLines map[uint64]ledger.Date         // key: hash of a line that needs a row by effective date; value: the date
	hasEvents    func(id ledger.ID) bool        // tells whether a contract has events

	row, reencoded []byte // buffers
}

// lineSum is a number of lines and the sum of their hashes. The sum does not depend on the order of the lines.
type lineSum struct{ lines, sum uint64 }

func newContractAccounts(h *scan.Histories) *contractAccounts {
	hasEvents := func(id ledger.ID) bool { return h.Find(ledger.Source{Kind: ledger.Contract, ID: id}) != nil }
	return &contractAccounts{hasEvents: hasEvents, seed: maphash.MakeSeed(), sums: make(map[money.Asset]*ledger.Totals), shiftedLines: make(map[uint64]ledger.Date)}
}

// covers tells whether the account belongs to the event's own contract, or to another contract that has events. An entry on such
// an account must have the phase Posted. If the entry has another phase, covers returns false, and the check later books
// everything again.
func (a *contractAccounts) covers(e *ledger.Event, path ledger.Path) bool {
	id, isOfContract := scan.OwnerContract(path)
	if !isOfContract || e.Source != (ledger.Source{Kind: ledger.Contract, ID: id}) && !a.hasEvents(id) {
		return false
	}
	if e.Entry.Phase != ledger.Posted {
		a.hasMismatch = true
		return false
	}
	return true
}

// hash returns the hash of a line without its running totals.
func (a *contractAccounts) hash(accountID ledger.Account, l *store.Line) uint64 {
	withoutTotals := *l
	withoutTotals.Totals = ledger.Totals{}
	a.row = store.EncodeLine(a.row[:0], &withoutTotals)
	var m maphash.Hash
	m.SetSeed(a.seed)
	_, _ = m.WriteString(string(accountID.Path)) // maphash never fails, here and below
	_ = m.WriteByte(0)
	_, _ = m.WriteString(string(accountID.Asset.Currency))
	_ = m.WriteByte(0)
	_, _ = m.WriteString(string(accountID.Asset.Network))
	_ = m.WriteByte(byte(accountID.Asset.Env))
	_, _ = m.Write(a.row)
	return m.Sum64()
}

// post adds a posting to the journal's sum of lines and to the totals of its asset.
func (a *contractAccounts) post(accountID ledger.Account, e *ledger.Event, index int, p *ledger.Posting) (inRange bool) {
	l := store.Line{Seq: e.Seq, Index: index, Booked: e.Booked, Side: p.Side, Phase: e.Entry.Phase, Amount: p.Amount}
	h := a.hash(accountID, &l)
	a.journalSum.lines++
	a.journalSum.sum += h
	if e.Entry.Effective != e.Booked.Date() {
		a.shiftedLines[h] = e.Entry.Effective
	}
	if a.sums[accountID.Asset] == nil {
		a.sums[accountID.Asset] = new(ledger.Totals)
	}
	return a.sums[accountID.Asset].Post(p.Side, p.Amount) == nil
}

// agrees tells whether the pages have exactly the lines that follow from the journal.
func (a *contractAccounts) agrees() bool { return a.journalSum == a.pageSum && !a.hasMismatch }

// contractLines reads the lines of an account that belongs to one contract from the account's pages.
type contractLines struct {
	accountID ledger.Account
	books     *Books
	totals    ledger.Totals // the account's totals after the last line that was read
	seq       uint64        // seq of the event of the last line that was read
	index     int           // index of the last line in its entry
}

// add checks the order and the running totals of further lines, and adds their hashes to the sum of the pages.
func (o *contractLines) add(lines []byte) {
	if len(lines) == 0 {
		return
	}
	accounts, b := o.books.contractAccounts, o.books
	reencoded := accounts.reencoded[:0]
	err := store.DecodePage(lines, func(l *store.Line) (bool, error) {
		if o.totals.Post(l.Side, l.Amount) != nil || o.totals != l.Totals || l.Seq < o.seq || l.Seq == o.seq && l.Index <= o.index {
			accounts.hasMismatch = true
		}
		o.seq, o.index = l.Seq, l.Index
		h := accounts.hash(o.accountID, l)
		accounts.pageSum.lines++
		accounts.pageSum.sum += h
		start := len(reencoded)
		reencoded = store.EncodeLine(reencoded, l)
		if effective, isShifted := accounts.shiftedLines[h]; isShifted {
			b.key = store.KeyShifted(b.key[:0], ledger.ID{}, o.accountID, effective, l.Seq, l.Index)
			b.shiftedRows[shortForm(b.key, reencoded[start:])] = l.Seq
		}
		return true, nil
	})
	accounts.reencoded = reencoded
	if err != nil || !bytes.Equal(reencoded, lines) {
		accounts.hasMismatch = true
	}
}

// recount books all entries again with the accounts of contracts in memory. It reads the pages of those accounts again,
// to find the wrong accounts.
func (p *pageReader) recount() error {
	c, o := p.Check, p.organization
	fullBooks := newBooks()
	err := c.View.EventsAscending(o.ID, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil {
			fullBooks.book(&e)
		}
		return true, c.Interrupted()
	})
	if err != nil {
		return err
	}
	c.Report.Counts.Accounts -= p.books.contractAccounts.accounts // these accounts are now in the map accounts too, and are counted there
	p.books.shiftedRows, p.books.contractAccounts = fullBooks.shiftedRows, &contractAccounts{hasEvents: p.books.contractAccounts.hasEvents}
	for accountID, a := range fullBooks.accounts {
		if id, isOfContract := scan.OwnerContract(accountID.Path); isOfContract && p.books.contractAccounts.hasEvents(id) {
			p.books.accounts[accountID] = a
		}
	}
	reader := &pageReader{Check: c, linesHash: sha256.New(), linesInBuffers: make(map[ledger.Account][]byte)}
	if err := c.View.BufferedPages(o.ID, reader.addBuffered); err != nil {
		return err
	}
	for accountID := range reader.linesInBuffers {
		if a := p.books.accounts[accountID]; a == nil || a.pagesRead {
			delete(reader.linesInBuffers, accountID)
		}
	}
	err = c.View.Rows(o.ID, posting.Pages, func(key, row []byte) (bool, error) {
		accountID, ok := store.ParsePageKey(key)
		if !ok {
			return true, nil
		}
		if a := p.books.accounts[accountID]; reader.prefix == nil || accountID != reader.accountID {
			reader.endAccount()
			reader.prefix = nil
			if _, isOfContract := scan.OwnerContract(accountID.Path); !isOfContract || a != nil && a.pagesRead {
				return true, c.Interrupted()
			}
			reader.beginAccount(accountID, append([]byte(nil), key[:len(key)-8]...))
			reader.contractLines = nil
		}
		reader.add(row)
		return true, c.Interrupted()
	})
	reader.endAccount()
	p.wrongAccounts = append(p.wrongAccounts, reader.wrongAccounts...)
	return err
}
