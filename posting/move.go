package posting

import (
	"bytes"
	"fmt"
	"sync"

	"mizan/ledger"
	"mizan/posting/store"
)

// Move is a step of the move of an organization from one shard's store to another. A Change with a Move contains nothing else.
type Move struct {
	Org    ledger.ID
	Expect Placement // the organization's placement, otherwise the Change is refused

	// Next is the organization's next placement; nil: it does not change.
	Next *Placement

	// Rows are written as they are in the other store. The organization must be arriving.
	Rows []MovedRow

	// FlushesPages moves the organization's lines from the page buffer to stored pages, as far as the group has room. If some
	// are left, PagesLeft is true when the Change is durable.
	FlushesPages bool
	PagesLeft    bool
}

// MovedRow is a row that a Move writes. Value is nil if the row was removed.
type MovedRow struct{ Key, Value []byte }

// Check returns an error if the Move cannot be submitted.
func (m *Move) Check() error {
	if len(m.Rows) > 0 && m.Expect.State != store.Arriving {
		return fmt.Errorf("rows of an organization that is %v", m.Expect.State)
	}
	for i := range m.Rows {
		row := &m.Rows[i]
		isGood := MayMove(m.Org, row.Key) && len(row.Key) <= store.MaxKey && len(row.Value) <= store.MaxValue
		if isGood && row.Value != nil && store.IsRecordKey(row.Key) {
			_, _, isKey := store.ParseRecordKey(row.Key)
			_, _, isRecord := store.DecodeRecord(row.Value)
			isGood = isKey && isRecord
		}
		if !isGood {
			return fmt.Errorf("a moved row with the key %.64x and a value of %d bytes", row.Key, len(row.Value))
		}
	}
	return nil
}

// MayMove tells whether a row with this key can be a row of a moved organization: a row of the organization itself, or one of the
// platform's claims.
func MayMove(org ledger.ID, key []byte) bool {
	platform := ledger.ID{}
	return store.MovesWith(org, key) || store.MovesWith(platform, key) && key[0] == store.KeyClaims(nil, platform, 0)[0]
}

// size returns an upper bound of the size that the Move adds to a group.
func (m *Move) size() (total size) {
	total.add(1, rowSize+1+2+16+2*8)
	for i := range m.Rows {
		total.add(1, rowSize+len(m.Rows[i].Key)+len(m.Rows[i].Value))
		if store.IsRecordKey(m.Rows[i].Key) {
			total.add(2, 2*dueSize+itemSize) // a due row, and the low-water mark
		}
	}
	if m.FlushesPages {
		total.add(1, chunkSize+store.MaxPage)
	}
	return total
}

// dueItems returns an upper bound of the number of items that the Move adds to one due row.
func (m *Move) dueItems() int {
	if m == nil {
		return 0
	}
	return len(m.Rows)
}

// isElsewhere tells whether a change is about an organization that does not belong to this store. It includes placements that
// are in a group but not durable yet.
func (w *writer) isElsewhere(c *Change) bool {
	is := func(org ledger.ID) bool { return w.placements[org].State != store.Here }
	for i := range c.Steps {
		if is(c.Steps[i].Org) {
			return true
		}
	}
	for i := range c.Claims {
		if is(c.Claims[i].Org) {
			return true
		}
	}
	for i := range c.Counters {
		if is(c.Counters[i].Org) {
			return true
		}
	}
	for i := range c.KVs {
		if is(c.KVs[i].Org) {
			return true
		}
	}
	return c.Close != nil && is(c.Close.Org)
}

// checkMove refuses a Move that expects another placement.
func (w *writer) checkMove(m *Move) error {
	if stored := w.placements[m.Org]; stored != m.Expect {
		return ledger.Refuse("posting.Submit", ledger.Conflict, "the organization is %v, and not %v", stored.State, m.Expect.State)
	}
	platform := store.KeyClaims(nil, ledger.ID{}, 0)
	kindAt := len(platform) - 1
	for i := range m.Rows {
		row := &m.Rows[i]
		if !bytes.HasPrefix(row.Key, platform[:kindAt]) {
			continue
		}
		claim := ledger.Claim{Kind: ledger.ClaimKind(row.Key[kindAt]), Key: string(row.Key[kindAt+1:])}
		if owner, isClaimed := w.owner(nil, &claim); isClaimed && !bytes.Equal(owner, row.Value) {
			return ledger.Refuse("posting.Submit", ledger.Conflict, "a unique key of the organization (%c) is used by another organization of the shard", claim.Kind)
		}
	}
	return nil
}

