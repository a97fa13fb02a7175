package raft

import (
	"encoding/binary"
	"errors"

	"mizan/posting/log"
)

// An entry of Raft's log is a frame: its number, the hash of the frame before it, its own hash, and the payload. Numbers are
// big-endian. Raft's log and its connections have checksums of their own, and the frame's hash covers the payload.
const frameHead = 8 + 32 + 32

var errNoFrame = errors.New("an entry of the Raft log is not a frame")

// encode returns the frame in the form of an entry. The result shares no memory with the payload, because Raft keeps it.
func encode(f log.Frame) []byte {
	b := make([]byte, 0, frameHead+len(f.Payload))
	b = binary.BigEndian.AppendUint64(b, f.N)
	b = append(b, f.Previous[:]...)
	b = append(b, f.Hash[:]...)
	return append(b, f.Payload...)
}

// decode returns the frame of an entry. Its payload is a part of b.
func decode(b []byte) (f log.Frame, err error) {
	if len(b) < frameHead {
		return f, errNoFrame
	}
	f.N = binary.BigEndian.Uint64(b)
	copy(f.Previous[:], b[8:])
	copy(f.Hash[:], b[40:])
	f.Payload = b[frameHead:]
	return f, nil
}
