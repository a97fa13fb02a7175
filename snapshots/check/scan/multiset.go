package scan

import "hash/maphash"

// Multiset stands for keys in any order: their number and the sum of their hashes.
type Multiset struct{ n, sum uint64 }

func (m *Multiset) Add(seed maphash.Seed, key []byte) {
	m.n++
	m.sum += maphash.Bytes(seed, key)
}