// writeMove writes a Move that has passed its checks. It must not fail.
func (w *writer) writeMove(m *Move) {
	for i := range m.Rows {
		w.writeMovedRow(m, &m.Rows[i])
	}
	if m.Next != nil {
		w.placements[m.Org] = *m.Next
		w.key = store.KeyPlacement(w.key[:0], m.Org)
		w.value = store.EncodePlacement(w.value[:0], *m.Next)
		w.group.Set(w.key, w.value)
		w.out.placements = append(w.out.placements, organizationPlacement{m.Org, *m.Next})
		if m.Expect.State == store.Arriving {
			w.forget(m.Org)
		}
	}
	if m.FlushesPages {
		w.flushing = append(w.flushing, m)
	}
}

// organizationPlacement is a placement that a group sets.
type organizationPlacement struct {
	org ledger.ID
	Placement
}

func (w *writer) writeMovedRow(m *Move, row *MovedRow) {
	if row.Value == nil {
		w.group.Delete(row.Key)
		return
	}
	w.group.Set(row.Key, row.Value)
	if !store.MovesWith(m.Org, row.Key) {
		w.claims[0][string(row.Key)] = bytes.Clone(row.Value) // a claim of the platform; the row's memory is used again
	}
	_, source, isRecord := store.ParseRecordKey(row.Key)
	if !isRecord {
		return
	}
	header, _, ok := store.DecodeRecord(row.Value)
	if !ok {
		w.must(damaged("moved record %v: unknown form", source.ID))
	}
	w.out.dues = append(w.out.dues, dueChange{dueKey{m.Org, source}, header.Due})
	if header.Due == 0 {
		return
	}
	w.addDue(m.Org, source, header.Due)
	w.lowerMark(int64(header.Due) / 1_000_000)
}

// lowerMark lowers the low-water mark if it is above the second. A record that arrives may have become due long ago in the other
// store, and its due row must be read again after a restart.
func (w *writer) lowerMark(second int64) {
	d := w.journal.Due
	if second >= d.mark {
		return
	}
	d.mark, w.removedBelow = second, nil
	w.group.Set(store.KeyLowWaterMark, store.EncodeLowWaterMark(nil, second))
}

// forget removes what the orderer knows about an organization. It is needed if the organization was here before, and returns.
func (w *writer) forget(org ledger.ID) {
	delete(w.orgs, org)
	w.balances.remove(func(k accountKey) bool { return k.org == org })
	w.lists.remove(func(k listKey) bool { return k.org == org })
	w.headers.remove(func(k dueKey) bool { return k.org == org })
	w.counters.remove(func(k counterKey) bool { return k.org == org })
}

// flushRequested moves lines of organizations from the page buffer to stored pages, where a Move of the group asks for it.
func (w *writer) flushRequested() {
	for _, m := range w.flushing {
		room := w.room()
		if m.PagesLeft = !w.flushOrganization(m.Org, &room); m.PagesLeft {
			w.buffer.lagging = true // so that the next group has room
		}
	}
	w.flushing = w.flushing[:0]
}

// flushOrganization moves all buffered lines of an organization to stored pages, and then removes its page-buffer rows. If the
// group has no room for all of this, it returns false.
func (w *writer) flushOrganization(org ledger.ID, room *size) bool {
	for i := range w.buffer.groups {
		groupRows := &w.buffer.groups[i]
		for _, p := range groupRows.pages {
			if p.org() != org || p.bufferedSince != groupRows.group {
				continue
			}
			if !w.flushWithin(p, room) {
				return false
			}
		}
	}
	for i := range w.buffer.groups {
		groupRows := &w.buffer.groups[i]
		kept := groupRows.rows[:0:0]
		for n, k := range groupRows.rows {
			if k.Org != org {
				kept = append(kept, k)
				continue
			}
			if !room.take(size{1, removalSize}) {
				groupRows.rows = append(kept, groupRows.rows[n:]...)
				return false
			}
			w.key = store.KeyBufferRow(w.key[:0], k)
			w.group.Delete(w.key)
		}
		groupRows.rows = kept
	}
	return true
}

// Removals collects the keys of an organization's rows that are removed while the organization is being copied.
type Removals struct {
	mu   sync.Mutex
	keys map[string]bool // guarded by mu; nil: there were too many
}

// maxRemovals is the maximum number of removed rows that are remembered while an organization is copied.
const maxRemovals = 1 << 20

// WatchRemovals begins to collect the keys of an organization's rows that are removed. Those that groups remove after the call
// of Submit for some later Change are complete. The caller must call end.
func (j *Journal) WatchRemovals(org ledger.ID) (r *Removals, end func()) {
	r = &Removals{keys: make(map[string]bool)}
	j.watched.Store(org, r)
	j.watchedCount.Add(1)
	return r, func() {
		j.watchedCount.Add(-1)
		j.watched.CompareAndDelete(org, r)
	}
}

