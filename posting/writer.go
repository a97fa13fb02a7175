package posting

import (
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
	out      *prepared
	now      ledger.Micros

	orgs     map[ledger.ID]*books
	touched  []*books
	balances *cache[accountKey, *balance]
	pages    []*balance // with lines in this group
	stamps   *cache[dueKey, Stamp]
	counters *cache[counterKey, money.Amount]
	moved    map[counterKey]money.Amount // counters to write in this group
	claims   [2]map[string][]byte        // of this group and of the one before
	dues     map[int64][]byte            // second → row of this group
	slab     []Stamp                     // receipts' stamps are cut from it
	inflight int64                       // earliest due of the group before

	unflushed  int             // bytes of the lines in pages
	snap       *store.Snapshot // for reads of this group's checks
	cleaned    time.Time
	key, value []byte
	canonical  []byte
}

type counterKey struct {
	org         ledger.ID
	key, window string
}

func newWriter(j *Journal, n uint64, hash [32]byte) *writer {
	return &writer{
		journal: j, n: n, previous: hash,
		orgs:     make(map[ledger.ID]*books),
		balances: newCache[accountKey, *balance](maxCached),
		stamps:   newCache[dueKey, Stamp](maxCached),
		counters: newCache[counterKey, money.Amount](maxCached),
		moved:    make(map[counterKey]money.Amount),
		claims:   [2]map[string][]byte{make(map[string][]byte), make(map[string][]byte)},
		dues:     make(map[int64][]byte),
	}
}

// prepare fills the group with as many of the changes as its bounds allow and
// returns how many it took: at least one.
func (w *writer) prepare(p *prepared, batch []submitted) int {
	w.begin(p)
	maxRows, maxBytes := w.journal.store.MaxGroup()
	taken := 0
	for taken < len(batch) && taken < MaxGroup && (taken == 0 || w.fits(batch[taken].change, maxRows, maxBytes)) {
		w.take(&batch[taken])
		taken++
	}
	w.finish()
	return taken
}

// fits tells whether a change surely fits beside what is in the group: rows
// written at the end (pages, blocks, counters, due, lists) are counted too.
func (w *writer) fits(c *Change, maxRows, maxBytes int) bool {
	ahead := len(w.pages) + len(w.moved) + len(w.dues) + 4*len(w.touched)
	for i := range c.Claims {
		ahead += 1 + len(c.Claims[i].Key)/rowSize
	}
	bytes := w.group.Bytes() + w.unflushed
	for i := range c.Steps {
		s := &c.Steps[i]
		ahead += 8
		bytes += len(s.Record)
		for k := range s.Events {
			bytes += eventSize
			if entry := s.Events[k].Entry; entry != nil {
				ahead += 2 * (len(entry.Postings) + len(entry.Released) + 2)
				bytes += postingSize * (len(entry.Postings) + len(entry.Released) + 2)
			}
		}
	}
	for _, b := range w.touched {
		bytes += b.block.Bytes()
	}
	return w.group.Rows()+ahead < maxRows*9/10 && bytes+rowSize*ahead < maxBytes*9/10
}

// What things take at the most, in bytes: a row's key and what the store adds,
// an event without its entry, a posting in its leaf and its line.
const (
	rowSize     = 160
	eventSize   = 256
	postingSize = 640
)

func (w *writer) begin(p *prepared) {
	w.n++
	p.reset(w.n, w.previous)
	w.group, w.out = p.group, p
	w.now = ledger.MicrosOf(w.journal.clock.Now())
	w.balances.rotate(w.n)
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
	for _, b := range w.touched {
		b.flush(w.group, w.key, w.value)
	}
	w.touched = w.touched[:0]
	for _, b := range w.pages {
		w.flushPage(b)
	}
	w.pages, w.unflushed = w.pages[:0], 0
	for k, amount := range w.moved {
		w.key = store.KeyCounter(w.key[:0], k.org, k.key, k.window)
		w.group.Set(w.key, store.EncodeAmount(w.value[:0], amount))
	}
	clear(w.moved)
	for second, row := range w.dues {
		w.group.Set(store.KeyDue(w.key[:0], second, w.n), row)
	}
	clear(w.dues)
	if w.group.Rows() == 0 {
		w.n-- // only refusals: no group
		w.closeSnapshot()
		return
	}
	w.sweep()
	w.closeSnapshot()
	w.inflight = w.out.earliest
	w.previous = w.group.Seal()
}

// sweepEvery bounds how often passed due rows are removed, maxSweep how many at once.
const (
	sweepEvery = time.Second
	maxSweep   = 512
)

// sweep moves the low-water mark of due work forward and removes the rows below it.
func (w *writer) sweep() {
	now := w.journal.clock.Now()
	if real := time.Now(); real.Sub(w.cleaned) < sweepEvery {
		return
	} else {
		w.cleaned = real
	}
	earliest := w.inflight
	if own := w.out.earliest; own != 0 && (earliest == 0 || own < earliest) {
		earliest = own
	}
	d := w.journal.Due
	second := d.clean(now, earliest)
	if second <= d.mark {
		return
	}
	removed := 0
	from := store.KeyDueFrom(nil, d.mark)
	w.must(w.snapshot().AscendKeys(store.KeyDues(nil), from, func(key []byte) ([]byte, bool, error) {
		at, ok := store.ParseDueKey(key)
		if !ok || at >= second {
			return nil, false, nil
		}
		if removed == maxSweep {
			second = at // the rest of this second waits for the next sweep
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
		w.journal.fatal(err)
		panic(fmt.Sprintf("posting: the store cannot be read: %v", err))
	}
}

// books finds an organization's books.
func (w *writer) books(org ledger.ID) *books {
	b := w.orgs[org]
	if b == nil {
		var err error
		b, err = openBooks(w.snapshot(), org)
		w.must(err)
		w.orgs[org] = b
	}
	if !b.touched {
		b.touched = true
		w.touched = append(w.touched, b)
	}
	return b
}

func damaged(format string, args ...any) error {
	return &store.DamageError{What: fmt.Sprintf(format, args...)}
}
