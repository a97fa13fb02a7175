package posting

import (
	"slices"
	"sync"
	"time"

	"mizan/ledger"
	"mizan/posting/store"
)

// Due holds in memory the items that are due soon, in time order, and loads later items from the store when
// their time comes near. An item is a record with a due instant. It counts only while the record still has this
// due instant; otherwise it is stale. The store keeps the items of one second in rows, and a whole row is removed
// once the low-water mark has passed its second.
type Due struct {
	journal *Journal
	wake    chan struct{} // receives a value when the earliest known due instant becomes earlier

	mu         sync.Mutex
	heap       []heapItem               // ordered by At; stale items stay until they reach the top
	current    map[dueKey]currentDue    // due instant of each record that is due before horizon
	dispatched map[dueKey]ledger.Micros // due instants of items that were handed out and are not done yet
	horizon    ledger.Micros            // all items that are due before this instant are in memory
	ticket     uint64                   // the last ticket; each item of the heap has its own

	mark int64 // low-water mark: no row of an earlier second has a current item; only the orderer moves the mark
}

type dueKey struct {
	org    ledger.ID
	source ledger.Source
}

// currentDue is a record's current due instant and the ticket of the record's item in the heap; ticket 0:
// the item was handed out. All other items of the record are stale.
type currentDue struct {
	at     ledger.Micros
	ticket uint64
}

type heapItem struct {
	store.DueItem
	ticket uint64
}

// dueChange is the new due instant of a record that a durable group has written.
type dueChange struct {
	dueKey
	at ledger.Micros // 0: none
}

// dueWindow is how far ahead of the clock items are in memory.
const dueWindow = 10 * time.Minute

func newDue(j *Journal) *Due {
	return &Due{journal: j, wake: make(chan struct{}, 1), current: make(map[dueKey]currentDue), dispatched: make(map[dueKey]ledger.Micros)}
}

// Wake returns a channel that receives a value when the earliest due instant may have become earlier.
func (d *Due) Wake() <-chan struct{} { return d.wake }

// Next returns the earliest due instant within the window.
func (d *Due) Next() (ledger.Micros, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropStale()
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].At, true
}

// Take hands out the items due at or before the latest instant, in order, at most limit of them. An item
// is handed out again only after Return or a restart, so the caller must make sure that the record gets
// another due instant or none.
func (d *Due) Take(latest ledger.Micros, limit int) []store.DueItem {
	d.mu.Lock()
	defer d.mu.Unlock()
	var items []store.DueItem
	for len(items) < limit {
		d.dropStale()
		if len(d.heap) == 0 || d.heap[0].At > latest {
			break
		}
		item := d.pop().DueItem
		k := dueKey{item.Org, item.Source}
		d.current[k] = currentDue{at: item.At}
		d.dispatched[k] = item.At
		items = append(items, item)
	}
	return items
}

// Return puts back a taken item that could not be handled.
func (d *Due) Return(item store.DueItem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := (dueKey{item.Org, item.Source}); d.current[k] == (currentDue{at: item.At}) {
		d.setDue(k, item.At)
	}
}

// All returns those items in memory for which accept returns true, whatever their time. A starting server finds
// with it the calls to providers whose outcome is unknown, and inquires at once.
func (d *Due) All(accept func(store.DueItem) bool) []store.DueItem {
	d.mu.Lock()
	defer d.mu.Unlock()
	var items []store.DueItem
	for i := range d.heap {
		if item := &d.heap[i]; d.isCurrent(item) && accept(item.DueItem) {
			items = append(items, item.DueItem)
		}
	}
	return items
}

// isCurrent tells whether an item still has its record's current due instant.
func (d *Due) isCurrent(item *heapItem) bool {
	return d.current[dueKey{item.Org, item.Source}].ticket == item.ticket
}

// dropStale removes stale items from the top of the heap.
func (d *Due) dropStale() {
	for len(d.heap) > 0 && !d.isCurrent(&d.heap[0]) {
		d.pop()
	}
}

// setDue sets the record's due instant. If the record has an item with this instant in the heap, the item stays.
// If the item was handed out, the record becomes due once more.
func (d *Due) setDue(k dueKey, at ledger.Micros) {
	if due := d.current[k]; due.at == at && due.ticket != 0 {
		return
	}
	d.ticket++
	d.current[k] = currentDue{at, d.ticket}
	delete(d.dispatched, k)
	d.push(heapItem{store.DueItem{At: at, Org: k.org, Source: k.source}, d.ticket})
}

func (d *Due) forget(k dueKey) {
	delete(d.current, k)
	delete(d.dispatched, k)
}

