package values

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mizan/internal/assert"
	"mizan/internal/disk"
	"mizan/posting/store/damage"
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
	Number uint32
	Kind   Kind
	Length int64
}

// fileSize is the size of File in a row.
const fileSize = 1 + 8

// Append appends the value of the file's row: the kind and the length. The row's key has the number.
func (f File) Append(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(append(dst, byte(f.Kind)), uint64(f.Length))
}

// ParseFile parses the value of the row of the file with a number.
func ParseFile(number uint32, row []byte) (f File, ok bool) {
	if len(row) != fileSize {
		return f, false
	}
	f = File{Number: number, Kind: Kind(row[0]), Length: int64(binary.BigEndian.Uint64(row[1:]))}
	return f, slices.Contains(kinds[:], f.Kind) && f.Length > 0 || f == f.Removed()
}

// Removed returns what the row of the file says when it is removed.
func (f File) Removed() File { return File{Number: f.Number, Kind: removed} }

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

// Set is the open files of a store.
type Set struct {
	dir     disk.Directory
	maxFile int64 // a file of at least this length gets no further entries
	last    uint32
	current map[Kind]*file // the files that get entries

	mu    sync.RWMutex // guards files
	files map[uint32]*file
}

type file struct {
	File    // Length counts durable entries
	handle  disk.File
	pending []byte // entries that are not written yet
}

const (
	extension = ".values"
	headSize  = 2 + 4 // of an entry
)

// Path returns the path of the file with a number.
func (s *Set) Path(number uint32) string { return s.dir.Path(nameOf(number)) }

func nameOf(number uint32) string { return fmt.Sprintf("%06d%s", number, extension) }

// Open opens the listed files in dir and removes later ones, as invariant 2 says. A file of maxFile bytes
// gets no further entries. Errors: *damage.Error, or an I/O error that names the path.
func Open(dir disk.Directory, maxFile int64, listed []File) (*Set, error) {
	s := &Set{dir: dir, maxFile: maxFile, current: make(map[Kind]*file), files: make(map[uint32]*file)}
	for _, f := range listed {
		s.last = max(s.last, f.Number)
		if f == f.Removed() {
			continue
		}
		if err := s.open(f); err != nil {
			_ = s.Close() // nothing was written
			return nil, err
		}
	}
	if err := s.removeOthers(listed); err != nil {
		_ = s.Close() // nothing was written
		return nil, err
	}
	return s, nil
}

// open opens a file and cuts it to its length.
func (s *Set) open(f File) error {
	path := s.Path(f.Number)
	handle, err := s.dir.Open(nameOf(f.Number))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return damage.New(path, "it is missing")
	case err != nil:
		return err
	}
	opened := &file{File: f, handle: handle}
	s.files[f.Number] = opened
	size, err := handle.Size()
	switch {
	case err != nil:
		return err
	case size < f.Length:
		return damage.New(path, "it has %d bytes instead of %d", size, f.Length)
	case size > f.Length:
		if err := handle.Truncate(f.Length); err != nil {
			return err
		}
	}
	if f.Length < s.maxFile && (s.current[f.Kind] == nil || s.current[f.Kind].Number < f.Number) {
		s.current[f.Kind] = opened
	}
	return nil
}

// removeOthers removes the files that are listed as removed, and those with a number above all listed ones. There must not be others.
func (s *Set) removeOthers(listed []File) error {
	names, err := s.dir.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		digits, isFile := strings.CutSuffix(name, extension)
		number, err := strconv.ParseUint(digits, 10, 32)
		if !isFile || err != nil || s.files[uint32(number)] != nil {
			continue
		}
		if f := (File{Number: uint32(number)}); f.Number <= s.last && !slices.Contains(listed, f.Removed()) {
			return damage.New(s.Path(f.Number), "no row of the store is about this file")
		}
		if err := s.dir.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// Append adds a value to those that the next Flush writes, and returns its place. Nobody can read it before that Flush.
func (s *Set) Append(kind Kind, key, stored []byte) (Place, error) {
	assert.That(len(key) <= math.MaxUint16, "a key of %d bytes", len(key))
	f := s.current[kind]
	if f == nil {
		var err error
		if f, err = s.create(kind); err != nil {
			return Place{}, err
		}
	}
	f.pending = binary.BigEndian.AppendUint16(f.pending, uint16(len(key)))
	f.pending = binary.BigEndian.AppendUint32(f.pending, uint32(len(stored)))
	f.pending = append(f.pending, key...)
	offset := f.Length + int64(len(f.pending))
	f.pending = append(f.pending, stored...)
	return Place{File: f.Number, Offset: uint32(offset), Length: uint32(len(stored))}, nil
}

// create makes the next file.
func (s *Set) create(kind Kind) (*file, error) {
	number := s.last + 1
	handle, err := s.dir.Create(nameOf(number), 0)
	if err != nil {
		return nil, err
	}
	f := &file{File: File{Number: number, Kind: kind}, handle: handle}
	s.last, s.current[kind] = number, f
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[number] = f
	return f, nil
}

// PendingBytes returns how many bytes the next Flush writes.
func (s *Set) PendingBytes() (n int) {
	for _, f := range s.current {
		n += len(f.pending)
	}
	return n
}

// Flush makes the added values durable, and returns the files that have grown, whose rows the store must write. After an error the store must not be
// written any more.
func (s *Set) Flush() (grown []File, err error) {
	isNew := false
	for _, kind := range kinds {
		f := s.current[kind]
		if f == nil || len(f.pending) == 0 {
			continue
		}
		if _, err := f.handle.WriteAt(f.pending, f.Length); err != nil {
			return nil, err
		}
		if err := f.handle.Datasync(); err != nil {
			return nil, err
		}
		isNew = isNew || f.Length == 0
		s.grow(f)
		grown = append(grown, f.File)
	}
	if isNew {
		if err := s.dir.Sync(); err != nil {
			return nil, err
		}
	}
	return grown, nil
}

// grow counts the entries that were written.
func (s *Set) grow(f *file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Length += int64(len(f.pending))
	f.pending = f.pending[:0]
	if f.Length >= s.maxFile {
		f.pending = nil
		delete(s.current, f.Kind)
	}
}

// Read returns the stored value at a place, appended to dst[:0]. The caller compares its checksum. Errors: *damage.Error, or an I/O error
// that names the path.
func (s *Set) Read(p Place, dst []byte) ([]byte, error) {
	s.mu.RLock()
	f := s.files[p.File]
	s.mu.RUnlock()
	if f == nil {
		return nil, damage.New(s.Path(p.File), "it is missing")
	}
	dst = slices.Grow(dst[:0], int(p.Length))[:p.Length]
	_, err := f.handle.ReadAt(dst, int64(p.Offset))
	if errors.Is(err, io.EOF) {
		return nil, damage.New(s.Path(p.File), "it has become shorter")
	}
	return dst, err
}

// Files returns all files with values, by number. It is safe at any time.
func (s *Set) Files() []File {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]File, 0, len(s.files))
	for _, number := range slices.Sorted(maps.Keys(s.files)) {
		if f := s.files[number]; f.Length > 0 {
			all = append(all, f.File)
		}
	}
	return all
}

// IsFull tells whether a file gets no further entries.
func (s *Set) IsFull(f File) bool { return f.Length >= s.maxFile }

// Close closes all files.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all error
	for _, f := range s.files {
		all = errors.Join(all, f.handle.Close())
	}
	return all
}
