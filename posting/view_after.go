package posting

import (
	"cmp"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// soughtLine is a posting whose line has to be found, because the line has the account's totals after the
// posting.
type soughtLine struct {
	seq    uint64
	index  int
	booked ledger.Micros
	totals *ledger.Totals // where to store the totals; nil: the line has been found
}

// accountSearch has the lines of one account that have to be found, newest first.
type accountSearch struct {
	account   ledger.Account
	lines     []soughtLine
	remaining int
}

// search has the accounts whose lines are sought.
type search struct {
	org       ledger.ID
	accounts  map[string]*accountSearch // by the head of the account's pages: the prefix of their keys without the organization
	remaining int
	from, to  ledger.Micros // the earliest and the latest booked time of the lines
}

// TotalsAfter returns, for each posting of each event's entry, the totals that its account has after the
// posting; zero if selects returns false for the posting's path. Consecutive events have their lines on the
// same pages and in the same rows of the page buffer (lines that are on no stored page yet), so TotalsAfter
// reads each page and row once. Searching line by line would read a hot account's page, or the whole page
// buffer, for each line. Errors: *DamageError, also for a posting without a line.
func (v *View) TotalsAfter(org ledger.ID, events []ledger.Event, selects func(ledger.Path) bool) ([][]ledger.Totals, error) {
	s := search{org: org, accounts: make(map[string]*accountSearch)}
	after := make([][]ledger.Totals, len(events))
	for n := range events {
		if e := &events[n]; e.Entry != nil {
			after[n] = make([]ledger.Totals, len(e.Entry.Postings))
			s.add(e, after[n], selects)
		}
	}
	for _, a := range s.accounts {
		a.sortLines()
	}
	if err := v.searchBuffers(&s); err != nil {
		return nil, err
	}
	for _, a := range s.accounts {
		if err := v.searchPages(org, a); err != nil {
			return nil, err
		}
	}
	return after, nil
}

// add adds the lines of an event's postings to the search.
func (s *search) add(e *ledger.Event, after []ledger.Totals, selects func(ledger.Path) bool) {
	var prefix, head []byte
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		if !selects(p.Account) {
			continue
		}
		account := ledger.Account{Path: p.Account, Asset: p.Asset}
		prefix = store.KeyPages(prefix[:0], s.org, account)
		head = store.PageHead(head[:0], prefix)
		a := s.accounts[string(head)]
		if a == nil {
			a = &accountSearch{account: account}
			s.accounts[string(head)] = a
		}
		a.lines = append(a.lines, soughtLine{e.Seq, i, e.Booked, &after[i]})
		a.remaining++
		if s.remaining++; s.remaining == 1 {
			s.from, s.to = e.Booked, e.Booked
		}
		s.from, s.to = min(s.from, e.Booked), max(s.to, e.Booked)
	}
}

// sortLines sorts the lines, the newest first.
func (a *accountSearch) sortLines() {
	slices.SortFunc(a.lines, func(l, m soughtLine) int {
		return cmp.Or(cmp.Compare(m.seq, l.seq), cmp.Compare(m.index, l.index))
	})
}

// copyTotals searches encoded lines for the sought ones, copies their totals, and returns how many it found.
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

// searchBuffers searches the page-buffer rows of the groups (changes that became durable together) that may have booked
// the lines. The rows may also have lines that have been written to a stored page since; these lines are the same in
// both places.
func (v *View) searchBuffers(s *search) error {
	if s.remaining == 0 || v.oldestBuffered > v.snap.Group() {
		return nil
	}
	shards, err := v.searchPreloaded(s)
	if err != nil || !shards[store.Unsharded] || s.remaining == 0 {
		return err
	}
	groups, err := v.narrowGroups(s, shards)
	if err != nil {
		return err
	}
	for _, shard := range store.Shards() {
		if !shards[shard] {
			continue
		}
		err := v.bufferRowsOf(s.org, shard, groups, func(row []byte) error {
			return store.EachChunk(row, func(head, lines []byte) error {
				return s.copyTotals(s.accounts[string(head)], lines)
			})
		})
		if err != nil || s.remaining == 0 {
			return err
		}
	}
	return nil
}

// searchPreloaded searches the chunks that PreloadBuffer has loaded. It returns the page buffer's shards (each has the
// rows of some pages) that may hold lines of the accounts that were not preloaded. If there are no such accounts, the
// unsharded rows need not be read either.
func (v *View) searchPreloaded(s *search) (shards [256]bool, err error) {
	for head, a := range s.accounts {
		found, isPreloaded := v.preloaded[string(store.KeyPages(nil, s.org, a.account))]
		for i := range found {
			if err := s.copyTotals(a, found[i].lines); err != nil {
				return shards, err
			}
		}
		if !isPreloaded {
			shards[store.Shard([]byte(head))], shards[store.Unsharded] = true, true
		}
	}
	return shards, nil
}

