package scan

import "hash/maphash"

// Multiset represents a set of keys by the number of keys and the sum of their hashes. Number and sum do not depend on
// the order of the keys.
type Multiset struct{ count, hashSum uint64 }

// Add adds a key.
func (m *Multiset) Add(seed maphash.Seed, key []byte) {
	m.count++
	m.hashSum += maphash.Bytes(seed, key)
}
