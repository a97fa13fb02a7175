package ledger

import "crypto/sha256"

// DerivedID computes an id from an organization and a name. The same arguments always give the same id. So a record with such
// an id can be found by its name, without a claim (a stored unique key). Like all identifiers, the id has the form of a UUID of
// version 4 (specification, "What the service does"), but its bits come from a hash instead of a random number generator.
func DerivedID(org ID, name string) ID {
	h := sha256.New()
	_, _ = h.Write(org[:]) // writing to a hash never fails
	_, _ = h.Write([]byte(name))
	var sum [sha256.Size]byte
	id := ID(h.Sum(sum[:0])[:len(ID{})])
	id[6] = id[6]&0x0f | 0x40 // set the version and the variant (RFC 9562, 5.4)
	id[8] = id[8]&0x3f | 0x80
	return id
}
