package posting

import (
	"crypto/sha256"
	"mizan/ledger"
	"mizan/posting/store"
)

// orgState is what the orderer (the goroutine that prepares groups of changes) knows about one organization: the end of
// its journal, and the rows of the group being prepared.
type orgState struct {
	org   ledger.ID
	last  uint64        // seq of the last event
	time  ledger.Micros // booked time of the last event
	dates dates
	tree  tree
	block store.Block // open block: the row of events that the group is filling

	crossing   []store.Subtree // subtrees that the open block completes but that begin before the block
	chunks     int             // number of this group's chunks (lines of one page) for the page buffer
	bufferRows []bufferRow     // this group's page-buffer rows
	touched    bool            // the group being prepared has changes of the organization

	notices    store.NoticePage // open page: the row of notices that the group is filling
	newNotices []Notice         // all notices of this group
}

// openOrg reads the end of an organization's journal from the store.
func openOrg(snap *store.Snapshot, org ledger.ID) (*orgState, error) {
	b := &orgState{org: org}
	var err error
	if b.dates.closed, err = lastClosed(snap, org); err != nil {
		return nil, err
	}
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
	b.dates.uncoveredUntil = b.last
	if b.tree.root() != block.Root {
		return nil, damaged("organization %v: the tree of %d events has another root", org, b.last)
	}
	return b, nil
}

// next returns the seq of the next event, without a gap, and the event's booked time, which is later than the
// previous event's.
func (b *orgState) next(now ledger.Micros) (uint64, ledger.Micros) {
	b.last++
	b.time = max(b.time+1, now)
	return b.last, b.time
}

// append adds the event's bytes to the open block, which must have room, and to the tree.
func (b *orgState) append(seq uint64, canonical []byte) {
	b.block.Add(seq, canonical)
	first := b.block.First
	b.tree.add(canonical, func(s store.Subtree) {
		if s.Index<<s.Level < first-1 { // leaf indexes are seq - 1
			b.crossing = append(b.crossing, s)
		}
	})
}

// appendLeaf adds an event's bytes to the open block and the tree. If the block is full, it begins a new one.
func (w *writer) appendLeaf(b *orgState, seq uint64, canonical []byte) {
	oldBytes := b.block.Bytes()
	if b.block.Full(len(canonical)) {
		w.flushBlock(b)
	}
	b.append(seq, canonical)
	w.tail.bytes += b.block.Bytes() - oldBytes
}

// list adds a row to a list, on the list's open page.
func (w *writer) list(b *orgState, l ledger.List, row store.Listed) {
	k := listKey{b.org, l}
	p, ok := w.lists.get(k)
	if !ok {
		p = &page{list: k, prefix: store.KeyLists(nil, b.org, l)}
		w.lists.set(k, p)
	}
	w.makeRoom(p, row.Booked)
	oldLength := len(p.lines)
	p.lines = store.EncodeListed(p.lines, row)
	w.tail.bytes += len(p.lines) - oldLength
}

// flushOrg writes the group's last block and its notices.
func (w *writer) flushOrg(b *orgState) {
	w.flushBlock(b)
	w.finishNotices(b)
	if len(w.orgs) > maxBlockOrgs {
		b.block = store.Block{}
	}
	if len(w.orgs) > maxBufferingOrgs {
		b.bufferRows = nil
	}
	b.touched = false
}

// Bounds of memory that is kept from group to group for reuse.
const (
	maxBlockOrgs     = 256     // with more organizations than this, the memory of their blocks is not reused
	maxBufferingOrgs = 16      // with more organizations than this, the larger memory of page-buffer rows and notices is not reused
	maxReusedBuffer  = 4 << 10 // largest capacity of a page's line buffer that is reused
)

// flushBlock writes the open block and its tree row (the hashes of the tree after the block).
func (w *writer) flushBlock(b *orgState) {
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

// tree is the right edge of an organization's Merkle tree (RFC 6962): the complete subtrees of
// the leaves so far, largest first.
type tree struct {
	size    uint64 // number of leaves
	edge    []store.Subtree
	scratch []byte
}

// add appends a leaf and calls onSubtree with each larger subtree that the leaf completes.
func (t *tree) add(leaf []byte, onSubtree func(store.Subtree)) {
	t.scratch = append(append(t.scratch[:0], 0), leaf...)
	s := store.Subtree{Index: t.size, Hash: sha256.Sum256(t.scratch)}
	t.size++
	for n := len(t.edge); n > 0 && t.edge[n-1].Level == s.Level; n-- {
		s = store.Subtree{Level: s.Level + 1, Index: s.Index >> 1, Hash: nodeHash(t.edge[n-1].Hash, s.Hash)}
		t.edge = t.edge[:n-1]
		onSubtree(s)
	}
	t.edge = append(t.edge, s)
}

// root returns the root hash of the tree; for a tree without leaves, the hash of an empty input.
func (t *tree) root() [32]byte {
	if len(t.edge) == 0 {
		return sha256.Sum256(nil)
	}
	hash := t.edge[len(t.edge)-1].Hash
	for i := len(t.edge) - 2; i >= 0; i-- {
		hash = nodeHash(t.edge[i].Hash, hash)
	}
	return hash
}

func nodeHash(left, right [32]byte) [32]byte {
	var b [65]byte
	b[0] = 1
	copy(b[1:], left[:])
	copy(b[33:], right[:])
	return sha256.Sum256(b[:])
}
