package directory

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"mizan/actors/directory/logins"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// The view holds the directory's records in memory, where requests find them without reading the store.

// version is one version of a record. It is immutable.
type version[T any] struct {
	record *T
	header posting.RecordHeader
}

// viewRecord holds the current version of a record. Only the actor of the record's organization replaces the version.
type viewRecord[T any] struct {
	current    atomic.Pointer[version[T]]
	lastUsedAt atomic.Int64 // for keys and sessions: time of the last accepted use, in µs

	savingUse atomic.Bool // the last use is being stored
}

func (v *viewRecord[T]) record() *T { return v.current.Load().record }

func (v *viewRecord[T]) set(record *T, header posting.RecordHeader) {
	v.current.Store(&version[T]{record: record, header: header})
}

// creation is the key by which records are sorted in the order of their creation.
type creation struct {
	startedAt ledger.Micros
	id        ledger.ID
}

func compareCreation(a, b creation) int {
	if c := cmp.Compare(a.startedAt, b.startedAt); c != 0 {
		return c
	}
	return bytes.Compare(a.id[:], b.id[:])
}

// index holds all records of one kind. Records are never deleted, so records and order only grow.
type index[T any] struct {
	records  table[ledger.ID, viewRecord[T]]
	order    atomic.Pointer[[]creation]
	partners partnerOrders[T]
}

func (x *index[T]) get(id ledger.ID) (*viewRecord[T], bool) {
	return x.records.get(id)
}

func (x *index[T]) inCreationOrder() []creation {
	if order := x.order.Load(); order != nil {
		return *order
	}
	return nil
}

func (x *index[T]) size() int { return len(x.inCreationOrder()) }

// put publishes a record and returns it. Only one goroutine at a time may call put.
func (x *index[T]) put(id ledger.ID, record *T, header posting.RecordHeader) *viewRecord[T] {
	if c, ok := x.get(id); ok {
		old := c.record()
		c.set(record, header)
		x.partners.replaced(old, record)
		return c
	}
	// The viewRecord and its first version are allocated as one object: there are very many records, and the
	// garbage collector visits each object.
	added := &struct {
		view viewRecord[T]
		now  version[T]
	}{now: version[T]{record: record, header: header}}
	c := &added.view
	c.current.Store(&added.now)
	x.records.put(id, c)
	x.insert(creation{header.StartedAt, id})
	return c
}

// insert adds a record to the order of creation. A new record is nearly always the newest one. It is then appended
// to the same array; concurrent readers hold shorter slices of that array.
func (x *index[T]) insert(added creation) {
	order := x.inCreationOrder()
	if n := len(order); n == 0 || compareCreation(order[n-1], added) < 0 {
		order = append(order, added)
	} else {
		at, _ := slices.BinarySearchFunc(order, added, compareCreation)
		order = slices.Insert(slices.Clone(order), at, added)
	}
	x.order.Store(&order)
}

// partnerOrders lists the records of each partner in the order of creation. The lists are made at the first use; each
// later use extends them with the records that were added in the meantime.
type partnerOrders[T any] struct {
	mu             sync.Mutex
	coveredRecords []creation        // the records that places covers, in the order of creation
	places         map[int64][]int32 // partner's number → offsets in coveredRecords of the partner's records
	partnerOf      func(*T) int64
}

// ofPartner returns the records of a partner in the order of creation.
func (x *index[T]) ofPartner(number int64, partnerOf func(*T) int64) []creation {
	p := &x.partners
	p.mu.Lock()
	defer p.mu.Unlock()
	order := x.inCreationOrder()
	// The last condition is true if a record was inserted between older ones.
	if n := len(p.coveredRecords); n == 0 || n > len(order) || order[n-1] != p.coveredRecords[n-1] {
		p.coveredRecords, p.places, p.partnerOf = nil, make(map[int64][]int32), partnerOf
	}
	for place := len(p.coveredRecords); place < len(order); place++ {
		record, _ := x.get(order[place].id)
		partner := partnerOf(record.record())
		p.places[partner] = append(p.places[partner], int32(place))
	}
	p.coveredRecords = order
	found := make([]creation, len(p.places[number]))
	for i, place := range p.places[number] {
		found[i] = order[place]
	}
	return found
}

// replaced is called after a record was replaced. If the record now belongs to another partner, the next use makes all
// lists again.
func (p *partnerOrders[T]) replaced(old, record *T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.coveredRecords != nil && p.partnerOf(old) != p.partnerOf(record) {
		p.coveredRecords = nil
	}
}

