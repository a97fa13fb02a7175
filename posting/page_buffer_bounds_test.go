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

// blockableDisk is a Log in front of the store. A test can block and unblock it several times.
type blockableDisk struct {
	posting.Log
	blocked       sync.Mutex // while a test holds this mutex, no group reaches the store
	waitingGroups atomic.Int32
	largestGroup  struct{ rows, bytes atomic.Int64 }
}

func (d *blockableDisk) Apply(g *store.Group) error {
	d.waitingGroups.Add(1)
	d.blocked.Lock()
	d.waitingGroups.Add(-1)
	d.blocked.Unlock()
	d.largestGroup.rows.Store(max(d.largestGroup.rows.Load(), int64(g.Rows())))
	d.largestGroup.bytes.Store(max(d.largestGroup.bytes.Load(), int64(g.Bytes())))
	return d.Log.Apply(g)
}

// insertDisk returns a blockableDisk between the journal and its store. It takes effect when the journal is opened the next
// time.
func (d *bufferFixture) insertDisk() *blockableDisk {
	disk := new(blockableDisk)
	d.fixture.wrapLog = func(l posting.Log) posting.Log { disk.Log = l; return disk }
	return disk
}

// waitUntil waits until happened returns true. The test need not do anything for that.
func waitUntil(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !happened(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("it never happens that %s", what)
		}
	}
}

// bookTogether submits each step as a change of its own. All these changes are queued while the disk is blocked.
func (d *bufferFixture) bookTogether(disk *blockableDisk, steps ...posting.Step) {
	d.t.Helper()
	disk.blocked.Lock()
	receipts := make(chan posting.Receipt, len(steps))
	var drafts []draft
	for _, s := range steps {
		c := &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{s}, MustRecord: true}
		drafts = append(drafts, draft{change: copyOf(c)})
		d.Submit(c, func(receipt posting.Receipt) { receipts <- receipt })
	}
	disk.blocked.Unlock()
	d.model.now = ledger.MicrosOf(d.clock.Now())
	for i := range drafts {
		select {
		case receipt := <-receipts:
			d.wantReceipt(drafts[i], receipt)
		case err := <-d.fatal:
			d.t.Fatal(err)
		}
	}
}

func TestPageBufferRowIsNoLongerThanAPage(t *testing.T) {
	for _, accounts := range []int{62, 96} {
		t.Run(fmt.Sprint(accounts), func(t *testing.T) {
			var paths []ledger.Path
			for n := range accounts {
				paths = append(paths, accountOf(n))
			}
			d := newBufferFixture(t, 2, 1)
			var pairs [][2]ledger.Path
			for n := range 20 * len(paths) { // two lines in each of 20 groups for each account
				pairs = append(pairs, [2]ledger.Path{paths[n%len(paths)], paths[(n+7)%len(paths)]})
			}
			d.bookGroup(d.step(org, ledger.List{}, pairs[:len(paths)]...)) // the first lines of a new account are not buffered
			d.bookGroup(d.step(org, ledger.List{}, pairs...))
			v := d.View()
			rows := d.bufferRows(v, org)
			v.Close()
			if len(rows) < 2 {
				t.Errorf("%d rows", len(rows))
			}
			for n, row := range rows {
				if row.length > store.MaxPage || int(row.Part) != n {
					t.Errorf("row %d is part %d with %d bytes", n, row.Part, row.length)
				}
			}
			d.wantSoundAcrossRestart("before it is flushed")
			d.bookUnrelated()
			d.bookUnrelated()
			d.wantGroupsInBuffer(3, 4)
			d.wantSoundAcrossRestart("after it was flushed")
		})
	}
}

func TestBufferedPagesStayInMemoryWithSmallCaches(t *testing.T) {
	d := newBufferFixture(t, 40, 1)
	for n := range 120 {
		d.bookGroup(d.step(org, listOf(int64(n%37), 1), [2]ledger.Path{accountOf(n % 41), accountOf(n % 43)}))
		if n%10 == 0 {
			d.wantLikeModel()
			d.wantBufferInvariant()
		}
	}
	d.wantSoundAcrossRestart("in the end")
}

