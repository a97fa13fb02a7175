package posting

import (
	"cmp"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// sought is the line of a posting, by which its account's totals after it are found.
type sought struct {
	seq    uint64
	index  int
	booked ledger.Micros
	totals *ledger.Totals // where to put them; nil: they are there
}

// seeking are the lines sought of one account, the newest first.
type seeking struct {
	account ledger.Account
	lines   []sought
	left    int
}

// search is what a page of events asks of accounts' lines, by the heads of their pages.
type search struct {
	org      ledger.ID
	accounts map[string]*seeking
	left     int
	from, to ledger.Micros // when the lines were booked, at the earliest and at the latest
}

// TotalsAfter are the totals of accounts after each posting of events' entries: for
// each event an element for each posting, zero if its path is not wanted. The lines of
// a page's events are near each other, in the same groups' daybooks and on the same
// pages, each of which is read once: looking for one line after the other would read a
// hot account's page, or the whole daybook, for each of them. Errors: *DamageError, also
// for a posting without a line.
func (v *View) TotalsAfter(org ledger.ID, events []ledger.Event, wants func(ledger.Path) bool) ([][]ledger.Totals, error) {
	s := search{org: org, accounts: make(map[string]*seeking)}
	after := make([][]ledger.Totals, len(events))
	for n := range events {
		if e := &events[n]; e.Entry != nil {
			after[n] = make([]ledger.Totals, len(e.Entry.Postings))
			s.add(e, after[n], wants)
		}
	}
	for _, a := range s.accounts {
		a.order()
	}
	if err := v.inDaybooks(&s); err != nil {
		return nil, err
	}
	for _, a := range s.accounts {
		if err := v.onPages(org, a); err != nil {
			return nil, err
		}
	}
	return after, nil
}

// add seeks the lines of an event's postings.
func (s *search) add(e *ledger.Event, after []ledger.Totals, wants func(ledger.Path) bool) {
	var prefix, head []byte
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		if !wants(p.Account) {
			continue
		}
		account := ledger.Account{Path: p.Account, Asset: p.Asset}
		prefix = store.KeyPages(prefix[:0], s.org, account)
		head = store.PageHead(head[:0], prefix)
		a := s.accounts[string(head)]
		if a == nil {
			a = &seeking{account: account}
			s.accounts[string(head)] = a
		}
		a.lines = append(a.lines, sought{e.Seq, i, e.Booked, &after[i]})
		a.left++
		if s.left++; s.left == 1 {
			s.from, s.to = e.Booked, e.Booked
		}
		s.from, s.to = min(s.from, e.Booked), max(s.to, e.Booked)
	}
}

// order puts the newest line first.
func (a *seeking) order() {
	slices.SortFunc(a.lines, func(l, m sought) int {
		return cmp.Or(cmp.Compare(m.seq, l.seq), cmp.Compare(m.index, l.index))
	})
}

// take takes the totals of those lines that are sought, and tells how many were.
func (a *seeking) take(lines []byte) (taken int, err error) {
	err = store.DecodePage(lines, func(l *Line) (bool, error) {
		n, found := slices.BinarySearchFunc(a.lines, l, func(s sought, l *Line) int {
			return cmp.Or(cmp.Compare(l.Seq, s.seq), cmp.Compare(l.Index, s.index))
		})
		if found && a.lines[n].totals != nil {
			*a.lines[n].totals, a.lines[n].totals = l.Totals, nil
			taken++
		}
		return l.Seq <= a.lines[0].seq, nil
	})
	a.left -= taken
	return taken, err
}

// inDaybooks looks for lines in the daybooks of the groups that may have booked them.
// Those that were carried to a page since are as they were.
func (v *View) inDaybooks(s *search) error {
	if s.left == 0 || v.low > v.snap.Group() {
		return nil
	}
	looked, err := v.inForeseen(s)
	if err != nil || !looked[store.Undealt] || s.left == 0 {
		return err
	}
	groups, err := v.bookedBy(s, looked)
	if err != nil {
		return err
	}
	for _, share := range store.EachShare() {
		if !looked[share] {
			continue
		}
		err := v.daysOf(s.org, share, groups, func(row []byte) error {
			return store.EachSection(row, func(head, lines []byte) error {
				return s.take(s.accounts[string(head)], lines)
			})
		})
		if err != nil || s.left == 0 {
			return err
		}
	}
	return nil
}