// organization is one organization's part of the view.
type organization struct {
	id          ledger.ID
	globalIndex *globalIndex
	ownRecord   *viewRecord[directory.Organization] // the organization itself
	partners    index[directory.Partner]
	terminals   index[directory.Terminal]
	keys        index[directory.APIKey]
	users       index[directory.User]
	rates       index[directory.Rate]
	limits      index[directory.Limit]
	blocks      blocklist

	logins             sync.Map                            // login string → ledger.ID of the user or partner
	terminalsByPartner table[int64, []*directory.Terminal] // terminals by their partner's number, in order of priority
	activeLimits       sync.Map                            // the partner's number (int64) → []*directory.Limit
	sessionHashes      sync.Map                            // [32]byte → *viewRecord[directory.Session]
	ratesByPair        sync.Map                            // pair → *viewRecord[directory.Rate]
	sessionsByOwner    sessionsByOwner                     // sessions by owner; only the actor uses this field
	loginLog           logins.Log                          // recent login attempts
}

// pair is the two currencies of a rate: from and to.
type pair struct{ from, to money.Currency }

func newOrg(id ledger.ID, global *globalIndex) *organization {
	return &organization{id: id, globalIndex: global}
}

// globalIndex finds keys, partners and terminals of all organizations. All organizations share one table per
// kind of record. So a caller cannot find out from the time of a lookup whether the organization does not
// exist or only lacks the key.
type globalIndex struct {
	keys     table[keyIndexKey, viewRecord[directory.APIKey]]
	partners table[partnerIndexKey, viewRecord[directory.Partner]]

	terminals table[ledger.ID, viewRecord[directory.Terminal]]
	remote    sync.Map // ledger.ID → *viewRecord[directory.Terminal], terminals whose parameters have an address to call
}

type keyIndexKey struct {
	org  ledger.ID
	hash [32]byte
}

type partnerIndexKey struct {
	org    ledger.ID
	number int64
}

func (o *organization) partner(number int64) (*viewRecord[directory.Partner], bool) {
	return o.globalIndex.partners.get(partnerIndexKey{o.id, number})
}

func (o *organization) key(hash [32]byte) (*viewRecord[directory.APIKey], bool) {
	return o.globalIndex.keys.get(keyIndexKey{o.id, hash})
}

func (o *organization) terminalsOf(partner int64) []*directory.Terminal {
	found, ok := o.terminalsByPartner.get(partner)
	if !ok {
		return nil
	}
	return *found
}

// The put functions publish a durable record. They set the record's field CreatedAt, so the record must not be visible to
// another goroutine yet.

func (o *organization) putPartner(p *directory.Partner, header posting.RecordHeader) {
	p.CreatedAt, p.FirstSeq = header.StartedAt, header.FirstSeq
	c := o.partners.put(p.ID, p, header)
	o.globalIndex.partners.put(partnerIndexKey{o.id, p.Number}, c)
	o.logins.Store(p.Login, p.ID)
}

func (o *organization) putTerminal(t *directory.Terminal, header posting.RecordHeader) {
	t.CreatedAt = header.StartedAt
	o.globalIndex.putTerminal(o.terminals.put(t.ID, t, header))
	var ordered []*directory.Terminal
	for _, old := range o.terminalsOf(t.Partner) {
		if old.ID != t.ID {
			ordered = append(ordered, old)
		}
	}
	ordered = append(ordered, t)
	slices.SortFunc(ordered, directory.ByPriority)
	o.terminalsByPartner.put(t.Partner, &ordered)
}

func (o *organization) putKey(k *directory.APIKey, header posting.RecordHeader) {
	k.CreatedAt, k.FirstSeq = header.StartedAt, header.FirstSeq
	o.globalIndex.keys.put(keyIndexKey{o.id, k.Hash}, o.keys.put(k.ID, k, header))
}

func (o *organization) putRate(r *directory.Rate, header posting.RecordHeader) {
	r.CreatedAt, r.UpdatedAt = header.StartedAt, header.UpdatedAt
	o.ratesByPair.Store(pair{r.From, r.To}, o.rates.put(r.ID, r, header))
}

// org finds an organization. In a cluster, an organization that was moved to another shard is not found.
func (s *Service) org(id ledger.ID) (*organization, bool) {
	if s.rt.Journal.IsElsewhere(id) {
		return nil, false
	}
	return s.orgs.get(id)
}

// inCreationOrder lists the organizations, without those that were moved to another shard.
func (s *Service) inCreationOrder() []creation {
	order := s.organizations.inCreationOrder()
	if !s.rt.Journal.AnyElsewhere() {
		return order
	}
	return slices.DeleteFunc(slices.Clone(order), func(c creation) bool { return s.rt.Journal.IsElsewhere(c.id) })
}