// copyTotals copies the totals of an account's sought lines; a is nil if there are none.
func (s *search) copyTotals(a *accountSearch, lines []byte) error {
	if a == nil || a.remaining == 0 {
		return nil
	}
	copied, err := a.copyTotals(lines)
	s.remaining -= copied
	return err
}

// groupRange is a range of groups, both bounds included.
type groupRange struct{ first, last uint64 }

// Bounds of the search for the groups that booked something: the size below which a range is not
// narrowed any more, and the maximum number of shards whose rows are used to narrow it.
const (
	fewGroups          = 4
	maxNarrowingShards = 3
)

// narrowGroups returns the range of groups with page-buffer rows that may have booked the lines.
// Not every group has a row in each shard, so some shards narrow the range more than others.
func (v *View) narrowGroups(s *search, shards [256]bool) (groupRange, error) {
	groups := groupRange{v.oldestBuffered, v.snap.Group()}
	shardsTried := 0
	for shard := len(shards) - 1; shard >= 0 && shardsTried < maxNarrowingShards && groups.last > groups.first+fewGroups; shard-- {
		if !shards[shard] {
			continue
		}
		_, _, found, err := v.firstGroupWithRow(s.org, byte(shard), groups)
		if err != nil {
			return groups, err
		}
		if !found {
			continue
		}
		shardsTried++
		first, _, err := v.groupsAround(s.org, byte(shard), groups, s.from)
		if err != nil {
			return groups, err
		}
		_, last, err := v.groupsAround(s.org, byte(shard), groups, s.to)
		if err != nil {
			return groups, err
		}
		groups = groupRange{first, last}
	}
	return groups, nil
}

// groupsAround searches a shard's rows of a range of groups. It returns the last group that began to book at
// or before an instant, and the first group that began later; where there is no such group, it returns the
// range's bound. Groups book one after the other, so the booked time of any line of a group is enough
// to compare the group with the instant.
func (v *View) groupsAround(org ledger.ID, shard byte, groups groupRange, at ledger.Micros) (lastBegun, firstLater uint64, err error) {
	lastBegun, firstLater = groups.first, groups.last
	for low, high := groups.first, groups.last; low <= high; {
		middle := low + (high-low)/2
		group, firstBooked, found, err := v.firstGroupWithRow(org, shard, groupRange{middle, high})
		switch {
		case err != nil:
			return 0, 0, err
		case found && firstBooked <= at:
			lastBegun, low = group, group+1
			continue
		case found:
			firstLater = group
		}
		if middle == 0 {
			break
		}
		high = middle - 1
	}
	return lastBegun, firstLater, nil
}

// firstGroupWithRow returns the first group of a range that has a row in a shard, and the booked
// time of that row's first line.
func (v *View) firstGroupWithRow(org ledger.ID, shard byte, groups groupRange) (group uint64, booked ledger.Micros, found bool, err error) {
	err = v.snap.Ascend(store.KeyBufferShard(nil, org, shard), store.KeyBufferRow(nil, store.BufferKey{Org: org, Shard: shard, Group: groups.first}), func(key, row []byte) (bool, error) {
		k, ok := store.ParseBufferKey(key)
		if !ok {
			return false, damaged("page-buffer row with key %x", key)
		}
		if k.Group > groups.last {
			return false, nil
		}
		group = k.Group
		return false, store.EachChunk(row, func(head, lines []byte) (err error) {
			if !found {
				found = true
				booked, _, err = store.Span(head[0], lines)
			}
			return err
		})
	})
	return group, booked, found, err
}

// bufferRowsOf calls fn with the rows of a shard that a range of groups wrote.
func (v *View) bufferRowsOf(org ledger.ID, shard byte, groups groupRange, fn func(row []byte) error) error {
	return v.snap.Ascend(store.KeyBufferShard(nil, org, shard), store.KeyBufferRow(nil, store.BufferKey{Org: org, Shard: shard, Group: groups.first}), func(key, row []byte) (bool, error) {
		k, ok := store.ParseBufferKey(key)
		if !ok {
			return false, damaged("page-buffer row with key %x", key)
		}
		if k.Group > groups.last {
			return false, nil
		}
		return true, fn(row)
	})
}

// searchPages searches an account's stored pages for its lines, the newest first. It walks back page by
// page while it finds lines. After a page without any sought line, it seeks directly to the next sought
// line.
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
