package posting_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// testLog is a disk that can be blocked repeatedly.
type testLog struct {
	posting.Log
	shut    sync.Mutex // while it is held no group passes
	waiter  atomic.Int32
	longest struct{ rows, bytes atomic.Int64 } // size of the largest group
}

func (v *testLog) Apply(g *store.Group) error {
	v.waiter.Add(1)
	v.shut.Lock()
	v.waiter.Add(-1)
	v.shut.Unlock()
	v.longest.rows.Store(max(v.longest.rows.Load(), int64(g.Rows())))
	v.longest.bytes.Store(max(v.longest.bytes.Load(), int64(g.Bytes())))
	return v.Log.Apply(g)
}

// insertValve puts a valve between the journal and its store, from the journal's next start on.
func (d *bufferFixture) insertValve() *testLog {
	v := new(testLog)
	d.fixture.wrapLog = func(l posting.Log) posting.Log { v.Log = l; return v }
	return v
}

// until waits for a condition that becomes true without the test.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !happened(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("it never happens that %s", what)
		}
	}
}

// burst books changes that arrive while the disk is blocked.
func (d *bufferFixture) burst(v *testLog, steps ...posting.Step) {
	d.t.Helper()
	v.shut.Lock()
	receipts := make(chan posting.Receipt, len(steps))
	var drafts []draft
	for _, s := range steps {
		c := &posting.Change{Steps: []posting.Step{s}, MustRecord: true}
		drafts = append(drafts, draft{change: copyOf(c)})
		d.Submit(c, func(receipt posting.Receipt) { receipts <- receipt })
	}
	v.shut.Unlock()
	d.model.now = ledger.MicrosOf(d.clock.Now())
	for _, drafted := range drafts {
		select {
		case receipt := <-receipts:
			d.follow(drafted, receipt)
		case err := <-d.fatal:
			d.t.Fatal(err)
		}
	}
}

func TestManyPagesOfOneGroupAreSharded(t *testing.T) {
	for pages, dealt := range map[int]bool{store.ShardedFrom - 1: false, store.ShardedFrom: true, 4 * store.ShardedFrom: true} {
		d := newBufferFixture(t, 3, 1)
		var pairs [][2]ledger.Path
		for n := range pages - 1 { // the list is a page too
			pairs = append(pairs, [2]ledger.Path{accountOf(n), accountOf((n + 1) % (pages - 1))})
		}
		here, there := listOf(7, 1), listOf(1007, 1)
		d.group(d.step(d.orgs[0], ledger.List{}, pairs...), d.step(d.orgs[1], ledger.List{}, pairs...)) // no account is new then
		d.wantDays()
		d.group(d.step(d.orgs[0], here, pairs...), d.step(d.orgs[1], there, pairs[:store.ShardedFrom/2]...))
		v := d.View()
		shares := map[byte]int{}
		for _, row := range d.dayRows(v, d.orgs[0]) {
			shares[row.Shard] += len(row.sections)
			for prefix := range row.sections {
				if want := store.Shard(store.PageHead(nil, []byte(prefix))); dealt && row.Shard != want || !dealt && row.Shard != store.Unsharded {
					t.Errorf("of %d pages one is in share %d, dealt it belongs into %d", pages, row.Shard, want)
				}
			}
		}
		sum := 0
		for _, n := range shares {
			sum += n
		}
		if sum != pages || dealt != (len(shares) > 8) {
			t.Errorf("%d sections of %d pages are in shares %v", sum, pages, shares)
		}
		if rows := d.dayRows(v, d.orgs[1]); len(rows) != 1 || rows[0].Shard != store.Unsharded {
			t.Errorf("the other organization's few pages are in %+v", rows)
		}
		v.Close()
		d.wantRead()
		d.group(d.step(d.orgs[0], here, pairs[:5]...), d.step(d.orgs[1], there, pairs[3:7]...))
		v = d.View()
		for _, row := range d.dayRows(v, d.orgs[0]) {
			if row.Group == 3 && row.Shard != store.Unsharded {
				t.Errorf("a group of few pages after one of %d has a row in share %d", pages, row.Shard)
			}
		}
		v.Close()
		d.everyWay("after a group of many pages and one of few")
		for range 3 {
			d.idle()
		}
		d.wantDays(4, 5, 6)
		d.everyWay("after all was carried")
	}
}

