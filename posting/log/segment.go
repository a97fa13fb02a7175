package log

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"mizan/internal/disk"
	"mizan/posting/store/damage"
)

// A segment is a file with consecutive frames of the log. Before the frames it has a block with the segment's header and two
// blocks for marks. A mark says which frame was acknowledged. Marks are written into the two blocks alternately.
const (
	slotsAt  = blockSize
	slots    = 2
	framesAt = slotsAt + slots*blockSize
)

// minSegmentSize is the smallest size in bytes that a segment may have.
const minSegmentSize = framesAt + 4*blockSize

// segmentMagic is the beginning of each segment, and lateMagic that of a segment in which several frames may be written before a
// sync. The last character is the version of the format.
const (
	segmentMagic = "mizanLG1"
	lateMagic    = "mizanLL1"
)

// The header of a segment consists of: segmentMagic, the segment's size, sequence number, epoch and owner, the number and the
// hash of the last frame before the segment, and the SHA-256 of all of this.
const (
	segmentSumAt  = len(segmentMagic) + 8 + 8 + len(epoch{}) + len(Owner{}) + 8 + 32
	segmentHeader = segmentSumAt + sha256.Size
)

// segment is a file with frames.
type segment struct {
	name     string
	file     disk.File
	size     int64
	sequence uint64 // number of the segment in the log, counted from 1
	epoch    epoch
	owner    Owner
	after    Mark // the last frame before the segment

	// syncsLater says that several frames may be written before a sync (see Options). Then a crash may lose any of them, and keep
	// later ones.
	syncsLater bool
}

// magic returns the beginning of the segment.
func (s *segment) magic() string {
	if s.syncsLater {
		return lateMagic
	}
	return segmentMagic
}

const (
	segmentPrefix = "segment-"
	sparePrefix   = "spare-"  // a file that may become a segment
	newPrefix     = "new-"    // a spare file that is still being written
	sequenceForm  = "%s%016x" // format of a file name: prefix and number
)

func nameOf(prefix string, sequence uint64) string {
	return fmt.Sprintf(sequenceForm, prefix, sequence)
}

// sequenceOf returns the number in the name of a file. If the name is not the prefix and a number, ok is false.
func sequenceOf(name, prefix string) (sequence uint64, ok bool) {
	digits, hasPrefix := strings.CutPrefix(name, prefix)
	sequence, err := strconv.ParseUint(digits, 16, 64)
	return sequence, hasPrefix && err == nil && nameOf(prefix, sequence) == name
}

// begin makes the file a segment: it writes a header with a new random epoch, and makes the header durable.
func (s *segment) begin(sequence uint64, owner Owner, after Mark) error {
	s.sequence, s.owner, s.after = sequence, owner, after
	_, _ = rand.Read(s.epoch[:]) // never fails
	buf := append(make([]byte, 0, segmentHeader), s.magic()...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(s.size))
	buf = binary.BigEndian.AppendUint64(buf, sequence)
	buf = append(append(buf, s.epoch[:]...), owner[:]...)
	buf = binary.BigEndian.AppendUint64(buf, after.N)
	buf = append(buf, after.Hash[:]...)
	sum := sha256.Sum256(buf)
	if _, err := s.file.WriteAt(append(buf, sum[:]...), 0); err != nil {
		return err
	}
	return s.file.Datasync()
}

// readHeader reads the header of a segment into s. The fields file and name of s must be set.
func (s *segment) readHeader(path string) error {
	buf := make([]byte, segmentHeader)
	if _, err := s.file.ReadAt(buf, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	sum := sha256.Sum256(buf[:segmentSumAt])
	version := len(segmentMagic) - 1
	s.syncsLater = string(buf[:version]) == lateMagic[:version]
	switch isIntact := bytes.Equal(sum[:], buf[segmentSumAt:]) && string(buf[:version]) == s.magic()[:version]; {
	case !isIntact:
		return damage.New(path, "its header is not the one that was written")
	case buf[version] != segmentMagic[version]:
		return fmt.Errorf("%s: %w", path, ErrOtherVersion)
	}
	rest := buf[len(segmentMagic):]
	s.size, rest = int64(binary.BigEndian.Uint64(rest)), rest[8:]
	s.sequence, rest = binary.BigEndian.Uint64(rest), rest[8:]
	rest = rest[copy(s.epoch[:], rest):]
	rest = rest[copy(s.owner[:], rest):]
	s.after.N, rest = binary.BigEndian.Uint64(rest), rest[8:]
	copy(s.after.Hash[:], rest)
	length, err := s.file.Size()
	switch {
	case err != nil:
		return err
	case s.name != nameOf(segmentPrefix, s.sequence):
		return damage.New(path, "it has the content of segment %d", s.sequence)
	case length != s.size:
		return damage.New(path, "it has %d bytes of %d", length, s.size)
	}
	return nil
}

// writeMark writes a mark. The next sync makes it durable. The marks of two successive frames are in different blocks, so
// that a torn write destroys only one of them.
func (s *segment) writeMark(m markSlot) error {
	_, err := s.file.WriteAt(s.epoch.fillSlot(m), slotsAt+int64(m.N%slots)*blockSize)
	return err
}

// readMark returns the highest mark of the segment. If no mark was written yet, it returns the mark in the segment's header.
func (s *segment) readMark() (highest markSlot, err error) {
	highest.Mark = s.after
	buf := make([]byte, slotSize)
	for i := range int64(slots) {
		if _, err := s.file.ReadAt(buf, slotsAt+i*blockSize); err != nil {
			return highest, err
		}
		if m, ok := s.epoch.parseSlot(buf); ok && m.N >= highest.N {
			highest = m
		}
	}
	return highest, nil
}

// writeAgain reads a part of the segment and writes the same content again, so that the next sync makes this content durable.
func (s *segment) writeAgain(from, to int64) error {
	buf := make([]byte, to-from)
	if _, err := s.file.ReadAt(buf, from); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err := s.file.WriteAt(buf, from)
	return err
}
