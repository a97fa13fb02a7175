package ledger

import (
	"encoding/binary"
	"time"
)

// timeBytes is the length in bytes of the instant in a TimedID: 48 bits contain the milliseconds.
const timeBytes = 6

// TimedID returns a new id that contains an instant in milliseconds, but looks like a random UUID of version 4 (RFC 9562, 5.4).
// The other 74 bits are from the argument random, so ids can't be guessed, and collisions are as rare as between UUIDs of
// version 7. The bits of the instant are combined (XOR) with a hash of the random bits, so they look random too. OrderedID
// recovers the instant.
//
// The store uses the ordered form (OrderedID) as a key, so the rows of new records come after all earlier rows. Random keys
// would fall between earlier keys, and every merge of the store's tables would have to rewrite the earlier rows.
func TimedID(at time.Time, random ID) ID {
	id := random
	var milliseconds [8]byte
	binary.BigEndian.PutUint64(milliseconds[:], uint64(at.UnixMilli()))
	copy(id[:timeBytes], milliseconds[8-timeBytes:])
	return OrderedID(id)
}

// OrderedID converts an id to its ordered form, and an ordered form back to its id. If TimedID has made the id, the ordered
// form begins with the id's instant. Different ids have different ordered forms, even if the ids were not made by TimedID.
func OrderedID(id ID) ID {
	mask := mix(binary.BigEndian.Uint64(id[8:]))
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], mask)
	for i := range timeBytes {
		id[i] ^= bytes[i]
	}
	return id
}

// mix hashes x so that every bit of the result depends on every bit of x. It is the finalizer of MurmurHash3.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