// inForeseen looks for lines in what Foresee has found, and tells which shares may have
// those of other accounts: without any, not even the one of all pages is to be read.
func (v *View) inForeseen(s *search) (looked [256]bool, err error) {
	for head, a := range s.accounts {
		found, foreseen := v.foreseen[string(store.KeyPages(nil, s.org, a.account))]
		for i := range found {
			if err := s.take(a, found[i].lines); err != nil {
				return looked, err
			}
		}
		if !foreseen {
			looked[store.Share([]byte(head))], looked[store.Undealt] = true, true
		}
	}
	return looked, nil
}

// take takes the totals of an account's lines that are sought; nil: none of its are.
func (s *search) take(a *seeking, lines []byte) error {
	if a == nil || a.left == 0 {
		return nil
	}
	taken, err := a.take(lines)
	s.left -= taken
	return err
}

// groupRange is from one group to another, both included.
type groupRange struct{ first, last uint64 }

// Bounds of finding out which groups booked something: a range that is not worth
// narrowing, and by how many shares' rows it is narrowed at the most.
const (
	fewGroups = 4
	narrowing = 3
)

// bookedBy is which groups may have booked the lines, of those with daybook rows. Not
// every group has a row of each share, so that one share may say more than another.
func (v *View) bookedBy(s *search, looked [256]bool) (groupRange, error) {
	all := groupRange{v.low, v.snap.Group()}
	tried := 0
	for share := len(looked) - 1; share >= 0 && tried < narrowing && all.last > all.first+fewGroups; share-- {
		if !looked[share] {
			continue
		}
		_, _, has, err := v.dayFrom(s.org, byte(share), all)
		if err != nil {
			return all, err
		}
		if !has {
			continue
		}
		tried++
		first, _, err := v.groupAt(s.org, byte(share), all, s.from)
		if err != nil {
			return all, err
		}
		_, last, err := v.groupAt(s.org, byte(share), all, s.to)
		if err != nil {
			return all, err
		}
		all = groupRange{first, last}
	}
	return all, nil
}

// groupAt finds, in a share's rows of a range, the last group that had begun to book at
// an instant, and the first that began after it; else the range's bounds. Groups book one
// after the other, so any line of a group tells where it is.
func (v *View) groupAt(org ledger.ID, share byte, in groupRange, at ledger.Micros) (began, later uint64, err error) {
	began, later = in.first, in.last
	for low, high := in.first, in.last; low <= high; {
		middle := low + (high-low)/2
		group, booked, found, err := v.dayFrom(org, share, groupRange{middle, high})
		switch {
		case err != nil:
			return 0, 0, err
		case found && booked <= at:
			began, low = group, group+1
			continue
		case found:
			later = group
		}
		if middle == 0 {
			break
		}
		high = middle - 1
	}
	return began, later, nil
}

// dayFrom is the first group of a range that has a daybook row of a share, and when one
// of the lines in it was booked.
func (v *View) dayFrom(org ledger.ID, share byte, in groupRange) (group uint64, booked ledger.Micros, found bool, err error) {
	err = v.snap.Ascend(store.KeyDaybookShare(nil, org, share), store.KeyDaybook(nil, store.DayKey{Org: org, Share: share, Group: in.first}), func(key, row []byte) (bool, error) {
		k, ok := store.ParseDaybookKey(key)
		if !ok {
			return false, damaged("daybook row with key %x", key)
		}
		if k.Group > in.last {
			return false, nil
		}
		group = k.Group
		return false, store.EachSection(row, func(head, lines []byte) (err error) {
			if !found {
				found = true
				booked, _, err = store.Span(head[0], lines)
			}
			return err
		})
	})
	return group, booked, found, err
}

// daysOf calls fn with the daybook rows of a share that a range of groups wrote.
func (v *View) daysOf(org ledger.ID, share byte, in groupRange, fn func(row []byte) error) error {
	return v.snap.Ascend(store.KeyDaybookShare(nil, org, share), store.KeyDaybook(nil, store.DayKey{Org: org, Share: share, Group: in.first}), func(key, row []byte) (bool, error) {
		k, ok := store.ParseDaybookKey(key)
		if !ok {
			return false, damaged("daybook row with key %x", key)
		}
		if k.Group > in.last {
			return false, nil
		}
		return true, fn(row)
	})
}

// onPages looks for an account's lines on its stored pages, from the newest line on. A
// page further back may have none that is sought; the next one is looked up then.
func (v *View) onPages(org ledger.ID, a *seeking) error {
	prefix := store.KeyPages(nil, org, a.account)
	for n := range a.lines {
		line := &a.lines[n]
		if line.totals == nil {
			continue
		}
		err := v.snap.Descend(prefix, store.KeyPage(nil, org, a.account, line.booked), func(_, page []byte) (bool, error) {
			taken, err := a.take(page)
			return taken > 0 && a.left > 0, err
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
