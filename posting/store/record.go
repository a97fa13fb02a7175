package store

import (
	"crypto/sha256"
	"encoding/binary"

	"mizan/ledger"
)

// Envelope is what the writer stores in every record's row before the payload.
type Envelope struct {
	Version     uint64
	LastSeq     uint64        // seq of the record's last event
	Started     ledger.Micros // booked time of the first event
	Updated     ledger.Micros // booked time of the last event
	Due         ledger.Micros // when work on the record becomes due
	HeldSeq     uint64        // seq of the open pending entry; 0: there is none
	SettledSeq  uint64        // seq of the first posted or captured entry; 0: there is none
	Finished    ledger.Micros // booked time of the last event that finished the record; 0: there is none
	FurtherRows uint64        // number of further rows with the rest of a long payload
	Number      uint64        // the record's number in its sequence; 0: it has none

	// Sealed is the SHA-256 of the record's sealed row, a ciphertext; zero: the record has none. Because
	// Sealed is in the record's row, the hash of the record proves the ciphertext too.
	Sealed ledger.Hash
}

// MaxPart is the maximum number of bytes of a payload in one row.
const MaxPart = 96 << 10

// The first byte of a record's row: its form, and flags of optional fields.
const (
	recordForm   = 1
	recordNumber = 1 << 1
	recordSealed = 1 << 2
)

// EncodeRecord appends a record's row: the envelope and the payload, or the first MaxPart bytes
// of a long payload.
func EncodeRecord(dst []byte, e Envelope, payload []byte) []byte {
	form := byte(recordForm)
	if e.Number != 0 {
		form |= recordNumber
	}
	if e.Sealed != (ledger.Hash{}) {
		form |= recordSealed
	}
	dst = append(dst, form)
	dst = binary.AppendUvarint(dst, e.Version)
	dst = binary.AppendUvarint(dst, e.LastSeq)
	dst = binary.AppendUvarint(dst, uint64(e.Started))
	dst = binary.AppendUvarint(dst, uint64(e.Updated))
	dst = binary.AppendUvarint(dst, uint64(e.Due))
	dst = binary.AppendUvarint(dst, e.HeldSeq)
	dst = binary.AppendUvarint(dst, e.SettledSeq)
	dst = binary.AppendUvarint(dst, uint64(e.Finished))
	dst = binary.AppendUvarint(dst, e.FurtherRows)
	if e.Number != 0 {
		dst = binary.AppendUvarint(dst, e.Number)
	}
	if e.Sealed != (ledger.Hash{}) {
		dst = append(dst, e.Sealed[:]...)
	}
	return append(dst, payload...)
}

// DecodeRecord parses a record's row. The payload aliases the row. It is incomplete if the envelope's FurtherRows is
// not 0.
func DecodeRecord(row []byte) (e Envelope, payload []byte, ok bool) {
	r := reader{src: row}
	form := r.byte()
	if form&recordForm == 0 || form&^(recordForm|recordNumber|recordSealed) != 0 {
		return e, nil, false
	}
	e.Version = r.uvarint()
	e.LastSeq = r.uvarint()
	e.Started = ledger.Micros(r.uvarint())
	e.Updated = ledger.Micros(r.uvarint())
	e.Due = ledger.Micros(r.uvarint())
	e.HeldSeq = r.uvarint()
	e.SettledSeq = r.uvarint()
	e.Finished = ledger.Micros(r.uvarint())
	e.FurtherRows = r.uvarint()
	if form&recordNumber != 0 {
		e.Number = r.uvarint()
	}
	if form&recordSealed != 0 {
		copy(e.Sealed[:], r.take(len(e.Sealed)))
	}
	return e, r.src, !r.bad
}

// reader parses a row from its beginning. After the first fault, bad stays set and all methods return zeros.
type reader struct {
	src []byte // what is not parsed yet
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || len(r.src) < n {
		r.bad = true
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
	if r.bad {
		return 0
	}
	v, n := binary.Uvarint(r.src)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.src = r.src[n:]
	return v
}

func (r *reader) id() (id ledger.ID) {
	copy(id[:], r.take(16))
	return id
}

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
