package store

import (
	"crypto/sha256"
	"encoding/binary"

	"mizan/ledger"
)

// HashRecord returns the value of ledger.Stored.Record: the SHA-256 of the record's row as
// EncodeRecord returns it, followed by the rows with the further parts of a long payload, in order.
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

// HashSealed returns the value of Envelope.Sealed: the SHA-256 of the sealed row (a ciphertext
// that is stored beside a record).
func HashSealed(sealed []byte) ledger.Hash { return sha256.Sum256(sealed) }

// AppendHashed appends the bytes of a notice that the hash ledger.Stored.Notices covers. The caller
// appends all notices of one event, in the order of their channels.
func (n *Notice) AppendHashed(dst []byte) []byte {
	dst = append(append(dst, n.Channel), n.To[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(n.Body)))
	return append(dst, n.Body...)
}

// HashNotices returns the value of ledger.Stored.Notices for the bytes from AppendHashed.
func HashNotices(input []byte) ledger.Hash { return sha256.Sum256(input) }

// AppendHashedClaim appends the bytes of a claim that its hash in ledger.Stored.Claims covers: the key of
// the claim's row with the key's length, and the claim's owner.
func AppendHashedClaim(dst, key, owner []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	return append(append(dst, key...), owner...)
}

// HashClaim returns the hash in ledger.Stored.Claims for the bytes from AppendHashedClaim.
func HashClaim(input []byte) ledger.Hash { return sha256.Sum256(input) }

// ClaimIsHashed tells whether a claim's event contains a hash of the claim. A claim whose owner is only the id
// of a record needs no hash: the claim follows from that record, which has a hash of its own.
func ClaimIsHashed(owner []byte) bool { return len(owner) > len(ledger.ID{}) }
