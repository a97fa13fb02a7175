package values

import (
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

// Set is the set of open files with a store's long values.
type Set struct {
	dir     disk.Directory
	maxFile int64 // a file of at least this length gets no further entries
	last    uint32
	current map[Kind]*file // for each kind, the file that gets the next entries

	mu        sync.RWMutex // guards the following fields, and the File of each file
	files     map[uint32]*file
	leftovers []uint32 // numbers of files that RemoveLeftovers removes
}

type file struct {
	File         // File.Length counts only durable entries
	handle       disk.File
	isFull       bool   // the file gets no further entries
	hasNewExtent bool   // this process has begun the file's last extent (the part of a file that one process writes)
	pending      []byte // entries that are not written yet
}

const extension = ".values"

// Path returns the path of the file with this number.
func (s *Set) Path(number uint32) string { return s.dir.Path(nameOf(number)) }

func nameOf(number uint32) string { return fmt.Sprintf("%06d%s", number, extension) }

// Open opens the files in dir that the store's rows list (see invariant 2 of the package). It changes nothing. A file of at least
// maxFile bytes gets no further entries. Open returns a *damage.Error, or an I/O error that names the path.
func Open(dir disk.Directory, maxFile int64, listed []File) (*Set, error) {
	s := &Set{dir: dir, maxFile: maxFile, current: make(map[Kind]*file), files: make(map[uint32]*file)}
	for _, f := range listed {
		s.last = max(s.last, f.Number)
		if f.Kind == removed {
			continue
		}
		if err := s.open(f); err != nil {
			_ = s.Close() // an error of Close does not matter, because nothing was written
			return nil, err
		}
	}
	if err := s.findLeftovers(listed); err != nil {
		_ = s.Close() // an error of Close does not matter, because nothing was written
		return nil, err
	}
	return s, nil
}

// open opens a file that a row of the store lists.
func (s *Set) open(f File) error {
	path := s.Path(f.Number)
	handle, err := s.dir.Open(nameOf(f.Number))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return damage.New(path, "it is missing")
	case err != nil:
		return err
	}
	opened := &file{File: f, handle: handle, isFull: true}
	s.files[f.Number] = opened
	size, err := handle.Size()
	switch {
	case err != nil:
		return err
	case size < f.Length:
		return damage.New(path, "it has %d bytes instead of %d", size, f.Length)
	}
	if f.Length < s.maxFile && len(f.Extents) < maxExtents {
		s.continueFile(opened)
	}
	return nil
}

// continueFile makes f the file that gets the next entries of its kind, unless a file with a higher number already gets
// them.
func (s *Set) continueFile(f *file) {
	before := s.current[f.Kind]
	if before != nil && before.Number > f.Number {
		return
	}
	if before != nil {
		before.isFull = true
	}
	f.isFull, s.current[f.Kind] = false, f
}

// findLeftovers collects the files to remove: files whose rows are marked as removed, and files whose numbers are higher
// than the number in any row. Any other file without a row is damage.
func (s *Set) findLeftovers(listed []File) error {
	names, err := s.dir.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		digits, isFile := strings.CutSuffix(name, extension)
		number, err := strconv.ParseUint(digits, 10, 32)
		if !isFile || err != nil || nameOf(uint32(number)) != name || s.files[uint32(number)] != nil {
			continue
		}
		isRemoved := slices.ContainsFunc(listed, func(f File) bool { return f.Number == uint32(number) && f.Kind == removed })
		if uint32(number) <= s.last && !isRemoved {
			return damage.New(s.Path(uint32(number)), "no row of the store is about this file")
		}
		s.leftovers = append(s.leftovers, uint32(number))
	}
	return nil
}

// RemoveLeftovers removes the files that are in the directory but not listed by a row, unless they were created again since
// Open. The store calls it after it has replayed its log: the replayed rows have the values that are in these files.
// RemoveLeftovers may be called by any goroutine at any time.
func (s *Set) RemoveLeftovers() error {
	for {
		if isDone, err := s.removeLeftover(); isDone || err != nil {
			return err
		}
	}
}

