package snapshots_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// section is what a daybook row has of an account or a list, as a test changes it.
type section struct{ prefix, lines []byte }

// sheet is a daybook row as a test changes it.
type sheet struct {
	store.DayKey
	sections []section
}

// sheets are an organization's daybook rows, oldest first.
func (p *planter) sheets(org ledger.ID) (all []sheet) {
	p.t.Helper()
	keys, rows := p.rows(store.KeyDaybooks(nil, org))
	for i, key := range keys {
		k, ok := store.ParseDaybookKey(key)
		if !ok {
			p.t.Fatalf("a daybook row has key %x", key)
		}
		s := sheet{DayKey: k}
		must(p.t, store.EachSection(rows[i], func(head, lines []byte) error {
			s.sections = append(s.sections, section{store.PagePrefix(nil, org, head), bytes.Clone(lines)})
			return nil
		}))
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b sheet) int { return int(a.Group) - int(b.Group) })
	return all
}

// lay writes daybook rows.
func (p *planter) lay(sheets ...sheet) {
	for _, s := range sheets {
		var row []byte
		for _, part := range s.sections {
			row = store.EncodeSection(row, store.PageHead(nil, part.prefix), part.lines)
		}
		p.group.Set(store.KeyDaybook(nil, s.DayKey), row)
	}
}

// tear takes daybook rows out.
func (p *planter) tear(sheets ...sheet) {
	for _, s := range sheets {
		p.group.Delete(store.KeyDaybook(nil, s.DayKey))
	}
}

// withLines are the rows that have something of an account or a list.
func withLines(all []sheet, prefix []byte) []sheet {
	return slices.DeleteFunc(slices.Clone(all), func(s sheet) bool { return s.find(prefix) < 0 })
}

func (s *sheet) find(prefix []byte) int {
	return slices.IndexFunc(s.sections, func(part section) bool { return bytes.Equal(part.prefix, prefix) })
}

// erase takes all out of an account or a list, wherever it is.
func (p *planter) erase(prefix []byte) {
	p.t.Helper()
	org := ledger.ID(prefix[1:17])
	must(p.t, p.snap.Ascend(prefix, nil, func(key, _ []byte) (bool, error) {
		p.group.Delete(bytes.Clone(key))
		return true, nil
	}))
	must(p.t, p.snap.Ascend(store.KeyDaybooks(nil, org), nil, func(key, row []byte) (bool, error) {
		var left []byte
		err := store.EachSection(row, func(head, lines []byte) error {
			if !bytes.Equal(store.PagePrefix(nil, org, head), prefix) {
				left = store.EncodeSection(left, head, lines)
			}
			return nil
		})
		switch key = bytes.Clone(key); {
		case len(left) == 0:
			p.group.Delete(key)
		case len(left) < len(row):
			p.group.Set(key, left)
		}
		return true, err
	}))
}

// inSheet changes what one of the rows that have something of an account or a list
// has of it; which: -1 is the newest. Nothing left takes it out.
func inSheet(prefix func(*town) []byte, which int, change func(p *planter, lines []byte) []byte) func(*testing.T, *town) {
	return func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			found := withLines(p.sheets(w.first.Org), prefix(w))
			if which < 0 {
				which += len(found)
			}
			s := found[which]
			at := s.find(prefix(w))
			if s.sections[at].lines = change(p, s.sections[at].lines); s.sections[at].lines == nil {
				s.sections = slices.Delete(s.sections, at, at+1)
			}
			if p.lay(s); len(s.sections) == 0 {
				p.tear(s)
			}
		})
	}
}

// onLine changes the first line of an account's section.
func onLine(change func(*store.Line)) func(*planter, []byte) []byte {
	return func(p *planter, lines []byte) (changed []byte) {
		must(p.t, store.DecodePage(lines, func(l *store.Line) (bool, error) {
			if changed == nil {
				change(l)
			}
			changed = store.EncodeLine(changed, l)
			return true, nil
		}))
		return changed
	}
}

