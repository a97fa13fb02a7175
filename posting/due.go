package posting

import (
	"slices"
	"sync"
	"time"

	"mizan/ledger"
	"mizan/posting/store"
)

// Due keeps what falls due soon in memory, in time order, and finds what falls
// due later in the store when its time comes near. The rows are never removed
// one by one: an item counts only while its record still wants that instant,
// and whole rows go when the low-water mark has passed them.
type Due struct {
	journal *Journal
	wake    chan struct{} // an earlier instant than before became known

	mu      sync.Mutex
	heap    []ticketed               // by At; stale items stay until they surface
	live    map[dueKey]wanted        // what each record wants now, if before horizon
	taken   map[dueKey]ledger.Micros // of these, what was handed out and not done yet
	horizon ledger.Micros            // everything due before it is in memory
	ticket  uint64                   // the last one given

	mark int64 // second below which no row is live; only the orderer moves it
}

type dueKey struct {
	org    ledger.ID
	source ledger.Source
}

// wanted is the instant that a record waits for, and the ticket of its item in
// the heap; 0: the item was handed out. Every other item of the record is stale.
type wanted struct {
	at     ledger.Micros
	ticket uint64
}

type ticketed struct {
	store.DueItem
	ticket uint64
}

// dueChange is what a durable Step wants from now on; 0: nothing.
type dueChange struct {
	dueKey
	at ledger.Micros
}

// dueWindow is how far ahead the memory looks.
const dueWindow = 10 * time.Minute

func newDue(j *Journal) *Due {
	return &Due{journal: j, wake: make(chan struct{}, 1), live: make(map[dueKey]wanted), taken: make(map[dueKey]ledger.Micros)}
}

// Wake receives when something earlier than before may be due.
func (d *Due) Wake() <-chan struct{} { return d.wake }

// Next is the earliest instant at which something is due within the window.
func (d *Due) Next() (ledger.Micros, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropStale()
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].At, true
}

// Take hands out what is due at or before the instant, in order, at most max
// items. What was taken comes again only after Return or a restart, so whoever
// takes it must see to it that its record moves on.
func (d *Due) Take(upTo ledger.Micros, max int) []store.DueItem {
	d.mu.Lock()
	defer d.mu.Unlock()
	var taken []store.DueItem
	for len(taken) < max {
		d.dropStale()
		if len(d.heap) == 0 || d.heap[0].At > upTo {
			break
		}
		item := d.pop().DueItem
		k := dueKey{item.Org, item.Source}
		d.live[k] = wanted{at: item.At}
		d.taken[k] = item.At
		taken = append(taken, item)
	}
	return taken
}

// Return puts an item back that was taken and could not be handled.
func (d *Due) Return(item store.DueItem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := (dueKey{item.Org, item.Source}); d.live[k] == (wanted{at: item.At}) {
		d.want(k, item.At)
	}
}

// All hands out everything in memory that ready accepts, whatever its time: at
// start, intents whose outcome is unknown are inquired at once.
func (d *Due) All(ready func(store.DueItem) bool) []store.DueItem {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []store.DueItem
	for i := range d.heap {
		if item := &d.heap[i]; d.fresh(item) && ready(item.DueItem) {
			found = append(found, item.DueItem)
		}
	}
	return found
}

// fresh tells that an item's record still waits for it.
func (d *Due) fresh(item *ticketed) bool {
	return d.live[dueKey{item.Org, item.Source}].ticket == item.ticket
}

func (d *Due) dropStale() {
	for len(d.heap) > 0 && !d.fresh(&d.heap[0]) {
		d.pop()
	}
}

// want has the record wait for the instant. If its item is in the heap already
// that one stays; if it was handed out the record is due once more.
func (d *Due) want(k dueKey, at ledger.Micros) {
	if w := d.live[k]; w.at == at && w.ticket != 0 {
		return
	}
	d.ticket++
	d.live[k] = wanted{at, d.ticket}
	delete(d.taken, k)
	d.push(ticketed{store.DueItem{At: at, Org: k.org, Source: k.source}, d.ticket})
}

func (d *Due) forget(k dueKey) {
	delete(d.live, k)
	delete(d.taken, k)
}

