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

// writer is the orderer's memory. Only the orderer's goroutine touches it.
type writer struct {
	journal  *Journal
	n        uint64 // number of the group being prepared
	previous [32]byte
	group    *store.Group
	tail     size // what finish will add to the group, at the most
	out      *prepared
	now      ledger.Micros // never goes back, whatever the clock does

	orgs       map[ledger.ID]*orgState
	touched    []*orgState
	balances   *cache[accountKey, *balance]
	lists      *cache[listKey, *page]
	pages      []*page  // with lines of this group
	buffers    [][]byte // for the lines of pages
	buffer     pageBuffer
	stamps     *cache[dueKey, Stamp]
	counters   *cache[counterKey, *counter]
	moved      []*counter           // to write in this group
	claims     [2]map[string][]byte // of this group and of the one before
	projection projection

	dues     map[int64][]byte // second → row of this group
	longest  int              // of these rows, in bytes
	inflight ledger.Micros    // earliest due of the group before
	cleaned  time.Time        // when passed due rows were last removed
	behind   bool             // there were more than could be
	swept    []byte           // the due rows below this key are gone

	slab       []Stamp         // receipts' stamps are cut from it
	snap       *store.Snapshot // for reads of this group's checks
	key, value []byte
	head       []byte
	canonical  []byte
	hashed     []byte // what a hash of a claim or of notices is made of
}

type counterKey struct {
	org         ledger.ID
	key, window string
}

// counter is a persisted counter.
type counter struct {
	counterKey
	amount money.Amount
	group  uint64 // that moved it last
}

func newWriter(j *Journal, n uint64, hash [32]byte, o Options) *writer {
	w := &writer{
		journal: j, n: n, previous: hash,
		orgs:     make(map[ledger.ID]*orgState),
		balances: newCache[accountKey, *balance](o.Cached),
		lists:    newCache[listKey, *page](o.Cached),
		stamps:   newCache[dueKey, Stamp](o.Cached),
		counters: newCache[counterKey, *counter](o.Cached),
		claims:   [2]map[string][]byte{make(map[string][]byte), make(map[string][]byte)},
		dues:     make(map[int64][]byte),
		// Nothing may fall due below the mark: it would never be read again.
		now: ledger.Micros(j.Due.mark) * 1_000_000,
	}
	w.balances.pinned = func(b *balance) bool { return b.page.buffered() }
	w.lists.pinned = (*page).buffered
	w.buffer.maxGroups = o.BufferedGroups
	w.projection.writer = w
	return w
}

// prepare fills the group with as many of the changes as its bounds allow and
// returns how many it took: at least one, since each fits a group by itself.
func (w *writer) prepare(p *prepared, batch []submitted) int {
	w.begin(p)
	taken := 0
	for taken < len(batch) && taken < MaxGroup && w.fits(&batch[taken]) {
		w.take(&batch[taken])
		taken++
	}
	w.finish()
	return taken
}

// fits tells whether a change surely fits beside what is in the group. What it
// makes due may all fall into one second, whose row may not be longer than the
// store's rows. A group after one that had no room to carry what it should have
// leaves half of its own for that, unless one change takes more by itself: or else
// the page buffer would grow for as long as every group is full.
func (w *writer) fits(s *submitted) bool {
	now, limit := size{w.group.Rows(), w.group.Bytes()}.plus(w.tail), w.journal.limit
	if w.buffer.lagging && now != (size{}) {
		limit = size{limit.rows / 2, limit.bytes / 2}
	}
	return now.plus(s.size).within(limit) &&
		w.longest+itemSize*len(s.change.Steps) <= store.MaxValue
}

func (w *writer) begin(p *prepared) {
	w.n++
	p.reset(w.n, w.previous)
	w.group, w.out, w.tail, w.longest = p.group, p, size{}, 0
	w.now = max(w.now, ledger.MicrosOf(w.journal.clock.Now()))
	w.balances.rotate(w.n)
	w.lists.rotate(w.n)
	w.stamps.rotate(w.n)
	w.counters.rotate(w.n)
	w.claims[0], w.claims[1] = w.claims[1], w.claims[0]
	clear(w.claims[0])
}

