package check

import (
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"mizan/posting/store"
)

// For rule 5 of the checker (journals, hash trees, groups), this file checks the Merkle trees of journals. A block is
// a row of events. The Merkle root and the tree row (a row of subtrees) of a block must be equal to those that tlog
// (RFC 6962) computes from the canonical bytes of the events.

// tree computes an organization's Merkle tree (RFC 6962) with tlog. It stores only the last
// complete subtree of each level, because appending needs no more.
type tree struct {
	size         int64    // number of leaves
	lastSubtrees [64]node // last complete subtree of each level
}

// node is the root of a complete subtree.
type node struct {
	index int64 // index of the subtree among the subtrees of its level
	hash  tlog.Hash
}

// ReadHashes implements tlog.HashReader.
func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, storedIndex := range indexes {
		level, index := tlog.SplitStoredHashIndex(storedIndex)
		if t.lastSubtrees[level].index != index {
			return nil, fmt.Errorf("tree of %d leaves: subtree %d of level %d is not its edge", t.size, index, level)
		}
		hashes[i] = t.lastSubtrees[level].hash
	}
	return hashes, nil
}

// add appends a leaf and calls onSubtree for each subtree of several leaves that the leaf completes.
func (t *tree) add(leaf []byte, onSubtree func(store.Subtree)) error {
	hashes, err := tlog.StoredHashes(t.size, leaf, t)
	if err != nil {
		return err
	}
	for level, hash := range hashes {
		index := t.size >> level
		t.lastSubtrees[level] = node{index, hash}
		if level > 0 {
			onSubtree(store.Subtree{Level: level, Index: uint64(index), Hash: hash})
		}
	}
	t.size++
	return nil
}

func (t *tree) root() (tlog.Hash, error) { return tlog.TreeHash(t.size, t) }

// edge returns the complete subtrees that make up the tree, the largest first.
func (t *tree) edge() []store.Subtree {
	var edge []store.Subtree
	for level := bits.Len64(uint64(t.size)) - 1; level >= 0; level-- {
		if t.size>>level&1 == 1 {
			edge = append(edge, store.Subtree{Level: level, Index: uint64(t.lastSubtrees[level].index), Hash: t.lastSubtrees[level].hash})
		}
	}
	return edge
}

// treeRowChecker computes the expected content of the tree rows while blocks are read.
type treeRowChecker struct {
	tree         tree
	firstSeq     uint64          // seq of the first event of the block that is being read
	crossing     []store.Subtree // complete subtrees that begin before this block and end within it
	hasWrongRoot bool            // a root was wrong, so later roots are not compared
}

// beginBlock must be called before the events of a block are added.
func (f *treeRowChecker) beginBlock(firstSeq uint64) {
	f.firstSeq, f.crossing = firstSeq, f.crossing[:0]
}

func (f *treeRowChecker) add(canonical []byte) error {
	return f.tree.add(canonical, func(s store.Subtree) {
		if s.Index<<s.Level < f.firstSeq-1 {
			f.crossing = append(f.crossing, s)
		}
	})
}

// compare says what is wrong with a block's root and tree row. It returns an empty text if nothing is wrong.
func (f *treeRowChecker) compare(root [32]byte, row []byte) string {
	want, err := f.tree.root()
	if err != nil {
		return err.Error()
	}
	if root != want {
		f.hasWrongRoot = true
		return "another root than its events give"
	}
	if row == nil {
		return "no tree row"
	}
	edge, crossing, err := store.DecodeTree(row)
	switch {
	case err != nil:
		return err.Error()
	case !slices.Equal(edge, f.tree.edge()):
		return "a tree row with another edge"
	case !slices.Equal(crossing, f.crossing):
		return "a tree row with other subtrees"
	}
	return ""
}
