package values

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"

	"mizan/posting/store/damage"
)

// Entry is an entry of a file. Its slices are valid until the next entry is read.
type Entry struct {
	Key, Stored []byte
	Place       Place
}

// Start returns where the entry begins in its file.
func (e Entry) Start() uint32 { return e.Place.Offset - uint32(len(e.Key)) - headSize }

// readAhead is how many bytes of a file are read at once.
const readAhead = 256 << 10

// Entries calls fn with each entry of a file, in order. It is safe at any time. Errors: *damage.Error, os.ErrClosed if the file was removed, an I/O
// error that names the path, or the error of fn.
func (s *Set) Entries(f File, fn func(Entry) error) error {
	path := s.Path(f.Number)
	s.mu.RLock()
	opened := s.files[f.Number]
	s.mu.RUnlock()
	if opened == nil {
		return &os.PathError{Op: "read", Path: path, Err: os.ErrClosed}
	}
	in := bufio.NewReaderSize(io.NewSectionReader(opened.handle, 0, f.Length), readAhead)
	var e Entry
	var head [headSize]byte
	var content []byte
	for offset := int64(0); offset < f.Length; {
		if err := readFull(in, head[:], path); err != nil {
			return err
		}
		keyLength, storedLength := int64(binary.BigEndian.Uint16(head[:])), int64(binary.BigEndian.Uint32(head[2:]))
		offset += headSize + keyLength + storedLength
		if keyLength == 0 || offset > f.Length {
			return damage.New(path, "an entry that ends at %d does not fit", offset)
		}
		content = slices.Grow(content[:0], int(keyLength+storedLength))[:keyLength+storedLength]
		if err := readFull(in, content, path); err != nil {
			return err
		}
		e.Key, e.Stored = content[:keyLength], content[keyLength:]
		e.Place = Place{File: f.Number, Offset: uint32(offset - storedLength), Length: uint32(storedLength)}
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// readFull fills b, or returns an error that names the path.
func readFull(in io.Reader, b []byte, path string) error {
	_, err := io.ReadFull(in, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damage.New(path, "it has become shorter")
	}
	return err
}

// Remove removes a full file, which nobody reads any more and whose row says so durably.
func (s *Set) Remove(number uint32) error {
	s.mu.Lock()
	f := s.files[number]
	delete(s.files, number)
	s.mu.Unlock()
	return errors.Join(f.handle.Close(), s.dir.Remove(nameOf(number))) // if a power cut brings the name back, Open removes it again
}
