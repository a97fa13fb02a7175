package posting

import (
	"crypto/sha256"

	"mizan/posting/store"
)

// tree is the right edge of an organization's Merkle tree (RFC 6962): the complete subtrees of
// the leaves so far, largest first.
type tree struct {
	size    uint64
	edge    []store.Subtree
	scratch []byte
}

// add appends a leaf and calls completed with each subtree that the leaf completes.
func (t *tree) add(leaf []byte, completed func(store.Subtree)) {
	t.scratch = append(append(t.scratch[:0], 0), leaf...)
	s := store.Subtree{Index: t.size, Hash: sha256.Sum256(t.scratch)}
	t.size++
	for n := len(t.edge); n > 0 && t.edge[n-1].Level == s.Level; n-- {
		s = store.Subtree{Level: s.Level + 1, Index: s.Index >> 1, Hash: nodeHash(t.edge[n-1].Hash, s.Hash)}
		t.edge = t.edge[:n-1]
		completed(s)
	}
	t.edge = append(t.edge, s)
}

// root returns the hash of the whole tree; for a tree without leaves, the hash of nothing.
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
