package reconciliation

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"mizan/ledger"
	"mizan/ledger/money"
)

// MaxBatch is the maximum number of lines in a stored batch. A batch is one Change (all-or-nothing write), so it is small:
// payments wait for it.
const MaxBatch = 200

// Outcome is what an import found out about a line.
type Outcome struct {
	Rule       uint8 // 1 + the index in Rules of the rule that matched; 0: no entry was matched
	Entry      uint64
	Difference DifferenceKind // 0 if the line agrees with its entry
}

// BookedLine is a line as an import has stored it.
type BookedLine struct {
	Line
	Outcome
	Key LineKey
}

// IsOwned tells whether the line counts. A duplicate belongs to an earlier report, or to an earlier line of its file.
func (b *BookedLine) IsOwned() bool { return b.Difference != Duplicate }

// IsMatched tells whether the line agrees with its entry in every respect.
func (b *BookedLine) IsMatched() bool { return b.Difference == 0 }

// Batch is a part of a report: some of its lines, in the order of the report. Its record never changes.
type Batch struct {
	Report ledger.ID
	Number uint64 // 0, 1, 2 and so on within the report
	Lines  []BookedLine
}

// BatchID returns the id of the record of a report's batch. It is a hash in the form of a UUID, so that a report needs no list
// of its batches.
func BatchID(report ledger.ID, number uint64) ledger.ID {
	return derivedID("batch", report[:], binary.BigEndian.AppendUint64(nil, number))
}

// DayID returns the id of the record of a closed day.
func DayID(terminal ledger.ID, day ledger.Date) ledger.ID {
	return derivedID("day", terminal[:], binary.BigEndian.AppendUint64(nil, uint64(day)))
}

func derivedID(parts ...any) (id ledger.ID) {
	h := sha256.New()
	for _, part := range parts {
		switch p := part.(type) {
		case string:
			h.Write(append([]byte(p), 0))
		case []byte:
			h.Write(p)
		}
	}
	copy(id[:], h.Sum(nil))
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // the form of a UUID of version 4
	return id
}

// batchVersion is the first byte of a stored batch.
const batchVersion = 1

// ErrBatch is returned for bytes that are not a stored batch.
var ErrBatch = errors.New("not a batch of lines")

// AppendBinary appends the stored form of the batch.
func (b *Batch) AppendBinary(dst []byte) []byte {
	dst = append(append(dst, batchVersion), b.Report[:]...)
	dst = binary.AppendUvarint(dst, b.Number)
	dst = binary.AppendUvarint(dst, uint64(len(b.Lines)))
	for i := range b.Lines {
		l := &b.Lines[i]
		dst = l.Line.AppendBinary(dst)
		dst = append(dst, l.Rule, byte(l.Difference))
		dst = binary.AppendUvarint(dst, l.Entry)
		dst = append(dst, l.Key[:]...)
	}
	return dst
}

// ReadBatch parses the stored form of a batch.
func ReadBatch(src []byte) (*Batch, error) {
	r := batchReader{src: src}
	b := new(Batch)
	if r.byte() != batchVersion {
		return nil, ErrBatch
	}
	copy(b.Report[:], r.bytes(uint64(len(b.Report))))
	b.Number = r.uvarint()
	n := r.uvarint()
	if n > MaxBatch {
		return nil, ErrBatch
	}
	b.Lines = make([]BookedLine, n)
	for i := range b.Lines {
		l := &b.Lines[i]
		r.line(&l.Line)
		l.Rule, l.Difference, l.Entry = r.byte(), DifferenceKind(r.byte()), r.uvarint()
		copy(l.Key[:], r.bytes(uint64(len(l.Key))))
	}
	if r.failed || len(r.src) != 0 {
		return nil, ErrBatch
	}
	return b, nil
}

// batchReader cuts values from the front of src. After a failure it returns zero values.
type batchReader struct {
	src    []byte
	failed bool
}

func (r *batchReader) fail() { r.src, r.failed = nil, true }

func (r *batchReader) bytes(n uint64) []byte {
	if n > uint64(len(r.src)) {
		r.fail()
		return nil
	}
	b := r.src[:n]
	r.src = r.src[n:]
	return b
}

func (r *batchReader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *batchReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.src)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.src = r.src[size:]
	return n
}

func (r *batchReader) text() string { return string(r.bytes(r.uvarint())) }

func (r *batchReader) amount() money.Amount {
	a, rest, err := money.ReadAmount(r.src)
	if r.src = rest; err != nil {
		r.fail()
	}
	return a
}

func (r *batchReader) line(l *Line) {
	l.ID = r.text()
	flags := r.byte()
	l.Kind, l.Outgoing = LineKind(flags>>2), flags&1 != 0
	l.Amount = r.amount()
	l.Fee = signed(r.amount(), flags&2 != 0)
	asset, rest, err := money.ReadAsset(r.src)
	if l.Asset, r.src = asset, rest; err != nil {
		r.fail()
	}
	l.Date = ledger.Date(r.uvarint())
	n := r.uvarint()
	if n > MaxReferences {
		r.fail()
		return
	}
	for range n {
		l.References = append(l.References, r.text())
	}
}
