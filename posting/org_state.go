package posting

import (
	"crypto/sha256"
	"mizan/ledger"
	"mizan/posting/store"
)

// orgState is what the orderer (the goroutine that prepares groups of changes) knows about one organization: where the
// organization's journal ends, and what the current group adds to the journal.
type orgState struct {
	org   ledger.ID
	last  uint64        // seq of the last event
	time  ledger.Micros // booked time of the last event
	dates dates
	tree  tree
	block store.Block // open block: the row of events that the current group is filling

	crossing  []store.Subtree // subtrees of the hash tree that begin before the open block and end in it
	bufferRow bufferRow       // page-buffer row that the current group is filling
	isTouched bool            // the current group changes records of the organization

	notices    store.NoticePage // open page: the row of notices that the current group is filling
	newNotices []Notice         // the organization's notices in the current group
}

// openOrg reads from the store where an organization's journal ends.
func openOrg(snap *store.Snapshot, org ledger.ID) (*orgState, error) {
	b := &orgState{org: org}
	var err error
	if b.dates.lastClosedMonth, err = lastClosed(snap, org); err != nil {
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
	row, found, err = snap.Get(store.KeyTreeRow(nil, org, block.First), nil)
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

// next returns the seq of the next event and its booked time. The seq follows the previous event's seq without a gap, and the
// booked time is later than the previous event's.
func (o *orgState) next(now ledger.Micros) (uint64, ledger.Micros) {
	o.last++
	o.time = max(o.time+1, now)
	return o.last, o.time
}

// append adds an event's canonical bytes to the open block and to the hash tree. The block must have room for the event.
func (o *orgState) append(seq uint64, canonical []byte) {
	o.block.Add(seq, canonical)
	first := o.block.First
	o.tree.add(canonical, func(s store.Subtree) {
		if s.Index<<s.Level < first-1 { // leaf indexes are seq - 1
			o.crossing = append(o.crossing, s)
		}
	})
}

// appendLeaf adds an event's canonical bytes to the open block and to the hash tree. If the block is full, appendLeaf writes
// it into the group and begins a new one.
func (w *writer) appendLeaf(b *orgState, seq uint64, canonical []byte) {
	oldBytes := b.block.Bytes()
	if b.block.Full(len(canonical)) {
		w.flushBlock(b)
	}
	b.append(seq, canonical)
	w.finishSize.bytes += b.block.Bytes() - oldBytes
}

// list adds a row to a list. The row goes to the list's page in memory.
func (w *writer) list(b *orgState, l ledger.List, row store.ListRow) {
	k := listKey{b.org, l}
	p, ok := w.lists.get(k)
	if !ok {
		p = &page{list: k, prefix: store.KeyListPages(nil, b.org, l)}
		w.lists.set(k, p)
	}
	w.makeRoom(p, row.Booked)
	oldLength := len(p.lines)
	p.lines = store.EncodeListed(p.lines, row)
	w.finishSize.bytes += len(p.lines) - oldLength
}

// flushOrg writes the open block and the open page of notices of an organization into the group.
func (w *writer) flushOrg(b *orgState) {
	w.flushBlock(b)
	w.finishNotices(b)
	if len(w.orgs) > maxBlockOrgs {
		b.block = store.Block{}
	}
	if len(w.orgs) > maxBufferingOrgs {
		b.bufferRow = bufferRow{}
	}
	b.isTouched = false
}

// Limits on the memory that is kept after a group, for use by later groups.
const (
	maxBlockOrgs     = 256     // number of organizations above which the memory of their blocks is not kept
	maxBufferingOrgs = 16      // number of organizations above which the memory of page-buffer rows and notices is not kept
	maxReusedBuffer  = 4 << 10 // a buffer for a page's lines is kept if its capacity is at most this many bytes
)

// flushBlock writes the open block and its tree row into the group. The tree row contains hashes of the tree that ends with the
// block.
func (w *writer) flushBlock(b *orgState) {
	if b.block.Count == 0 {
		return
	}
	first := b.block.First
	w.key = store.KeyBlock(w.key[:0], b.org, first)
	w.value = store.EncodeBlock(w.value[:0], &b.block, b.tree.root())
	w.group.Set(w.key, w.value)
	w.key = store.KeyTreeRow(w.key[:0], b.org, first)
	w.value = store.EncodeTree(w.value[:0], b.tree.edge, b.crossing)
	w.group.Set(w.key, w.value)
	b.block.Reset()
	b.crossing = b.crossing[:0]
}

// tree is the right edge of an organization's Merkle tree (RFC 6962): the complete subtrees into which the leaves so far are
// divided, the largest first.
type tree struct {
	size    uint64 // number of leaves
	edge    []store.Subtree
	scratch []byte
}

// add appends a leaf, and calls onSubtree with each subtree of several leaves that the new leaf completes.
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

// root returns the root hash of the tree. The root hash of a tree without leaves is the SHA-256 of the empty string.
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
