package values

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"mizan/posting/store/damage"
)

// An entry of a file consists of a head, the head's checksum, a stored value, and the value's checksum. The head has the
// length of the key (2 bytes, big-endian), the length of the stored value (4 bytes), and the key. An entry without a key is
// padding: it fills the last block of a Flush.
const (
	lengthsSize = 2 + 4
	sumSize     = 4
	minEntry    = lengthsSize + 2*sumSize // bytes of an entry without a key and a value

	// blockSize is the unit in which files grow: the smallest unit that a disk writes, or a multiple of it.
	blockSize = 4096
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// headSize returns the number of bytes in an entry before its stored value.
func headSize(key []byte) uint32 { return lengthsSize + uint32(len(key)) + sumSize }

// appendEntry appends an entry in stored form to dst. The entry belongs to the extent x, and begins in the file at the
// offset at.
func (e *Extent) appendEntry(dst []byte, at int64, key, stored []byte) []byte {
	from := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(key)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(stored)))
	dst = append(dst, key...)
	dst = binary.BigEndian.AppendUint32(dst, e.sum(at, dst[from:]))
	dst = append(dst, stored...)
	return binary.BigEndian.AppendUint32(dst, e.sum(at+int64(headSize(key)), stored))
}

// sum returns the checksum of content that begins at this offset of the file: the CRC-32C of the extent's epoch, the offset
// and the content.
func (e *Extent) sum(offset int64, content []byte) uint32 {
	var place [epochSize + 8]byte
	copy(place[:], e.epoch[:])
	binary.BigEndian.PutUint64(place[epochSize:], uint64(offset))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, content)
}

// isIntact tells whether b, which was read at this offset of the file, ends with the checksum of its other bytes.
func (e *Extent) isIntact(offset int64, b []byte) bool {
	end := len(b) - sumSize
	return binary.BigEndian.Uint32(b[end:]) == e.sum(offset, b[:end])
}

// Entry is an entry of a file. Its slices are valid until the next entry is read.
type Entry struct {
	Key, Stored []byte
	Place       Place
	IsDamaged   bool // Stored does not match its checksum
}

// Start returns the offset in the file at which the entry begins whose value is at p. key is the entry's key.
func (p Place) Start(key []byte) int64 { return int64(p.Offset) - int64(headSize(key)) }

// End returns the offset at which the entry ends in its file.
func (e *Entry) End() int64 { return int64(e.Place.Offset) + int64(e.Place.Length) + sumSize }

// HeadError reports an entry whose head does not match its checksum. Where the entry ends is then unknown.
type HeadError struct {
	At     int64 // offset of the entry
	damage error
}

func (e *HeadError) Error() string { return e.damage.Error() }
func (e *HeadError) Unwrap() error { return e.damage }

func damagedValue(path string, p Place) error {
	return damage.New(path, "the value at %d does not match its checksum", p.Offset)
}

// readAhead is how many bytes of a file are read at once.
const readAhead = 256 << 10

// Entries calls fn with each entry of a file in order, beginning with the entry at the offset from. It may be called by any
// goroutine at any time. It returns a *HeadError, a *damage.Error, os.ErrClosed if the file was removed, an I/O error that
// names the path, or the error of fn.
func (s *Set) Entries(f File, from int64, fn func(Entry) error) error {
	path := s.Path(f.Number)
	s.mu.RLock()
	opened := s.files[f.Number]
	s.mu.RUnlock()
	if opened == nil {
		return &os.PathError{Op: "read", Path: path, Err: os.ErrClosed}
	}
	in := io.NewSectionReader(opened.handle, from, f.Length-from)
	r := &entryReader{file: f, path: path, in: bufio.NewReaderSize(in, readAhead), at: from}
	for r.at < f.Length {
		e, err := r.next()
		if err != nil {
			return err
		}
		if len(e.Key) == 0 {
			continue // an entry without a key is padding
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// entryReader reads the entries of a file in order.
type entryReader struct {
	file   File
	path   string
	in     *bufio.Reader
	at     int64  // offset of the next entry
	buffer []byte // memory for the current entry
}

// next reads the next entry.
func (r *entryReader) next() (e Entry, err error) {
	written := r.file.extentAt(r.at)
	r.buffer = r.buffer[:0]
	if err := r.read(lengthsSize); err != nil {
		return e, err
	}
	keyLength, storedLength := int(binary.BigEndian.Uint16(r.buffer)), int(binary.BigEndian.Uint32(r.buffer[2:]))
	if err := r.read(keyLength + sumSize); err != nil {
		return e, err
	}
	if !written.isIntact(r.at, r.buffer) {
		return e, r.headError()
	}
	valueAt := len(r.buffer)
	if err := r.read(storedLength + sumSize); err != nil {
		return e, err
	}
	e.Key, e.Stored = r.buffer[lengthsSize:][:keyLength], r.buffer[valueAt:][:storedLength]
	e.Place = Place{File: r.file.Number, Offset: uint32(r.at) + uint32(valueAt), Length: uint32(storedLength)}
	e.IsDamaged = !written.isIntact(int64(e.Place.Offset), r.buffer[valueAt:])
	r.at += int64(len(r.buffer))
	return e, nil
}

func (r *entryReader) headError() error {
	return &HeadError{r.at, damage.New(r.path, "the head of the entry at %d does not match its checksum", r.at)}
}

// read appends the next n bytes to the buffer.
func (r *entryReader) read(n int) error {
	from := len(r.buffer)
	if r.at+int64(from+n) > r.file.Length {
		return r.headError()
	}
	r.buffer = slices.Grow(r.buffer, n)[:from+n]
	_, err := io.ReadFull(r.in, r.buffer[from:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damage.New(r.path, "it has become shorter")
	}
	return err
}

// Remove removes a file that gets no further entries. Before the call, the file's row must have been durably marked as
// removed, and no goroutine may still read the file.
func (s *Set) Remove(number uint32) error {
	s.mu.Lock()
	f := s.files[number]
	delete(s.files, number)
	s.mu.Unlock()
	// If a power cut undoes the removal, RemoveLeftovers removes the file again.
	return errors.Join(f.handle.Close(), s.dir.Remove(nameOf(number)))
}