// inShare returns accounts whose pages are in the same shard.
func inShare(share byte, n int) (paths []ledger.Path) {
	for i := 0; len(paths) < n; i++ {
		path := accountOf(i)
		if store.Shard(store.PageHead(nil, []byte(prefixOf(path)))) == share {
			paths = append(paths, path)
		}
	}
	return paths
}

func TestPageBufferRowIsNoLongerThanAPage(t *testing.T) {
	few, many := inShare(3, store.ShardedFrom-2), inShare(3, 3*store.ShardedFrom/2)
	for name, paths := range map[string][]ledger.Path{"undealt": few, "dealt": many} {
		t.Run(name, func(t *testing.T) {
			d := newBufferFixture(t, 2, 1)
			var pairs [][2]ledger.Path
			for n := range 20 * len(paths) { // forty lines each
				pairs = append(pairs, [2]ledger.Path{paths[n%len(paths)], paths[(n+7)%len(paths)]})
			}
			d.group(d.step(org, ledger.List{}, pairs[:len(paths)]...)) // no account is new then
			d.group(d.step(org, ledger.List{}, pairs...))
			v := d.View()
			rows := d.dayRows(v, org)
			v.Close()
			if len(rows) < 2 {
				t.Errorf("%d rows", len(rows))
			}
			for n, row := range rows {
				if row.length > store.MaxPage || int(row.Part) != n || row.Shard != rows[0].Shard {
					t.Errorf("row %d is part %d of share %d with %d bytes", n, row.Part, row.Shard, row.length)
				}
			}
			d.everyWay("before it is carried")
			d.idle()
			d.idle()
			d.wantDays(3, 4)
			d.everyWay("after it was carried")
		})
	}
}

func TestBufferedPagesStayInMemoryWithSmallCaches(t *testing.T) {
	d := newBufferFixture(t, 40, 1)
	for n := range 120 {
		d.group(d.step(org, listOf(int64(n%37), 1), [2]ledger.Path{accountOf(n % 41), accountOf(n % 43)}))
		if n%10 == 0 {
			d.wantRead()
			d.wantInvariant()
		}
	}
	d.everyWay("in the end")
}

// The group that flushes a page is on its way to the disk when the page gets new lines.
func TestFlushedPageStaysCachedUntilDurable(t *testing.T) {
	for days := 1; days <= 9; days++ {
		d := newBufferFixture(t, days, 1)
		v := d.insertValve()
		d.restart()
		listed := listOf(7, 1)
		d.group(d.step(org, ledger.List{}, [2]ledger.Path{pair1, pair2}))
		d.group(d.step(org, listed, [2]ledger.Path{pair1, pair2}))
		other := func() posting.Step {
			return d.step(org, listOf(98, 1), [2]ledger.Path{accountOf(50), accountOf(51)})
		}
		for n := 1; n < days; n++ {
			d.group(other())
		}
		v.shut.Lock()
		receipts := make(chan posting.Receipt, 2)
		var drafts []draft
		for n, s := range []posting.Step{other(), d.step(org, listed, [2]ledger.Path{pair1, quiet1})} {
			c := &posting.Change{Steps: []posting.Step{s}, MustRecord: true}
			drafts = append(drafts, draft{change: copyOf(c)})
			d.Submit(c, func(receipt posting.Receipt) { receipts <- receipt })
			if n == 0 {
				until(t, "the group that carries is at the disk", func() bool { return v.waiter.Load() == 1 })
			}
			until(t, "the change is in a group", func() bool { return d.QueueDepth() == 0 })
		}
		v.shut.Unlock()
		for _, drafted := range drafts {
			d.follow(drafted, <-receipts)
		}
		if got := len(d.pages(pair2)); got != 2 {
			t.Errorf("with %d days it was not carried by its age: %d pages", days, got)
		}
		d.everyWay(fmt.Sprintf("with page buffers of %d groups", days))
	}
}