// applyChanges applies the new due instants of a durable group.
func (d *Due) applyChanges(changes []dueChange) {
	if len(changes) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	earliest := ledger.Micros(0)
	if len(d.heap) > 0 {
		earliest = d.heap[0].At
	}
	for i := range changes {
		c := &changes[i]
		if c.at == 0 || c.at >= d.horizon {
			d.forget(c.dueKey)
			continue
		}
		d.setDue(c.dueKey, c.at)
	}
	d.compact()
	if len(d.heap) > 0 && (earliest == 0 || d.heap[0].At < earliest) {
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
}

// minCompact is the size of the heap below which compacting is not worth while.
const minCompact = 4_096

// compact keeps the heap from growing much beyond the number of waiting records. Without it, records with due
// instants that move often and lie far in the future would fill the heap with stale items.
func (d *Due) compact() {
	if len(d.heap) < max(minCompact, 2*len(d.current)) {
		return
	}
	d.heap = slices.DeleteFunc(d.heap, func(item heapItem) bool { return !d.isCurrent(&item) })
	for i := len(d.heap)/2 - 1; i >= 0; i-- {
		d.sink(i)
	}
}

// LookAhead loads the items due within the window after now. It must be called as the clock
// moves, and before a manual clock is moved to an instant.
func (d *Due) LookAhead(now time.Time) error {
	newHorizon := ledger.MicrosOf(now.Add(dueWindow))
	d.mu.Lock()
	isLoaded := newHorizon-d.horizon < ledger.Micros(dueWindow.Microseconds()/2)
	d.mu.Unlock()
	if isLoaded {
		return nil
	}
	return d.loadTo(newHorizon)
}

// recover reads the low-water mark and loads the items that are due from the mark until the end of the window.
func (d *Due) recover(now time.Time) error {
	snap := d.journal.store.Snapshot()
	row, found, err := snap.Get(store.KeyMark, nil)
	snap.Close()
	if err != nil {
		return err
	}
	if found {
		if d.mark, err = store.DecodeMark(row); err != nil {
			return err
		}
	}
	d.horizon = ledger.Micros(d.mark) * 1_000_000
	return d.loadTo(ledger.MicrosOf(now.Add(dueWindow)))
}

// loadTo loads the items that are due before the new horizon. It does so in steps, because it holds the lock
// during a step, and a commit needs the lock to report its due instants.
func (d *Due) loadTo(newHorizon ledger.Micros) error {
	for {
		d.mu.Lock()
		err := d.load(newHorizon)
		isReached := d.horizon >= newHorizon
		d.mu.Unlock()
		if err != nil || isReached {
			return err
		}
	}
}

// maxLoad is the number of items after which a step of loading ends at the next second.
const maxLoad = 4_096

// load is one step of loading. It reads rows from the horizon on, adds the items that have their record's current
// due instant, and moves the horizon to the instant where reading ended. After an error, items beyond the old
// horizon are still only in the store. The caller holds the lock already when load opens the snapshot. So a
// group that the snapshot does not show reports its changes after load, and they replace items that load has added.
func (d *Due) load(newHorizon ledger.Micros) error {
	snap := d.journal.store.Snapshot()
	defer snap.Close()
	oldHorizon, lastSecond := d.horizon, int64(d.horizon)/1_000_000
	var items []store.DueItem
	err := snap.Ascend(store.KeyDues(nil), store.KeyDueFrom(nil, lastSecond), func(key, row []byte) (bool, error) {
		second, ok := store.ParseDueKey(key)
		if !ok {
			return false, damaged("due row with key %x", key)
		}
		secondStart := ledger.Micros(second) * 1_000_000
		if secondStart >= newHorizon {
			return false, nil
		}
		if second != lastSecond && len(items) >= maxLoad {
			newHorizon = secondStart
			return false, nil
		}
		lastSecond = second
		return true, store.DecodeDues(row, func(item store.DueItem) {
			if item.At >= oldHorizon && item.At < newHorizon {
				items = append(items, item)
			}
		})
	})
	if err == nil {
		err = d.addCurrent(snap, items)
	}
	if err == nil {
		d.horizon = max(d.horizon, newHorizon)
	}
	return err
}

// addCurrent adds those items whose record has the item's due instant in the snapshot.
func (d *Due) addCurrent(snap *store.Snapshot, items []store.DueItem) error {
	var key, row []byte
	for _, item := range items {
		key = store.KeyRecord(key[:0], item.Org, item.Source)
		var found bool
		var err error
		if row, found, err = snap.Get(key, row); err != nil {
			return err
		}
		if !found {
			continue
		}
		envelope, _, ok := store.DecodeRecord(row)
		if !ok {
			return damaged("record %v: unknown form", item.Source.ID)
		}
		if envelope.Due == item.At {
			k := dueKey{item.Org, item.Source}
			if _, isKnown := d.current[k]; !isKnown {
				d.setDue(k, item.At)
			}
		}
	}
	return nil
}

// passedUntil returns the second below which no due row has a current item. It considers the items in memory,
// the items that were handed out, those that are not loaded yet, and those that the orderer has prepared but the
// committer has not reported.
func (d *Due) passedUntil(now, earliestPrepared ledger.Micros) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	earliest := min(now, d.horizon)
	d.dropStale()
	if len(d.heap) > 0 {
		earliest = min(earliest, d.heap[0].At)
	}
	for _, at := range d.dispatched { // the records of these items still have the due instant
		earliest = min(earliest, at)
	}
	if earliestPrepared != 0 {
		earliest = min(earliest, earliestPrepared)
	}
	return int64(earliest) / 1_000_000
}

func (d *Due) push(item heapItem) {
	d.heap = append(d.heap, item)
	i := len(d.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if d.heap[parent].At <= d.heap[i].At {
			return
		}
		d.heap[parent], d.heap[i] = d.heap[i], d.heap[parent]
		i = parent
	}
}

func (d *Due) pop() heapItem {
	top := d.heap[0]
	last := len(d.heap) - 1
	d.heap[0] = d.heap[last]
	d.heap = d.heap[:last]
	d.sink(0)
	return top
}

// sink moves an item down to its place in the heap.
func (d *Due) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(d.heap) {
			return
		}
		if child+1 < len(d.heap) && d.heap[child+1].At < d.heap[child].At {
			child++
		}
		if d.heap[i].At <= d.heap[child].At {
			return
		}
		d.heap[i], d.heap[child] = d.heap[child], d.heap[i]
		i = child
	}
}

// Item is one record with a due instant.
type Item = store.DueItem
