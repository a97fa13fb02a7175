package simulator

import "hash/maphash"

const (
	// indexBound is how many charges are found without a search of the log.
	indexBound = 262_144

	// sieveBits is the size of the sieve (a Bloom filter), 4 MiB: with a million calls in the log, 2 in 10,000
	// unknown references cost a search; with ten million, 1 in 4.
	sieveBits   = 1 << 25
	sieveProbes = 4 // bits that each hash sets in the sieve
)

// index finds a charge's newest line by its key. It stores only hashes of keys, so the caller
// must check that the line has the key.
type index struct {
	seed       maphash.Seed
	bound      int
	lines      map[uint64]int64 // hash → offset
	ring       []uint64         // hashes in the order of insertion, oldest first until the ring is full
	ringOldest int              // position of the oldest hash in the ring

	// sieve is a Bloom filter, which can say for certain that a charge is unknown. After a kill most
	// inquiries are about calls that never arrived; without the sieve each would search the whole log.
	sieve []uint64
}

func newIndex(bound int) index {
	return index{
		seed:  maphash.MakeSeed(),
		bound: bound,
		lines: make(map[uint64]int64),
		sieve: make([]uint64, sieveBits/64),
	}
}

// hash returns the hash of a charge's key.
func (x *index) hash(key []byte) uint64 { return maphash.Bytes(x.seed, key) }

// put stores where a charge's newest line is. A charge keeps its position in the ring, so further
// lines do not prolong its time in the index.
func (x *index) put(hash uint64, offset int64) {
	for i := range uint64(sieveProbes) {
		word, bit := probe(hash, i)
		x.sieve[word] |= bit
	}
	countBefore := len(x.lines)
	if x.lines[hash] = offset; len(x.lines) == countBefore {
		return
	}
	if len(x.ring) < x.bound {
		x.ring = append(x.ring, hash)
		return
	}
	delete(x.lines, x.ring[x.ringOldest])
	x.ring[x.ringOldest] = hash
	x.ringOldest = (x.ringOldest + 1) % x.bound
}

// find returns where the newest line with this hash begins, if it is in the index.
func (x *index) find(hash uint64) (offset int64, found bool) {
	offset, found = x.lines[hash]
	return offset, found
}

// mayContain tells whether a charge with this hash may have been put in. A result of false is certain.
func (x *index) mayContain(hash uint64) bool {
	for i := range uint64(sieveProbes) {
		if word, bit := probe(hash, i); x.sieve[word]&bit == 0 {
			return false
		}
	}
	return true
}

// probe returns the i-th position of a hash in the sieve, by double hashing: the word's index and the bit's mask.
func probe(hash, i uint64) (word, bit uint64) {
	position := (hash + i*(hash>>32|1)) % sieveBits
	return position / 64, 1 << (position % 64)
}
