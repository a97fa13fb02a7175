package store

import (
	"encoding/binary"

	"mizan/ledger"
)

// Envelope is what the writer keeps of every record, before its payload.
type Envelope struct {
	Version  uint64
	LastSeq  uint64
	Started  ledger.Micros
	Updated  ledger.Micros
	Due      ledger.Micros
	Held     uint64
	Settled  uint64
	Finished ledger.Micros
	Parts    uint64 // rows that follow with the rest of a long payload
	Number   uint64 // from a sequence; 0: none
}

// MaxPart is how much of a payload one row holds.
const MaxPart = 96 << 10

// The versions that begin a record row: of one without a number, and with one.
const (
	envelopeVersion  = 1
	envelopeNumbered = 2
)

// EncodeRecord appends a record's row: the envelope and the payload, of a long
// payload its first MaxPart bytes.
func EncodeRecord(dst []byte, e Envelope, payload []byte) []byte {
	version := byte(envelopeVersion)
	if e.Number != 0 {
		version = envelopeNumbered
	}
	dst = append(dst, version)
	dst = binary.AppendUvarint(dst, e.Version)
	dst = binary.AppendUvarint(dst, e.LastSeq)
	dst = binary.AppendUvarint(dst, uint64(e.Started))
	dst = binary.AppendUvarint(dst, uint64(e.Updated))
	dst = binary.AppendUvarint(dst, uint64(e.Due))
	dst = binary.AppendUvarint(dst, e.Held)
	dst = binary.AppendUvarint(dst, e.Settled)
	dst = binary.AppendUvarint(dst, uint64(e.Finished))
	dst = binary.AppendUvarint(dst, e.Parts)
	if e.Number != 0 {
		dst = binary.AppendUvarint(dst, e.Number)
	}
	return append(dst, payload...)
}

// DecodeRecord takes a record's row apart; the payload aliases it and is not
// whole if the envelope has Parts.
func DecodeRecord(row []byte) (e Envelope, payload []byte, ok bool) {
	r := reader{src: row}
	version := r.byte()
	if version != envelopeVersion && version != envelopeNumbered {
		return e, nil, false
	}
	e.Version = r.uvarint()
	e.LastSeq = r.uvarint()
	e.Started = ledger.Micros(r.uvarint())
	e.Updated = ledger.Micros(r.uvarint())
	e.Due = ledger.Micros(r.uvarint())
	e.Held = r.uvarint()
	e.Settled = r.uvarint()
	e.Finished = ledger.Micros(r.uvarint())
	e.Parts = r.uvarint()
	if version == envelopeNumbered {
		e.Number = r.uvarint()
	}
	return e, r.src, !r.bad
}

// reader takes a row apart; bad stays set after the first fault.
type reader struct {
	src []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || len(r.src) < n {
		r.bad = true
		return nil
	}
	taken := r.src[:n:n]
	r.src = r.src[n:]
	return taken
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
