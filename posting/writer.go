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
// become durable together. No other goroutine uses the writer.
type writer struct {
	journal     *Journal
	groupNumber uint64   // number of the current group, which is being prepared
	previous    [32]byte // hash of the previous group
	group       *store.Group
	finishSize  size           // upper bound of the rows and bytes that the method finish will add to the group
	out         *preparedGroup // the current group and the receipts of its changes, for the committer
	now         ledger.Micros  // the current instant; never decreases, even if the clock does

	orgs          map[ledger.ID]*orgState
	touchedOrgs   []*orgState // organizations that have rows in the current group
	balances      *cache[accountKey, *balance]
	lists         *cache[listKey, *page]
	pages         []*page  // pages to which the current group adds lines
	buffers       [][]byte // spare buffers for the lines of pages
	buffer        pageBuffer
	headers       *cache[dueKey, RecordHeader]
	counters      *cache[counterKey, *counter]
	movedCounters []*counter           // counters whose rows the current group must write
	claims        [2]map[string][]byte // owners of claims by key: for the current group, and for the previous group
	projection    projection
	placements    map[ledger.ID]Placement // includes placements that are in a group but not durable yet
	flushing      []*Move                 // moves of the current group that ask for flushed pages

	dues             map[int64][]byte // by second: the current group's due row of that second
	longestDueRow    int              // length in bytes of the longest row in dues
	previousEarliest ledger.Micros    // earliest due instant that the previous group has set; 0 if there is none
	lastRemoval      time.Time        // time of the last search for passed due rows
	hasMoreToRemove  bool             // the last search has left passed due rows, because a group may not remove more
	removedBelow     []byte           // key of a due row; all due rows before it are removed

	headerSlab []RecordHeader  // memory that headersFor gives out
	snap       *store.Snapshot // snapshot that the checks of the current group read; nil if not opened yet
	key, value []byte          // buffers for the key and the value of a row
	head       []byte          // buffer for the head of a page, that is, the prefix of the page's keys without the organization
	canonical  []byte          // buffer for an event's canonical bytes
	hashInput  []byte          // buffer for the input of the hash of a claim or of notices
}

type counterKey struct {
	org         ledger.ID
	key, window string
}

// counter is a counter in memory. It is also stored, in a row of its own.
type counter struct {
	counterKey
	amount money.Amount
	group  uint64 // number of the last group that has changed the counter
}

func newWriter(j *Journal, groupNumber uint64, hash [32]byte, o Options) *writer {
	w := &writer{
		journal: j, groupNumber: groupNumber, previous: hash,
		orgs:     make(map[ledger.ID]*orgState),
		balances: newCache[accountKey, *balance](o.Cached),
		lists:    newCache[listKey, *page](o.Cached),
		headers:  newCache[dueKey, RecordHeader](o.Cached),
		counters: newCache[counterKey, *counter](o.Cached),
		claims:   [2]map[string][]byte{make(map[string][]byte), make(map[string][]byte)},
		dues:     make(map[int64][]byte),

		placements: j.Placements(),
		// No new due instant may be before the low-water mark, because due rows before the mark are never read again.
		now: ledger.Micros(j.Due.mark) * 1_000_000,
	}
	w.balances.isPinned = func(b *balance) bool { return b.page.buffered() }
	w.lists.isPinned = (*page).buffered
	w.buffer.maxGroups = o.BufferedGroups
	w.projection.writer = w
	return w
}

// prepare puts as many changes of the batch into a new group as the limits of a group allow, and returns the number of these
// changes. It is at least one, because each change fits into an empty group.
func (w *writer) prepare(p *preparedGroup, batch []submittedChange) int {
	w.begin(p)
	count := 0
	for count < len(batch) && count < MaxGroup && w.fits(&batch[count]) {
		w.checkAndWrite(&batch[count])
		count++
	}
	w.finish()
	return count
}

// fits tells whether a change certainly fits into the group. In the worst case all due items of the change are in the same
// second, and even then the due row of that second must not be too long. If the previous group had too little room, and moved
// fewer lines to stored pages than it should have, changes may fill only half of this group. The other half is for moving these
// lines. Otherwise the page buffer would grow for as long as every group is full. A change that is the first of its group
// always fits.
func (w *writer) fits(s *submittedChange) bool {
	used, limit := size{w.group.Rows(), w.group.Bytes()}.plus(w.finishSize), w.journal.limit
	if w.buffer.lagging && used != (size{}) {
		limit = size{limit.rows / 2, limit.bytes / 2}
	}
	return used.plus(s.size).within(limit) &&
		w.longestDueRow+itemSize*(len(s.change.Steps)+s.change.Move.dueItems()) <= store.MaxValue
}