// Take returns the keys of the rows that were removed since the last call, and ok = false if there were too many of them.
func (r *Removals) Take() (keys [][]byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil {
		return nil, false
	}
	for key := range r.keys {
		keys = append(keys, []byte(key))
	}
	clear(r.keys)
	return keys, true
}

// deleteRow removes a row of an organization, for which w.key is the key.
func (w *writer) deleteRow(org ledger.ID) {
	w.group.Delete(w.key)
	if w.journal.watchedCount.Load() == 0 { // usually; a lookup in watched would allocate memory
		return
	}
	watched, isWatched := w.journal.watched.Load(org)
	if !isWatched {
		return
	}
	r := watched.(*Removals)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil {
		return
	}
	if r.keys[string(w.key)] = true; len(r.keys) > maxRemovals {
		r.keys = nil
	}
}

// EachMovingRow calls fn with the rows that move with an organization, until fn returns false: see store.OrganizationRows. Last
// come the platform's claims that belong to the organization.
func (v *View) EachMovingRow(org ledger.ID, since uint64, fn func(MovedRow) (more bool, err error)) error {
	more, err := v.eachRowInParts(org, since, fn)
	if err != nil || !more {
		return err
	}
	platform := ledger.ID{}
	claims := store.KeyClaims(nil, platform, 0)
	kindAt := len(claims) - 1
	_, err = v.eachRowInParts(platform, since, func(r MovedRow) (bool, error) {
		if r.Key[0] != claims[0] {
			return true, nil
		}
		isOwn, err := v.ownsClaim(org, ledger.ClaimKind(r.Key[kindAt]), r.Value)
		if err != nil || !isOwn {
			return err == nil, err
		}
		return fn(r)
	})
	return err
}

// ownsClaim tells whether a claim of the platform belongs to an organization. These claims make partner numbers, public addresses
// and the idempotency keys of administration requests unique.
func (v *View) ownsClaim(org ledger.ID, kind ledger.ClaimKind, owner []byte) (bool, error) {
	switch kind {
	case ledger.ClaimAddress:
		return bytes.Equal(owner, org[:]), nil
	case ledger.ClaimIdempotency:
		return bytes.HasSuffix(owner, org[:]), nil
	case ledger.ClaimNumber:
		if len(owner) == len(ledger.ID{}) {
			return v.HasRow(store.KeyRecord(nil, org, ledger.Source{Kind: ledger.Partner, ID: ledger.ID(owner)}))
		}
	}
	return false, nil
}

// rowsPerRead is the number of rows that are read with one iterator of the store.
const rowsPerRead = 20_000

func (v *View) eachRowInParts(org ledger.ID, since uint64, fn func(MovedRow) (more bool, err error)) (more bool, err error) {
	var from []byte
	for {
		read, isCut := 0, false
		more = true
		err = v.snap.OrganizationRows(org, since, from, func(key, value []byte) (bool, error) {
			if read++; read > rowsPerRead {
				from, isCut = append(from[:0], key...), true
				return false, nil
			}
			var err error
			more, err = fn(MovedRow{key, value})
			return more, err
		})
		if err != nil || !isCut || !more {
			return more, err
		}
	}
}

// Group returns the number of the last group that the view shows.
func (v *View) Group() uint64 { return v.snap.GroupNumber() }

// HasRow tells whether a row is stored.
func (v *View) HasRow(key []byte) (bool, error) {
	_, found, err := v.snap.Get(key, nil)
	return found, err
}

// TreeCheck recomputes the hash tree of an organization from its events. The zero value has no events.
type TreeCheck struct{ tree tree }

// Extend adds the events that the view shows and the TreeCheck does not have yet. The root of each block must be the one that is
// stored with it, otherwise the error is a *store.DamageError.
func (t *TreeCheck) Extend(v *View, org ledger.ID) error {
	from := store.KeyBlock(nil, org, t.tree.size+1)
	return v.snap.Ascend(store.KeyBlocks(nil, org), from, func(key, row []byte) (bool, error) {
		block, err := store.DecodeBlock(key, row)
		if err != nil {
			return false, err
		}
		if block.First != t.tree.size+1 {
			return false, damaged("organization %v: a block begins with event %d, after event %d", org, block.First, t.tree.size)
		}
		err = block.Each(func(_ uint64, canonical []byte) (bool, error) {
			t.tree.add(canonical, func(store.Subtree) {})
			return true, nil
		})
		if err == nil && t.tree.root() != block.Root {
			err = damaged("organization %v: the tree of %d events has another root", org, t.tree.size)
		}
		return err == nil, err
	})
}
