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
	pages    []listPage      // of this group; beyond its length, their memory
	lists    map[List]int    // where a list's page is in pages
	touched  bool            // in this group
}

// listPage is what the group has for one transaction list and is not written yet.
type listPage struct {
	list  List
	first ledger.Micros
	rows  []byte
}

// openBooks finds the end of an organization's journal in the store.
func openBooks(snap *store.Snapshot, org ledger.ID) (*books, error) {
	b := &books{org: org, lists: make(map[List]int)}
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

// append adds the event's bytes to the open block, for which there is room, and
// to the tree.
func (b *books) append(seq uint64, canonical []byte) {
	b.block.Add(seq, canonical)
	first := b.block.First
	b.tree.add(canonical, func(s store.Subtree) {
		if s.Index<<s.Level < first-1 { // leaf indexes are seq - 1
			b.crossing = append(b.crossing, s)
		}
	})
}

// page is the open page of a list; opened tells that the group had none.
func (b *books) page(l List) (page *listPage, opened bool) {
	if i, ok := b.lists[l]; ok {
		return &b.pages[i], false
	}
	n := len(b.pages)
	b.lists[l] = n
	if n < cap(b.pages) {
		b.pages = b.pages[:n+1]
	} else {
		b.pages = append(b.pages, listPage{})
	}
	page = &b.pages[n]
	page.list = l
	return page, true
}

// leaf books an event's bytes.
func (w *writer) leaf(b *books, seq uint64, canonical []byte) {
	before := b.block.Bytes()
	if b.block.Full(len(canonical)) {
		w.flushBlock(b)
	}
	b.append(seq, canonical)
	w.tail.bytes += b.block.Bytes() - before
}

// list shows a record in a list.
func (w *writer) list(b *books, l List, row store.Listed) {
	page, opened := b.page(l)
	if opened {
		w.tail.add(1, listSize)
	}
	before := len(page.rows)
	if before+listRow > maxListPage {
		w.flushList(b, page)
	}
	if len(page.rows) == 0 {
		page.first = row.Booked
	}
	page.rows = store.EncodeListed(page.rows, row)
	w.tail.bytes += len(page.rows) - before
}

// maxListPage bounds a page of a list, in bytes.
const maxListPage = store.MaxPage

// flushBooks writes the group's last block and its list pages.
func (w *writer) flushBooks(b *books) {
	w.flushBlock(b)
	large := len(b.pages) > maxLists
	for i := range b.pages {
		page := &b.pages[i]
		w.flushList(b, page)
		large = large || cap(page.rows) > maxKept
	}
	b.pages = b.pages[:0]
	clear(b.lists)
	if large {
		b.pages, b.lists = nil, make(map[List]int)
	}
	if len(w.orgs) > maxWarm {
		b.block = store.Block{}
	}
	b.touched = false
}

// What is kept from group to group to be used again.
const (
	maxLists = 256     // pages of an organization's lists
	maxWarm  = 256     // organizations with more than which none keeps its block's memory
	maxKept  = 4 << 10 // bytes of a buffer of which there may be many
)

func (w *writer) flushList(b *books, page *listPage) {
	if len(page.rows) == 0 {
		return
	}
	w.key = store.KeyList(w.key[:0], b.org, page.list.Partner, page.list.Env, page.first)
	w.group.Set(w.key, page.rows)
	page.rows = page.rows[:0]
}

func (w *writer) flushBlock(b *books) {
	if b.block.Count == 0 {
		return
	}
	first := b.block.First
	w.key = store.KeyBlock(w.key[:0], b.org, first)
	w.value = store.EncodeBlock(w.value[:0], &b.block, b.tree.root())
	w.group.Set(w.key, w.value)
	w.key = store.KeyTree(w.key[:0], b.org, first)
	w.value = store.EncodeTree(w.value[:0], b.tree.edge, b.crossing)
	w.group.Set(w.key, w.value)
	b.block.Reset()
	b.crossing = b.crossing[:0]
}
