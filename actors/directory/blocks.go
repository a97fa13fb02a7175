package directory

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// blocklist is the part of an organization's blocklist that stays in memory: the values, because every new transaction
// is checked against them, and the order in which they are listed. The full records are only in the store, because there
// may be a million of them. Readers take no lock. The only exception is the map of BINs (a BIN is a card number's first
// digits), because a sync.Map would copy each BIN that is looked up to memory that is never wiped.
type blocklist struct {
	activeCount atomic.Int64                            // number of active entries
	counts      [len(directory.BlockKinds)]atomic.Int64 // number of active entries of each kind, in the order of BlockKinds
	values      sync.Map                                // maps a blockValue to its *listing; active entries only
	bins        struct {
		sync.RWMutex
		listed map[bin]bool // guarded by RWMutex: active entries only
	}

	prefixes atomic.Pointer[[]netip.Prefix] // the listed address ranges; single addresses are in values
	order    atomic.Pointer[[]*blockEntry]  // entries in the order of creation; some may be inactive
	inactive int                            // number of inactive entries in order; only the organization's actor uses it
}

// bin is the beginning of a card number, padded with zeros.
type bin [directory.MaxBIN]byte

type blockValue struct {
	kind  directory.BlockKind
	value string
}

// blockEntry is the part of a blocklist entry that stays in memory. The entry is active now, or was active before.
type blockEntry struct {
	creation
	blockValue
	inactive atomic.Bool
}

// maxInactive is the number of inactive listings that blocklist.order may contain without being rebuilt. If it contains
// more, it is rebuilt when more than half of its listings are inactive.
const maxInactive = 64

// HasBlocks tells whether the organization's blocklist has any active entry.
func (s *Service) HasBlocks(id ledger.ID) bool {
	o, ok := s.org(id)
	return ok && o.blocks.activeCount.Load() > 0
}

// Blocked tells whether the organization's blocklist has an entry that matches the payer. If entries of several kinds
// match, it returns the kind that is first in directory.BlockKinds. When a method that changes the blocklist returns,
// Blocked already applies the change. Blocked does not read the store.
func (s *Service) Blocked(id ledger.ID, p *directory.Payer) (kind string, blocked bool) {
	o, ok := s.org(id)
	if !ok || o.blocks.activeCount.Load() == 0 {
		return "", false
	}
	for i, kind := range directory.BlockKinds {
		if o.blocks.counts[i].Load() > 0 && o.blocks.has(kind, p) {
			return string(kind), true
		}
	}
	return "", false
}

// has tells whether an active entry of the kind matches the payer.
func (l *blocklist) has(kind directory.BlockKind, p *directory.Payer) bool {
	switch kind {
	case directory.BlockBIN:
		return l.hasBIN(p.BIN)
	case directory.BlockCard:
		return l.lists(kind, p.Card)
	case directory.BlockEmail:
		return l.lists(kind, p.Email)
	case directory.BlockPhone:
		return l.lists(kind, p.Phone)
	case directory.BlockIP:
		return p.IP.IsValid() && (l.lists(kind, p.IP.String()) || l.covers(p.IP))
	case directory.BlockCountry:
		return l.lists(kind, p.Country)
	}
	return false
}

// hasBIN tells whether a card number's first digits begin with a listed BIN. No listed BIN is shorter than
// MinBIN digits.
func (l *blocklist) hasBIN(digits []byte) bool {
	var b bin
	defer clear(b[:])
	l.bins.RLock()
	defer l.bins.RUnlock()
	for n := directory.MinBIN; n <= min(len(b), len(digits)); n++ {
		copy(b[:], digits[:n])
		if l.bins.listed[b] {
			return true
		}
	}
	return false
}

