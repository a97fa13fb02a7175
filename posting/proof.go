package posting

import (
	"golang.org/x/mod/sumdb/tlog"

	"mizan/ledger"
	"mizan/posting/store"
)

// Inclusion proves that an event is in an organization's journal (RFC 6962, section 2.1.1). Hashing the leaf at index Seq-1
// with the hashes in Path must give Root, the root of the tree of the first Size events.
type Inclusion struct {
	Seq, Size uint64
	Leaf      []byte // the event's canonical bytes
	Root      tlog.Hash
	Path      tlog.RecordProof
}

// Consistency proves that a journal of To events begins with the From events that it had earlier (RFC 6962, section 2.1.2).
type Consistency struct {
	From, To         uint64
	FromRoot, ToRoot tlog.Hash
	Path             tlog.TreeProof
}

// Inclusion returns a proof that the event with this seq is in the tree of the first size events. It reads at most about twice
// as many rows as the tree has levels. seq must be from 1 to size, and size must be at most the number of events in the
// journal. Otherwise the error is a *ledger.Refusal with Code Invalid, whose Field is "seq" or "size". If stored data is
// damaged, the error is a *store.DamageError.
func (v *View) Inclusion(org ledger.ID, seq, size uint64) (Inclusion, error) {
	return newTreeReader(v, org).inclusion(seq, size)
}

func (r *treeReader) inclusion(seq, size uint64) (Inclusion, error) {
	p := Inclusion{Seq: seq, Size: size}
	head, err := r.view.headOfAtLeast(r.org, "posting.Inclusion", "size", size)
	if err != nil {
		return p, err
	}
	if seq == 0 || seq > size {
		return p, ledger.RefuseField("posting.Inclusion", "seq", "seq must be from 1 to %d", size)
	}
	leaf := int64(seq - 1)
	if p.Leaf, err = r.leaf(leaf); err != nil {
		return p, err
	}
	if p.Path, err = tlog.ProveRecord(int64(size), leaf, r); err != nil {
		return p, err
	}
	if p.Root, err = r.root(head, size); err != nil {
		return p, err
	}
	if err = tlog.CheckRecord(p.Path, int64(size), p.Root, leaf, tlog.RecordHash(p.Leaf)); err != nil {
		return p, damaged("organization %v: its tree does not prove event %d: %v", r.org, seq, err)
	}
	return p, nil
}

// Consistency returns a proof that the journal of length to begins with the journal of length from. The arguments must satisfy
// 1 ≤ from ≤ to, and to must be at most the number of events in the journal. Otherwise the error is a *ledger.Refusal with Code
// Invalid, whose Field is "from" or "to". If stored data is damaged, the error is a *store.DamageError.
func (v *View) Consistency(org ledger.ID, from, to uint64) (Consistency, error) {
	p := Consistency{From: from, To: to}
	head, err := v.headOfAtLeast(org, "posting.Consistency", "to", to)
	if err != nil {
		return p, err
	}
	if from == 0 || from > to {
		return p, ledger.RefuseField("posting.Consistency", "from", "from must be from 1 to %d", to)
	}
	b := newTreeReader(v, org)
	if p.Path, err = tlog.ProveTree(int64(to), int64(from), b); err != nil {
		return p, err
	}
	if p.FromRoot, err = b.root(head, from); err != nil {
		return p, err
	}
	if p.ToRoot, err = b.root(head, to); err != nil {
		return p, err
	}
	if err = tlog.CheckTree(p.Path, int64(to), p.ToRoot, int64(from), p.FromRoot); err != nil {
		return p, damaged("organization %v: its trees of %d and of %d events disagree: %v", org, from, to, err)
	}
	return p, nil
}

// headOfAtLeast returns the number of events in the journal, and the root of their tree. If the journal has fewer than size
// events, or if size is 0, it returns a refusal.
func (v *View) headOfAtLeast(org ledger.ID, op, field string, size uint64) (tlog.Tree, error) {
	n, root, err := v.Head(org)
	if err != nil {
		return tlog.Tree{}, err
	}
	if size == 0 || size > n {
		return tlog.Tree{}, ledger.RefuseField(op, field, "%s must be from 1 to %d, the size of the journal", field, n)
	}
	return tlog.Tree{N: int64(n), Hash: root}, nil
}

// treeReader reads those hashes in an organization's tree that a proof needs. It implements tlog.HashReader.
type treeReader struct {
	view         *View
	org          ledger.ID
	loadedBlocks []*treeBlock // branches that were read already; a proof needs only a few
	rows         int          // number of rows read
}

