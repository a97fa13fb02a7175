package values

import (
	"crypto/rand"
	"encoding/binary"
)

// Kind is the kind of values in a file.
type Kind byte

// The kinds of values. They are stored.
const (
	Lasting     Kind = 1 // of rows that are never replaced or removed
	Replaceable Kind = 2
	removed     Kind = 3 // the file is removed; its row stays, so that the row of each number is known
)

var kinds = [...]Kind{Lasting, Replaceable}

// File describes a file.
type File struct {
	Number  uint32
	Kind    Kind
	Length  int64
	Extents []Extent // by their beginnings
}

// Extent is a part of a file that one process has written. It ends where the next one begins.
type Extent struct {
	From  uint32
	epoch [epochSize]byte // random; the checksums of the extent's entries depend on it
}

const (
	epochSize  = 8
	extentSize = 4 + epochSize // in a row
	fixedSize  = 1 + 8         // of a file's row without the extents

	// maxExtents is how many extents a file has at most. Then it gets no further entries.
	maxExtents = 64
)

func newExtent(from int64) Extent {
	x := Extent{From: uint32(from)}
	_, _ = rand.Read(x.epoch[:]) // never fails
	return x
}

// extentAt returns the extent that contains an offset.
func (f *File) extentAt(offset int64) (found Extent) {
	for _, x := range f.Extents {
		if int64(x.From) > offset {
			break
		}
		found = x
	}
	return found
}

// Append appends the value of the file's row: the kind, the length and the extents. The row's key has the number.
func (f File) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, byte(f.Kind)), uint64(f.Length))
	for i := range f.Extents {
		x := &f.Extents[i]
		dst = append(binary.BigEndian.AppendUint32(dst, x.From), x.epoch[:]...)
	}
	return dst
}

// ParseFile parses the value of the row of the file with a number.
func ParseFile(number uint32, row []byte) (f File, ok bool) {
	if len(row) < fixedSize || (len(row)-fixedSize)%extentSize != 0 {
		return f, false
	}
	f = File{Number: number, Kind: Kind(row[0]), Length: int64(binary.BigEndian.Uint64(row[1:]))}
	for row = row[fixedSize:]; len(row) > 0; row = row[extentSize:] {
		x := Extent{From: binary.BigEndian.Uint32(row)}
		copy(x.epoch[:], row[4:])
		f.Extents = append(f.Extents, x)
	}
	return f, f.isValid()
}

// isValid tells whether a row may describe such a file: the file has whole blocks, and its extents begin at 0 and at later
// blocks.
func (f *File) isValid() bool {
	if f.Kind == removed {
		return f.Length == 0 && len(f.Extents) == 0
	}
	if f.Kind != Lasting && f.Kind != Replaceable || f.Length%blockSize != 0 || len(f.Extents) == 0 || len(f.Extents) > maxExtents {
		return false
	}
	next := int64(0)
	for i, x := range f.Extents {
		if int64(x.From) < next || i == 0 && x.From > 0 || x.From%blockSize != 0 {
			return false
		}
		next = int64(x.From) + 1
	}
	return next <= f.Length
}

// AsRemoved returns what the file's row contains after the file was removed.
func (f File) AsRemoved() File { return File{Number: f.Number, Kind: removed} }

// Place is where a stored value is.
type Place struct {
	File           uint32 // number of the file
	Offset, Length uint32
}

// PlaceSize is the size of a place in a row.
const PlaceSize = 12

// Append appends the place as it is in a row.
func (p Place) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, p.File)
	dst = binary.BigEndian.AppendUint32(dst, p.Offset)
	return binary.BigEndian.AppendUint32(dst, p.Length)
}

// ParsePlace parses the place in a row.
func ParsePlace(b []byte) (p Place, ok bool) {
	if len(b) != PlaceSize {
		return p, false
	}
	return Place{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])}, true
}
