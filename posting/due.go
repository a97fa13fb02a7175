package posting

import (
	"fmt"
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
	heap    []store.DueItem          // by At; stale items stay until they surface
	live    map[dueKey]ledger.Micros // what each record wants now, if before horizon
	horizon ledger.Micros            // everything due before it is in memory
	mark    int64                    // second below which no row is live
}

type dueKey struct {
	org    ledger.ID
	source ledger.Source
}

// dueChange is what a durable Step does to what is due.
type dueChange struct {
	dueKey
	was, at ledger.Micros // 0: nothing
}

// dueWindow is how far ahead the memory looks.
const dueWindow = 10 * time.Minute

func newDue(j *Journal) *Due {
	return &Due{journal: j, wake: make(chan struct{}, 1), live: make(map[dueKey]ledger.Micros)}
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

// Waiting is how many records want to be woken within the window.
func (d *Due) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.live)
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
		taken = append(taken, d.pop())
	}
	return taken
}

// Return puts an item back that was taken and could not be handled.
func (d *Due) Return(item store.DueItem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, ok := d.live[dueKey{item.Org, item.Source}]; ok && at == item.At {
		d.push(item)
	}
}

// All hands out everything in memory that ready accepts, whatever its time: at
// start, intents whose outcome is unknown are inquired at once.
func (d *Due) All(ready func(store.DueItem) bool) []store.DueItem {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []store.DueItem
	for _, item := range d.heap {
		if d.live[dueKey{item.Org, item.Source}] == item.At && ready(item) {
			found = append(found, item)
		}
	}
	return found
}

// dropStale pops items that their record no longer wants. A taken item stays
// in live until its record moves, but is no longer in the heap.
func (d *Due) dropStale() {
	for len(d.heap) > 0 {
		top := &d.heap[0]
		if at, ok := d.live[dueKey{top.Org, top.Source}]; ok && at == top.At {
			return
		}
		d.pop()
	}
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
			delete(d.live, c.dueKey)
			continue
		}
		d.live[c.dueKey] = c.at
		d.push(store.DueItem{At: c.at, Org: c.org, Source: c.source})
	}
	if len(d.heap) > 0 && (first == 0 || d.heap[0].At < first) {
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
}

// LookAhead loads what falls due within the window after now. Call it as the
// clock moves, and before a manual clock is moved to an instant.
func (d *Due) LookAhead(now time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	from, to := d.horizon, ledger.MicrosOf(now.Add(dueWindow))
	if to-from < ledger.Micros(dueWindow.Microseconds()/2) {
		return nil
	}
	d.horizon = to
	return d.load(from, to)
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
		mark, err := store.DecodeMark(row)
		if err != nil {
			return err
		}
		d.mark = mark
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.horizon = ledger.MicrosOf(now.Add(dueWindow))
	return d.load(ledger.Micros(d.mark)*1_000_000, d.horizon)
}

// load reads the rows of [from, to) and keeps the items that their records
// still want. The lock is held from before the snapshot on: a group that the
// snapshot does not show reports itself afterwards, so nothing stale stays.
func (d *Due) load(from, to ledger.Micros) error {
	snap := d.journal.store.Snapshot()
	defer snap.Close()
	var items []store.DueItem
	start := store.KeyDueFrom(nil, int64(from)/1_000_000)
	err := snap.Ascend(store.KeyDues(nil), start, func(key, row []byte) (bool, error) {
		second, ok := store.ParseDueKey(key)
		if !ok {
			return false, fmt.Errorf("due row with key %x", key)
		}
		if ledger.Micros(second)*1_000_000 >= to {
			return false, nil
		}
		return true, store.DecodeDues(row, func(item store.DueItem) {
			if item.At >= from && item.At < to {
				items = append(items, item)
			}
		})
	})
	if err != nil {
		return err
	}
	return d.keepWanted(snap, items)
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
			return fmt.Errorf("record %v: unknown form", item.Source.ID)
		}
		if envelope.Due == item.At {
			k := dueKey{item.Org, item.Source}
			if _, known := d.live[k]; !known {
				d.live[k] = item.At
				d.push(item)
			}
		}
	}
	return nil
}

// clean is the second below which no due row can be live, given what the
// orderer has prepared but the committer has not reported yet.
func (d *Due) clean(now time.Time, prepared int64) int64 {
	second := now.Unix()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, at := range d.live { // taken items count too: their records have not moved
		if s := int64(at) / 1_000_000; s < second {
			second = s
		}
	}
	if s := prepared / 1_000_000; prepared != 0 && s < second {
		second = s
	}
	return second
}

func (d *Due) push(item store.DueItem) {
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

func (d *Due) pop() store.DueItem {
	top := d.heap[0]
	last := len(d.heap) - 1
	d.heap[0] = d.heap[last]
	d.heap = d.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && d.heap[child+1].At < d.heap[child].At {
			child++
		}
		if d.heap[i].At <= d.heap[child].At {
			return top
		}
		d.heap[i], d.heap[child] = d.heap[child], d.heap[i]
		i = child
	}
}

// Item is one record that wants to be woken.
type Item = store.DueItem
