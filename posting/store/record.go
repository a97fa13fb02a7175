package store

import (
	"crypto/sha256"
	"encoding/binary"

	"mizan/ledger"
)

// RecordHeader is what the writer stores in every record's row before the payload.
type RecordHeader struct {
	Version     uint64
	FirstSeq    uint64        // seq of the record's first event
	LastSeq     uint64        // seq of the record's last event
	StartedAt   ledger.Micros // booked time of the first event
	UpdatedAt   ledger.Micros // booked time of the last event
	Due         ledger.Micros // when work on the record becomes due
	HeldSeq     uint64        // seq of the open pending entry; 0: there is none
	SettledSeq  uint64        // seq of the first posted or captured entry; 0: there is none
	FinishedAt  ledger.Micros // booked time of the last event that finished the record; 0: there is none
	FurtherRows uint64        // number of further rows, which contain the rest of a long payload
	Number      uint64        // the record's number in its sequence; 0: it has none

	// Sealed is the SHA-256 of the record's sealed row, which is a ciphertext. If there is no sealed row, it is zero. Sealed
	// is part of the record's row, so the hash of the record also proves the ciphertext.
	Sealed ledger.Hash
}

// MaxPart is the maximum number of bytes of a payload in one row.
const MaxPart = 96 << 10

// The first byte of a record's row: the version of its form, and flags that tell which optional fields follow.
const (
	recordFormat = 1
	recordNumber = 1 << 1
	recordSealed = 1 << 2
)

// EncodeRecord appends a record's row: the envelope and the payload, or the first MaxPart bytes
// of a long payload.
func EncodeRecord(dst []byte, e RecordHeader, payload []byte) []byte {
	form := byte(recordFormat)
	if e.Number != 0 {
		form |= recordNumber
	}
	if e.Sealed != (ledger.Hash{}) {
		form |= recordSealed
	}
	dst = append(dst, form)
	dst = binary.AppendUvarint(dst, e.Version)
	dst = binary.AppendUvarint(dst, e.LastSeq)
	dst = binary.AppendUvarint(dst, e.LastSeq-e.FirstSeq) // most differences are small, because most records end soon
	dst = binary.AppendUvarint(dst, uint64(e.StartedAt))
	dst = binary.AppendUvarint(dst, uint64(e.UpdatedAt))
	dst = binary.AppendUvarint(dst, uint64(e.Due))
	dst = binary.AppendUvarint(dst, e.HeldSeq)
	dst = binary.AppendUvarint(dst, e.SettledSeq)
	dst = binary.AppendUvarint(dst, uint64(e.FinishedAt))
	dst = binary.AppendUvarint(dst, e.FurtherRows)
	if e.Number != 0 {
		dst = binary.AppendUvarint(dst, e.Number)
	}
	if e.Sealed != (ledger.Hash{}) {
		dst = append(dst, e.Sealed[:]...)
	}
	return append(dst, payload...)
}

// DecodeRecord parses the row of a record. The payload shares the memory of the row. If e.FurtherRows is not 0, the payload
// is only the beginning.
func DecodeRecord(row []byte) (e RecordHeader, payload []byte, ok bool) {
	r := reader{src: row}
	form := r.byte()
	if form&recordFormat == 0 || form&^(recordFormat|recordNumber|recordSealed) != 0 {
		return e, nil, false
	}
	e.Version = r.uvarint()
	e.LastSeq = r.uvarint()
	e.FirstSeq = e.LastSeq - r.uvarint()
	e.StartedAt = ledger.Micros(r.uvarint())
	e.UpdatedAt = ledger.Micros(r.uvarint())
	e.Due = ledger.Micros(r.uvarint())
	e.HeldSeq = r.uvarint()
	e.SettledSeq = r.uvarint()
	e.FinishedAt = ledger.Micros(r.uvarint())
	e.FurtherRows = r.uvarint()
	if form&recordNumber != 0 {
		e.Number = r.uvarint()
	}
	if form&recordSealed != 0 {
		copy(e.Sealed[:], r.take(len(e.Sealed)))
	}
	return e, r.src, !r.hasFailed
}

// reader parses a row from its beginning. When a value cannot be parsed, the reader sets bad, and from then on all methods
// return zeros.
type reader struct {
	src       []byte // the bytes that are not parsed yet
	hasFailed bool
}

func (r *reader) take(n int) []byte {
	if r.hasFailed || n < 0 || len(r.src) < n {
		r.hasFailed = true
		return nil
	}
	part := r.src[:n:n]
	r.src = r.src[n:]
	return part
}

func (r *reader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	if r.hasFailed {
		return 0
	}
	v, n := binary.Uvarint(r.src)
	if n <= 0 {
		r.hasFailed = true
		return 0
	}
	r.src = r.src[n:]
	return v
}

func (r *reader) id() (id ledger.ID) {
	copy(id[:], r.take(16))
	return id
}

// HashRecord returns the hash of a record that events contain (ledger.StoredHashes.Record). It is the SHA-256 over the row
// that EncodeRecord has made and, if the payload is long, over the further rows.
func HashRecord(row []byte, parts ...[]byte) ledger.Hash {
	if len(parts) == 0 {
		return sha256.Sum256(row)
	}
	h := sha256.New()
	for _, b := range append([][]byte{row}, parts...) {
		_, _ = h.Write(b) // Write of a hash never fails
	}
	return ledger.Hash(h.Sum(nil))
}

// HashSealed returns the hash for RecordHeader.Sealed. It is the SHA-256 of a sealed row (a ciphertext that is stored beside
// a record).
func HashSealed(sealed []byte) ledger.Hash { return sha256.Sum256(sealed) }

// AppendHashed appends those bytes of a notice that the hash in ledger.StoredHashes.Notices covers. To get the input of the
// hash, the caller appends all notices of one event in the order of their channels.
func (n *Notice) AppendHashed(dst []byte) []byte {
	dst = append(append(dst, n.Channel), n.To[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(n.Body)))
	return append(dst, n.Body...)
}

// HashNotices returns the hash for ledger.StoredHashes.Notices. input consists of the bytes that AppendHashed has appended.
func HashNotices(input []byte) ledger.Hash { return sha256.Sum256(input) }

// AppendHashedClaim appends those bytes of a claim that its hash in ledger.StoredHashes.Claims covers: the length of the key
// of the claim's row, this key, and the claim's owner.
func AppendHashedClaim(dst, key, owner []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	return append(append(dst, key...), owner...)
}

// HashClaim returns the hash for ledger.StoredHashes.Claims. input consists of the bytes that AppendHashedClaim has
// appended.
func HashClaim(input []byte) ledger.Hash { return sha256.Sum256(input) }

// ClaimIsHashed tells whether an event must contain the hash of a claim with this owner. If the owner is only the id of a
// record, no hash is needed: the claim follows from that record, which has a hash of its own.
func ClaimIsHashed(owner []byte) bool { return len(owner) > len(ledger.ID{}) }