// A page gets new lines while the group that has moved its buffered lines to a stored page is not durable yet. The page must
// stay in the cache.
func TestFlushedPageStaysCachedUntilDurable(t *testing.T) {
	for maxGroups := 1; maxGroups <= 9; maxGroups++ {
		d := newBufferFixture(t, maxGroups, 1)
		disk := d.insertDisk()
		d.restart()
		list := listOf(7, 1)
		d.bookGroup(d.step(org, ledger.List{}, [2]ledger.Path{busy1, busy2}))
		d.bookGroup(d.step(org, list, [2]ledger.Path{busy1, busy2}))
		unrelatedStep := func() posting.Step {
			return d.step(org, listOf(98, 1), [2]ledger.Path{accountOf(50), accountOf(51)})
		}
		for n := 1; n < maxGroups; n++ {
			d.bookGroup(unrelatedStep())
		}
		d.OverlapAt(1)
		disk.blocked.Lock()
		receipts := make(chan posting.Receipt, 2)
		var drafts []draft
		for n, s := range []posting.Step{unrelatedStep(), d.step(org, list, [2]ledger.Path{busy1, quiet1})} {
			c := &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{s}, MustRecord: true}
			drafts = append(drafts, draft{change: copyOf(c)})
			d.Submit(c, func(receipt posting.Receipt) { receipts <- receipt })
			if n == 0 {
				waitUntil(t, "the group that flushes is at the disk", func() bool { return disk.waitingGroups.Load() == 1 })
			}
			waitUntil(t, "the change is in a group", func() bool { return d.QueueDepth() == 0 })
		}
		disk.blocked.Unlock()
		for i := range drafts {
			d.wantReceipt(drafts[i], <-receipts)
		}
		if got := len(d.pageLengths(busy2)); got != 2 {
			t.Errorf("with at most %d groups in the page buffer, the page was not flushed by its age: %d pages", maxGroups, got)
		}
		d.wantSoundAcrossRestart(fmt.Sprintf("with page buffers of %d groups", maxGroups))
	}
}

func TestPageBufferIsBoundedWhileEveryGroupIsFull(t *testing.T) {
	for _, c := range []struct{ postings, accounts, maxGroups int }{
		{2, 40, 8}, {2, 400, 8}, {2, 4_000, 8}, {20, 100, 8}, {20, 2_000, 8},
		{2, 40, 1_000}, {2, 400, 1_000}, // no page is flushed because its lines are the oldest
	} {
		if testing.Short() && c.accounts > 100 {
			continue // under the race detector one case is enough
		}
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			h := newLongLines(t, c.maxGroups)
			for round := range 5 {
				var changes []*posting.Change
				for range 5_000 / c.postings {
					changes = append(changes, h.change(h.randomAccounts(c.postings, c.accounts)...))
				}
				h.book(changes...)
				if got := len(h.groupsInBuffer()); got > c.maxGroups+4 {
					t.Fatalf("%d groups have page buffer rows after round %d", got, round)
				}
				if got := h.maxBufferedBytes(); got > 8*posting.FlushFrom {
					t.Fatalf("%d bytes wait for a page after round %d", got, round)
				}
			}
			_, maxBytes := h.Limit()
			if n, _ := h.LastGroup(); n < 24 || h.disk.largestGroup.bytes.Load() < int64(maxBytes)*8/10 {
				t.Errorf("%d groups, the longest has %d of %d bytes: they were not full", n, h.disk.largestGroup.bytes.Load(), maxBytes)
			}
			h.wantLines()
			h.restart()
			h.wantLines()
		})
	}
}

// longLines is a journal whose lines have the maximum length. The amounts are too large for the integers of the
// model, so the fixture itself counts the lines of each account.
type longLines struct {
	*bufferFixture
	disk       *blockableDisk
	lineCounts map[ledger.Path]int
}

func newLongLines(t *testing.T, maxGroups int) *longLines {
	h := &longLines{bufferFixture: newBufferFixture(t, maxGroups, 1), lineCounts: map[ledger.Path]int{}}
	h.disk = h.insertDisk()
	h.memTable = 1 << 20
	h.restart()
	return h
}

var hugeAmount = money.MustParse("1" + strings.Repeat("0", 60))