// putOrganization publishes a durable organization; o holds the other records of the organization.
func (s *Service) putOrganization(o *organization, record *directory.Organization, header posting.RecordHeader) {
	record.CreatedAt = header.StartedAt
	o.ownRecord = s.organizations.put(record.ID, record, header)
	s.orgs.put(record.ID, o)
}

func (s *Service) putPlatform(p *directory.Platform, header posting.RecordHeader) {
	s.platform.Store(&version[directory.Platform]{record: p, header: header})
}

// putTerminal enters a terminal into the tables of all organizations. When an organization is reloaded, its terminals get
// new viewRecords, and putTerminal is called again. Notifications from other platforms name only a terminal, so the table
// of terminals spans all organizations.
func (g *globalIndex) putTerminal(inView *viewRecord[directory.Terminal]) {
	t := inView.record()
	g.terminals.put(t.ID, inView)
	if t.IsRemote() {
		g.remote.Store(t.ID, inView)
	}
}

// FindTerminal finds a terminal of any organization. It costs one lookup, even if there is no such terminal.
func (s *Service) FindTerminal(id ledger.ID) (*directory.Terminal, bool) {
	inView, found := s.global.terminals.get(id)
	if !found || s.rt.Journal.IsElsewhere(inView.record().Org) {
		return nil, false
	}
	return inView.record(), true
}

// RemoteTerminals returns all organizations' terminals of the given provider whose parameters contain the
// address of a server that the provider calls. The order is not defined. Switched-off terminals are included,
// because their charges may still be reversed.
func (s *Service) RemoteTerminals(provider string) (terminals []*directory.Terminal) {
	s.global.remote.Range(func(_, inView any) bool {
		if t := inView.(*viewRecord[directory.Terminal]).record(); t.Provider == provider && !s.rt.Journal.IsElsewhere(t.Org) {
			terminals = append(terminals, t)
		}
		return true
	})
	return terminals
}

// checkTLS refuses a provider's address without TLS unless this store is a sandbox.
func (s *Service) checkTLS(op string, t *directory.Terminal) error {
	if _, sandbox := s.Sandbox(); sandbox {
		return nil
	}
	return t.CheckTLS(op)
}

// table is a map that only grows: an entry's value may change, but entries are never removed. Readers take no
// lock and usually look at only one slot. An entry consists of its key and a pointer and is not a separate
// object: with a hundred thousand keys, a sync.Map would make the garbage collector follow four objects per
// entry.
//
// The zero value is empty. A reader that runs concurrently with a write may miss the new entry.
type table[K comparable, V any] struct {
	slots atomic.Pointer[[]entry[K, V]] // the length is a power of two; at least a quarter is empty

	mu   sync.Mutex // held by writers
	size int        // number of entries; guarded by mu
}

// entry is a slot of a table. The slot is empty while its value is nil. put writes the key before the value; after
// that the key never changes.
type entry[K comparable, V any] struct {
	key   K
	value atomic.Pointer[V]
}

const minTableSize = 8

var tableSeed = maphash.MakeSeed()

// findSlot returns the slot of the key. If the table does not have the key, findSlot returns the empty slot into
// which put would write it.
func findSlot[K comparable, V any](slots []entry[K, V], key K) (slot *entry[K, V], value *V) {
	mask := uint64(len(slots) - 1)
	for i := maphash.Comparable(tableSeed, key) & mask; ; i = (i + 1) & mask {
		slot = &slots[i]
		if value = slot.value.Load(); value == nil || slot.key == key {
			return slot, value
		}
	}
}

// get returns the key's value.
func (t *table[K, V]) get(key K) (*V, bool) {
	slots := t.slots.Load()
	if slots == nil {
		return nil, false
	}
	_, value := findSlot(*slots, key)
	return value, value != nil
}

// put sets the key's value, which must not be nil.
func (t *table[K, V]) put(key K, value *V) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slots := t.slots.Load()
	if slots == nil {
		slots = t.grow(nil, minTableSize)
	}
	slot, old := findSlot(*slots, key)
	if old == nil {
		if 4*(t.size+1) > 3*len(*slots) {
			slots = t.grow(*slots, 2*len(*slots))
			slot, _ = findSlot(*slots, key)
		}
		slot.key = key
		t.size++
	}
	slot.value.Store(value)
}

// grow publishes a larger slice with the same entries. A reader that still uses the old slice misses later
// writes.
func (t *table[K, V]) grow(old []entry[K, V], size int) *[]entry[K, V] {
	slots := make([]entry[K, V], size)
	for i := range old {
		if value := old[i].value.Load(); value != nil {
			slot, _ := findSlot(slots, old[i].key)
			slot.key = old[i].key
			slot.value.Store(value)
		}
	}
	t.slots.Store(&slots)
	return &slots
}