// removeLeftover removes one of the leftover files. It keeps the mutex locked, so that the file is not created again at
// the same time.
func (s *Set) removeLeftover() (isDone bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.leftovers) - 1
	if last < 0 {
		return true, nil
	}
	number := s.leftovers[last]
	s.leftovers = s.leftovers[:last]
	return false, s.dir.Remove(nameOf(number))
}

// cancelRemoval takes a file off the list of leftovers, because it is about to be created again.
func (s *Set) cancelRemoval(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leftovers = slices.DeleteFunc(s.leftovers, func(n uint32) bool { return n == number })
}

// Append queues a value for the next Flush, and returns its place. The value can be read after that Flush.
func (s *Set) Append(kind Kind, key, stored []byte) (Place, error) {
	assert.That(len(key) > 0 && len(key) <= math.MaxUint16, "a key of %d bytes", len(key))
	f := s.current[kind]
	if f == nil {
		var err error
		if f, err = s.create(kind); err != nil {
			return Place{}, err
		}
	}
	if !f.hasNewExtent {
		s.beginExtent(f)
	}
	at := f.Length + int64(len(f.pending))
	f.pending = f.Extents[len(f.Extents)-1].appendEntry(f.pending, at, key, stored)
	return Place{File: f.Number, Offset: uint32(at) + headSize(key), Length: uint32(len(stored))}, nil
}

// beginExtent begins a new extent in the file: the part that this process writes.
func (s *Set) beginExtent(f *file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Extents = append(slices.Clip(f.Extents), newExtent(f.Length)) // a copy, because callers of Files may use the old slice
	f.hasNewExtent = true
}

// create makes a new file for values of this kind.
func (s *Set) create(kind Kind) (*file, error) {
	number := s.last + 1
	s.cancelRemoval(number)
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

// PendingBytes returns the number of bytes that the next Flush will write, without the padding of blocks.
func (s *Set) PendingBytes() (n int) {
	for _, f := range s.current {
		n += len(f.pending)
	}
	return n
}

// Flush makes the queued values durable. It returns the files that have grown, and the store must then write the rows of these
// files. After an error the store must not write any more.
func (s *Set) Flush() (grown []File, err error) {
	isNew := false
	for _, kind := range kinds {
		f := s.current[kind]
		if f == nil || len(f.pending) == 0 {
			continue
		}
		f.pad()
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

// pad fills the last block of the file with an entry that has no key.
func (f *file) pad() {
	at := f.Length + int64(len(f.pending))
	rest := (blockSize - at%blockSize) % blockSize
	if rest == 0 {
		return
	}
	if rest < minEntry {
		rest += blockSize
	}
	f.pending = f.Extents[len(f.Extents)-1].appendEntry(f.pending, at, nil, make([]byte, rest-minEntry))
}

// grow adds the bytes of the written entries to the file's Length.
func (s *Set) grow(f *file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Length += int64(len(f.pending))
	f.pending = f.pending[:0]
	if f.Length >= s.maxFile {
		f.isFull, f.pending = true, nil
		delete(s.current, f.Kind)
	}
}

// Read returns the stored value at a place. If dst has enough capacity, Read uses dst's memory. Read returns a
// *damage.Error if the value is missing or does not match its checksum, or an I/O error that names the path.
func (s *Set) Read(p Place, dst []byte) ([]byte, error) {
	s.mu.RLock()
	f := s.files[p.File]
	var written Extent
	if f != nil {
		written = f.extentAt(int64(p.Offset))
	}
	s.mu.RUnlock()
	if f == nil {
		return nil, damage.New(s.Path(p.File), "it is missing")
	}
	length := int(p.Length) + sumSize
	dst = slices.Grow(dst[:0], length)[:length]
	_, err := f.handle.ReadAt(dst, int64(p.Offset))
	if errors.Is(err, io.EOF) {
		return nil, damage.New(s.Path(p.File), "it has become shorter")
	}
	if err == nil && !written.isIntact(int64(p.Offset), dst) {
		return nil, damagedValue(s.Path(p.File), p)
	}
	return dst[:p.Length], err
}

// Files returns all files that contain values, in the order of their numbers. It may be called by any goroutine at any
// time.
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

// IsFull tells whether a file gets no further entries. It may be called by any goroutine at any time.
func (s *Set) IsFull(f File) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	opened := s.files[f.Number]
	return opened != nil && opened.isFull
}

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
