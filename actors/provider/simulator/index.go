package simulator

import "hash/maphash"

const (
	// indexBound is how many charges are found without a search of the log.
	indexBound = 262_144

	// sieveBits is the size of the sieve, 4 MiB: with a million calls in the log, 2 in 10,000
	// unknown references cost a search; with ten million, 1 in 4.
	sieveBits   = 1 << 25
	sieveProbes = 4 // bits that each hash sets in the sieve
)

// index finds a charge's newest line by its key. It stores hashes only, so the line that it finds
// must be checked.
type index struct {
	seed   maphash.Seed
	bound  int
	lines  map[uint64]int64 // hash → offset
	oldest []uint64         // hashes in the order of insertion; a ring once it is full
	next   int              // the ring's oldest entry

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
	known := len(x.lines)
	if x.lines[hash] = offset; len(x.lines) == known {
		return
	}
	if len(x.oldest) < x.bound {
		x.oldest = append(x.oldest, hash)
		return
	}
	delete(x.lines, x.oldest[x.next])
	x.oldest[x.next] = hash
	x.next = (x.next + 1) % x.bound
}

// find returns where the newest line with this hash begins, if it is in the index.
func (x *index) find(hash uint64) (offset int64, found bool) {
	offset, found = x.lines[hash]
	return offset, found
}

// mayKnow tells whether a charge with this hash may have been put in. If not, that is certain.
func (x *index) mayKnow(hash uint64) bool {
	for i := range uint64(sieveProbes) {
		if word, bit := probe(hash, i); x.sieve[word]&bit == 0 {
			return false
		}
	}
	return true
}

// probe returns the i-th place of a hash in the sieve, by double hashing.
func probe(hash, i uint64) (word, bit uint64) {
	place := (hash + i*(hash>>32|1)) % sieveBits
	return place / 64, 1 << (place % 64)
}