// onRow changes the first row of a list's section.
func onRow(change func(*store.Listed)) func(*planter, []byte) []byte {
	return func(p *planter, lines []byte) (changed []byte) {
		rows, err := store.DecodeListed(lines)
		must(p.t, err)
		change(&rows[0])
		for _, row := range rows {
			changed = store.EncodeListed(changed, row)
		}
		return changed
	}
}

func nothing(*planter, []byte) []byte { return nil }

func twice(_ *planter, lines []byte) []byte { return append(lines, lines...) }

// dearer makes a line one more, and its total with it.
func dearer(l *store.Line) {
	l.Amount = mustAdd(l.Amount, 1)
	total := &l.Totals.CreditsPosted
	if l.Side == ledger.Debit {
		total = &l.Totals.DebitsPosted
	}
	*total = mustAdd(*total, 1)
}

func onFees(w *town) []byte { return store.KeyPages(nil, w.first.Org, feesInUSD) }

func listOf(partner int64) func(*town) []byte {
	return func(w *town) []byte { return store.KeyLists(nil, w.first.Org, partner, uint8(money.Prod)) }
}

func benched(n int) ledger.Account {
	return ledger.Account{Path: ledger.Path(fmt.Sprintf("L:bench:%d", n)), Asset: usd}
}

func onBench(n int) func(*town) []byte {
	return func(w *town) []byte { return store.KeyPages(nil, w.first.Org, benched(n)) }
}

// between is a bare event that moves money many times between the accounts.
func between(w *town, times int, accounts ...int) posting.Step {
	entry := &ledger.Entry{Phase: ledger.Posted}
	for range times {
		for i := 0; i < len(accounts); i += 2 {
			for k, side := range [...]ledger.Side{ledger.Debit, ledger.Credit} {
				at := benched(accounts[i+k])
				entry.Postings = append(entry.Postings, ledger.Posting{Account: at.Path, Asset: at.Asset, Side: side, Amount: money.FromUint64(1)})
			}
		}
	}
	return posting.Step{
		Org: w.first.Org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()},
		Events: []ledger.Event{{Name: "transfer", To: "done", Entry: entry}},
	}
}

// traffic are so many groups with a line on each of two accounts of the bench.
func (w *town) traffic(t *testing.T, groups, debit, credit int) {
	t.Helper()
	var changes []*posting.Change
	for range groups {
		changes = append(changes, &posting.Change{Steps: []posting.Step{between(w, 1, debit, credit)}})
	}
	w.submit(t, changes...)
}

// busy is enough for a page of each account to be carried while the daybook still
// has its lines, and for more of them to wait.
const busy = 70

// crowded books on more accounts than one row of a group's daybook is made of, so
// that the group deals them into shares.
func (w *town) crowded(t *testing.T) {
	t.Helper()
	var all []int
	for n := range 2 * store.Dealt {
		all = append(all, n)
	}
	for range 2 { // the first lines are put on pages
		w.submit(t, &posting.Change{Steps: []posting.Step{between(w, 1, all...)}})
	}
}

// long books so much on some accounts that a group's daybook has a second part: more
// than fits a group of the small stores that tests copy.
func (w *town) long(t *testing.T) {
	t.Helper()
	var first, second posting.Change
	for n := 0; n < store.Dealt-4; n += 2 {
		first.Steps = append(first.Steps, between(w, 1, n, n+1))
		second.Steps = append(second.Steps, between(w, 30, n, n+1))
	}
	j, err := posting.Open(posting.Options{Store: store.Options{Dir: w.dir, Log: quiet}, Clock: clock.NewManual(start), Log: quiet})
	must(t, err)
	submitTo(t, j, &first, &second)
}

// newest are the rows of the last group that has any.
func newest(all []sheet) []sheet {
	last := all[len(all)-1].Group
	return slices.DeleteFunc(slices.Clone(all), func(s sheet) bool { return s.Group != last })
}

