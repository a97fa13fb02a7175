package scan

import "hash/maphash"

// Multiset is a short form of a set of keys: their number and the sum of their hashes. It does
// not depend on their order.
type Multiset struct{ n, sum uint64 }

// Add adds a key.
func (m *Multiset) Add(seed maphash.Seed, key []byte) {
	m.n++
	m.sum += maphash.Bytes(seed, key)
}