// treeBlock is the part of the tree that was completed by one block (a stored row of consecutive events).
type treeBlock struct {
	first    uint64          // index of the block's first leaf
	end      uint64          // number of leaves in the tree that ends with the block
	crossing []store.Subtree // subtrees that began before the block and end in it
	leaves   [][]byte        // canonical bytes of the block's events; nil until loadEvents reads them
	hashes   []tlog.Hash     // hashes of the leaves
}

func newTreeReader(v *View, org ledger.ID) *treeReader { return &treeReader{view: v, org: org} }

// ReadHashes implements tlog.HashReader.
func (r *treeReader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, stored := range indexes {
		level, n := tlog.SplitStoredHashIndex(stored)
		var err error
		if hashes[i], err = r.subtree(level, uint64(n)); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// subtree returns the hash of the subtree with the index n on the given level. The subtree's first leaf has the index n<<level.
// If the subtree is wholly in one block, its hash is computed from the block's events. Otherwise the hash is in the tree row
// that is stored beside the block with the subtree's last leaf.
func (r *treeReader) subtree(level int, n uint64) (tlog.Hash, error) {
	begin, end := n<<level, (n+1)<<level
	part, err := r.block(end - 1)
	if err != nil {
		return tlog.Hash{}, err
	}
	if begin < part.first {
		for i := range part.crossing {
			if s := &part.crossing[i]; s.Level == level && s.Index == n {
				return s.Hash, nil
			}
		}
		return tlog.Hash{}, damaged("organization %v: no hash of subtree %d of level %d", r.org, n, level)
	}
	if err := r.loadEvents(part); err != nil {
		return tlog.Hash{}, err
	}
	return hashOf(part.hashes[begin-part.first : end-part.first]), nil
}

// hashOf returns the root hash of the tree over these leaf hashes. The number of leaf hashes must be a power of two.
func hashOf(leaves []tlog.Hash) tlog.Hash {
	if len(leaves) == 1 {
		return leaves[0]
	}
	half := len(leaves) / 2
	return tlog.NodeHash(hashOf(leaves[:half]), hashOf(leaves[half:]))
}

// leaf returns the canonical bytes of the event that is the leaf with this index.
func (r *treeReader) leaf(index int64) ([]byte, error) {
	part, err := r.block(uint64(index))
	if err != nil {
		return nil, err
	}
	if err := r.loadEvents(part); err != nil {
		return nil, err
	}
	return part.leaves[uint64(index)-part.first], nil
}

// root returns the root of the tree of the first size events. If these are all events of the journal, the result is the stored
// root (head.Hash), so that a proof is checked against the value that was signed.
func (r *treeReader) root(head tlog.Tree, size uint64) (tlog.Hash, error) {
	if int64(size) == head.N {
		return head.Hash, nil
	}
	return tlog.TreeHash(int64(size), r)
}

// block returns the branch that was completed by the block with this leaf.
func (r *treeReader) block(leaf uint64) (*treeBlock, error) {
	for _, part := range r.loadedBlocks {
		if part.first <= leaf && leaf < part.end {
			return part, nil
		}
	}
	r.rows++
	key, row, found, err := r.view.snap.Last(store.KeyTreeRows(nil, r.org), store.KeyTreeRow(nil, r.org, leaf+1))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, damaged("organization %v: no tree row for event %d", r.org, leaf+1)
	}
	part := new(treeBlock)
	edge, crossing, err := store.DecodeTree(row)
	if err != nil {
		return nil, damaged("organization %v: %v", r.org, err)
	}
	first, ok := store.ParseTreeKey(key)
	if !ok {
		return nil, damaged("tree row with key %x", key)
	}
	for i := range edge {
		part.end += 1 << edge[i].Level
	}
	part.first, part.crossing = first-1, crossing
	if leaf >= part.end {
		return nil, damaged("organization %v: no tree row for event %d", r.org, leaf+1)
	}
	r.loadedBlocks = append(r.loadedBlocks, part)
	return part, nil
}

// loadEvents reads the events of the block that completed the branch.
func (r *treeReader) loadEvents(part *treeBlock) error {
	if part.leaves != nil {
		return nil
	}
	key := store.KeyBlock(nil, r.org, part.first+1)
	r.rows++
	row, found, err := r.view.snap.Get(key, nil)
	if err != nil {
		return err
	}
	if !found {
		return damaged("organization %v: no block for event %d", r.org, part.first+1)
	}
	block, err := store.DecodeBlock(key, row)
	if err != nil {
		return damaged("organization %v: %v", r.org, err)
	}
	if part.first+block.Count != part.end {
		return damaged("organization %v: block %d has %d events, its tree row ends at %d", r.org, block.First, block.Count, part.end)
	}
	return block.Each(func(_ uint64, canonical []byte) (bool, error) {
		part.leaves = append(part.leaves, canonical)
		part.hashes = append(part.hashes, tlog.RecordHash(canonical))
		return true, nil
	})
}
