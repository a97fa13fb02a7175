package posting_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// bufferFixture is a journal with a page buffer, and a model with which the tests compare the journal. (The page buffer has
// the lines that are on no stored page yet. The model is a second, naive implementation of the writer.)
type bufferFixture struct {
	*modelRun
	moves       uint64 // number of moves so far; each move has the amount of its number
	maxCompared int    // how many accounts, and how many lists, wantLikeModel compares
}

func newBufferFixture(t *testing.T, maxGroups, cacheEntries int) *bufferFixture {
	d := &bufferFixture{maxCompared: 100, modelRun: &modelRun{
		fixture: &fixture{t: t, dir: t.TempDir(), clock: newClock(), fatal: make(chan error, 1), bufferedGroups: maxGroups, cached: cacheEntries},
		random:  testseed.Random(t), model: newModel(), orgs: []ledger.ID{org, uuid.New()},
	}}
	d.reopen()
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func accountOf(n int) ledger.Path { return ledger.Path(fmt.Sprintf("L:partner:%d:available", n)) }

// step returns a step that creates a record. For each pair it moves money from the first account to the second. Each event
// contains two such moves.
func (d *bufferFixture) step(orgID ledger.ID, list ledger.List, pairs ...[2]ledger.Path) posting.Step {
	s := posting.Step{Org: orgID, Source: newTransaction(), Record: []byte{1}, List: list}
	for twoPairs := range slices.Chunk(pairs, 2) {
		entry := &ledger.Entry{Phase: ledger.Posted}
		for _, pair := range twoPairs {
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

// bookGroup submits the steps as one change, which becomes a group of its own.
func (d *bufferFixture) bookGroup(steps ...posting.Step) {
	d.t.Helper()
	c := &posting.Change{Author: ledger.BySystem.Author(), Steps: steps, MustRecord: true}
	pristine := copyOf(c)
	receipt := d.must(c)
	d.model.now = ledger.MicrosOf(d.clock.Now())
	d.wantReceipt(draft{change: pristine}, receipt)
}

// bookUnrelated books a group that changes none of the accounts in the tests.
func (d *bufferFixture) bookUnrelated() {
	d.t.Helper()
	d.bookGroup(d.step(d.orgs[0], listOf(99, 1)))
}

// wantLikeModel compares the accounts and lists of the journal with those of the model.
func (d *bufferFixture) wantLikeModel() {
	d.t.Helper()
	v := d.anyView()
	defer v.Close()
	for _, orgID := range d.orgs {
		o, remaining := d.model.org(orgID), d.maxCompared
		for a := range o.accounts { // in random order, as Go's maps are
			d.compareAccount(v, orgID, o, a)
			if remaining--; remaining == 0 {
				break
			}
		}
		if len(o.accounts) > d.maxCompared && (len(o.accounts) > 500 || d.random.IntN(8) > 0) {
			continue
		}
		for _, prefix := range []string{"", "A:", "L:partner:1", "L:partner:12", "L:partner:12:", "L:partner:2", "M"} {
			d.compareAccounts(v, orgID, o, prefix)
		}
	}
	remaining := d.maxCompared
	for l, rows := range d.model.lists {
		d.compareList(v, d.orgOf(l), l, rows)
		if remaining--; remaining == 0 {
			break
		}
	}
}

// orgOf returns the organization of a list. The owners below 1,000 belong to the first organization, the
// others to the second.
func (d *bufferFixture) orgOf(l ledger.List) ledger.ID { return d.orgs[ownerOf(l)/1000] }

// wantSoundAcrossRestart compares the journal with the model and checks the invariant, now and after a
// restart. An error names the moment.
func (d *bufferFixture) wantSoundAcrossRestart(moment string) {
	d.t.Helper()
	before := d.t.Failed()
	d.wantLikeModel()
	d.wantBufferInvariant()
	d.restart()
	d.wantLikeModel()
	d.wantBufferInvariant()
	if !before && d.t.Failed() {
		d.t.Fatalf("this was %s", moment)
	}
}

// bufferRow is a stored page-buffer row.
type bufferRow struct {
	store.BufferKey
	length int
	chunks map[string][]byte // the lines of each page in the row; the keys are the prefixes of the pages' keys
}

func (f *fixture) bufferRows(v *posting.View, org ledger.ID) (rows []bufferRow) {
	f.t.Helper()
	err := v.Rows(org, posting.PageBuffers, func(key, row []byte) (bool, error) {
		k, ok := store.ParseBufferKey(key)
		if !ok {
			f.t.Fatalf("a page buffer row has key %x", key)
		}
		found := bufferRow{k, len(row), map[string][]byte{}}
		err := store.EachChunk(row, func(head, lines []byte) error {
			found.chunks[string(store.PagePrefix(nil, org, head))] = bytes.Clone(lines)
			return nil
		})
		rows = append(rows, found)
		return true, err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	slices.SortStableFunc(rows, func(a, b bufferRow) int { return int(a.Group) - int(b.Group) })
	return rows
}

// groupsInBuffer returns the numbers of the groups that have page-buffer rows of any organization, in ascending order.
func (d *bufferFixture) groupsInBuffer() []uint64 {
	d.t.Helper()
	v := d.View()
	defer v.Close()
	groups := map[uint64]bool{}
	for _, orgID := range d.orgs {
		for _, row := range d.bufferRows(v, orgID) {
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

// wantBufferInvariant checks the chunks of each page. (A chunk has the page's lines in one page-buffer row.) In the order of
// the chunks, those whose lines are also on stored pages must come first. wantBufferInvariant also checks that readers begin
// with the oldest row.
func (d *bufferFixture) wantBufferInvariant() {
	d.t.Helper()
	v := d.View()
	defer v.Close()
	for _, orgID := range d.orgs {
		pages, isBuffered, nextPart := d.storedPages(v, orgID), map[string]bool{}, map[uint64]uint16{}
		for _, row := range d.bufferRows(v, orgID) {
			if row.Part != nextPart[row.Group] {
				d.t.Errorf("group %d: part %d comes where part %d should", row.Group, row.Part, nextPart[row.Group])
			}
			nextPart[row.Group]++
			for prefix, lines := range row.chunks {
				isStored := bytes.Contains(bytes.Join(pages[prefix], nil), lines)
				if isStored && isBuffered[prefix] {
					d.t.Errorf("group %d: lines of %q are on a page, and earlier ones are not", row.Group, prefix)
				}
				isBuffered[prefix] = isBuffered[prefix] || !isStored
			}
		}
	}
	groups := d.groupsInBuffer()
	if low, next := d.LowestBuffered(), d.nextGroup(); len(groups) > 0 && low != groups[0] || len(groups) == 0 && low != next {
		d.t.Errorf("readers begin at group %d of the page buffer, which has %v", low, groups)
	}
}

func (d *bufferFixture) nextGroup() uint64 {
	n, _ := d.LastGroup()
	return n + 1
}

// pageLengths returns the lengths of an account's stored pages.
func (d *bufferFixture) pageLengths(path ledger.Path) (lengths []int) {
	v := d.View()
	defer v.Close()
	for _, page := range d.storedPages(v, org)[pagePrefixOf(path)] {
		lengths = append(lengths, len(page))
	}
	return lengths
}

func pagePrefixOf(path ledger.Path) string {
	return string(store.KeyPages(nil, org, ledger.Account{Path: path, Asset: usd}))
}

func (d *bufferFixture) wantPages(path ledger.Path, want int) {
	d.t.Helper()
	if got := len(d.pageLengths(path)); got != want {
		d.t.Errorf("%s has %d stored pages, want %d", path, got, want)
	}
}

func (d *bufferFixture) wantGroupsInBuffer(want ...uint64) {
	d.t.Helper()
	if got := d.groupsInBuffer(); !slices.Equal(got, want) {
		d.t.Errorf("groups %v have page buffer rows, want %v", got, want)
	}
}

const busy1, busy2, quiet1, quiet2 = ledger.Path("L:partner:1:available"), ledger.Path("L:partner:2:available"), ledger.Path("L:partner:11:available"), ledger.Path("L:partner:12:available")

func TestBufferedLinesReadLikeStoredPages(t *testing.T) {
	d := newBufferFixture(t, 3, 1)
	list := listOf(7, 1)
	pairs := [][2]ledger.Path{{busy1, busy2}, {quiet1, quiet2}}
	d.bookGroup(d.step(org, list, pairs...))
	d.wantPages(quiet1, 1)
	d.wantGroupsInBuffer(1)
	d.wantSoundAcrossRestart("when the accounts are new: their first lines are on a page, those of the list are buffered")

	d.bookGroup(d.step(org, list, pairs...))
	d.wantPages(quiet1, 1)
	d.wantPages(busy1, 1)
	d.wantGroupsInBuffer(1, 2)
	d.wantSoundAcrossRestart("before a page is flushed")

	d.bookGroup(d.step(org, list, slices.Repeat(pairs[:1], posting.FlushFrom/15)...))
	d.wantPages(busy1, 2)
	d.wantPages(quiet1, 1)
	d.wantGroupsInBuffer(1, 2, 3)
	d.wantSoundAcrossRestart("after a page with enough lines was flushed, while the page buffer still has the same lines")

	d.bookGroup(d.step(org, list, pairs[0]))
	d.wantGroupsInBuffer(2, 3, 4)
	d.wantSoundAcrossRestart("after the flushed page has buffered lines again")

	d.bookGroup(d.step(org, list, pairs[0]))
	d.wantPages(quiet1, 2)
	d.wantPages(busy1, 2)
	d.wantGroupsInBuffer(3, 4, 5)
	d.wantSoundAcrossRestart("after the oldest group's lines were flushed because of their age, and its row was removed")

	for range 3 {
		d.bookUnrelated()
	}
	d.wantPages(busy1, 3)
	d.wantPages(quiet1, 2)
	d.wantGroupsInBuffer(6, 7, 8)
	d.wantSoundAcrossRestart("after all was flushed")
}

func TestOldestPageBufferRowsAreRemovedBeyondMaxGroups(t *testing.T) {
	for _, maxGroups := range []int{1, 2, 5} {
		d := newBufferFixture(t, maxGroups, 1)
		for n := range uint64(12) {
			d.bookGroup(d.step(d.orgs[n%2], listOf(int64(n%2*1000), 1), [2]ledger.Path{accountOf(int(n % 5)), accountOf(int(n % 3))}))
			var want []uint64
			for g := max(0, int(n)+1-maxGroups) + 1; g <= int(n)+1; g++ {
				want = append(want, uint64(g))
			}
			d.wantGroupsInBuffer(want...)
			d.wantLikeModel()
			d.wantBufferInvariant()
		}
	}
}

func TestWithoutAPageBufferEachGroupStoresItsPages(t *testing.T) {
	d := newBufferFixture(t, -1, 1)
	for range 4 {
		d.bookGroup(d.step(org, listOf(7, 1), [2]ledger.Path{busy1, busy2}))
	}
	d.wantGroupsInBuffer()
	d.wantPages(busy1, 4)
	d.wantSoundAcrossRestart("without a page buffer")
}

func TestDefaultPageBufferLimitHoldsManyGroups(t *testing.T) {
	d := newBufferFixture(t, 0, 1)
	for n := range posting.MaxBufferedGroups + 2 {
		d.bookGroup(d.step(org, listOf(int64(n%100), 1)))
	}
	if groups := d.groupsInBuffer(); len(groups) != posting.MaxBufferedGroups || groups[0] != 3 {
		t.Errorf("%d groups have page buffer rows, the first is %d", len(groups), groups[0])
	}
}

func TestOpenViewIsUnaffectedByALaterFlush(t *testing.T) {
	d := newBufferFixture(t, 2, 1)
	list := listOf(7, 1)
	d.bookGroup(d.step(org, list, [2]ledger.Path{busy1, busy2}, [2]ledger.Path{quiet1, busy2}))
	d.bookGroup(d.step(org, list, [2]ledger.Path{busy1, busy2}))
	d.bookGroup(d.step(org, list, [2]ledger.Path{busy1, quiet1}))
	read := func(v *posting.View) (texts []string) {
		add := func(what any) { texts = append(texts, fmt.Sprintf("%+v", what)) }
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []ledger.Path{busy1, busy2, quiet1, quiet2} {
			a := ledger.Account{Path: path, Asset: usd}
			totals, err := v.Totals(org, a)
			must(err)
			add(totals)
			must(v.Lines(org, a, 0, func(l posting.Line) (bool, error) { add(l); return true, nil }))
			must(v.LinesAscending(org, a, func(l *posting.Line) (bool, error) { add(*l); return true, nil }))
		}
		must(v.List(org, list, posting.ListRange{}, func(row posting.ListRow) (bool, error) { add(row); return true, nil }))
		must(v.Accounts(org, "", usd.Env, func(a ledger.Account) (bool, error) { add(a); return true, nil }))
		return texts
	}
	earlyView, lateView := d.View(), d.View() // only earlyView is also read before the flush
	defer earlyView.Close()
	defer lateView.Close()
	want := read(earlyView)
	if len(want) < 20 {
		t.Fatalf("only %d things are shown", len(want))
	}
	for range 4 {
		d.bookGroup(d.step(org, list, [2]ledger.Path{quiet2, busy1}))
	}
	d.wantGroupsInBuffer(6, 7)
	for name, v := range map[string]*posting.View{"before and after": earlyView, "only after": lateView} {
		if got := read(v); !slices.Equal(got, want) {
			t.Errorf("the view that is read %s shows\n%v, want\n%v", name, got, want)
		}
	}
	d.wantLikeModel()
}

// A journal opens with all page-buffer rows that it had when it was closed, even if its new options allow fewer.
func TestPageBufferShrinksToASmallerLimitAfterRestart(t *testing.T) {
	for _, maxGroups := range []int{4, 1, -1} {
		d := newBufferFixture(t, 9, 1)
		for n := range 9 {
			d.bookGroup(d.step(org, listOf(7, 1), [2]ledger.Path{accountOf(n % 4), accountOf(4 + n)}))
		}
		d.wantGroupsInBuffer(1, 2, 3, 4, 5, 6, 7, 8, 9)
		d.bufferedGroups = maxGroups
		d.wantSoundAcrossRestart("before the next group")
		d.bookGroup(d.step(org, listOf(7, 1), [2]ledger.Path{accountOf(1), accountOf(20)}))
		want := []uint64{7, 8, 9, 10}
		d.wantGroupsInBuffer(want[len(want)-max(0, maxGroups):]...)
		d.wantSoundAcrossRestart("after the next group")
	}
}

// A view finds in memory the lines that were buffered when it was opened, even if they have moved to a stored page since. If
// too many lines have moved, the view reads the stored rows instead.
func TestBufferedLinesOfAnEarlierViewAreKeptForAWhile(t *testing.T) {
	for _, c := range []struct {
		kept      int
		wantKnown bool
	}{{1 << 20, true}, {0, false}} {
		d := newBufferFixture(t, 2, 1)
		d.KeepMoved(c.kept)
		list := listOf(7, 1)
		for range 3 {
			d.bookGroup(d.step(org, list, [2]ledger.Path{busy1, busy2}))
		}
		account := ledger.Account{Path: busy1, Asset: usd}
		v := d.View()
		before, err := v.Totals(org, account)
		if err != nil || before.DebitsPosted != amount(1+2+3) || !v.IsBuffered(org, account) {
			t.Fatalf("%+v, %v; buffered: %v", before, err, v.IsBuffered(org, account))
		}
		for range 6 {
			d.bookGroup(d.step(org, list, [2]ledger.Path{busy1, quiet1}))
		}
		after, err := v.Totals(org, account)
		if err != nil || after != before {
			t.Errorf("after later groups: %+v, %v, want %+v", after, err, before)
		}
		if known := v.IsBuffered(org, account); known != c.wantKnown {
			t.Errorf("with %d bytes kept, the lines are known in memory: %v", c.kept, known)
		}
		v.Close()
		stored := d.StoredView()
		if !stored.ReadsStoreOnly() || stored.IsBuffered(org, account) {
			t.Error("a view of the store reads the writer's memory")
		}
		stored.Close()
		d.wantSoundAcrossRestart("after later groups")
	}
}

// When all lines are on stored pages and are not kept for earlier views any more, the index has nothing in memory.
func TestLinesOnStoredPagesLeaveMemory(t *testing.T) {
	d := newBufferFixture(t, 3, 1)
	d.KeepMoved(0)
	for n := range 40 {
		d.bookGroup(d.step(org, listOf(int64(n%5), 1), [2]ledger.Path{accountOf(n % 7), accountOf(n % 11)}))
	}
	if pages, runs, bytes := d.BufferedInMemory(); pages == 0 || runs != pages || bytes == 0 {
		t.Errorf("%d pages with %d runs and %d bytes are in memory, want one run for each buffered page", pages, runs, bytes)
	}
	for range 4 { // the fourth group moves the lines of all four groups to stored pages
		d.bookUnrelated()
	}
	if pages, runs, bytes := d.BufferedInMemory(); pages != 0 || runs != 0 || bytes != 0 {
		t.Errorf("%d pages with %d runs and %d bytes are in memory after all lines have moved", pages, runs, bytes)
	}
}
