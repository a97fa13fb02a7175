package check

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
)

// book lets the books follow an event.
func (j *booksCheck) book(e *ledger.Event) (closed hold) {
	if e.Entry == nil {
		return closed
	}
	closed, wrong := j.books.book(e)
	if wrong != "" {
		j.report.breach(ruleTotals, "organization %v: the entry of event %d %s", j.organization.id, e.Seq, wrong)
	}
	return closed
}

// pages compares every account's stored lines with what the events give: each
// line with its running totals, in order, none more and none less.
func (c *booksCheck) pages() error {
	o := c.organization
	p := &paging{booksCheck: c, stream: sha256.New(), lines: make(map[ledger.Account][]byte)}
	err := c.view.Gathered(o.id, p.gather)
	if err != nil {
		return err
	}
	if err := c.rows(o, posting.Pages, p.page); err != nil {
		return err
	}
	p.end()
	p.pageless()
	c.report.Counts.Accounts += c.books.own.accounts
	if !c.books.own.agrees() {
		if err := p.recount(); err != nil {
			return err
		}
	}
	for at, a := range c.books.accounts {
		if !a.paged {
			c.report.breach(ruleTotals, "organization %v: account %s %v has %d lines by its events and no page", o.id, at.Path, at.Asset, a.lines)
		}
	}
	c.report.count(ruleTotals, c.books.lines)
	c.report.Counts.Lines += c.books.lines
	c.report.Counts.Accounts += uint64(len(c.books.accounts))
	c.report.Counts.KeptAccounts += uint64(len(c.books.accounts))
	return c.explain(p.differ)
}

// paging is the reading of one organization's pages.
type paging struct {
	*booksCheck
	prefix []byte // of the account being read; nil: none
	at     ledger.Account
	stream hash.Hash
	lines  map[ledger.Account][]byte // lines that are on no page yet, of accounts not read yet
	own    *ownLines                 // the account being read is a contract's own; nil: it is not
	differ []ledger.Account
}

// gather notes what a daybook has of an account.
func (p *paging) gather(prefix, lines []byte) error {
	if at, ok := store.ParsePagePrefix(prefix); ok {
		p.lines[at] = lines
	}
	return nil
}

// pageless compares the accounts all of whose lines are in the daybook. There
// should be none: the first lines of an account are put on a page at once, because
// the pages tell which accounts there are.
func (p *paging) pageless() {
	for _, at := range slices.SortedFunc(maps.Keys(p.lines), byPath) {
		p.report.breach(ruleTotals, "organization %v: account %s %v has lines in the daybook and no page", p.organization.id, at.Path, at.Asset)
		p.begin(at, []byte{})
		p.end()
	}
}

func (p *paging) page(key, row []byte) error {
	at, ok := store.ParsePageKey(key)
	if !ok {
		p.report.breach(ruleTotals, "organization %v: a page with an unknown key", p.organization.id)
		return nil
	}
	if p.prefix == nil || at != p.at {
		p.end()
		p.begin(at, append(p.prefix[:0], key[:len(key)-8]...))
	}
	p.add(row)
	p.dropPaged(p.prefix, row)
	first := ledger.Micros(binary.BigEndian.Uint64(key[len(key)-8:]))
	err := store.DecodePage(row, func(l *store.Line) (bool, error) {
		if l.Booked != first {
			p.report.breach(ruleTotals, "organization %v: account %s %v: the page of event %d lies at another time", p.organization.id, at.Path, at.Asset, l.Seq)
		}
		return false, nil
	})
	if err != nil {
		p.report.breach(ruleTotals, "organization %v: account %s %v: %v", p.organization.id, at.Path, at.Asset, err)
	}
	return nil
}

// begin turns to an account.
func (p *paging) begin(at ledger.Account, prefix []byte) {
	p.at, p.prefix, p.own = at, prefix, nil
	p.stream.Reset()
	if id, own := ownerContract(at.Path); own && p.books.accounts[at] == nil && p.books.own.known(id) {
		p.own = &ownLines{at: at, books: p.books}
		p.books.own.accounts++
	}
}

// add takes in lines of the account.
func (p *paging) add(lines []byte) {
	if p.own != nil {
		p.own.add(lines)
		return
	}
	p.stream.Write(lines)
}

// end compares the account that was read last.
func (p *paging) end() {
	if p.prefix == nil {
		return
	}
	p.add(p.lines[p.at])
	delete(p.lines, p.at)
	if p.own != nil {
		return
	}
	a := p.books.accounts[p.at]
	if a == nil {
		p.report.breach(ruleTotals, "organization %v: account %s %v has a page and no event", p.organization.id, p.at.Path, p.at.Asset)
		return
	}
	a.paged = true
	if !bytes.Equal(p.stream.Sum(nil), a.stream.Sum(nil)) {
		p.differ = append(p.differ, p.at)
	}
}

// maxExplained bounds the accounts whose first wrong line is looked for.
const maxExplained = maxDetails

// explain finds the first wrong line of each account that differs, by reading
// the journal once more beside the accounts' pages.
func (c *booksCheck) explain(differ []ledger.Account) error {
	if len(differ) == 0 {
		return nil
	}
	o := c.organization
	watched := make(map[ledger.Account]*storedLines)
	for i, at := range differ {
		if i == maxExplained {
			c.report.breach(ruleTotals, "organization %v: %d accounts differ", o.id, len(differ))
			break
		}
		s := new(storedLines)
		s.next, s.stop = iter.Pull(c.linesOf(at))
		defer s.stop()
		watched[at] = s
	}
	again := newBooks()
	again.line = func(at ledger.Account, want *store.Line) {
		if s := watched[at]; s != nil && !s.found {
			s.compare(c.report, o.id, at, want)
		}
	}
	err := c.view.EventsAscending(o.id, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil {
			again.book(&e)
		}
		return true, c.alive()
	})
	for at, s := range watched {
		if s.found {
			continue
		}
		if l, more := s.next(); more {
			c.report.breach(ruleTotals, "organization %v: account %s %v: the line of event %d is of no event", o.id, at.Path, at.Asset, l.Seq)
		} else {
			c.report.breach(ruleTotals, "organization %v: account %s %v: its lines are not as they were written", o.id, at.Path, at.Asset)
		}
	}
	return err
}