func TestPageBufferIsBoundedWhileEveryGroupIsFull(t *testing.T) {
	for _, c := range []struct{ postings, accounts, days int }{
		{2, 40, 8}, {2, 400, 8}, {2, 4_000, 8}, {20, 100, 8}, {20, 2_000, 8},
		{2, 40, 1_000}, {2, 400, 1_000}, // no page is flushed by its age
	} {
		if testing.Short() && c.accounts > 100 {
			continue // more of the same goroutines' work, which the race detector makes ten times as long
		}
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			h := newHeavy(t, c.days)
			for round := range 5 {
				var changes []*posting.Change
				for range 5_000 / c.postings {
					changes = append(changes, h.change(h.any(c.postings, c.accounts)...))
				}
				h.book(changes...)
				if got := len(h.dayGroups()); got > c.days+4 {
					t.Fatalf("%d groups have page buffer rows after round %d", got, round)
				}
				if got := h.waiter(); got > 8*posting.CarryFrom {
					t.Fatalf("%d bytes wait for a page after round %d", got, round)
				}
			}
			_, most := h.Limit()
			if n, _ := h.LastGroup(); n < 24 || h.v.longest.bytes.Load() < int64(most)*8/10 {
				t.Errorf("%d groups, the longest has %d of %d bytes: they were not full", n, h.v.longest.bytes.Load(), most)
			}
			h.wantChains()
			h.restart()
			h.wantChains()
		})
	}
}

// heavy is a journal whose lines have the maximum length, for which the model's integers are too
// small. The test knows how many lines each account has.
type heavy struct {
	*bufferFixture
	v     *testLog
	lines map[ledger.Path]int
}

func newHeavy(t *testing.T, days int) *heavy {
	h := &heavy{bufferFixture: newBufferFixture(t, days, 1), lines: map[ledger.Path]int{}}
	h.v = h.insertValve()
	h.memTable = 1 << 20
	h.restart()
	return h
}

var huge = money.MustParse("1" + strings.Repeat("0", 60))

// change returns a change with a line on each of the accounts, which must be even in number.
func (h *heavy) change(accounts ...ledger.Path) *posting.Change {
	entry := &ledger.Entry{Phase: ledger.Posted}
	for n, path := range accounts {
		p := line(path, ledger.Debit+ledger.Side(n%2), 0)
		p.Amount = huge
		entry.Postings = append(entry.Postings, p)
		h.lines[path]++
	}
	return &posting.Change{MustRecord: true, Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()}, Events: []ledger.Event{{Name: "move", To: "done", Entry: entry}},
	}}}
}

// book books changes that arrive while the disk is blocked.
func (h *heavy) book(changes ...*posting.Change) {
	h.t.Helper()
	h.v.shut.Lock()
	receipts := make(chan posting.Receipt, len(changes))
	for n, c := range changes {
		h.Submit(c, func(receipt posting.Receipt) { receipts <- receipt })
		switch n { // the other changes arrive when one group is at the disk and one is waiting: they begin a third together
		case 0:
			until(h.t, "the first is at the disk", func() bool { return h.v.waiter.Load() == 1 })
		case 1:
			until(h.t, "the second is prepared", func() bool { return h.QueueDepth() == 0 })
		}
	}
	h.v.shut.Unlock()
	for range changes {
		select {
		case receipt := <-receipts:
			if receipt.Err != nil {
				h.t.Fatal(receipt.Err)
			}
		case err := <-h.fatal:
			h.t.Fatal(err)
		}
	}
}

