package store

import (
	"crypto/sha256"
	"encoding/binary"

	"mizan/ledger"
)

// HashRecord returns the value of ledger.Stored.Record: the SHA-256 of the record's row in the
// form of EncodeRecord, without its checksum, followed by the rows with the rest of a long
// payload, in order.
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

// HashSealed returns the value of Envelope.Sealed: the SHA-256 of the sealed row.
func HashSealed(sealed []byte) ledger.Hash { return sha256.Sum256(sealed) }

// AppendHashed appends the bytes of a notice that ledger.Stored.Notices covers. The notices of
// one event follow each other in the order of their channels.
func (n *Notice) AppendHashed(dst []byte) []byte {
	dst = append(append(dst, n.Channel), n.To[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(n.Body)))
	return append(dst, n.Body...)
}

// HashNotices returns the value of ledger.Stored.Notices for the bytes from AppendHashed.
func HashNotices(hashed []byte) ledger.Hash { return sha256.Sum256(hashed) }

// AppendHashedClaim appends the bytes of a claim that ledger.Stored.Claims covers: its row's key
// with the key's length, and its owner.
func AppendHashedClaim(dst, key, owner []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	return append(append(dst, key...), owner...)
}

// HashClaim returns the hash in ledger.Stored.Claims for the bytes from AppendHashedClaim.
func HashClaim(hashed []byte) ledger.Hash { return sha256.Sum256(hashed) }

// ClaimIsHashed tells whether a claim's event has the claim's hash. A claim whose owner is only an id
// needs no hash: the claim follows from the record with that id, and that record has a hash of its own.
func ClaimIsHashed(owner []byte) bool { return len(owner) > len(ledger.ID{}) }
