package check

import "hash/maphash"

// multiset stands for keys in any order: their number and the sum of their hashes.
type multiset struct{ n, sum uint64 }

func (m *multiset) add(seed maphash.Seed, key []byte) {
	m.n++
	m.sum += maphash.Bytes(seed, key)
}
