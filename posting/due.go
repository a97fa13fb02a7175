package posting

import (
	"slices"
	"sync"
	"time"

	"mizan/ledger"
	"mizan/posting/store"
)

// DueQueue tells which records are due. An item says that a record is due at an instant. The item is current as long as the
// record has this due instant, and stale afterwards. DueQueue keeps in memory the items that are due soon, ordered by their
// instants, and loads later items from the store when their time comes near. In the store, the items that one group (changes
// that become durable together) makes due in one second are in one row, a due row. The row is removed when all its items are
// stale, or when the low-water mark has passed the row's second.
type DueQueue struct {
	journal *Journal
	wake    chan struct{} // receives a value when an item becomes due earlier than all others

	mu               sync.Mutex
	heap             []heapItem               // ordered by At; stale items stay until they reach the top
	current          map[dueKey]currentDue    // current due instant of each record that is due before horizon
	dispatchedItems  map[dueKey]ledger.Micros // due instants of items that Take has handed out, until the record changes
	horizon          ledger.Micros            // all items that are due before this instant are in memory; it is a whole second
	waiting          map[dueRow]int           // for each due row of a second before horizon, the number of current items in the row
	emptiedRows      []dueRow                 // rows that have lost their last current item; some may have a new current item
	ticket           uint64                   // the highest ticket so far; tickets distinguish the items in the heap
	lastAppliedGroup uint64                   // number of the last group that applyChanges has applied

	mark int64 // low-water mark: no due row of an earlier second has a current item; only the orderer moves the mark
}

type dueKey struct {
	org    ledger.ID
	source ledger.Source
}

// currentDue contains a record's current due instant, and the ticket of the item in the heap that has this instant. All other
// items of the record are stale. If Take has handed out the item, ticket is 0.
type currentDue struct {
	at     ledger.Micros
	ticket uint64
	group  uint64 // number of the group whose due row contains the item
}

func (c currentDue) row() dueRow { return dueRow{int64(c.at) / 1_000_000, c.group} }

// dueRow identifies a due row: the stored row with the items that one group makes due in one second.
type dueRow struct {
	second int64
	group  uint64
}

type heapItem struct {
	store.DueItem
	ticket uint64
}

// dueChange is a new due instant that a change has set for a record.
type dueChange struct {
	dueKey
	at ledger.Micros // 0 if the record is not due any more
}

// dueWindow is how far ahead items are loaded into memory: all items that become due within dueWindow from now.
const dueWindow = 10 * time.Minute

func newDueQueue(j *Journal) *DueQueue {
	return &DueQueue{
		journal: j, wake: make(chan struct{}, 1),
		current: make(map[dueKey]currentDue), dispatchedItems: make(map[dueKey]ledger.Micros), waiting: make(map[dueRow]int),
	}
}

// Wake returns a channel that receives a value when Next may return an earlier instant than before.
func (q *DueQueue) Wake() <-chan struct{} { return q.wake }

// Next returns the earliest due instant of the items in memory. If there are no items, it returns false.
func (q *DueQueue) Next() (ledger.Micros, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropStale()
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].At, true
}

// Take returns at most limit items whose instants are not after latest, the earliest first. An item that Take has returned is
// returned again only after a call of Return, or after a restart. So the caller must make sure that the item's record gets a
// new due instant or none.
func (q *DueQueue) Take(latest ledger.Micros, limit int) []store.DueItem {
	q.mu.Lock()
	defer q.mu.Unlock()
	var items []store.DueItem
	for len(items) < limit {
		q.dropStale()
		if len(q.heap) == 0 || q.heap[0].At > latest {
			break
		}
		item := q.pop().DueItem
		k := dueKey{item.Org, item.Source}
		q.current[k] = currentDue{at: item.At, group: q.current[k].group}
		q.dispatchedItems[k] = item.At
		switch q.journal.placements.state(item.Org) {
		case store.Here:
			items = append(items, item)
		case store.Left, store.Abandoned:
			q.forget(k)
		default: // place returns the item if the organization stays here
		}
	}
	return items
}