// updateBIN adds a BIN to the listed BINs, or removes it if listed is false. It ignores values that are not BINs.
func (l *blocklist) updateBIN(value blockValue, listed bool) {
	if value.kind != directory.BlockBIN {
		return
	}
	var b bin
	copy(b[:], value.value)
	l.bins.Lock()
	defer l.bins.Unlock()
	if !listed {
		delete(l.bins.listed, b)
		return
	}
	if l.bins.listed == nil {
		l.bins.listed = make(map[bin]bool)
	}
	l.bins.listed[b] = true
}

func (l *blocklist) lists(kind directory.BlockKind, value string) bool {
	_, listed := l.values.Load(blockValue{kind, value})
	return listed
}

func (l *blocklist) ranges() []netip.Prefix {
	if prefixes := l.prefixes.Load(); prefixes != nil {
		return *prefixes
	}
	return nil
}

func (l *blocklist) covers(address netip.Addr) bool {
	for _, prefix := range l.ranges() {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

func (l *blocklist) inCreationOrder() []*blockEntry {
	if order := l.order.Load(); order != nil {
		return *order
	}
	return nil
}

// publish makes a durable entry active or inactive in memory. Only one goroutine at a time may call
// publish.
func (l *blocklist) publish(b *directory.Block) {
	value := blockValue{b.Kind, b.Value}
	known, listed := l.values.Load(value)
	switch {
	case b.Active && !listed:
		added := &blockEntry{creation: creation{b.CreatedAt, b.ID}, blockValue: value}
		l.insertEntry(added)
		l.addRange(b)
		l.values.Store(value, added)
		l.updateBIN(value, true)
		l.addToCounts(b.Kind, 1)
	case !b.Active && listed:
		l.addToCounts(b.Kind, -1)
		l.values.Delete(value)
		l.updateBIN(value, false)
		l.removeRange(b)
		known.(*blockEntry).inactive.Store(true)
		l.inactive++
		l.dropInactive()
	}
}

func (l *blocklist) addToCounts(kind directory.BlockKind, n int64) {
	l.counts[slices.Index(directory.BlockKinds[:], kind)].Add(n)
	l.activeCount.Add(n)
}

// addRange adds an entry's address range to the listed ranges, and removeRange removes the range. An entry for a single
// address has no range.
func (l *blocklist) addRange(b *directory.Block) {
	if prefix, ok := b.Prefix(); ok && !prefix.IsSingleIP() {
		wider := append(slices.Clone(l.ranges()), prefix)
		l.prefixes.Store(&wider)
	}
}

func (l *blocklist) removeRange(b *directory.Block) {
	if prefix, ok := b.Prefix(); ok && !prefix.IsSingleIP() {
		narrower := slices.DeleteFunc(slices.Clone(l.ranges()), func(p netip.Prefix) bool { return p == prefix })
		l.prefixes.Store(&narrower)
	}
}

// insertEntry inserts an entry into the order of creation.
func (l *blocklist) insertEntry(p *blockEntry) {
	order := l.inCreationOrder()
	if n := len(order); n == 0 || compareCreation(order[n-1].creation, p.creation) < 0 {
		order = append(order, p)
	} else {
		at, _ := slices.BinarySearchFunc(order, p.creation, compareBlockEntry)
		order = slices.Insert(slices.Clone(order), at, p)
	}
	l.order.Store(&order)
}

func compareBlockEntry(p *blockEntry, s creation) int { return compareCreation(p.creation, s) }

// dropInactive removes inactive listings from the order if they are more than maxInactive and more than
// half of the order.
func (l *blocklist) dropInactive() {
	order := l.inCreationOrder()
	if l.inactive <= max(maxInactive, len(order)/2) {
		return
	}
	order = slices.DeleteFunc(slices.Clone(order), func(p *blockEntry) bool { return p.inactive.Load() })
	order = slices.Clip(order)
	l.order.Store(&order)
	l.inactive = 0
}

// pageAfter returns up to limit active entries that follow the cursor in the list, and whether more entries follow. The
// list is newest first. An empty kind matches every kind.
func (l *blocklist) pageAfter(after Cursor, kind directory.BlockKind, limit int) (found []creation, more bool) {
	order := l.inCreationOrder()
	end := len(order)
	if !after.IsZero() {
		end, _ = slices.BinarySearchFunc(order, creation{after.At, after.ID}, compareBlockEntry)
	}
	for i := end - 1; i >= 0; i-- {
		p := order[i]
		if p.inactive.Load() || kind != "" && p.kind != kind {
			continue
		}
		if len(found) == limit {
			return found, true
		}
		found = append(found, p.creation)
	}
	return found, false
}

// BlockPage selects a page of a blocklist.
type BlockPage struct {
	Kind  directory.BlockKind // empty for every kind
	Limit int                 // 1 to MaxPage; 0 means DefaultPage
	After Cursor              // the last row of the previous page; zero for the first page
}

// CreateBlock puts a value on the organization's blocklist. When CreateBlock returns, the entry already applies. If the
// value is already listed, or if the list already has the maximum number of entries, the error is a Conflict. All errors
// are *ledger.Refusal or come from the store.
func (s *Service) CreateBlock(ctx context.Context, org ledger.ID, d directory.BlockDraft) (*directory.Block, error) {
	const op = "directory.CreateBlock"
	if _, err := s.writable(op, org); err != nil {
		return nil, err
	}
	var next *directory.Block
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, nil, err
		}
		b, event, err := directory.NewBlock(org, d)
		if err != nil {
			return nil, nil, err
		}
		if err := o.blocks.checkRoom(op, b); err != nil {
			return nil, nil, err
		}
		old, header, err := s.storedBlock(org, b.ID)
		if err != nil {
			return nil, nil, err
		}
		if old != nil {
			if b, event = old.SetActive(true); event.Name == "" {
				return nil, nil, ledger.Refuse(op, ledger.Internal, "the view lacks an entry that is in force")
			}
		}
		next = b
		next.UpdatedAt = 0 // the journal sets it
		return &posting.Change{Steps: []posting.Step{stepWithoutSecrets(directory.Blocks, org, header.Version, b, event)}}, b, nil
	}, func(headers []posting.RecordHeader) {
		o, _ := s.orgs.get(org)
		o.putBlock(next, headers[0])
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// checkRoom refuses a value that is already listed. It also refuses a new entry if the organization already has the
// maximum number of active entries.
func (l *blocklist) checkRoom(op string, b *directory.Block) error {
	prefix, ok := b.Prefix()
	switch {
	case l.lists(b.Kind, b.Value):
		return ledger.Refuse(op, ledger.Conflict, "the value is on the list")
	case l.activeCount.Load() >= directory.MaxBlocks:
		return ledger.Refuse(op, ledger.Conflict, "the list has %d entries", directory.MaxBlocks)
	case ok && !prefix.IsSingleIP() && len(l.ranges()) >= directory.MaxPrefixes:
		return ledger.Refuse(op, ledger.Conflict, "the list has %d prefixes of addresses", directory.MaxPrefixes)
	}
	return nil
}

// DeleteBlock makes an entry inactive; the entry's value can be listed again later. If the entry is already inactive,
// nothing changes. If the organization has no such entry, the error is a NotFound. Other errors are *ledger.Refusal or
// come from the store.
func (s *Service) DeleteBlock(ctx context.Context, org, id ledger.ID) (*directory.Block, error) {
	const op = "directory.DeleteBlock"
	if _, err := s.Block(org, id); err != nil {
		return nil, err
	}
	var next *directory.Block
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		if _, err := s.writable(op, org); err != nil {
			return nil, nil, err
		}
		old, header, err := s.storedBlock(org, id)
		if err != nil {
			return nil, nil, err
		}
		b, event := old.SetActive(false)
		if next = b; event.Name == "" {
			return nil, nil, nil
		}
		next.UpdatedAt = 0 // the journal sets it
		return &posting.Change{Steps: []posting.Step{stepWithoutSecrets(directory.Blocks, org, header.Version, b, event)}}, b, nil
	}, func(headers []posting.RecordHeader) {
		o, _ := s.orgs.get(org)
		o.putBlock(next, headers[0])
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// Block returns an entry of the organization's blocklist, whether or not the entry is active. If there is no such entry,
// the error is a NotFound; other errors come from the store.
func (s *Service) Block(org, id ledger.ID) (*directory.Block, error) {
	const op = "directory.Block"
	if _, ok := s.org(org); !ok {
		return nil, notFound(op, "organization")
	}
	b, _, err := s.storedBlock(org, id)
	if err == nil && b == nil {
		err = notFound(op, "entry")
	}
	return b, err
}

// ListBlocks returns a page of the active entries of an organization's blocklist, newest first. The age of an entry is
// counted from the first time that its value was listed.
func (s *Service) ListBlocks(org ledger.ID, p BlockPage) (rows []*directory.Block, next Cursor, err error) {
	const op = "directory.ListBlocks"
	o, ok := s.org(org)
	if !ok {
		return nil, Cursor{}, notFound(op, "organization")
	}
	if p.Limit == 0 {
		p.Limit = DefaultPage
	}
	if p.Limit < 1 || p.Limit > MaxPage {
		return nil, Cursor{}, ledger.RefuseField(op, "limit", "must be from 1 to %d", MaxPage)
	}
	found, more := o.blocks.pageAfter(p.After, p.Kind, p.Limit)
	v := s.rt.Journal.View()
	defer v.Close()
	for _, place := range found {
		b, _, err := blockIn(v, org, place.id)
		if err != nil {
			return nil, Cursor{}, err
		}
		if b != nil && b.Active { // the entry may have been deleted in the meantime
			rows = append(rows, b)
		}
	}
	if more {
		last := found[len(found)-1]
		next = Cursor{At: last.startedAt, ID: last.id}
	}
	return rows, next, nil
}

// storedBlock reads an entry from the store. If the entry does not exist, it returns nil.
func (s *Service) storedBlock(org, id ledger.ID) (*directory.Block, posting.RecordHeader, error) {
	v := s.rt.Journal.View()
	defer v.Close()
	return blockIn(v, org, id)
}

func blockIn(v *posting.View, org, id ledger.ID) (*directory.Block, posting.RecordHeader, error) {
	r, found, err := v.Record(org, ledger.Source{Kind: ledger.Block, ID: id})
	if err != nil || !found {
		return nil, posting.RecordHeader{}, err
	}
	b, err := directory.Blocks.Read(metadataOf(org, id, r.Header), r.Payload, nil)
	if err != nil {
		return nil, posting.RecordHeader{}, unreadable(ledger.Block, id, err)
	}
	return b, r.Header, nil
}

// putBlock sets the times of a durable entry and publishes it.
func (o *organization) putBlock(b *directory.Block, header posting.RecordHeader) {
	b.CreatedAt, b.UpdatedAt = header.StartedAt, header.UpdatedAt
	o.blocks.publish(b)
}

// loadBlocks reads the blocklist. There may be a million entries, so while it reads, it keeps only the part of each
// entry that stays in memory.
func (o *organization) loadBlocks(v *posting.View) error {
	var order []*blockEntry
	err := v.Records(o.id, ledger.Block, func(id ledger.ID, r posting.Record) (bool, error) {
		b, err := directory.Blocks.Read(metadataOf(o.id, id, r.Header), r.Payload, nil)
		if err != nil {
			return false, unreadable(ledger.Block, id, err)
		}
		if b.Active {
			order = append(order, &blockEntry{creation: creation{r.Header.StartedAt, id}, blockValue: blockValue{b.Kind, b.Value}})
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	// In the order of creation, each entry is simply appended to the listings.
	slices.SortFunc(order, func(a, b *blockEntry) int { return compareCreation(a.creation, b.creation) })
	for _, p := range order {
		o.blocks.publish(&directory.Block{ID: p.id, Kind: p.kind, Value: p.value, Active: true, CreatedAt: p.startedAt})
	}
	return nil
}