// changed takes over what a durable group made due.
func (d *Due) changed(changes []dueChange) {
	if len(changes) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	first := ledger.Micros(0)
	if len(d.heap) > 0 {
		first = d.heap[0].At
	}
	for i := range changes {
		c := &changes[i]
		if c.at == 0 || c.at >= d.horizon {
			d.forget(c.dueKey)
			continue
		}
		d.want(c.dueKey, c.at)
	}
	d.compact()
	if len(d.heap) > 0 && (first == 0 || d.heap[0].At < first) {
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
}

// minCompact is a size of the heap that is not worth being compacted.
const minCompact = 4_096

// compact bounds the heap by what is waited for: records that soon move away
// from an instant far ahead would fill it with stale items.
func (d *Due) compact() {
	if len(d.heap) < max(minCompact, 2*len(d.live)) {
		return
	}
	d.heap = slices.DeleteFunc(d.heap, func(item ticketed) bool { return !d.fresh(&item) })
	for i := len(d.heap)/2 - 1; i >= 0; i-- {
		d.sink(i)
	}
}

// LookAhead loads what falls due within the window after now. Call it as the
// clock moves, and before a manual clock is moved to an instant.
func (d *Due) LookAhead(now time.Time) error {
	to := ledger.MicrosOf(now.Add(dueWindow))
	d.mu.Lock()
	near := to-d.horizon < ledger.Micros(dueWindow.Microseconds()/2)
	d.mu.Unlock()
	if near {
		return nil
	}
	return d.loadTo(to)
}

// recover finds the mark and loads from there.
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

// loadTo moves the horizon on in steps, so that commits, which report what they
// make due, do not wait long.
func (d *Due) loadTo(to ledger.Micros) error {
	for {
		d.mu.Lock()
		err := d.load(to)
		reached := d.horizon >= to
		d.mu.Unlock()
		if err != nil || reached {
			return err
		}
	}
}

// maxLoad is how many items a step loads at least before it ends with a second.
const maxLoad = 4_096

// load reads rows from the horizon on, keeps the items that their records still
// want, and moves the horizon to where it came; after an error everything beyond
// the old one is still in the store only. The lock is held from before the
// snapshot on: a group that the snapshot does not show reports itself
// afterwards, so nothing stale stays.
func (d *Due) load(to ledger.Micros) error {
	snap := d.journal.store.Snapshot()
	defer snap.Close()
	from, last := d.horizon, int64(d.horizon)/1_000_000
	var items []store.DueItem
	err := snap.Ascend(store.KeyDues(nil), store.KeyDueFrom(nil, last), func(key, row []byte) (bool, error) {
		second, ok := store.ParseDueKey(key)
		if !ok {
			return false, damaged("due row with key %x", key)
		}
		begins := ledger.Micros(second) * 1_000_000
		if begins >= to {
			return false, nil
		}
		if second != last && len(items) >= maxLoad {
			to = begins
			return false, nil
		}
		last = second
		return true, store.DecodeDues(row, func(item store.DueItem) {
			if item.At >= from && item.At < to {
				items = append(items, item)
			}
		})
	})
	if err == nil {
		err = d.keepWanted(snap, items)
	}
	if err == nil {
		d.horizon = max(d.horizon, to)
	}
	return err
}

func (d *Due) keepWanted(snap *store.Snapshot, items []store.DueItem) error {
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
			if _, known := d.live[k]; !known {
				d.want(k, item.At)
			}
		}
	}
	return nil
}

// clean is the second below which no due row can be live: nothing in memory is
// due before it, nothing beyond what memory has looked at, and nothing that the
// orderer has prepared but the committer has not reported yet.
func (d *Due) clean(now, prepared ledger.Micros) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	earliest := min(now, d.horizon)
	d.dropStale()
	if len(d.heap) > 0 {
		earliest = min(earliest, d.heap[0].At)
	}
	for _, at := range d.taken { // their records have not moved
		earliest = min(earliest, at)
	}
	if prepared != 0 {
		earliest = min(earliest, prepared)
	}
	return int64(earliest) / 1_000_000
}

func (d *Due) push(item ticketed) {
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

func (d *Due) pop() ticketed {
	top := d.heap[0]
	last := len(d.heap) - 1
	d.heap[0] = d.heap[last]
	d.heap = d.heap[:last]
	d.sink(0)
	return top
}

// sink moves an item down to where it belongs.
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

// Item is one record that wants to be woken.
type Item = store.DueItem
