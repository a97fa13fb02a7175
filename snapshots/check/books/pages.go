package books

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"iter"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 2 of the checker (totals, pages, months), this file checks pages. A line is a posting with the running
// totals of its account. Every running total must be the sum of the postings so far. Every line must be on a page (a
// row with lines of its account) or in a page buffer (a row with lines of many accounts). The lines in page buffers
// must be later than the account's lines on pages. If a line's effective day differs from its booked day, a row by
// effective date must repeat the line. No partner's balance may be below zero by more than the partner's overdraft
// limit; holds of refunds and of two-phase payments do not count.

// Book applies an event's entry and returns the hold that it closes.
func (c *Check) Book(e *ledger.Event) (closedHold scan.Hold) {
	if e.Entry == nil {
		return closedHold
	}
	closedHold, fault := c.books.book(e)
	if fault != "" {
		c.Report.Breach(findings.RuleTotals, "organization %v: the entry of event %d %s", c.organization.ID, e.Seq, fault)
	}
	return closedHold
}

// CheckPages compares every account's stored lines, including order and running totals, with
// the lines that the events require.
func (c *Check) CheckPages() error {
	o := c.organization
	p := &pageReader{Check: c, linesHash: sha256.New(), linesInBuffers: make(map[ledger.Account][]byte)}
	err := c.View.BufferedPages(o.ID, p.addBuffered)
	if err != nil {
		return err
	}
	if err := c.Rows(o, posting.Pages, p.readPage); err != nil {
		return err
	}
	p.endAccount()
	p.checkAccountsWithoutPage()
	c.Report.Counts.Accounts += c.books.contractAccounts.accounts
	if !c.books.contractAccounts.agrees() {
		if err := p.recount(); err != nil {
			return err
		}
	}
	for accountID, a := range c.books.accounts {
		if !a.pagesRead {
			c.Report.Breach(findings.RuleTotals, "organization %v: account %s %v has %d lines by its events and no page", o.ID, accountID.Path, accountID.Asset, a.lineCount)
		}
	}
	c.Report.Count(findings.RuleTotals, c.books.lineCount)
	c.Report.Counts.Lines += c.books.lineCount
	c.Report.Counts.Accounts += uint64(len(c.books.accounts))
	c.Report.Counts.AccountsInMemory += uint64(len(c.books.accounts))
	return c.explain(p.wrongAccounts)
}

// pageReader reads one organization's pages.
type pageReader struct {
	*Check
	prefix         []byte // prefix of the keys of the account that is being read; nil if there is none
	accountID      ledger.Account
	linesHash      hash.Hash                 // running hash of the account's stored lines
	linesInBuffers map[ledger.Account][]byte // lines that are in page buffers, of accounts whose pages have not been read yet
	contractLines  *contractLines            // set if the account that is being read belongs to one contract
	wrongAccounts  []ledger.Account
}

// addBuffered adds the lines that an account has in page buffers.
func (p *pageReader) addBuffered(prefix, lines []byte) error {
	if accountID, ok := store.ParsePagePrefix(prefix); ok {
		p.linesInBuffers[accountID] = lines
	}
	return nil
}

// checkAccountsWithoutPage reports and compares the accounts that have lines only in page buffers. No such account
// should exist: the writer stores an account's first lines on a page at once, because pages tell readers which
// accounts exist.
func (p *pageReader) checkAccountsWithoutPage() {
	for _, accountID := range slices.SortedFunc(maps.Keys(p.linesInBuffers), scan.ByPath) {
		p.Report.Breach(findings.RuleTotals, "organization %v: account %s %v has lines in the page buffer and no page", p.organization.ID, accountID.Path, accountID.Asset)
		p.beginAccount(accountID, []byte{})
		p.endAccount()
	}
}

// readPage reads one stored page.
func (p *pageReader) readPage(key, row []byte) error {
	accountID, ok := store.ParsePageKey(key)
	if !ok {
		p.Report.Breach(findings.RuleTotals, "organization %v: a page with an unknown key", p.organization.ID)
		return nil
	}
	if p.prefix == nil || accountID != p.accountID {
		p.endAccount()
		p.beginAccount(accountID, append(p.prefix[:0], key[:len(key)-8]...))
	}
	p.add(row)
	p.DropFlushedChunks(p.prefix, row)
	timeInKey := ledger.Micros(binary.BigEndian.Uint64(key[len(key)-8:]))
	err := store.DecodePage(row, func(l *store.Line) (bool, error) {
		if l.Booked != timeInKey { // only the first line is decoded here; its booked time must be the time in the page's key
			p.Report.Breach(findings.RuleTotals, "organization %v: account %s %v: the page of event %d has a wrong time in its key", p.organization.ID, accountID.Path, accountID.Asset, l.Seq)
		}
		return false, nil
	})
	if err != nil {
		p.Report.Breach(findings.RuleTotals, "organization %v: account %s %v: %v", p.organization.ID, accountID.Path, accountID.Asset, err)
	}
	return nil
}

