package store

import (
	"crypto/sha256"
	"encoding/binary"

	"mizan/ledger"
)

// HashRecord is what ledger.Stored.Record holds: the SHA-256 of the record's row as
// EncodeRecord makes it, without its checksum, followed by the rows with the rest of
// a long payload, in order.
func HashRecord(row []byte, parts ...[]byte) ledger.Hash {
	if len(parts) == 0 {
		return sha256.Sum256(row)
	}
	h := sha256.New()
	for _, b := range append([][]byte{row}, parts...) {
		_, _ = h.Write(b) // it never fails
	}
	return ledger.Hash(h.Sum(nil))
}

// HashSealed is what Envelope.Sealed holds: the SHA-256 of the sealed row.
func HashSealed(sealed []byte) ledger.Hash { return sha256.Sum256(sealed) }

// AppendHashed appends what ledger.Stored.Notices hashes of a notice. Those of one
// event follow each other in the order of their channels.
func (n *Notice) AppendHashed(dst []byte) []byte {
	dst = append(append(dst, n.Channel), n.To[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(n.Body)))
	return append(dst, n.Body...)
}

// HashNotices is what ledger.Stored.Notices holds, of what AppendHashed has appended.
func HashNotices(hashed []byte) ledger.Hash { return sha256.Sum256(hashed) }

// AppendHashedClaim appends what ledger.Stored.Claims hashes of a claim: its row's
// key with its length, and its owner.
func AppendHashedClaim(dst, key, owner []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	return append(append(dst, key...), owner...)
}

// HashClaim is an item of ledger.Stored.Claims, of what AppendHashedClaim has appended.
func HashClaim(hashed []byte) ledger.Hash { return sha256.Sum256(hashed) }

// ClaimIsHashed tells whether the event of a claim has its hash. An owner that is
// only an id follows from the record that it names, whose own hash proves it.
func ClaimIsHashed(owner []byte) bool { return len(owner) > len(ledger.ID{}) }
