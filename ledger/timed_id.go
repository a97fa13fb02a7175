package ledger

import (
	"encoding/binary"
	"time"
)

// timeBytes is the length of the instant in a TimedID: milliseconds in 48 bits.
const timeBytes = 6

// TimedID returns a new id that has the form of a random UUID of version 4 (RFC 9562, 5.4) and contains an instant in
// milliseconds. random supplies the other 74 bits, so ids can't be guessed, and collisions are as rare as between UUIDs
// of version 7. The instant is masked with a hash of the random bits, so every bit of an id looks random until OrderedID
// removes the mask.
//
// A store uses the ordered form as a key, so the rows of new records follow all earlier rows. Random keys would fall
// between earlier keys, and every merge of tables would rewrite the earlier rows.
func TimedID(at time.Time, random ID) ID {
	id := random
	var milliseconds [8]byte
	binary.BigEndian.PutUint64(milliseconds[:], uint64(at.UnixMilli()))
	copy(id[:timeBytes], milliseconds[8-timeBytes:])
	return OrderedID(id)
}

// OrderedID converts an id to its ordered form, and an ordered form back to its id. If TimedID made the id, its ordered
// form begins with the id's instant. Any two different ids have different ordered forms, even if TimedID did not make them.
func OrderedID(id ID) ID {
	mask := mix(binary.BigEndian.Uint64(id[8:]))
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], mask)
	for i := range timeBytes {
		id[i] ^= bytes[i]
	}
	return id
}

// mix makes every bit of the result depend on every bit of x (the finalizer of MurmurHash3).
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