// beginAccount starts reading an account.
func (p *pageReader) beginAccount(accountID ledger.Account, prefix []byte) {
	p.accountID, p.prefix, p.contractLines = accountID, prefix, nil
	p.linesHash.Reset()
	if id, isOfContract := scan.OwnerContract(accountID.Path); isOfContract && p.books.accounts[accountID] == nil && p.books.contractAccounts.hasEvents(id) {
		p.contractLines = &contractLines{accountID: accountID, books: p.books}
		p.books.contractAccounts.accounts++
	}
}

// add reads more lines of the account.
func (p *pageReader) add(lines []byte) {
	if p.contractLines != nil {
		p.contractLines.add(lines)
		return
	}
	p.linesHash.Write(lines)
}

// endAccount compares the lines of the account that was read with the lines that the events require.
func (p *pageReader) endAccount() {
	if p.prefix == nil {
		return
	}
	p.add(p.linesInBuffers[p.accountID])
	delete(p.linesInBuffers, p.accountID)
	if p.contractLines != nil {
		return
	}
	a := p.books.accounts[p.accountID]
	if a == nil {
		p.Report.Breach(findings.RuleTotals, "organization %v: account %s %v has a page and no event", p.organization.ID, p.accountID.Path, p.accountID.Asset)
		return
	}
	a.pagesRead = true
	if !bytes.Equal(p.linesHash.Sum(nil), a.linesHash.Sum(nil)) {
		p.wrongAccounts = append(p.wrongAccounts, p.accountID)
	}
}

// maxExplained bounds the number of accounts in which explain looks for the first wrong line.
const maxExplained = findings.MaxDetails

// explain finds the first wrong line of each wrong account, for at most maxExplained accounts. It reads the
// journal again along with the accounts' pages.
func (c *Check) explain(wrongAccounts []ledger.Account) error {
	if len(wrongAccounts) == 0 {
		return nil
	}
	o := c.organization
	watched := make(map[ledger.Account]*storedLines)
	for i, accountID := range wrongAccounts {
		if i == maxExplained {
			c.Report.Breach(findings.RuleTotals, "organization %v: %d accounts differ", o.ID, len(wrongAccounts))
			break
		}
		s := new(storedLines)
		s.next, s.stop = iter.Pull(c.linesOf(accountID))
		defer s.stop()
		watched[accountID] = s
	}
	fullBooks := newBooks()
	fullBooks.onLine = func(accountID ledger.Account, want *store.Line) {
		if s := watched[accountID]; s != nil && !s.reported {
			s.compare(c.Report, o.ID, accountID, want)
		}
	}
	err := c.View.EventsAscending(o.ID, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil {
			fullBooks.book(&e)
		}
		return true, c.Interrupted()
	})
	for accountID, s := range watched {
		if s.reported {
			continue
		}
		if l, more := s.next(); more {
			c.Report.Breach(findings.RuleTotals, "organization %v: account %s %v: the line of event %d belongs to no event", o.ID, accountID.Path, accountID.Asset, l.Seq)
		} else {
			c.Report.Breach(findings.RuleTotals, "organization %v: account %s %v: its lines are not as they were written", o.ID, accountID.Path, accountID.Asset)
		}
	}
	return err
}

// storedLines reads one account's lines while explain reads the journal.
type storedLines struct {
	next     func() (store.Line, bool)
	stop     func()
	reported bool // a wrong line has been reported already
}

// compare reads the next line and reports how it differs from the wanted one.
func (s *storedLines) compare(report *findings.Report, org ledger.ID, accountID ledger.Account, want *store.Line) {
	got, more := s.next()
	switch {
	case !more || got.Seq > want.Seq:
		report.Breach(findings.RuleTotals, "organization %v: account %s %v: the posting of event %d has no line", org, accountID.Path, accountID.Asset, want.Seq)
	case got.Seq < want.Seq:
		report.Breach(findings.RuleTotals, "organization %v: account %s %v: the line of event %d belongs to no event", org, accountID.Path, accountID.Asset, got.Seq)
	case got.Totals != want.Totals:
		report.Breach(findings.RuleTotals, "organization %v: account %s %v: after event %d the totals are %s, and its postings give %s",
			org, accountID.Path, accountID.Asset, got.Seq, formatTotals(got.Totals), formatTotals(want.Totals))
	case got != *want:
		report.Breach(findings.RuleTotals, "organization %v: account %s %v: the line of event %d is not its posting", org, accountID.Path, accountID.Asset, got.Seq)
	default:
		return
	}
	s.reported = true
}