// Return gives back an item that Take has returned but that the caller could not handle. Take will return it again.
func (q *DueQueue) Return(item store.DueItem) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := dueKey{item.Org, item.Source}
	if due := q.current[k]; due.at == item.At && due.ticket == 0 {
		q.setDue(k, item.At, due.group)
	}
}

// All returns the items in memory for which accept returns true, even if they are not due yet. A server that starts uses All to
// find provider calls whose outcome is unknown, because it asks the providers about them at once.
func (q *DueQueue) All(accept func(store.DueItem) bool) []store.DueItem {
	q.mu.Lock()
	defer q.mu.Unlock()
	var items []store.DueItem
	for i := range q.heap {
		if item := &q.heap[i]; q.isCurrent(item) && !q.journal.IsElsewhere(item.Org) && accept(item.DueItem) {
			items = append(items, item.DueItem)
		}
	}
	return items
}

// place is called when an organization's placement has changed. If the organization is here, its items that Take has held back
// are due. If it belongs to another store, all its items are stale.
func (q *DueQueue) place(org ledger.ID, state store.PlacementState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch state {
	case store.Here:
		for k, at := range q.dispatchedItems {
			if k.org == org {
				q.setDue(k, at, q.current[k].group)
			}
		}
		select {
		case q.wake <- struct{}{}:
		default:
		}
	case store.Left, store.Abandoned:
		for k := range q.current {
			if k.org == org {
				q.forget(k)
			}
		}
	}
}

// isCurrent tells whether an item of the heap is its record's current item.
func (q *DueQueue) isCurrent(item *heapItem) bool {
	return q.current[dueKey{item.Org, item.Source}].ticket == item.ticket
}

// dropStale removes items from the top of the heap until the top item is current or the heap is empty.
func (q *DueQueue) dropStale() {
	for len(q.heap) > 0 && !q.isCurrent(&q.heap[0]) {
		q.pop()
	}
}

// setDue sets the record's due instant. group is the number of the group whose due row contains the new item. If the heap
// already has an item of the record with this instant, the heap does not change. If Take has handed out the record's item, the
// record becomes due again.
func (q *DueQueue) setDue(k dueKey, at ledger.Micros, group uint64) {
	due, isKnown := q.current[k]
	newDue := currentDue{at, due.ticket, group}
	q.waiting[newDue.row()]++
	if isKnown {
		q.markStale(due.row())
	}
	if due.at == at && due.ticket != 0 {
		q.current[k] = newDue
		return
	}
	q.ticket++
	newDue.ticket = q.ticket
	q.current[k] = newDue
	delete(q.dispatchedItems, k)
	q.push(heapItem{store.DueItem{At: at, Org: k.org, Source: k.source}, q.ticket})
}

func (q *DueQueue) forget(k dueKey) {
	if due, isKnown := q.current[k]; isKnown {
		q.markStale(due.row())
	}
	delete(q.current, k)
	delete(q.dispatchedItems, k)
}

// maxEmptied is the maximum length of DueQueue.emptiedRows. A row that finds no place there is removed later: when the
// low-water mark passes it, or after the journal is opened again.
const maxEmptied = 65_536

// markStale records that one more item of a row is stale. A row without current items can be removed.
func (q *DueQueue) markStale(row dueRow) {
	if q.waiting[row]--; q.waiting[row] > 0 {
		return
	}
	delete(q.waiting, row)
	q.markEmptied(row)
}

// markEmptied records that a row has no current item, so that the orderer can remove the row.
func (q *DueQueue) markEmptied(row dueRow) {
	if len(q.emptiedRows) < maxEmptied {
		q.emptiedRows = append(q.emptiedRows, row)
	}
}

// takeEmptied returns at most limit rows that have no current item. It is safe to remove them, because the changes that made
// their items stale are durable, and no item is ever added to a durable row. Rows below the low-water mark are left out,
// because writer.removePassedDue removes them. Only the orderer (the goroutine that prepares groups) calls takeEmptied.
func (q *DueQueue) takeEmptied(limit int) (rows []dueRow) {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := 0
	for ; taken < len(q.emptiedRows) && len(rows) < limit; taken++ {
		// A row in d.emptiedRows may have a current item again: after one change of a group has emptied the group's row, a
		// later change of the same group may have put an item into it.
		if row := q.emptiedRows[taken]; q.waiting[row] == 0 && row.second >= q.mark {
			rows = append(rows, row)
		}
	}
	q.emptiedRows = slices.Delete(q.emptiedRows, 0, taken)
	return rows
}

