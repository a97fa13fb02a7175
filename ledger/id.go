package ledger

import "crypto/sha256"

// DerivedID returns the id that follows from an organization and a name. The same organization and name always give
// the same id, so a record with such an id is found without a claim (a stored unique key) on its name. The id
// has the form of a UUID of version 4, as all identifiers have (specification, "What the service does"); bits of a hash replace the random bits.
func DerivedID(org ID, name string) ID {
	h := sha256.New()
	_, _ = h.Write(org[:]) // a hash's Write never fails
	_, _ = h.Write([]byte(name))
	var sum [sha256.Size]byte
	id := ID(h.Sum(sum[:0])[:len(ID{})])
	id[6] = id[6]&0x0f | 0x40 // the version and the variant (RFC 9562, 5.4)
	id[8] = id[8]&0x3f | 0x80
	return id
}