// take checks one change and, if nothing speaks against it, writes it.
func (w *writer) take(s *submitted) {
	receipt := w.check(s.change)
	if receipt.Err == nil {
		w.write(s.change, &receipt)
	}
	w.out.waiting = append(w.out.waiting, waiting{s.done, receipt})
}

// stampsFor cuts room for a receipt's stamps. Receipts outlive the group, so a
// slab is never used again.
func (w *writer) stampsFor(n int) []Stamp {
	if len(w.slab) < n {
		w.slab = make([]Stamp, max(n, 64))
	}
	cut := w.slab[:n:n]
	w.slab = w.slab[n:]
	return cut
}

// finish writes the rows that the group's changes share.
func (w *writer) finish() {
	w.finishPages()
	for _, b := range w.touched {
		w.flushOrg(b)
	}
	w.touched = w.touched[:0]
	for _, c := range w.moved {
		w.key = store.KeyCounter(w.key[:0], c.org, c.key, c.window)
		w.value = store.EncodeAmount(w.value[:0], c.amount)
		w.group.Set(w.key, w.value)
	}
	clear(w.moved)
	w.moved = w.moved[:0]
	for second, row := range w.dues {
		w.key = store.KeyDue(w.key[:0], second, w.n)
		w.group.Set(w.key, row)
	}
	clear(w.dues)
	if w.group.Rows() == 0 {
		w.n-- // only refusals: no group
		w.closeSnapshot()
		return
	}
	w.tail = size{}
	w.drain()
	w.out.low = w.lowestBuffered()
	w.sweep()
	w.closeSnapshot()
	w.inflight = w.out.earliest
	w.previous = w.group.Seal()
}

// sweepEvery bounds how often passed due rows are looked for, maxSweep how many
// are removed with one group. When there are more, each group removes some.
const (
	sweepEvery = time.Second
	maxSweep   = 512
)

// sweep moves the low-water mark of due work forward and removes the rows below it.
func (w *writer) sweep() {
	real := time.Now()
	if !w.behind && real.Sub(w.cleaned) < sweepEvery {
		return
	}
	w.cleaned, w.behind = real, false
	earliest := w.inflight
	if own := w.out.earliest; own != 0 && (earliest == 0 || own < earliest) {
		earliest = own
	}
	d := w.journal.Due
	second := d.clean(w.now, earliest)
	if second <= d.mark {
		return
	}
	from := store.KeyDueFrom(nil, d.mark)
	if bytes.Compare(from, w.swept) < 0 {
		from = w.swept // steps over no row that is gone
	}
	removed := 0
	w.must(w.snapshot().AscendKeys(store.KeyDues(nil), from, func(key []byte) ([]byte, bool, error) {
		at, ok := store.ParseDueKey(key)
		if !ok || at >= second {
			return nil, false, nil
		}
		if removed == maxSweep {
			second, w.behind = at, true
			w.swept = append(w.swept[:0], key...)
			return nil, false, nil
		}
		removed++
		w.group.Delete(key)
		return nil, true, nil
	}))
	d.mark = second
	w.group.Set(store.KeyMark, store.EncodeMark(nil, second))
}

// snapshot is opened at the first read of a group: it shows everything durable.
// What is not durable yet is in the caches and in claims.
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

// must ends the process on a read error: the store is damaged, and nothing
// that was not read may be written over.
func (w *writer) must(err error) {
	if err != nil {
		w.journal.fail(err)
		panic(fmt.Sprintf("posting: the store cannot be read: %v", err))
	}
}

// known returns an organization's state for reading, nil if it has none.
func (w *writer) known(org ledger.ID) *orgState {
	b := w.orgs[org]
	if b == nil {
		var err error
		b, err = openOrg(w.snapshot(), org)
		w.must(err)
		w.orgs[org] = b
	}
	return b
}

// org returns an organization's state for writing.
func (w *writer) org(org ledger.ID) *orgState {
	b := w.known(org)
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

// IsDamage tells an error that says that a row is not as it was written.
func IsDamage(err error) bool {
	var damage *store.DamageError
	return errors.As(err, &damage)
}
