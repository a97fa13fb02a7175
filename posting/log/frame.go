package log

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"

	"mizan/internal/assert"
)

// A frame (the content of one group) is a header and a payload. The header has, in this order: a checksum of the rest of the
// header, the payload's checksum and length, the frame's number, the previous frame's hash, and the frame's hash. Numbers are
// big-endian.
const (
	checkSize      = 8
	payloadSumAt   = checkSize
	payloadSizeAt  = payloadSumAt + 4
	numberAt       = payloadSizeAt + 4
	previousHashAt = numberAt + 8
	hashAt         = previousHashAt + 32

	// HeaderSize is the number of bytes before a frame's payload.
	HeaderSize = hashAt + 32

	// Frames and marks begin at multiples of blockSize. blockSize is a multiple of the smallest unit that a disk writes.
	blockSize = 4096
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// epoch contains random bytes, which are chosen anew each time a file becomes a segment. Checksums depend on the epoch, so
// content from an earlier use of the file has wrong checksums.
type epoch [16]byte

// check returns a checksum of content for a segment with this epoch: the beginning of a SHA-256 over the epoch, the kind and
// the content. The checksum depends on the kind, so that a mark is never taken for a frame, or a frame for a mark.
func (e *epoch) check(kind string, content []byte) [checkSize]byte {
	var buf [len(epoch{}) + len(frameKind) + HeaderSize]byte // large enough for the content of both kinds
	sum := sha256.Sum256(append(append(append(buf[:0], e[:]...), kind...), content...))
	return [checkSize]byte(sum[:])
}

// Kinds of content.
const (
	frameKind = "frame"
	markKind  = "mark"
)

// header is a frame's header.
type header struct {
	Mark
	previous    [32]byte
	payloadSize int
	payloadSum  uint32
}

// fill writes a frame's header into the first HeaderSize bytes of buf. After them, buf contains the payload.
func (e *epoch) fill(buf []byte, m Mark, previous [32]byte) {
	payload := buf[HeaderSize:]
	binary.BigEndian.PutUint32(buf[payloadSumAt:], crc32.Checksum(payload, castagnoli))
	binary.BigEndian.PutUint32(buf[payloadSizeAt:], uint32(len(payload)))
	binary.BigEndian.PutUint64(buf[numberAt:], m.N)
	copy(buf[previousHashAt:], previous[:])
	copy(buf[hashAt:], m.Hash[:])
	sum := e.check(frameKind, buf[checkSize:HeaderSize])
	copy(buf, sum[:])
}

// parse reads a header. If buf does not begin with a header that was written in a segment with this epoch, ok is false.
func (e *epoch) parse(buf []byte) (h header, ok bool) {
	if len(buf) < HeaderSize {
		return h, false
	}
	if sum := e.check(frameKind, buf[checkSize:HeaderSize]); !bytes.Equal(sum[:], buf[:checkSize]) {
		return h, false
	}
	h.payloadSum = binary.BigEndian.Uint32(buf[payloadSumAt:])
	h.payloadSize = int(binary.BigEndian.Uint32(buf[payloadSizeAt:]))
	h.N = binary.BigEndian.Uint64(buf[numberAt:])
	copy(h.previous[:], buf[previousHashAt:])
	copy(h.Hash[:], buf[hashAt:])
	return h, true
}

// framed returns the number of bytes that a frame takes in a segment, including the unused rest of the frame's last block.
func framed(payloadSize int) int64 {
	return (int64(HeaderSize+payloadSize) + blockSize - 1) / blockSize * blockSize
}

// markSlot is the content of a slot for a mark. A mark says that a frame was acknowledged.
type markSlot struct {
	Mark
	isContinued bool // the next segment exists
}

const slotSize = checkSize + 8 + 32 + 1

// fillSlot returns the stored form of a mark.
func (e *epoch) fillSlot(s markSlot) []byte {
	buf := make([]byte, checkSize, slotSize)
	buf = binary.BigEndian.AppendUint64(buf, s.N)
	buf = append(buf, s.Hash[:]...)
	var flags byte
	if s.isContinued {
		flags = 1
	}
	buf = append(buf, flags)
	sum := e.check(markKind, buf[checkSize:])
	copy(buf, sum[:])
	assert.That(len(buf) == slotSize, "a mark of %d bytes", len(buf))
	return buf
}

func (e *epoch) parseSlot(buf []byte) (s markSlot, ok bool) {
	if sum := e.check(markKind, buf[checkSize:slotSize]); !bytes.Equal(sum[:], buf[:checkSize]) {
		return s, false
	}
	s.N = binary.BigEndian.Uint64(buf[checkSize:])
	copy(s.Hash[:], buf[checkSize+8:])
	s.isContinued = buf[slotSize-1] == 1
	return s, true
}
