package posting

import (
	"cmp"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// soughtLine identifies a line that TotalsAfter searches for. The line contains a posting, and its account's totals after the
// posting.
type soughtLine struct {
	seq    uint64
	index  int
	booked ledger.Micros
	totals *ledger.Totals // where to copy these totals; nil if the line was found already
}

// accountSearch contains the lines that are searched for in one account, the newest first.
type accountSearch struct {
	account   ledger.Account
	lines     []soughtLine
	remaining int
}

// search contains the searches in all accounts.
type search map[ledger.Account]*accountSearch

// TotalsAfter returns, for each posting in each of the events, the totals that the posting's account has after the posting. It
// leaves the totals zero if selects returns false for the path of the posting's account. The lines of consecutive events are
// often on the same page, so TotalsAfter searches for all lines of an account together. Otherwise it would read the page of a
// busy account many times. If stored data is damaged, or if a posting has no line, the error is a *store.DamageError.
func (v *View) TotalsAfter(org ledger.ID, events []ledger.Event, selects func(ledger.Path) bool) ([][]ledger.Totals, error) {
	s := make(search)
	after := make([][]ledger.Totals, len(events))
	for n := range events {
		if e := &events[n]; e.Entry != nil {
			after[n] = make([]ledger.Totals, len(e.Entry.Postings))
			s.add(e, after[n], selects)
		}
	}
	for _, a := range s {
		a.sortLines()
		if err := v.searchBuffer(org, a); err != nil {
			return nil, err
		}
		if err := v.searchPages(org, a); err != nil {
			return nil, err
		}
	}
	return after, nil
}

// add adds the lines of an event's postings to the search. It omits postings for whose account's path selects returns false.
func (s search) add(e *ledger.Event, after []ledger.Totals, selects func(ledger.Path) bool) {
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		if !selects(p.Account) {
			continue
		}
		account := ledger.Account{Path: p.Account, Asset: p.Asset}
		a := s[account]
		if a == nil {
			a = &accountSearch{account: account}
			s[account] = a
		}
		a.lines = append(a.lines, soughtLine{e.Seq, i, e.Booked, &after[i]})
		a.remaining++
	}
}

// sortLines sorts the lines, the newest first.
func (a *accountSearch) sortLines() {
	slices.SortFunc(a.lines, func(l, m soughtLine) int {
		return cmp.Or(cmp.Compare(m.seq, l.seq), cmp.Compare(m.index, l.index))
	})
}

// copyTotals searches the encoded lines of a page. It copies the totals of each sought line that is among them, and returns the
// number of these lines.
func (a *accountSearch) copyTotals(lines []byte) (copied int, err error) {
	err = store.DecodePage(lines, func(l *Line) (bool, error) {
		n, found := slices.BinarySearchFunc(a.lines, l, func(s soughtLine, l *Line) int {
			return cmp.Or(cmp.Compare(l.Seq, s.seq), cmp.Compare(l.Index, s.index))
		})
		if found && a.lines[n].totals != nil {
			*a.lines[n].totals, a.lines[n].totals = l.Totals, nil
			copied++
		}
		return l.Seq <= a.lines[0].seq, nil
	})
	a.remaining -= copied
	return copied, err
}

// searchBuffer searches the page buffer for the sought lines of an account.
func (v *View) searchBuffer(org ledger.ID, a *accountSearch) error {
	lines, err := v.bufferedLines(store.KeyPages(nil, org, a.account))
	if err != nil || len(lines) == 0 {
		return err
	}
	_, err = a.copyTotals(lines)
	return err
}

// searchPages searches the stored pages of an account for the sought lines, the newest page first. As long as a page contains
// sought lines, the page before it is read next. After a page without any, searchPages goes directly to the page of the next
// sought line.
func (v *View) searchPages(org ledger.ID, a *accountSearch) error {
	prefix := store.KeyPages(nil, org, a.account)
	for n := range a.lines {
		line := &a.lines[n]
		if line.totals == nil {
			continue
		}
		err := v.snap.Descend(prefix, store.KeyPage(nil, org, a.account, line.booked), func(_, page []byte) (bool, error) {
			copied, err := a.copyTotals(page)
			return copied > 0 && a.remaining > 0, err
		})
		if err != nil {
			return err
		}
		if line.totals != nil {
			return damaged("organization %v: event %d's posting %d has no line", org, line.seq, line.index)
		}
	}
	return nil
}