// storedLines are one account's lines as they are read beside the journal.
type storedLines struct {
	next  func() (store.Line, bool)
	stop  func()
	found bool // what is wrong
}

func (s *storedLines) compare(report *Report, org ledger.ID, at ledger.Account, want *store.Line) {
	got, more := s.next()
	switch {
	case !more || got.Seq > want.Seq:
		report.breach(ruleTotals, "organization %v: account %s %v: the posting of event %d has no line", org, at.Path, at.Asset, want.Seq)
	case got.Seq < want.Seq:
		report.breach(ruleTotals, "organization %v: account %s %v: the line of event %d is of no event", org, at.Path, at.Asset, got.Seq)
	case got.Totals != want.Totals:
		report.breach(ruleTotals, "organization %v: account %s %v: after event %d the totals are %s, and its postings give %s",
			org, at.Path, at.Asset, got.Seq, show(got.Totals), show(want.Totals))
	case got != *want:
		report.breach(ruleTotals, "organization %v: account %s %v: the line of event %d is not its posting", org, at.Path, at.Asset, got.Seq)
	default:
		return
	}
	s.found = true
}

func show(t ledger.Totals) string {
	return t.DebitsPosted.String() + "/" + t.CreditsPosted.String() + " (" + t.DebitsPending.String() + "/" + t.CreditsPending.String() + " pending)"
}

// linesOf are an account's stored lines, oldest first.
func (c *booksCheck) linesOf(at ledger.Account) iter.Seq[store.Line] {
	return func(yield func(store.Line) bool) {
		// What can't be read was reported when the pages were.
		_ = c.view.LinesAscending(c.organization.id, at, func(l *store.Line) (bool, error) { return yield(*l), nil })
	}
}

// shifted compares the lines whose effective day is not their booked day.
func (c *booksCheck) shifted() error {
	o := c.organization
	missing := c.books.shifted
	err := c.rows(o, posting.Shifted, func(key, row []byte) error {
		short := shortOf(key, row)
		if _, expected := missing[short]; !expected {
			c.report.breach(ruleTotals, "organization %v: a line by effective date that no event gives", o.id)
		}
		delete(missing, short)
		return nil
	})
	for _, seq := range missing {
		c.report.breach(ruleTotals, "organization %v: event %d has no line by effective date", o.id, seq)
	}
	return err
}

// balances checks that debits are credits in each asset, posted and pending, and
// that no partner is below its overdraft.
func (c *booksCheck) balances() error {
	o := c.organization
	sums := make(map[money.Asset]*ledger.Totals)
	for at, a := range c.books.accounts {
		sum := sums[at.Asset]
		if sum == nil {
			sum = new(ledger.Totals)
			sums[at.Asset] = sum
		}
		if !include(sum, &a.totals) {
			c.report.breach(ruleTotals, "organization %v: the totals in %v are out of range", o.id, at.Asset)
		}
	}
	for asset, own := range c.books.own.sums {
		if sums[asset] == nil {
			sums[asset] = new(ledger.Totals)
		}
		if !include(sums[asset], own) {
			c.report.breach(ruleTotals, "organization %v: the totals in %v are out of range", o.id, asset)
		}
	}
	for asset, sum := range sums {
		if sum.DebitsPosted != sum.CreditsPosted || sum.DebitsPending != sum.CreditsPending {
			c.report.breach(ruleTotals, "organization %v: in %v debits and credits are %s", o.id, asset, show(*sum))
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(c.books.accounts), byPath) {
		if partner, ok := availableTo(at.Path); ok {
			c.floor(at, partner, c.books.accounts[at])
		}
	}
	return nil
}

func include(sum, totals *ledger.Totals) bool {
	inRange := true
	for _, side := range [...]struct{ to, from *money.Amount }{
		{&sum.DebitsPosted, &totals.DebitsPosted}, {&sum.CreditsPosted, &totals.CreditsPosted},
		{&sum.DebitsPending, &totals.DebitsPending}, {&sum.CreditsPending, &totals.CreditsPending},
	} {
		total, err := side.to.Add(*side.from)
		*side.to, inRange = total, inRange && err == nil
	}
	return inRange
}

// floor checks a partner's available balance, but for what was held of it
// unasked. What took it down was allowed by the overdraft of that time, so it is
// not judged by one that was set later.
func (c *booksCheck) floor(at ledger.Account, number int64, a *account) {
	available, err := a.totals.Available().Add(money.Signed{Abs: a.forced})
	if err != nil || !available.Negative {
		return
	}
	var overdraft money.Amount
	if p := c.directory.partner(c.organization.id, number); p != nil {
		if p.changed && a.lowered < p.updated+inFlight {
			return
		}
		overdraft = p.overdraft[at.Asset]
	}
	if overdraft.Less(available.Abs) {
		c.report.breach(ruleTotals, "organization %v: account %s %v has %v available, and its overdraft is %v", c.organization.id, at.Path, at.Asset, available, overdraft)
	}
}