// applyChanges updates the items in memory with the due instants that the changes of a durable group have set. It is called
// once for each group that has rows, in the order of the groups.
func (q *DueQueue) applyChanges(group uint64, changes []dueChange) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lastAppliedGroup = group
	if len(changes) == 0 {
		return
	}
	earliest := ledger.Micros(0)
	if len(q.heap) > 0 {
		earliest = q.heap[0].At
	}
	for i := range changes {
		c := &changes[i]
		if c.at == 0 || c.at >= q.horizon {
			q.forget(c.dueKey)
			continue
		}
		q.setDue(c.dueKey, c.at, group)
	}
	q.compact()
	if len(q.heap) > 0 && (earliest == 0 || q.heap[0].At < earliest) {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

// minCompact is the number of items below which compact does not rebuild the heap.
const minCompact = 4_096

// compact removes the stale items if they are at least half of a large heap. Without it, stale items would fill the heap if
// records have due instants that change often and are far in the future.
func (q *DueQueue) compact() {
	if len(q.heap) < max(minCompact, 2*len(q.current)) {
		return
	}
	q.heap = slices.DeleteFunc(q.heap, func(item heapItem) bool { return !q.isCurrent(&item) })
	for i := len(q.heap)/2 - 1; i >= 0; i-- {
		q.sink(i)
	}
}

// LookAhead loads the items that become due within dueWindow after now. It must be called regularly while the clock advances. A
// manual clock may be set to a new instant only after LookAhead was called with that instant.
func (q *DueQueue) LookAhead(now time.Time) error {
	newHorizon := horizonAt(now)
	q.mu.Lock()
	isLoaded := newHorizon-q.horizon < ledger.Micros(dueWindow.Microseconds()/2)
	q.mu.Unlock()
	if isLoaded {
		return nil
	}
	return q.loadTo(newHorizon)
}

// horizonAt returns the end of the window that begins at now. The end is a whole second, so that a due row is loaded as a whole
// or not at all.
func horizonAt(now time.Time) ledger.Micros {
	return ledger.MicrosOf(now.Add(dueWindow)) / 1_000_000 * 1_000_000
}

// recover reads the low-water mark, and loads the items that are due between the mark and the end of the window.
func (q *DueQueue) recover(now time.Time) error {
	snap := q.journal.store.Snapshot()
	row, found, err := snap.Get(store.KeyLowWaterMark, nil)
	snap.Close()
	if err != nil {
		return err
	}
	if found {
		if q.mark, err = store.DecodeLowWaterMark(row); err != nil {
			return err
		}
	}
	q.horizon = ledger.Micros(q.mark) * 1_000_000
	q.lastAppliedGroup, _ = q.journal.store.LastGroup()
	return q.loadTo(horizonAt(now))
}

// loadTo loads the items that are due before the new horizon. It loads them in steps, and releases the lock after each step,
// because the committer needs the lock to report a group's due instants.
func (q *DueQueue) loadTo(newHorizon ledger.Micros) error {
	for {
		q.mu.Lock()
		err := q.load(newHorizon)
		isReached := q.horizon >= newHorizon
		q.mu.Unlock()
		if err != nil || isReached {
			return err
		}
	}
}

// maxLoad is the approximate number of items that one call of load loads. When so many are loaded, load stops at the next
// second.
const maxLoad = 4_096

// load reads due rows, beginning at the horizon, and adds their current items to memory. Then it moves the horizon to the
// instant at which it has stopped reading. After an error the horizon does not change.
//
// The caller holds d.mu before load opens the snapshot. So if a group is not in the snapshot, applyChanges is called for this
// group after load, and replaces the due instants that load has set. The snapshot may also contain a group for which
// applyChanges was not called yet. The due rows of such a group are skipped. Otherwise load would find no current item in them
// and have them removed.
func (q *DueQueue) load(newHorizon ledger.Micros) error {
	snap := q.journal.store.Snapshot()
	defer snap.Close()
	oldHorizon, lastSecond := q.horizon, int64(q.horizon)/1_000_000
	var rows []dueRow
	var items []rowItem
	err := snap.Ascend(store.KeyDues(nil), store.KeyDueFrom(nil, lastSecond), func(key, value []byte) (bool, error) {
		var row dueRow
		var ok bool
		if row.second, row.group, ok = store.ParseDueKey(key); !ok {
			return false, damaged("due row with key %x", key)
		}
		secondStart := ledger.Micros(row.second) * 1_000_000
		if secondStart >= newHorizon {
			return false, nil
		}
		if row.second != lastSecond && len(items) >= maxLoad {
			newHorizon = secondStart
			return false, nil
		}
		lastSecond = row.second
		if row.group > q.lastAppliedGroup {
			return true, nil
		}
		rows = append(rows, row)
		return true, store.DecodeDues(value, func(item store.DueItem) {
			if item.At >= oldHorizon && item.At < newHorizon {
				items = append(items, rowItem{item, row.group})
			}
		})
	})
	if err == nil {
		err = q.addCurrent(snap, items)
	}
	if err != nil {
		return err
	}
	q.horizon = max(q.horizon, newHorizon)
	for _, row := range rows {
		if q.waiting[row] == 0 {
			q.markEmptied(row)
		}
	}
	return nil
}

// rowItem is an item, and the number of the group whose due row contains it.
type rowItem struct {
	store.DueItem
	group uint64
}

// addCurrent adds the items that are current in the snapshot, that is, whose instant is their record's due instant there.
func (q *DueQueue) addCurrent(snap *store.Snapshot, items []rowItem) error {
	var key, row []byte
	for _, item := range items {
		if state := q.journal.placements.state(item.Org); state == store.Left || state == store.Abandoned {
			continue
		}
		key = store.KeyRecord(key[:0], item.Org, item.Source)
		var found bool
		var err error
		if row, found, err = snap.Get(key, row); err != nil {
			return err
		}
		if !found {
			continue
		}
		header, _, ok := store.DecodeRecord(row)
		if !ok {
			return damaged("record %v: unknown form", item.Source.ID)
		}
		if header.Due == item.At {
			k := dueKey{item.Org, item.Source}
			if _, isKnown := q.current[k]; !isKnown {
				q.setDue(k, item.At, item.group)
			}
		}
	}
	return nil
}

// passedUntil returns the new low-water mark: a second before which no due row has a current item. It takes into account the
// items in the heap, the items that Take has handed out, the items that are not loaded yet, and the items of groups that the
// committer has not reported yet.
func (q *DueQueue) passedUntil(now, earliestPrepared ledger.Micros) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	earliest := min(now, q.horizon)
	q.dropStale()
	if len(q.heap) > 0 {
		earliest = min(earliest, q.heap[0].At)
	}
	for _, at := range q.dispatchedItems { // in the store, these records still have the due instant
		earliest = min(earliest, at)
	}
	if earliestPrepared != 0 {
		earliest = min(earliest, earliestPrepared)
	}
	return int64(earliest) / 1_000_000
}

func (q *DueQueue) push(item heapItem) {
	q.heap = append(q.heap, item)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if q.heap[parent].At <= q.heap[i].At {
			return
		}
		q.heap[parent], q.heap[i] = q.heap[i], q.heap[parent]
		i = parent
	}
}

func (q *DueQueue) pop() heapItem {
	top := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	q.sink(0)
	return top
}

// sink moves the item at index i down the heap, to its right place.
func (q *DueQueue) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if child+1 < len(q.heap) && q.heap[child+1].At < q.heap[child].At {
			child++
		}
		if q.heap[i].At <= q.heap[child].At {
			return
		}
		q.heap[i], q.heap[child] = q.heap[child], q.heap[i]
		i = child
	}
}

// DueItem says that a record is due at an instant.
type DueItem = store.DueItem