func (w *writer) begin(p *preparedGroup) {
	w.groupNumber++
	p.reset(w.groupNumber, w.previous)
	w.group, w.out, w.finishSize, w.longestDueRow = p.group, p, size{}, 0
	w.now = max(w.now, ledger.MicrosOf(w.journal.clock.Now()))
	w.balances.rotate(w.groupNumber)
	w.lists.rotate(w.groupNumber)
	w.headers.rotate(w.groupNumber)
	w.counters.rotate(w.groupNumber)
	w.claims[0], w.claims[1] = w.claims[1], w.claims[0]
	clear(w.claims[0])
}

// checkAndWrite checks a change and, if the change is not refused, writes it into the group.
func (w *writer) checkAndWrite(s *submittedChange) {
	receipt := w.check(s.change)
	if receipt.Err == nil {
		w.write(s.change, &receipt)
		if cause := s.change.Cause; cause != nil && len(w.out.causes) < maxCauses {
			w.out.causes = append(w.out.causes, *cause)
		}
	}
	w.out.waiters = append(w.out.waiters, waiter{s.done, receipt})
}

// headersFor returns memory for the headers in a receipt. Callers keep receipts, so the memory is never used again.
func (w *writer) headersFor(n int) []RecordHeader {
	if len(w.headerSlab) < n {
		w.headerSlab = make([]RecordHeader, max(n, 64))
	}
	headers := w.headerSlab[:n:n]
	w.headerSlab = w.headerSlab[n:]
	return headers
}

// finish writes the rows of the group that contain data of several changes, such as blocks of events and pages.
func (w *writer) finish() {
	w.finishPages()
	for _, b := range w.touchedOrgs {
		w.flushOrg(b)
	}
	w.touchedOrgs = w.touchedOrgs[:0]
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
	w.finishSize = size{}
	w.flushRequested()
	if w.group.Rows() == 0 {
		w.groupNumber-- // all changes were refused: nothing is stored, and the next group gets this number
		w.closeSnapshot()
		return
	}
	w.drain()
	w.out.oldestBuffered = w.lowestBuffered()
	w.removePassedDue(w.removeEmptiedDue())
	w.closeSnapshot()
	w.previousEarliest = w.out.earliest
	w.previous = w.group.Seal()
}

// removalEvery is the minimum time between two searches for passed due rows. maxDueRemovals is the maximum number of due rows
// that one group removes. If there are more, the next groups remove them.
const (
	removalEvery   = time.Second
	maxDueRemovals = 512
)

// removeEmptiedDue removes due rows whose items are all stale, even before their second has passed. It returns the number of
// these rows. Early removal saves disk writes: the store never writes a row to a table if the row is removed while it is only
// in the store's memory and log.
func (w *writer) removeEmptiedDue() (removed int) {
	rows := w.journal.Due.takeEmptied(maxDueRemovals)
	for _, row := range rows {
		w.key = store.KeyDue(w.key[:0], row.second, row.group)
		w.group.Delete(w.key)
	}
	return len(rows)
}

// removePassedDue moves the low-water mark forward, and removes the due rows before the mark. The mark is a second before which
// no due row has a current item. removed is the number of due rows that the group has removed before this call.
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
		from = w.removedBelow // rows before this key were removed already
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

// snapshot returns the snapshot from which the checks of the current group read. It is opened when it is first needed, and
// contains the state that is durable then. Changes that are not durable yet are in the caches and in w.claims.
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

// must ends the process if err is not nil, that is, if a read from the store has failed. The store may be damaged, and writing
// after a failed read could overwrite data.
func (w *writer) must(err error) {
	if err != nil {
		w.journal.fail(err)
		panic(fmt.Sprintf("posting: the store cannot be read: %v", err))
	}
}

// loadOrg returns the state of an organization, which the caller must not change. If the state is not in memory, loadOrg reads
// it from the store.
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

// org returns the state of an organization, which the caller will change. It makes sure that the group writes rows of the
// organization.
func (w *writer) org(org ledger.ID) *orgState {
	b := w.loadOrg(org)
	if !b.isTouched {
		b.isTouched = true
		w.touchedOrgs = append(w.touchedOrgs, b)
		w.finishSize.add(2, blockSize)
	}
	return b
}

func damaged(format string, args ...any) error {
	return &store.DamageError{What: fmt.Sprintf(format, args...)}
}

// IsDamage tells whether err is or wraps a *store.DamageError, which means that stored data is not what was written.
func IsDamage(err error) bool {
	var damage *store.DamageError
	return errors.As(err, &damage)
}
