package simulator

import "github.com/cespare/xxhash/v2"

const (
	// indexBound is the number of newest charges that are found without searching the log.
	indexBound = 262_144

	// filterBits is the size of the Bloom filter: 4 MiB. If the log has a million calls, an inquiry
	// for an unknown reference searches the log in 2 of 10,000 cases; with ten million calls, in 1 of 4.
	filterBits   = 1 << 25
	filterProbes = 4 // number of bits that each hash sets in the Bloom filter
)

// index finds a charge's newest line by the charge's key (the reference and terminal, with which every line begins).
// The index stores only hashes of keys, so the caller must check that the line really has this key.
type index struct {
	bound     int
	positions map[uint64]uint32 // maps a hash to its position in the ring
	ring      []indexEntry      // in order of insertion; once the ring is full, a new entry replaces the oldest one
	oldest    int               // position of the oldest entry in the ring

	// bloomFilter is a Bloom filter, which can say for certain that a charge is unknown. After a crash most
	// inquiries are about calls that never arrived. Without the Bloom filter, each of these inquiries would search
	// the whole log.
	bloomFilter []uint64
}

// indexEntry says where the newest line of a charge begins.
type indexEntry struct {
	hash   uint64 // hash of the charge's key
	offset int64
}

func newIndex(bound, filterBits int) index {
	return index{
		bound:       bound,
		positions:   make(map[uint64]uint32),
		bloomFilter: make([]uint64, filterBits/64),
	}
}

// hash returns the hash of a charge's key. The hash needs no secret seed, because the ids in a key are generated
// by the service itself.
func (x *index) hash(key []byte) uint64 { return xxhash.Sum64(key) }

// put stores where a charge's newest line is. If the charge is already in the index, its position in the ring does
// not change, so further lines do not keep it in the index for longer.
func (x *index) put(hash uint64, offset int64) {
	for i := range uint64(filterProbes) {
		word, bit := x.probe(hash, i)
		x.bloomFilter[word] |= bit
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

// find returns the offset of the newest line with this hash, if the hash is in the index.
func (x *index) find(hash uint64) (offset int64, found bool) {
	position, found := x.positions[hash]
	if !found {
		return 0, false
	}
	return x.ring[position].offset, true
}

// mayContain returns false if it is certain that no charge with this hash is in the log.
func (x *index) mayContain(hash uint64) bool {
	for i := range uint64(filterProbes) {
		if word, bit := x.probe(hash, i); x.bloomFilter[word]&bit == 0 {
			return false
		}
	}
	return true
}

// probe returns the i-th bit of a hash in the Bloom filter, as the index of a word and a mask. The bit is found by
// double hashing.
func (x *index) probe(hash, i uint64) (word, bit uint64) {
	position := (hash + i*(hash>>32|1)) & uint64(len(x.bloomFilter)*64-1) // the number of bits is a power of two
	return position / 64, 1 << (position % 64)
}
