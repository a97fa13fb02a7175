package posting_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// bufferFixture is a journal with a page buffer, and its model.
type bufferFixture struct {
	*play
	moves uint64
	most  int // accounts, and lists, that are compared at once
}

func newBufferFixture(t *testing.T, days, cached int) *bufferFixture {
	d := &bufferFixture{most: 100, play: &play{
		fixture: &fixture{t: t, dir: t.TempDir(), clock: newClock(), fatal: make(chan error, 1), days: days, cached: cached},
		random:  random(t), model: newModel(), orgs: []ledger.ID{org, uuid.New()},
	}}
	d.reopen()
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func accountOf(n int) ledger.Path { return ledger.Path(fmt.Sprintf("L:partner:%d:available", n)) }

// step moves a record of its own once for each pair: from the pair's first account to the
// second. Two pairs make one event.
func (d *bufferFixture) step(of ledger.ID, list ledger.List, pairs ...[2]ledger.Path) posting.Step {
	s := posting.Step{Org: of, Source: newTransaction(), Record: []byte{1}, List: list}
	for two := range slices.Chunk(pairs, 2) {
		entry := &ledger.Entry{Phase: ledger.Posted}
		for _, pair := range two {
			d.moves++
			entry.Postings = append(entry.Postings, line(pair[0], ledger.Debit, d.moves), line(pair[1], ledger.Credit, d.moves))
		}
		s.Events = append(s.Events, ledger.Event{Name: "move", To: "done", Entry: entry})
	}
	if len(pairs) == 0 {
		s.Events = []ledger.Event{{Name: "note", To: "done"}}
	}
	return s
}

// group books steps as one change, and so as one group.
func (d *bufferFixture) group(steps ...posting.Step) {
	d.t.Helper()
	c := &posting.Change{Steps: steps, MustRecord: true}
	pristine := copyOf(c)
	receipt := d.must(c)
	d.model.now = ledger.MicrosOf(d.clock.Now())
	d.follow(draft{change: pristine}, receipt)
}

// idle books a group that touches no account of the tests.
func (d *bufferFixture) idle() {
	d.t.Helper()
	d.group(d.step(d.orgs[0], listOf(99, 1)))
}

// wantRead compares a view's accounts and lists with the model.
func (d *bufferFixture) wantRead() {
	d.t.Helper()
	v := d.View()
	defer v.Close()
	for _, of := range d.orgs {
		o, left := d.model.org(of), d.most
		for a := range o.accounts { // maps have no order: any accounts
			d.compareAccount(v, of, o, a)
			if left--; left == 0 {
				break
			}
		}
		if len(o.accounts) > d.most && (len(o.accounts) > 500 || d.random.IntN(8) > 0) {
			continue
		}
		for _, prefix := range []string{"", "A:", "L:partner:1", "L:partner:12", "L:partner:12:", "L:partner:2", "M"} {
			d.compareAccounts(v, of, o, prefix)
		}
	}
	left := d.most
	for l, rows := range d.model.lists {
		d.compareList(v, d.orgOf(l), l, rows)
		if left--; left == 0 {
			break
		}
	}
}

// orgOf returns the organization of a list: each partner has one.
func (d *bufferFixture) orgOf(l ledger.List) ledger.ID { return d.orgs[ownerOf(l)/1000] }

// everyWay compares now and after a restart.
func (d *bufferFixture) everyWay(moment string) {
	d.t.Helper()
	before := d.t.Failed()
	d.wantRead()
	d.wantInvariant()
	d.restart()
	d.wantRead()
	d.wantInvariant()
	if !before && d.t.Failed() {
		d.t.Fatalf("this is %s", moment)
	}
}

// dayRow is a stored page-buffer row.
type dayRow struct {
	store.BufferKey
	length   int
	sections map[string][]byte // prefix → lines
}

func (f *fixture) dayRows(v *posting.View, org ledger.ID) (rows []dayRow) {
	f.t.Helper()
	err := v.Rows(org, posting.PageBuffers, func(key, row []byte) (bool, error) {
		k, ok := store.ParseBufferKey(key)
		if !ok {
			f.t.Fatalf("a page buffer row has key %x", key)
		}
		found := dayRow{k, len(row), map[string][]byte{}}
		err := store.EachChunk(row, func(head, lines []byte) error {
			found.sections[string(store.PagePrefix(nil, org, head))] = bytes.Clone(lines)
			return nil
		})
		rows = append(rows, found)
		return true, err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	slices.SortStableFunc(rows, func(a, b dayRow) int { return int(a.Group) - int(b.Group) })
	return rows
}

// dayGroups returns the groups with page-buffer rows of any organization, in order.
func (d *bufferFixture) dayGroups() []uint64 {
	d.t.Helper()
	v := d.View()
	defer v.Close()
	groups := map[uint64]bool{}
	for _, of := range d.orgs {
		for _, row := range d.dayRows(v, of) {
			groups[row.Group] = true
		}
	}
	return slices.Sorted(maps.Keys(groups))
}

// storedPages returns the stored pages of accounts and lists, by the prefix of their keys.
func (f *fixture) storedPages(v *posting.View, org ledger.ID) map[string][][]byte {
	f.t.Helper()
	pages := map[string][][]byte{}
	for _, section := range []posting.RowKind{posting.Pages, posting.Lists} {
		err := v.Rows(org, section, func(key, page []byte) (bool, error) {
			prefix := string(key[:len(key)-8])
			pages[prefix] = append(pages[prefix], bytes.Clone(page))
			return true, nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return pages
}

// wantInvariant checks that a chunk is either completely on stored pages or completely after
// them, and that readers begin at the oldest page-buffer row.
func (d *bufferFixture) wantInvariant() {
	d.t.Helper()
	v := d.View()
	defer v.Close()
	for _, of := range d.orgs {
		pages, after, parts := d.storedPages(v, of), map[string]bool{}, map[store.BufferKey]uint16{}
		for _, row := range d.dayRows(v, of) {
			share := store.BufferKey{Shard: row.Shard, Group: row.Group}
			if row.Part != parts[share] {
				d.t.Errorf("group %d: part %d of share %d comes where part %d should", row.Group, row.Part, row.Shard, parts[share])
			}
			parts[share]++
			for prefix, lines := range row.sections {
				repeated := bytes.Contains(bytes.Join(pages[prefix], nil), lines)
				if repeated && after[prefix] {
					d.t.Errorf("group %d: lines of %q are on a page, and earlier ones are not", row.Group, prefix)
				}
				after[prefix] = after[prefix] || !repeated
			}
		}
	}
	days := d.dayGroups()
	if low, next := d.Low(), d.nextGroup(); len(days) > 0 && low != days[0] || len(days) == 0 && low != next {
		d.t.Errorf("readers begin at group %d of the page buffer, which has %v", low, days)
	}
}

func (d *bufferFixture) nextGroup() uint64 {
	n, _ := d.LastGroup()
	return n + 1
}

// pages returns the lengths of an account's stored pages.
func (d *bufferFixture) pages(path ledger.Path) (lengths []int) {
	v := d.View()
	defer v.Close()
	for _, page := range d.storedPages(v, org)[prefixOf(path)] {
		lengths = append(lengths, len(page))
	}
	return lengths
}

func prefixOf(path ledger.Path) string {
	return string(store.KeyPages(nil, org, ledger.Account{Path: path, Asset: usd}))
}

func (d *bufferFixture) wantPages(path ledger.Path, want int) {
	d.t.Helper()
	if got := len(d.pages(path)); got != want {
		d.t.Errorf("%s has %d stored pages, want %d", path, got, want)
	}
}

func (d *bufferFixture) wantDays(want ...uint64) {
	d.t.Helper()
	if got := d.dayGroups(); !slices.Equal(got, want) {
		d.t.Errorf("groups %v have page buffer rows, want %v", got, want)
	}
}

const pair1, pair2, quiet1, quiet2 = ledger.Path("L:partner:1:available"), ledger.Path("L:partner:2:available"), ledger.Path("L:partner:11:available"), ledger.Path("L:partner:12:available")

func TestBufferedLinesReadLikeStoredPages(t *testing.T) {
	d := newBufferFixture(t, 3, 1)
	seven := listOf(7, 1)
	four := [][2]ledger.Path{{pair1, pair2}, {quiet1, quiet2}}
	d.group(d.step(org, seven, four...))
	d.wantPages(quiet1, 1)
	d.wantDays(1)
	d.everyWay("when the accounts are new: their first lines are on a page, the list's wait")

	d.group(d.step(org, seven, four...))
	d.wantPages(quiet1, 1)
	d.wantPages(pair1, 1)
	d.wantDays(1, 2)
	d.everyWay("before anything is carried")

	d.group(d.step(org, seven, slices.Repeat(four[:1], posting.CarryFrom/15)...))
	d.wantPages(pair1, 2)
	d.wantPages(quiet1, 1)
	d.wantDays(1, 2, 3)
	d.everyWay("after what fills its page was carried, while the page buffer still repeats it")

	d.group(d.step(org, seven, four[0]))
	d.wantDays(2, 3, 4)
	d.everyWay("after more of it waits again")

	d.group(d.step(org, seven, four[0]))
	d.wantPages(quiet1, 2)
	d.wantPages(pair1, 2)
	d.wantDays(3, 4, 5)
	d.everyWay("after the oldest group's lines were carried by their age, and its row removed")

	for range 3 {
		d.idle()
	}
	d.wantPages(pair1, 3)
	d.wantPages(quiet1, 2)
	d.wantDays(6, 7, 8)
	d.everyWay("after all was carried")
}

func TestOldestPageBufferRowsAreRemovedBeyondMaxGroups(t *testing.T) {
	for _, days := range []int{1, 2, 5} {
		d := newBufferFixture(t, days, 1)
		for n := range uint64(12) {
			d.group(d.step(d.orgs[n%2], listOf(int64(n%2*1000), 1), [2]ledger.Path{accountOf(int(n % 5)), accountOf(int(n % 3))}))
			var want []uint64
			for g := max(0, int(n)+1-days) + 1; g <= int(n)+1; g++ {
				want = append(want, uint64(g))
			}
			d.wantDays(want...)
			d.wantRead()
			d.wantInvariant()
		}
	}
}

func TestWithoutAPageBufferEachGroupStoresItsPages(t *testing.T) {
	d := newBufferFixture(t, -1, 1)
	for range 4 {
		d.group(d.step(org, listOf(7, 1), [2]ledger.Path{pair1, pair2}))
	}
	d.wantDays()
	d.wantPages(pair1, 4)
	d.everyWay("without a page buffer")
}

func TestDefaultPageBufferLimitHoldsManyGroups(t *testing.T) {
	d := newBufferFixture(t, 0, 1)
	for n := range posting.MaxDays + 2 {
		d.group(d.step(org, listOf(int64(n%100), 1)))
	}
	if days := d.dayGroups(); len(days) != posting.MaxDays || days[0] != 3 {
		t.Errorf("%d groups have page buffer rows, the first is %d", len(days), days[0])
	}
}

func TestOpenViewIsUnaffectedByALaterFlush(t *testing.T) {
	d := newBufferFixture(t, 2, 1)
	listed := listOf(7, 1)
	d.group(d.step(org, listed, [2]ledger.Path{pair1, pair2}, [2]ledger.Path{quiet1, pair2}))
	d.group(d.step(org, listed, [2]ledger.Path{pair1, pair2}))
	d.group(d.step(org, listed, [2]ledger.Path{pair1, quiet1}))
	read := func(v *posting.View) (shown []string) {
		show := func(what any) { shown = append(shown, fmt.Sprintf("%+v", what)) }
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []ledger.Path{pair1, pair2, quiet1, quiet2} {
			a := ledger.Account{Path: path, Asset: usd}
			totals, err := v.Totals(org, a)
			must(err)
			show(totals)
			must(v.Lines(org, a, 0, func(l posting.Line) (bool, error) { show(l); return true, nil }))
			must(v.LinesAscending(org, a, func(l *posting.Line) (bool, error) { show(*l); return true, nil }))
		}
		must(v.List(org, listed, posting.Walk{}, func(row posting.Listed) (bool, error) { show(row); return true, nil }))
		must(v.Accounts(org, "", usd.Env, func(a ledger.Account) (bool, error) { show(a); return true, nil }))
		return shown
	}
	early, late := d.View(), d.View() // one is read before and after, one only after
	defer early.Close()
	defer late.Close()
	want := read(early)
	if len(want) < 20 {
		t.Fatalf("only %d things are shown", len(want))
	}
	for range 4 {
		d.group(d.step(org, listed, [2]ledger.Path{quiet2, pair1}))
	}
	d.wantDays(6, 7)
	for name, v := range map[string]*posting.View{"before and after": early, "only after": late} {
		if got := read(v); !slices.Equal(got, want) {
			t.Errorf("the view that is asked %s shows\n%v, want\n%v", name, got, want)
		}
	}
	d.wantRead()
}

// A start accepts the page buffer of an earlier start, even if it exceeds the own bounds.
func TestPageBufferShrinksToASmallerLimitAfterRestart(t *testing.T) {
	for _, days := range []int{4, 1, -1} {
		d := newBufferFixture(t, 9, 1)
		for n := range 9 {
			d.group(d.step(org, listOf(7, 1), [2]ledger.Path{accountOf(n % 4), accountOf(4 + n)}))
		}
		d.wantDays(1, 2, 3, 4, 5, 6, 7, 8, 9)
		d.days = days
		d.everyWay("before the next group")
		d.group(d.step(org, listOf(7, 1), [2]ledger.Path{accountOf(1), accountOf(20)}))
		want := []uint64{7, 8, 9, 10}
		d.wantDays(want[len(want)-max(0, days):]...)
		d.everyWay("after it")
	}
}