// change returns a change with one line on each of the accounts. The number of accounts must be even.
func (h *longLines) change(accounts ...ledger.Path) *posting.Change {
	entry := &ledger.Entry{Phase: ledger.Posted}
	for n, path := range accounts {
		p := line(path, ledger.Debit+ledger.Side(n%2), 0)
		p.Amount = hugeAmount
		entry.Postings = append(entry.Postings, p)
		h.lineCounts[path]++
	}
	return &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()}, Events: []ledger.Event{{Name: "move", To: "done", Entry: entry}},
	}}}
}

// book books changes that arrive while the disk is blocked.
func (h *longLines) book(changes ...*posting.Change) {
	h.t.Helper()
	h.disk.blocked.Lock()
	receipts := make(chan posting.Receipt, len(changes))
	for n, c := range changes {
		h.Submit(c, func(receipt posting.Receipt) { receipts <- receipt })
		if n == 0 { // the first change is alone in a group; all others are together in the next group
			waitUntil(h.t, "the first is at the disk", func() bool { return h.disk.waitingGroups.Load() == 1 })
		}
	}
	h.disk.blocked.Unlock()
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

// wantLines checks that each account has the expected number of lines, and that the totals of each line are right. It reads
// the lines forwards and backwards.
func (h *longLines) wantLines() {
	h.t.Helper()
	v := h.View()
	defer v.Close()
	for path, n := range h.lineCounts {
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

// randomAccounts returns n random accounts with numbers below limit. An account may occur several times.
func (h *longLines) randomAccounts(n, limit int) (accounts []ledger.Path) {
	for range n {
		accounts = append(accounts, accountOf(h.random.IntN(limit)))
	}
	return accounts
}

// A change may touch many pages for which earlier groups have buffered many lines. The estimate of the
// change's size does not include those lines.
func TestChangeOnManyBufferedPagesFitsIntoItsGroup(t *testing.T) {
	h := newLongLines(t, 20)
	for round := range 14 {
		var changes []*posting.Change
		for range 3_000 {
			changes = append(changes, h.change(h.randomAccounts(2, 100)...))
		}
		for range 10 * (round / 7) {
			changes = append(changes, h.change(h.randomAccounts(180, 100)...))
		}
		h.book(changes...)
	}
	h.wantLines()
	h.restart()
	h.wantLines()
}

const hotAccount = ledger.Path("L:hot")

// overfillHotPage tries to book a group after which more lines of the hot account are buffered than fit into a row, and tells
// whether it did. First it books lines until every page of the group is nearly long enough to be flushed. Then it books the
// group with hotChanges changes of the hot account. This makes all pages long enough, but the group has room to flush only
// some of them.
func (h *longLines) overfillHotPage(hotChanges int) (overfilled bool) {
	var touched []ledger.Path
	for n := range 80 {
		touched = append(touched, accountOf(n))
	}
	touched = append(touched, "A:bank", hotAccount)
	for buffered, growth := 0, 0; buffered+growth < posting.FlushFrom; { // until one more group would reach the bound
		h.book(h.change(touched...))
		buffered, growth = h.bufferedBytes(hotAccount), h.bufferedBytes(hotAccount)-buffered
	}
	changes := []*posting.Change{h.change("A:other", "A:other"), h.change("A:other", "A:other"), h.change(touched...), h.change(touched...)}
	for range hotChanges {
		changes = append(changes, h.change(slices.Repeat([]ledger.Path{hotAccount}, 32)...))
	}
	h.book(changes...)
	lastGroup, _ := h.LastGroup()
	return len(h.chunkLengths(hotAccount)[lastGroup]) > 1
}

func TestBufferedLinesMayExceedARow(t *testing.T) {
	h := newLongLines(t, 50)
	for hotChanges := 12; !h.overfillHotPage(hotChanges); hotChanges++ {
		if hotChanges == 40 {
			t.Fatal("no group has had too little room")
		}
		_ = h.Close()
		h = newLongLines(t, 50)
	}
	bufferedBefore := h.bufferedBytes(hotAccount)
	if bufferedBefore <= store.MaxPage {
		t.Fatalf("%d bytes wait", bufferedBefore)
	}
	for range 2 {
		h.wantLines()
		h.wantBufferInvariant()
		h.restart()
	}
	h.book(h.change(hotAccount, hotAccount))
	if n := len(h.pageLengths(hotAccount)) - 1; n < 2 || n > bufferedBefore/store.MaxPage+2 || h.bufferedBytes(hotAccount) != 0 {
		t.Errorf("%d bytes are flushed as %d pages, and %d wait", bufferedBefore, n, h.bufferedBytes(hotAccount))
	}
	for _, length := range h.pageLengths(hotAccount) {
		if maxLength := store.MaxPage + 32*100; length > maxLength { // longer by the lines of one event, which are never divided
			t.Errorf("a page has %d bytes", length)
		}
	}
	h.wantLines()
	h.restart()
	h.wantLines()
}

func TestPageBuffersAreBoundedInBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("it only counts stored bytes; the model's tests run the same goroutines")
	}
	d := newBufferFixture(t, 0, 0)
	for writtenBytes, hasRestarted := 0, false; writtenBytes < posting.MaxBufferBytes*2; {
		if writtenBytes > posting.MaxBufferBytes/2 && !hasRestarted {
			d.restart()
			hasRestarted = true
		}
		c := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
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
		buffered, lastGroup := 0, d.nextGroup()-1
		err := v.Rows(org, posting.PageBuffers, func(key, row []byte) (bool, error) {
			if k, _ := store.ParseBufferKey(key); k.Group == lastGroup {
				writtenBytes += len(row)
			}
			buffered += len(row)
			return true, nil
		})
		v.Close()
		if err != nil {
			t.Fatal(err)
		}
		if buffered > posting.MaxBufferBytes*11/10 { // the last groups may have had no room to flush the excess
			t.Fatalf("page buffers hold %d bytes", buffered)
		}
	}
}

// The key of a page is the booked time of the page's first line. All lines of an event have the same booked time, so they
// must be on one page.
func TestLinesOfOneEventAreInOneRow(t *testing.T) {
	for _, maxGroups := range []int{-1, 3} {
		h := newLongLines(t, maxGroups)
		h.memTable = 4 << 20
		h.restart()
		hold := h.change(hotAccount, hotAccount) // makes the account's pending totals long too
		hold.Steps[0].Source.Kind, hold.Steps[0].Record = ledger.Settlement, []byte{}
		hold.Steps[0].Events[0].Entry.Phase = ledger.Pending
		h.book(hold)
		for range 3 {
			h.book(h.change(slices.Repeat([]ledger.Path{hotAccount}, ledger.MaxPostings)...))
			if maxGroups > 0 {
				h.book(h.change(hotAccount, hotAccount)) // so there are lines before and after those of the next event
			}
		}
		longest := slices.Max(h.pageLengths(hotAccount))
		if longest <= store.MaxPage {
			t.Errorf("the lines of an event take %d bytes, which is not more than a page", longest)
		}
		h.wantLines()
		h.restart()
		h.wantLines()
	}
}

// maxBufferedBytes returns the largest number of bytes of one page that are buffered.
func (d *bufferFixture) maxBufferedBytes() (longest int) {
	v := d.View()
	defer v.Close()
	err := v.BufferedPages(org, func(_, lines []byte) error {
		longest = max(longest, len(lines))
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return longest
}

// bufferedBytes returns how many bytes of an account's lines are buffered.
func (d *bufferFixture) bufferedBytes(path ledger.Path) (n int) {
	v := d.View()
	defer v.Close()
	err := v.BufferedPages(org, func(prefix, lines []byte) error {
		if string(prefix) == pagePrefixOf(path) {
			n = len(lines)
		}
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// chunkLengths returns the lengths of an account's chunks, by the group that wrote them. A chunk has the
// account's lines in one page-buffer row.
func (d *bufferFixture) chunkLengths(path ledger.Path) map[uint64][]int {
	v := d.View()
	defer v.Close()
	lengths := map[uint64][]int{}
	for _, row := range d.bufferRows(v, org) {
		if lines := row.chunks[pagePrefixOf(path)]; len(lines) > 0 {
			lengths[row.Group] = append(lengths[row.Group], len(lines))
		}
	}
	return lengths
}
