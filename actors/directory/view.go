package directory

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// version is a record as it stands. It never changes.
type version[T any] struct {
	record *T
	stamp  posting.Stamp
}

// cell is a record's place in the view. Only its organization's actor sets it.
type cell[T any] struct {
	now  atomic.Pointer[version[T]]
	used atomic.Int64 // for keys: when it was last let in, in µs
}

func (c *cell[T]) record() *T { return c.now.Load().record }

func (c *cell[T]) set(record *T, stamp posting.Stamp) {
	c.now.Store(&version[T]{record: record, stamp: stamp})
}

// slot is a record's place in the order of creation.
type slot struct {
	at ledger.Micros
	id ledger.ID
}

func compareSlots(a, b slot) int {
	if c := cmp.Compare(a.at, b.at); c != 0 {
		return c
	}
	return bytes.Compare(a.id[:], b.id[:])
}

// index holds all records of one kind. Records are never deleted, so cells and
// order only grow.
type index[T any] struct {
	cells sync.Map // ledger.ID → *cell[T]
	order atomic.Pointer[[]slot]
}

func (x *index[T]) get(id ledger.ID) (*cell[T], bool) {
	c, ok := x.cells.Load(id)
	if !ok {
		return nil, false
	}
	return c.(*cell[T]), true
}

func (x *index[T]) slots() []slot {
	if order := x.order.Load(); order != nil {
		return *order
	}
	return nil
}

func (x *index[T]) size() int { return len(x.slots()) }

// put publishes a record and returns its cell. One goroutine at a time.
func (x *index[T]) put(id ledger.ID, record *T, stamp posting.Stamp) *cell[T] {
	if c, ok := x.get(id); ok {
		c.set(record, stamp)
		return c
	}
	c := new(cell[T])
	c.set(record, stamp)
	x.cells.Store(id, c)
	x.place(slot{stamp.Started, id})
	return c
}

// place adds a slot. Nearly always it is the last one: then readers go on with
// their shorter slices of the same array.
func (x *index[T]) place(s slot) {
	order := x.slots()
	if n := len(order); n == 0 || compareSlots(order[n-1], s) < 0 {
		order = append(order, s)
	} else {
		at, _ := slices.BinarySearchFunc(order, s, compareSlots)
		order = slices.Insert(slices.Clone(order), at, s)
	}
	x.order.Store(&order)
}

// org is one organization's part of the view.
type org struct {
	id        ledger.ID
	self      *cell[directory.Organization]
	partners  index[directory.Partner]
	terminals index[directory.Terminal]
	keys      index[directory.APIKey]
	sessions  index[directory.Session]
	rates     index[directory.Rate]

	numbers       sync.Map // int64 → *cell[directory.Partner]
	logins        sync.Map // string → ledger.ID
	routes        sync.Map // int64, a partner's number → []*directory.Terminal, by priority
	keyHashes     sync.Map // [32]byte → *cell[directory.APIKey]
	sessionHashes sync.Map // [32]byte → *cell[directory.Session]
	pairs         sync.Map // pair → *cell[directory.Rate]
}

// pair is the currencies of a rate, in their order.
type pair struct{ from, to money.Currency }

func newOrg(id ledger.ID) *org { return &org{id: id} }

func (o *org) partner(number int64) (*cell[directory.Partner], bool) {
	c, ok := o.numbers.Load(number)
	if !ok {
		return nil, false
	}
	return c.(*cell[directory.Partner]), true
}

func (o *org) terminalsOf(partner int64) []*directory.Terminal {
	routes, ok := o.routes.Load(partner)
	if !ok {
		return nil
	}
	return routes.([]*directory.Terminal)
}

// The put functions publish a durable record. They fill Created, so the record
// must not have been seen by anybody before.

func (o *org) putPartner(p *directory.Partner, stamp posting.Stamp) {
	p.Created = stamp.Started
	c := o.partners.put(p.ID, p, stamp)
	o.numbers.Store(p.Number, c)
	o.logins.Store(p.Login, p.ID)
}

func (o *org) putTerminal(t *directory.Terminal, stamp posting.Stamp) {
	t.Created = stamp.Started
	o.terminals.put(t.ID, t, stamp)
	var routes []*directory.Terminal
	for _, old := range o.terminalsOf(t.Partner) {
		if old.ID != t.ID {
			routes = append(routes, old)
		}
	}
	routes = append(routes, t)
	slices.SortFunc(routes, directory.ByPriority)
	o.routes.Store(t.Partner, routes)
}

func (o *org) putKey(k *directory.APIKey, stamp posting.Stamp) {
	k.Created = stamp.Started
	o.keyHashes.Store(k.Hash, o.keys.put(k.ID, k, stamp))
}

func (o *org) putSession(n *directory.Session, stamp posting.Stamp) {
	n.Created = stamp.Started
	o.sessionHashes.Store(n.Hash, o.sessions.put(n.ID, n, stamp))
}

func (o *org) putRate(r *directory.Rate, stamp posting.Stamp) {
	r.Created, r.Updated = stamp.Started, stamp.Updated
	o.pairs.Store(pair{r.From, r.To}, o.rates.put(r.ID, r, stamp))
}

func (s *Service) org(id ledger.ID) (*org, bool) {
	o, ok := s.orgs.Load(id)
	if !ok {
		return nil, false
	}
	return o.(*org), true
}

// putOrganization publishes a durable organization; o holds the rest of it.
func (s *Service) putOrganization(o *org, record *directory.Organization, stamp posting.Stamp) {
	record.Created = stamp.Started
	o.self = s.organizations.put(record.ID, record, stamp)
	s.orgs.Store(record.ID, o)
}

func (s *Service) putPlatform(p *directory.Platform, stamp posting.Stamp) {
	s.platform.Store(&version[directory.Platform]{record: p, stamp: stamp})
}
