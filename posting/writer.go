package posting

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// writer is the state of the orderer, the goroutine that checks changes and puts them into groups. The changes of a group
// become durable together. Only this goroutine uses the writer.
type writer struct {
	journal     *Journal
	groupNumber uint64   // number of the group being prepared
	previous    [32]byte // hash of the previous group
	group       *store.Group
	tail        size          // upper bound of the rows and bytes that finish will add to the group
	out         *prepared     // the group, and the receipts of its changes, for the committer
	now         ledger.Micros // never decreases, even if the clock does

	orgs          map[ledger.ID]*orgState
	touched       []*orgState // organizations that have rows in this group
	balances      *cache[accountKey, *balance]
	lists         *cache[listKey, *page]
	pages         []*page  // pages to which this group adds lines
	buffers       [][]byte // spare buffers for the lines of pages
	buffer        pageBuffer
	stamps        *cache[dueKey, Stamp]
	counters      *cache[counterKey, *counter]
	movedCounters []*counter           // counters whose rows this group must write
	claims        [2]map[string][]byte // owners by the claims' keys: of this group, and of the previous group
	projection    projection

	dues             map[int64][]byte // maps a second to the group's due row of that second
	longest          int              // length in bytes of the longest of these rows
	previousEarliest ledger.Micros    // earliest due instant of the previous group; 0: none
	lastRemoval      time.Time        // when passed due rows were last searched for
	hasMoreToRemove  bool             // more passed due rows are left than one group may remove
	removedBelow     []byte           // key of a due row; all due rows before it are removed

	slab       []Stamp         // memory for the stamps of receipts
	snap       *store.Snapshot // the snapshot that the checks of this group read; nil: not opened yet
	key, value []byte          // buffers for the key and the value of a row
	head       []byte          // buffer for the head of a page: the prefix of its keys without the organization
	canonical  []byte          // buffer for an event's canonical bytes
	hashed     []byte          // buffer for the input of the hash of a claim or of notices
}

type counterKey struct {
	org         ledger.ID
	key, window string
}

// counter is a counter that is stored in a row of its own.
type counter struct {
	counterKey
	amount money.Amount
	group  uint64 // number of the last group that has changed it
}

func newWriter(j *Journal, groupNumber uint64, hash [32]byte, o Options) *writer {
	w := &writer{
		journal: j, groupNumber: groupNumber, previous: hash,
		orgs:     make(map[ledger.ID]*orgState),
		balances: newCache[accountKey, *balance](o.Cached),
		lists:    newCache[listKey, *page](o.Cached),
		stamps:   newCache[dueKey, Stamp](o.Cached),
		counters: newCache[counterKey, *counter](o.Cached),
		claims:   [2]map[string][]byte{make(map[string][]byte), make(map[string][]byte)},
		dues:     make(map[int64][]byte),
		// No due instant may be below the low-water mark, because due rows below the mark are never read again.
		now: ledger.Micros(j.Due.mark) * 1_000_000,
	}
	w.balances.pinned = func(b *balance) bool { return b.page.buffered() }
	w.lists.pinned = (*page).buffered
	w.buffer.maxGroups = o.BufferedGroups
	w.projection.writer = w
	return w
}

// prepare puts changes of the batch into the group, as many as the limits of a group allow, and returns their number. The
// number is at least one, because each change fits into an empty group.
func (w *writer) prepare(p *prepared, batch []submitted) int {
	w.begin(p)
	count := 0
	for count < len(batch) && count < MaxGroup && w.fits(&batch[count]) {
		w.checkAndWrite(&batch[count])
		count++
	}
	w.finish()
	return count
}

// fits tells whether a change certainly fits into the group. In the worst case all the change's due items are in one second,
// and the due row of that second must not exceed the store's limit. If the previous group had no room for all the lines that
// it should have moved to stored pages, this group may only be filled to the half, unless it is still empty. The other half
// is for moving these lines. Otherwise the page buffer would grow for as long as every group is full.
func (w *writer) fits(s *submitted) bool {
	used, limit := size{w.group.Rows(), w.group.Bytes()}.plus(w.tail), w.journal.limit
	if w.buffer.lagging && used != (size{}) {
		limit = size{limit.rows / 2, limit.bytes / 2}
	}
	return used.plus(s.size).within(limit) &&
		w.longest+itemSize*len(s.change.Steps) <= store.MaxValue
}

func (w *writer) begin(p *prepared) {
	w.groupNumber++
	p.reset(w.groupNumber, w.previous)
	w.group, w.out, w.tail, w.longest = p.group, p, size{}, 0
	w.now = max(w.now, ledger.MicrosOf(w.journal.clock.Now()))
	w.balances.rotate(w.groupNumber)
	w.lists.rotate(w.groupNumber)
	w.stamps.rotate(w.groupNumber)
	w.counters.rotate(w.groupNumber)
	w.claims[0], w.claims[1] = w.claims[1], w.claims[0]
	clear(w.claims[0])
}

// checkAndWrite checks a change. If the change is not refused, checkAndWrite writes it into the group.
func (w *writer) checkAndWrite(s *submitted) {
	receipt := w.check(s.change)
	if receipt.Err == nil {
		w.write(s.change, &receipt)
		if cause := s.change.Cause; cause != nil && len(w.out.causes) < maxCauses {
			w.out.causes = append(w.out.causes, *cause)
		}
	}
	w.out.waiters = append(w.out.waiters, waiter{s.done, receipt})
}

