package values

import (
	"crypto/rand"
	"encoding/binary"
)

// Kind says which rows have their values in a file: rows that are never replaced, or others.
type Kind byte

// Kinds of files. These numbers are stored, so they must not change.
const (
	Permanent   Kind = 1 // values of rows that are never replaced or removed
	Replaceable Kind = 2 // values of other rows
	removed     Kind = 3 // the file was removed; its row is kept, so that its number is never used again
)

var kinds = [...]Kind{Permanent, Replaceable}

// File describes a file.
type File struct {
	Number  uint32
	Kind    Kind
	Length  int64
	Extents []Extent // sorted by Extent.From
}

// Extent is a part of a file that one process has written. It ends where the next extent begins.
type Extent struct {
	From  uint32          // offset in the file at which the extent begins
	epoch [epochSize]byte // random; the checksums of the extent's entries depend on it
}

const (
	epochSize  = 8
	extentSize = 4 + epochSize // bytes of an extent in the row of a file
	fixedSize  = 1 + 8         // bytes of the row of a file, without the extents

	// maxExtents is the maximum number of extents in a file. A file with so many extents gets no further entries.
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

// Append appends the value of the file's row to dst: the kind, the length and the extents. The file's number is in the row's
// key.
func (f File) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, byte(f.Kind)), uint64(f.Length))
	for i := range f.Extents {
		x := &f.Extents[i]
		dst = append(binary.BigEndian.AppendUint32(dst, x.From), x.epoch[:]...)
	}
	return dst
}

// ParseFile parses the value of the row of the file with this number.
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

// isValid tells whether f can describe a file: its length is a number of whole blocks, the first extent begins at 0, and
// each other extent begins at a later block.
func (f *File) isValid() bool {
	if f.Kind == removed {
		return f.Length == 0 && len(f.Extents) == 0
	}
	if f.Kind != Permanent && f.Kind != Replaceable || f.Length%blockSize != 0 || len(f.Extents) == 0 || len(f.Extents) > maxExtents {
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

// AsRemoved returns the File to store in the file's row when the file is removed.
func (f File) AsRemoved() File { return File{Number: f.Number, Kind: removed} }

// Place says where a stored value is: its file, its offset in the file, and its length.
type Place struct {
	File           uint32 // number of the file
	Offset, Length uint32
}

// PlaceSize is the size of a place in a row.
const PlaceSize = 12

// Append appends the place to dst, encoded as in a row.
func (p Place) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, p.File)
	dst = binary.BigEndian.AppendUint32(dst, p.Offset)
	return binary.BigEndian.AppendUint32(dst, p.Length)
}

// ParsePlace parses a place that Append has encoded.
func ParsePlace(b []byte) (p Place, ok bool) {
	if len(b) != PlaceSize {
		return p, false
	}
	return Place{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])}, true
}