func formatTotals(t ledger.Totals) string {
	return t.DebitsPosted.String() + "/" + t.CreditsPosted.String() + " (" + t.DebitsPending.String() + "/" + t.CreditsPending.String() + " pending)"
}

// linesOf returns an account's stored lines, oldest first.
func (c *Check) linesOf(accountID ledger.Account) iter.Seq[store.Line] {
	return func(yield func(store.Line) bool) {
		// Errors are ignored here, because CheckPages has already reported them.
		_ = c.View.LinesAscending(c.organization.ID, accountID, func(l *store.Line) (bool, error) { return yield(*l), nil })
	}
}

// CheckShifted compares the stored rows by effective date with the rows that the events require. Such a row repeats a
// line whose effective day is not its booked day.
func (c *Check) CheckShifted() error {
	o := c.organization
	missing := c.books.shiftedRows
	err := c.Rows(o, posting.ShiftedLines, func(key, row []byte) error {
		short := shortForm(key, row)
		if _, isRequired := missing[short]; !isRequired {
			c.Report.Breach(findings.RuleTotals, "organization %v: a line by effective date that no event gives", o.ID)
		}
		delete(missing, short)
		return nil
	})
	for _, seq := range missing {
		c.Report.Breach(findings.RuleTotals, "organization %v: event %d has no line by effective date", o.ID, seq)
	}
	return err
}

// CheckBalances checks that debits equal credits in each asset, posted and pending, and that no
// partner's balance is below zero by more than the partner's overdraft limit.
func (c *Check) CheckBalances() error {
	o := c.organization
	sums := make(map[money.Asset]*ledger.Totals)
	for accountID, a := range c.books.accounts {
		sum := sums[accountID.Asset]
		if sum == nil {
			sum = new(ledger.Totals)
			sums[accountID.Asset] = sum
		}
		if !addTotals(sum, &a.totals) {
			c.Report.Breach(findings.RuleTotals, "organization %v: the totals in %v are out of range", o.ID, accountID.Asset)
		}
	}
	for asset, contractTotals := range c.books.contractAccounts.sums {
		if sums[asset] == nil {
			sums[asset] = new(ledger.Totals)
		}
		if !addTotals(sums[asset], contractTotals) {
			c.Report.Breach(findings.RuleTotals, "organization %v: the totals in %v are out of range", o.ID, asset)
		}
	}
	for asset, sum := range sums {
		if sum.DebitsPosted != sum.CreditsPosted || sum.DebitsPending != sum.CreditsPending {
			c.Report.Breach(findings.RuleTotals, "organization %v: in %v debits and credits are %s", o.ID, asset, formatTotals(*sum))
		}
	}
	for _, accountID := range slices.SortedFunc(maps.Keys(c.books.accounts), scan.ByPath) {
		if partner, ok := scan.AvailableBalanceOwner(accountID.Path); ok {
			c.checkOverdraft(accountID, partner, c.books.accounts[accountID])
		}
	}
	return nil
}

// addTotals adds totals to a sum and tells whether the sum stayed in its range.
func addTotals(sum, totals *ledger.Totals) bool {
	inRange := true
	for _, pair := range [...]struct{ sum, addend *money.Amount }{
		{&sum.DebitsPosted, &totals.DebitsPosted}, {&sum.CreditsPosted, &totals.CreditsPosted},
		{&sum.DebitsPending, &totals.DebitsPending}, {&sum.CreditsPending, &totals.CreditsPending},
	} {
		total, err := pair.sum.Add(*pair.addend)
		*pair.sum, inRange = total, inRange && err == nil
	}
	return inRange
}

// checkOverdraft checks that a partner's available balance is not below zero by more than the overdraft limit. Holds that
// were made even if too little was available do not count. If the overdraft was set after the balance was last lowered,
// nothing is checked, because an earlier overdraft may have allowed the balance.
func (c *Check) checkOverdraft(accountID ledger.Account, number int64, a *account) {
	available, err := a.totals.Available().Add(money.Signed{Abs: a.forcedDebits})
	if err != nil || !available.Negative {
		return
	}
	var overdraft money.Amount
	if p := c.directory.Partner(c.organization.ID, number); p != nil {
		if p.Changed && a.loweredAt < p.UpdatedAt+scan.MaxDecisionTime {
			return
		}
		overdraft = p.Overdraft[accountID.Asset]
	}
	if overdraft.Less(available.Abs) {
		c.Report.Breach(findings.RuleTotals, "organization %v: account %s %v has %v available, and its overdraft is %v", c.organization.ID, accountID.Path, accountID.Asset, available, overdraft)
	}
}