// stampsFor returns memory for a receipt's stamps. Receipts outlive the group, so the memory is
// never reused.
func (w *writer) stampsFor(n int) []Stamp {
	if len(w.slab) < n {
		w.slab = make([]Stamp, max(n, 64))
	}
	stamps := w.slab[:n:n]
	w.slab = w.slab[n:]
	return stamps
}

// finish writes those rows of the group that its changes share.
func (w *writer) finish() {
	w.finishPages()
	for _, b := range w.touched {
		w.flushOrg(b)
	}
	w.touched = w.touched[:0]
	for _, c := range w.movedCounters {
		w.key = store.KeyCounter(w.key[:0], c.org, c.key, c.window)
		w.value = store.EncodeAmount(w.value[:0], c.amount)
		w.group.Set(w.key, w.value)
	}
	clear(w.movedCounters)
	w.movedCounters = w.movedCounters[:0]
	for second, row := range w.dues {
		w.key = store.KeyDue(w.key[:0], second, w.groupNumber)
		w.group.Set(w.key, row)
	}
	clear(w.dues)
	if w.group.Rows() == 0 {
		w.groupNumber-- // all changes were refused, so nothing is stored and the next group gets this number
		w.closeSnapshot()
		return
	}
	w.tail = size{}
	w.drain()
	w.out.oldestBuffered = w.lowestBuffered()
	w.removePassedDue(w.removeEmptiedDue())
	w.closeSnapshot()
	w.previousEarliest = w.out.earliest
	w.previous = w.group.Seal()
}

// removalEvery is the minimum time between two searches for passed due rows. maxDueRemovals is the maximum
// number of due rows that one group removes; the following groups remove the rest.
const (
	removalEvery   = time.Second
	maxDueRemovals = 512
)

// removeEmptiedDue removes due rows whose items are all stale, without waiting until their second has passed, and returns
// their number. A row that is removed before the store has flushed it to its tables is never written to a table.
func (w *writer) removeEmptiedDue() (removed int) {
	rows := w.journal.Due.takeEmptied(maxDueRemovals)
	for _, row := range rows {
		w.key = store.KeyDue(w.key[:0], row.second, row.group)
		w.group.Delete(w.key)
	}
	return len(rows)
}

// removePassedDue moves the low-water mark forward, and removes the due rows before the mark. The mark is a second before
// which no due row has a current item. removed is the number of due rows that the group removes already.
func (w *writer) removePassedDue(removed int) {
	now := time.Now()
	if !w.hasMoreToRemove && now.Sub(w.lastRemoval) < removalEvery {
		return
	}
	w.lastRemoval, w.hasMoreToRemove = now, false
	earliest := w.previousEarliest
	if ofGroup := w.out.earliest; ofGroup != 0 && (earliest == 0 || ofGroup < earliest) {
		earliest = ofGroup
	}
	d := w.journal.Due
	second := d.passedUntil(w.now, earliest)
	if second <= d.mark {
		return
	}
	from := store.KeyDueFrom(nil, d.mark)
	if bytes.Compare(from, w.removedBelow) < 0 {
		from = w.removedBelow // skip rows that were removed already
	}
	w.must(w.snapshot().AscendKeys(store.KeyDues(nil), from, func(key []byte) ([]byte, bool, error) {
		at, _, ok := store.ParseDueKey(key)
		if !ok || at >= second {
			return nil, false, nil
		}
		if removed == maxDueRemovals {
			second, w.hasMoreToRemove = at, true
			w.removedBelow = append(w.removedBelow[:0], key...)
			return nil, false, nil
		}
		removed++
		w.group.Delete(key)
		return nil, true, nil
	}))
	d.mark = second
	w.group.Set(store.KeyLowWaterMark, store.EncodeLowWaterMark(nil, second))
}

// snapshot returns the snapshot from which the checks of this group read. It is opened at the first read, and shows the state
// that is durable then. What is not durable yet is in the caches and in w.claims.
func (w *writer) snapshot() *store.Snapshot {
	if w.snap == nil {
		w.snap = w.journal.store.Snapshot()
	}
	return w.snap
}

func (w *writer) closeSnapshot() {
	if w.snap != nil {
		w.snap.Close()
		w.snap = nil
	}
}

// must ends the process if err is an error of a read. The store may be damaged, and writing after a failed read could
// overwrite data.
func (w *writer) must(err error) {
	if err != nil {
		w.journal.fail(err)
		panic(fmt.Sprintf("posting: the store cannot be read: %v", err))
	}
}

// loadOrg returns an organization's state for reading. If the state is not in memory, loadOrg reads it from the store.
func (w *writer) loadOrg(org ledger.ID) *orgState {
	b := w.orgs[org]
	if b == nil {
		var err error
		b, err = openOrg(w.snapshot(), org)
		w.must(err)
		w.orgs[org] = b
	}
	return b
}

// org returns an organization's state for a change. The group then has rows of the organization.
func (w *writer) org(org ledger.ID) *orgState {
	b := w.loadOrg(org)
	if !b.touched {
		b.touched = true
		w.touched = append(w.touched, b)
		w.tail.add(2, blockSize)
	}
	return b
}

func damaged(format string, args ...any) error {
	return &store.DamageError{What: fmt.Sprintf(format, args...)}
}

// IsDamage tells whether the error is or wraps a *store.DamageError, which means that stored data is not as it was written.
func IsDamage(err error) bool {
	var damage *store.DamageError
	return errors.As(err, &damage)
}