// wantChains checks that each account has its lines, each with the sums of the lines before it,
// in every way of reading.
func (h *heavy) wantChains() {
	h.t.Helper()
	v := h.View()
	defer v.Close()
	for path, n := range h.lines {
		a := ledger.Account{Path: path, Asset: usd}
		var lines []posting.Line
		var sum ledger.Totals
		err := v.LinesAscending(org, a, func(l *posting.Line) (bool, error) {
			move := sum.Post
			if l.Phase == ledger.Pending {
				move = sum.Hold
			}
			if err := move(l.Side, l.Amount); err != nil || l.Totals != sum {
				h.t.Fatalf("line %d of %s has totals %+v, want %+v (%v)", len(lines), path, l.Totals, sum, err)
			}
			lines = append(lines, *l)
			return true, nil
		})
		if err != nil || len(lines) != n {
			h.t.Fatalf("%s has %d lines (%v), want %d", path, len(lines), err, n)
		}
		err = v.Lines(org, a, 0, func(l posting.Line) (bool, error) {
			if n--; l != lines[n] {
				h.t.Fatalf("%s: read backwards line %d is another", path, n)
			}
			return true, nil
		})
		if got, totalsErr := v.Totals(org, a); err != nil || n != 0 || totalsErr != nil || got != sum {
			h.t.Fatalf("%s: %d lines are missing (%v); the totals are %+v (%v), want %+v", path, n, err, got, totalsErr, sum)
		}
	}
}

// any returns so many of the first accounts.
func (h *heavy) any(n, of int) (accounts []ledger.Path) {
	for range n {
		accounts = append(accounts, accountOf(h.random.IntN(of)))
	}
	return accounts
}

// A change may touch many pages with many buffered lines: its size estimate did not include
// them.
func TestChangeOnManyBufferedPagesFitsIntoItsGroup(t *testing.T) {
	h := newHeavy(t, 20)
	for round := range 14 {
		var changes []*posting.Change
		for range 3_000 {
			changes = append(changes, h.change(h.any(2, 100)...))
		}
		for range 10 * (round / 7) {
			changes = append(changes, h.change(h.any(180, 100)...))
		}
		h.book(changes...)
	}
	h.wantChains()
	h.restart()
	h.wantChains()
}

const hot = ledger.Path("L:hot")

// crowded books a group after which more than a row is buffered for the hot account's page: all
// pages of the group had enough lines to be flushed at once, and there was room for some of them
// only. It returns whether that happened with so many changes of the account.
func (h *heavy) crowded(changes int) bool {
	var touch []ledger.Path
	for n := range 80 {
		touch = append(touch, accountOf(n))
	}
	touch = append(touch, "A:bank", hot)
	for waits, last := 0, 0; waits+last < posting.CarryFrom; { // just below the bound for flushing
		h.book(h.change(touch...))
		waits, last = h.waits(hot), h.waits(hot)-waits
	}
	full := []*posting.Change{h.change("A:other", "A:other"), h.change("A:other", "A:other"), h.change(touch...), h.change(touch...)}
	for range changes {
		full = append(full, h.change(slices.Repeat([]ledger.Path{hot}, 32)...))
	}
	h.book(full...)
	last, _ := h.LastGroup()
	return len(h.pieces(hot)[last]) > 1
}

func TestBufferedLinesMayExceedARow(t *testing.T) {
	h := newHeavy(t, 50)
	for changes := 12; !h.crowded(changes); changes++ {
		if changes == 40 {
			t.Fatal("no group has had too little room")
		}
		_ = h.Close()
		h = newHeavy(t, 50)
	}
	waited := h.waits(hot)
	if waited <= store.MaxPage {
		t.Fatalf("%d bytes wait", waited)
	}
	for range 2 {
		h.wantChains()
		h.wantInvariant()
		h.restart()
	}
	h.book(h.change(hot, hot))
	if n := len(h.pages(hot)) - 1; n < 2 || n > waited/store.MaxPage+2 || h.waits(hot) != 0 {
		t.Errorf("%d bytes are carried as %d pages, and %d wait", waited, n, h.waits(hot))
	}
	for _, length := range h.pages(hot) {
		if most := store.MaxPage + 32*100; length > most { // room for an event
			t.Errorf("a page has %d bytes", length)
		}
	}
	h.wantChains()
	h.restart()
	h.wantChains()
}

func TestPageBuffersAreBoundedInBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts the bytes that are stored; the model's tests run the same goroutines")
	}
	d := newBufferFixture(t, 0, 0)
	for sum, restarted := 0, false; sum < posting.MaxDayBytes*2; {
		if sum > posting.MaxDayBytes/2 && !restarted {
			d.restart()
			restarted = true
		}
		c := &posting.Change{MustRecord: true}
		for k := range 20 { // many pages with long names and few buffered lines each
			s := d.step(org, ledger.List{})
			s.Events[0].Entry = &ledger.Entry{Phase: ledger.Posted}
			for i := range 100 {
				path := ledger.Path(fmt.Sprintf("L:%d:%d:%s", k, i, strings.Repeat("x", ledger.MaxPath-20)))
				s.Events[0].Entry.Postings = append(s.Events[0].Entry.Postings, line(path, ledger.Debit+ledger.Side(i%2), 1))
			}
			c.Steps = append(c.Steps, s)
		}
		d.must(c)
		v := d.View()
		held, last := 0, d.nextGroup()-1
		err := v.Rows(org, posting.PageBuffers, func(key, row []byte) (bool, error) {
			if k, _ := store.ParseBufferKey(key); k.Group == last {
				sum += len(row)
			}
			held += len(row)
			return true, nil
		})
		v.Close()
		if err != nil {
			t.Fatal(err)
		}
		if held > posting.MaxDayBytes*11/10 { // a group or two may have had too little room
			t.Fatalf("page buffers hold %d bytes", held)
		}
	}
}

// The booked time is a row's key, so two rows must not have the same time.
func TestLinesOfOneEventAreInOneRow(t *testing.T) {
	for _, days := range []int{-1, 3} {
		h := newHeavy(t, days)
		h.memTable = 4 << 20
		h.restart()
		hold := h.change(hot, hot) // so that all of an account's totals are long
		hold.Steps[0].Source.Kind, hold.Steps[0].Record = ledger.Settlement, []byte{}
		hold.Steps[0].Events[0].Entry.Phase = ledger.Pending
		h.book(hold)
		for range 3 {
			h.book(h.change(slices.Repeat([]ledger.Path{hot}, ledger.MaxPostings)...))
			if days > 0 {
				h.book(h.change(hot, hot)) // there are lines before it and after it
			}
		}
		longest := slices.Max(h.pages(hot))
		if longest <= store.MaxPage {
			t.Errorf("the lines of an event take %d bytes, which is not more than a page", longest)
		}
		h.wantChains()
		h.restart()
		h.wantChains()
	}
}

// waiter returns the most bytes that are buffered for any page.
func (d *bufferFixture) waiter() (most int) {
	v := d.View()
	defer v.Close()
	err := v.BufferedPages(org, func(_, lines []byte) error {
		most = max(most, len(lines))
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return most
}

// waits returns the bytes that are buffered for an account's next page.
func (d *bufferFixture) waits(path ledger.Path) (n int) {
	v := d.View()
	defer v.Close()
	err := v.BufferedPages(org, func(prefix, lines []byte) error {
		if string(prefix) == prefixOf(path) {
			n = len(lines)
		}
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// pieces returns the lengths of an account's chunks, by group.
func (d *bufferFixture) pieces(path ledger.Path) map[uint64][]int {
	v := d.View()
	defer v.Close()
	lengths := map[uint64][]int{}
	for _, row := range d.dayRows(v, org) {
		if lines := row.sections[prefixOf(path)]; len(lines) > 0 {
			lengths[row.Group] = append(lengths[row.Group], len(lines))
		}
	}
	return lengths
}