// after plants a fault in what comes of a way to fill the daybook.
func after(fill func(*testing.T, *town), plant func(w *town, p *planter, all []sheet)) func(*testing.T, *town) {
	return func(t *testing.T, w *town) {
		fill(t, w)
		w.plant(t, func(p *planter) { plant(w, p, p.sheets(w.first.Org)) })
	}
}

func withTraffic(t *testing.T, w *town) { w.traffic(t, busy, 1, 2) }
func crowded(t *testing.T, w *town)     { w.crowded(t) }
func long(t *testing.T, w *town)        { w.long(t) }

// twoPairs are two groups whose rows have no account in common, after the groups
// that made the accounts known.
func twoPairs(t *testing.T, w *town) {
	for range 2 {
		w.traffic(t, 1, 1, 2)
		w.traffic(t, 1, 3, 4)
	}
}

var daybookFaults = []fault{
	{"a daybook that lacks a line", inSheet(onFees, 7, nothing), []int{2}, "has no line"},
	{"a daybook that lacks an account's last line", inSheet(onFees, -1, nothing), []int{2}, "has no line"},
	{"a line of another amount, with its total", inSheet(onFees, 7, onLine(dearer)), []int{2}, "the totals are"},
	{"a line of another amount", inSheet(onFees, 7, onLine(func(l *store.Line) { l.Amount = mustAdd(l.Amount, 1) })), []int{2}, "is not its posting"},
	{"a line with another total", inSheet(onFees, -1, onLine(func(l *store.Line) {
		l.Totals.CreditsPosted = mustAdd(l.Totals.CreditsPosted, 1)
	})), []int{2}, "the totals are"},
	{"a line twice in its row", inSheet(onFees, 7, twice), []int{2}, "is of no event"},
	{"a section of another account", after(withTraffic, func(w *town, p *planter, all []sheet) {
		s := newest(all)[0]
		s.sections[s.find(onBench(1)(w))].prefix = onFees(w)
		p.lay(s)
	}), []int{2}, ""}, // one account lacks a line, the other has one too many
	{"a section of an account that nothing was booked on", after(withTraffic, func(w *town, p *planter, all []sheet) {
		s := newest(all)[0]
		s.sections[s.find(onBench(1)(w))].prefix = onBench(999)(w)
		p.lay(s)
	}), []int{2}, ""},
	{"an account whose first line is on no page", func(t *testing.T, w *town) {
		w.traffic(t, 1, 1, 2)
		w.plant(t, func(p *planter) {
			keys, rows := p.rows(onBench(1)(w))
			p.group.Delete(keys[0])
			p.lay(sheet{store.DayKey{Org: w.first.Org, Share: store.Undealt, Group: p.group.N() - 1}, []section{{onBench(1)(w), rows[0]}}})
		})
	}, []int{2}, "has lines in the daybook and no page"},

	{"a list that lacks the row of a creation", func(t *testing.T, w *town) { w.unlist(t, true) }, []int{4}, "is not listed"},
	{"a list that lacks the row of a last change", func(t *testing.T, w *town) { w.unlist(t, false) }, []int{4}, "is not listed"},
	{"a list's section in another partner's list", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			s := withLines(p.sheets(w.first.Org), listOf(w.first.Partner)(w))[3]
			s.sections[s.find(listOf(w.first.Partner)(w))].prefix = listOf(9)(w)
			p.lay(s)
		})
	}, []int{4}, "is listed where it does not belong"},
	{"a list's row of a transaction that is not there", inSheet(listOf(1), 3, onRow(func(l *store.Listed) { l.ID = uuid.New() })), []int{4}, ""},
	{"a list's rows of one group the other way round", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			all := withLines(p.sheets(w.first.Org), listOf(w.first.Partner)(w))
			for _, s := range all {
				part := &s.sections[s.find(listOf(w.first.Partner)(w))]
				rows, err := store.DecodeListed(part.lines)
				must(p.t, err)
				if len(rows) == 2 { // a transaction, and the return that reverses it
					part.lines = store.EncodeListed(store.EncodeListed(nil, rows[1]), rows[0])
					p.lay(s)
					return
				}
			}
		})
	}, []int{4}, "out of the order of booking"},

	{"a row of a share that is missing", after(crowded, func(_ *town, p *planter, all []sheet) { p.tear(newest(all)[5]) }), []int{2}, ""},
	{"a section in the wrong share", after(crowded, func(_ *town, p *planter, all []sheet) {
		p.lay(moved(newest(all)[3], newest(all)[4])...)
	}), []int{2}, "where no reader looks for it"},
	{"a list's section in the wrong share", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			all := p.sheets(w.first.Org)
			at := slices.IndexFunc(all, func(s sheet) bool { return len(s.sections) == 1 && s.find(listOf(w.first.Partner)(w)) == 0 })
			p.tear(all[at])
			all[at].Share = (store.Share(store.PageHead(nil, listOf(w.first.Partner)(w))) + 1) % 16
			p.lay(all[at])
		})
	}, []int{4}, "where no reader looks for it"},
	{"a section beside the shares", after(crowded, func(w *town, p *planter, all []sheet) {
		from := newest(all)[3]
		p.lay(moved(from, sheet{DayKey: store.DayKey{Org: w.first.Org, Share: store.Undealt, Group: from.Group}})...)
	}), []int{5}, "is dealt into shares, and has a row of all"},
	{"a last part that is missing", after(long, func(_ *town, p *planter, all []sheet) { p.tear(newest(all)[1]) }), []int{2}, "has no line"},
	{"a first part that is missing", after(long, func(_ *town, p *planter, all []sheet) { p.tear(newest(all)[0]) }), []int{2, 5}, ""},
	{"a part further on than it belongs", after(long, func(_ *town, p *planter, all []sheet) {
		s := newest(all)[1]
		p.tear(s)
		s.Part++
		p.lay(s)
	}), []int{5}, "does not follow another"},
	{"parts out of order", after(long, func(_ *town, p *planter, all []sheet) {
		parts := newest(all)
		parts[0].sections, parts[1].sections = parts[1].sections, parts[0].sections
		p.lay(parts...)
	}), []int{2}, "out of the order of booking"},
	{"groups the other way round", after(twoPairs, func(_ *town, p *planter, all []sheet) {
		a, b := all[len(all)-2], all[len(all)-1]
		a.sections, b.sections = b.sections, a.sections
		p.lay(a, b)
	}), []int{5}, "booked before those of group"},
	{"a row of a group that never was", after(twoPairs, func(_ *town, p *planter, all []sheet) {
		s := newest(all)[0]
		p.tear(s)
		s.Group += 9
		p.lay(s)
	}), []int{5}, "was the last"},
	{"a row of no group", after(withTraffic, func(_ *town, p *planter, all []sheet) {
		s := newest(all)[0]
		s.Group = 0
		p.lay(s)
	}), []int{2, 5}, ""},
	{"a row twice", after(twoPairs, func(_ *town, p *planter, all []sheet) {
		s := all[len(all)-2]
		s.Group, s.Part = s.Group+1, 1
		p.lay(s)
	}), []int{2, 5}, ""},
}

// unlist takes the row of a charged payment's creation, or of its last change, out
// of its partner's list.
func (w *town) unlist(t *testing.T, creation bool) {
	t.Helper()
	w.plant(t, func(p *planter) {
		list := listOf(w.first.Partner)(w)
		for _, s := range withLines(p.sheets(w.first.Org), list) {
			at := s.find(list)
			rows, err := store.DecodeListed(s.sections[at].lines)
			must(t, err)
			if len(rows) == 1 && rows[0].ID == w.charged.ID && rows[0].First == creation {
				s.sections = slices.Delete(s.sections, at, at+1)
				if p.lay(s); len(s.sections) == 0 {
					p.tear(s)
				}
			}
		}
	})
}

// moved is a section of one row in the other.
func moved(from, to sheet) []sheet {
	n := len(from.sections) - 1
	to.sections = append(slices.Clone(to.sections), from.sections[n])
	from.sections = from.sections[:n]
	return []sheet{from, to}
}
