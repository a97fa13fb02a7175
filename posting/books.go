package posting

import (
	"mizan/ledger"
	"mizan/posting/store"
)

// books is what the orderer keeps of one organization: where its journal ends,
// and the rows of the group being prepared.
type books struct {
	org   ledger.ID
	last  uint64 // seq of the last event
	time  ledger.Micros
	tree  tree
	block store.Block

	crossing []store.Subtree // completed by the block, begun before it
	lists    map[List]*listPage
	touched  bool // in this group
}

type listPage struct {
	first ledger.Micros
	rows  []byte
}

// openBooks finds the end of an organization's journal in the store.
func openBooks(snap *store.Snapshot, org ledger.ID) (*books, error) {
	b := &books{org: org, lists: make(map[List]*listPage)}
	prefix := store.KeyBlocks(nil, org)
	key, row, found, err := snap.Last(prefix, store.KeyBlock(nil, org, ^uint64(0)))
	if err != nil || !found {
		return b, err
	}
	block, err := store.DecodeBlock(key, row)
	if err != nil {
		return nil, err
	}
	err = block.Each(func(seq uint64, canonical []byte) (bool, error) {
		event, err := ledger.ParseCanonical(canonical)
		b.last, b.time = seq, event.Booked
		return true, err
	})
	if err != nil {
		return nil, err
	}
	row, found, err = snap.Get(store.KeyTree(nil, org, block.First), nil)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, damaged("organization %v: block %d has no tree row", org, block.First)
	}
	if b.tree.edge, _, err = store.DecodeTree(row); err != nil {
		return nil, err
	}
	b.tree.size = b.last
	if b.tree.root() != block.Root {
		return nil, damaged("organization %v: the tree of %d events has another root", org, b.last)
	}
	return b, nil
}

// next gives the next event its place: gap-free seq, strictly later time.
func (b *books) next(now ledger.Micros) (uint64, ledger.Micros) {
	b.last++
	b.time = max(b.time+1, now)
	return b.last, b.time
}

// append adds the event's bytes to the open block and the tree.
func (b *books) append(g *store.Group, seq uint64, canonical []byte) {
	if b.block.Full(len(canonical)) {
		b.flushBlock(g)
	}
	b.block.Add(seq, canonical)
	first := b.block.First
	b.tree.add(canonical, func(s store.Subtree) {
		if s.Index<<s.Level < first-1 { // leaf indexes are seq - 1
			b.crossing = append(b.crossing, s)
		}
	})
}

func (b *books) list(l List, row store.Listed) {
	page := b.lists[l]
	if page == nil {
		page = new(listPage)
		b.lists[l] = page
	}
	if len(page.rows) == 0 {
		page.first = row.Booked
	}
	page.rows = store.EncodeListed(page.rows, row)
}

// flush writes the group's last block and its list pages.
func (b *books) flush(g *store.Group, key, value []byte) {
	b.flushBlock(g)
	for l, page := range b.lists {
		if len(page.rows) > 0 {
			key = store.KeyList(key[:0], b.org, l.Partner, l.Env, page.first)
			g.Set(key, page.rows)
			page.rows = page.rows[:0]
		}
	}
	if len(b.lists) > maxLists {
		clear(b.lists)
	}
	b.touched = false
}

// maxLists bounds the list pages kept for reuse in an organization.
const maxLists = 1_024

func (b *books) flushBlock(g *store.Group) {
	if b.block.Count == 0 {
		return
	}
	first := b.block.First
	g.Set(store.KeyBlock(nil, b.org, first), store.EncodeBlock(nil, &b.block, b.tree.root()))
	g.Set(store.KeyTree(nil, b.org, first), store.EncodeTree(nil, b.tree.edge, b.crossing))
	b.block.Reset()
	b.crossing = b.crossing[:0]
}
