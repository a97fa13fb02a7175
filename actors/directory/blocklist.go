package directory

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/directory"
)

// blocklist is what an organization's list keeps in memory: the values, because
// every create is held against them, and the order in which they are shown. Its
// records stay in the store, for there may be a million. Readers take no lock, but for
// BINs: sync.Map would have each copied to memory that nobody wipes.
type blocklist struct {
	all    atomic.Int64                            // entries in force
	counts [len(directory.BlockKinds)]atomic.Int64 // of each kind, in the order of BlockKinds
	values sync.Map                                // blockValue → *listing: those in force
	bins   struct {
		sync.RWMutex
		listed map[bin]bool // guarded by RWMutex: those in force
	}

	prefixes atomic.Pointer[[]netip.Prefix] // of more than one address
	order    atomic.Pointer[[]*listing]     // by creation; some of them may be off
	off      int                            // how many of them are; only the organization's actor looks
}

// bin is the beginning of a card's number, with zeros after it.
type bin [directory.MaxBIN]byte

type blockValue struct {
	kind  directory.BlockKind
	value string
}

// listing is an entry that is in force, or was.
type listing struct {
	slot
	blockValue
	off atomic.Bool
}

// maxOff is how many listings that are off a short order may hold: a longer one
// is made anew when they are half of it.
const maxOff = 64

// HasBlocks tells whether anything is on the organization's blocklist.
func (s *Service) HasBlocks(id ledger.ID) bool {
	o, ok := s.org(id)
	return ok && o.blocks.all.Load() > 0
}

// Blocked tells whether the organization's blocklist has anything of the payer,
// and the first kind, in the order of directory.BlockKinds, that it has. It is as
// the last answer to a change left it and costs no read of the store.
func (s *Service) Blocked(id ledger.ID, p *directory.Payer) (kind string, blocked bool) {
	o, ok := s.org(id)
	if !ok || o.blocks.all.Load() == 0 {
		return "", false
	}
	for i, kind := range directory.BlockKinds {
		if o.blocks.counts[i].Load() > 0 && o.blocks.has(kind, p) {
			return string(kind), true
		}
	}
	return "", false
}

// has tells whether an entry of the kind is of the payer.
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

// hasBIN tells whether digits that a card's number begins with are listed, or the first of
// them.
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

// listBIN has a BIN be in force, or no more.
func (l *blocklist) listBIN(value blockValue, listed bool) {
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

func (l *blocklist) listings() []*listing {
	if order := l.order.Load(); order != nil {
		return *order
	}
	return nil
}

// publish has a durable entry be in force, or no more. One goroutine at a time.
func (l *blocklist) publish(b *directory.Block) {
	value := blockValue{b.Kind, b.Value}
	held, listed := l.values.Load(value)
	switch {
	case b.Active && !listed:
		place := &listing{slot: slot{b.Created, b.ID}, blockValue: value}
		l.place(place)
		l.widen(b)
		l.values.Store(value, place)
		l.listBIN(value, true)
		l.count(b.Kind, 1)
	case !b.Active && listed:
		l.count(b.Kind, -1)
		l.values.Delete(value)
		l.listBIN(value, false)
		l.narrow(b)
		held.(*listing).off.Store(true)
		l.off++
		l.tidy()
	}
}

func (l *blocklist) count(kind directory.BlockKind, n int64) {
	l.counts[slices.Index(directory.BlockKinds[:], kind)].Add(n)
	l.all.Add(n)
}

// widen and narrow keep the ranges. A single address is a value like others.
func (l *blocklist) widen(b *directory.Block) {
	if prefix, ok := b.Prefix(); ok && !prefix.IsSingleIP() {
		wider := append(slices.Clone(l.ranges()), prefix)
		l.prefixes.Store(&wider)
	}
}

func (l *blocklist) narrow(b *directory.Block) {
	if prefix, ok := b.Prefix(); ok && !prefix.IsSingleIP() {
		narrower := slices.DeleteFunc(slices.Clone(l.ranges()), func(p netip.Prefix) bool { return p == prefix })
		l.prefixes.Store(&narrower)
	}
}

// place adds a listing to the order, as an index does.
func (l *blocklist) place(p *listing) {
	order := l.listings()
	if n := len(order); n == 0 || compareSlots(order[n-1].slot, p.slot) < 0 {
		order = append(order, p)
	} else {
		at, _ := slices.BinarySearchFunc(order, p.slot, compareListing)
		order = slices.Insert(slices.Clone(order), at, p)
	}
	l.order.Store(&order)
}

func compareListing(p *listing, s slot) int { return compareSlots(p.slot, s) }

// tidy forgets what is off before it takes more room than what is in force.
func (l *blocklist) tidy() {
	order := l.listings()
	if l.off <= max(maxOff, len(order)/2) {
		return
	}
	order = slices.DeleteFunc(slices.Clone(order), func(p *listing) bool { return p.off.Load() })
	order = slices.Clip(order)
	l.order.Store(&order)
	l.off = 0
}

// before are ids of entries in force that follow the cursor, newest first, at
// most limit of them, and whether there are more. An empty kind is any.
func (l *blocklist) before(after Cursor, kind directory.BlockKind, limit int) (found []slot, more bool) {
	order := l.listings()
	end := len(order)
	if !after.IsZero() {
		end, _ = slices.BinarySearchFunc(order, slot{after.At, after.ID}, compareListing)
	}
	for i := end - 1; i >= 0; i-- {
		p := order[i]
		if p.off.Load() || kind != "" && p.kind != kind {
			continue
		}
		if len(found) == limit {
			return found, true
		}
		found = append(found, p.slot)
	}
	return found, false
}
