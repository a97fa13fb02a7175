package simulator

import "github.com/cespare/xxhash/v2"

const (
	// indexBound is how many charges are found without a search of the log.
	indexBound = 262_144

	// sieveBits is the size of the sieve (a Bloom filter), 4 MiB: with a million calls in the log, 2 in 10,000
	// unknown references cost a search; with ten million, 1 in 4.
	sieveBits   = 1 << 25
	sieveProbes = 4 // bits that each hash sets in the sieve
)

// index finds a charge's newest line by the charge's key: the reference and terminal with which
// each of its lines begins. It stores only hashes of keys, so the caller must check that the line
// has the key.
type index struct {
	bound     int
	positions map[uint64]uint32 // hash → position in the ring
	ring      []indexEntry      // in the order of insertion, oldest first until the ring is full
	oldest    int               // position of the oldest entry in the ring

	// sieve is a Bloom filter, which can say for certain that a charge is unknown. After a kill most
	// inquiries are about calls that never arrived; without the sieve each would search the whole log.
	sieve []uint64
}

// indexEntry says where the newest line of a charge begins.
type indexEntry struct {
	hash   uint64 // hash of the charge's key
	offset int64
}

func newIndex(bound, sieveBits int) index {
	return index{
		bound:     bound,
		positions: make(map[uint64]uint32),
		sieve:     make([]uint64, sieveBits/64),
	}
}

// hash returns the hash of a charge's key. It needs no secret seed, because the service itself generates the ids
// in keys.
func (x *index) hash(key []byte) uint64 { return xxhash.Sum64(key) }

// put stores where a charge's newest line is. A charge keeps its position in the ring, so further
// lines do not prolong its time in the index.
func (x *index) put(hash uint64, offset int64) {
	for i := range uint64(sieveProbes) {
		word, bit := x.probe(hash, i)
		x.sieve[word] |= bit
	}
	if position, known := x.positions[hash]; known {
		x.ring[position].offset = offset
		return
	}
	if len(x.ring) < x.bound {
		x.append(indexEntry{hash, offset})
		return
	}
	delete(x.positions, x.ring[x.oldest].hash)
	x.positions[hash] = uint32(x.oldest)
	x.ring[x.oldest] = indexEntry{hash, offset}
	x.oldest = (x.oldest + 1) % x.bound
}

// append adds an entry to a ring that is not full.
func (x *index) append(entry indexEntry) {
	x.positions[entry.hash] = uint32(len(x.ring))
	x.ring = append(x.ring, entry)
}

// find returns where the newest line with this hash begins, if it is in the index.
func (x *index) find(hash uint64) (offset int64, found bool) {
	position, found := x.positions[hash]
	if !found {
		return 0, false
	}
	return x.ring[position].offset, true
}

// mayContain tells whether a charge with this hash may have been put in. A result of false is certain.
func (x *index) mayContain(hash uint64) bool {
	for i := range uint64(sieveProbes) {
		if word, bit := x.probe(hash, i); x.sieve[word]&bit == 0 {
			return false
		}
	}
	return true
}

// probe returns the i-th position of a hash in the sieve, by double hashing: the word's index and the bit's mask.
func (x *index) probe(hash, i uint64) (word, bit uint64) {
	position := (hash + i*(hash>>32|1)) & uint64(len(x.sieve)*64-1) // the number of bits is a power of two
	return position / 64, 1 << (position % 64)
}
