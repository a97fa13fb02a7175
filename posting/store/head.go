package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"syscall"

	"mizan/internal/durable"
)

const (
	headName      = "HEAD"
	slotSize      = 4096
	slotSumOffset = slotSize - 4
)

// headMagic begins each slot; the last character is the version of the format.
var headMagic = []byte("mizanHD2")

// head is the file HEAD beside Badger's directory. It has the number and hash of the last durable group.
// Badger opens without an error even if the end of one of its logs is lost; only a file that Badger
// does not write can show such a loss. HEAD has two slots, which are written in turn, each on a page of
// its own, so that a torn write leaves the other slot intact.
type head struct {
	f   *os.File
	id  identity // stored in each slot
	buf [slotSize]byte
}

// mark is the content of a slot: a group's number and hash.
type mark struct {
	n    uint64 // 0: no group yet
	hash [32]byte
}

// openHead opens the file HEAD at path. The error is os.ErrNotExist if there is no such file.
func openHead(path string) (*head, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &head{f: f}, nil
}

// read returns the newer mark of the valid slots, and the number of valid slots. It stores the identity
// in h for later writes. If no slot is valid, but one is intact and has another format, the error is
// ErrOlderSchema or ErrNewerSchema.
func (h *head) read() (newest mark, validSlots int, err error) {
	var formatErr error
	for slot := range int64(2) {
		n, err := h.f.ReadAt(h.buf[:], slot*slotSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return mark{}, 0, err
		}
		m, id, ok := parseSlot(h.buf[:n])
		if !ok && formatErr == nil {
			formatErr = formatError(h.buf[:n])
		}
		if !ok || m.n%2 != uint64(slot) && m.n != 0 {
			continue
		}
		validSlots++
		if validSlots == 1 || m.n > newest.n {
			newest, h.id = m, id
		}
	}
	if validSlots == 0 {
		return newest, 0, formatErr
	}
	return newest, validSlots, nil
}

// formatError returns ErrOlderSchema or ErrNewerSchema for an intact slot of another format; otherwise nil.
func formatError(buf []byte) error {
	versionOffset := len(headMagic) - 1
	if len(buf) != slotSize || !bytes.HasPrefix(buf, headMagic[:versionOffset]) ||
		crc32.Checksum(buf[:slotSumOffset], castagnoli) != binary.BigEndian.Uint32(buf[slotSumOffset:]) {
		return nil
	}
	switch version := buf[versionOffset]; {
	case version < headMagic[versionOffset]:
		return ErrOlderSchema
	case version > headMagic[versionOffset]:
		return ErrNewerSchema
	}
	return nil
}

// write makes m durable in the older slot: even groups have the first slot, odd ones the second.
func (h *head) write(m mark) error {
	fillSlot(h.buf[:], m, h.id)
	if _, err := h.f.WriteAt(h.buf[:], int64(m.n%2)*slotSize); err != nil {
		return err
	}
	if err := syscall.Fdatasync(int(h.f.Fd())); err != nil {
		return &os.PathError{Op: "fdatasync", Path: h.f.Name(), Err: err}
	}
	return nil
}

func (h *head) close() error { return h.f.Close() }

func fillSlot(buf []byte, m mark, id identity) {
	clear(buf)
	b := append(buf[:0], headMagic...)
	b = binary.BigEndian.AppendUint64(b, m.n)
	b = append(b, m.hash[:]...)
	b = append(b, id.first[:]...)
	_ = append(b, id.keyring[:]...) // a slot has much more room
	binary.BigEndian.PutUint32(buf[slotSumOffset:], crc32.Checksum(buf[:slotSumOffset], castagnoli))
}

func parseSlot(buf []byte) (m mark, id identity, ok bool) {
	if len(buf) != slotSize || !bytes.HasPrefix(buf, headMagic) ||
		crc32.Checksum(buf[:slotSumOffset], castagnoli) != binary.BigEndian.Uint32(buf[slotSumOffset:]) {
		return m, id, false
	}
	b := buf[len(headMagic):]
	m.n = binary.BigEndian.Uint64(b)
	b = b[8:]
	b = b[copy(m.hash[:], b):]
	b = b[copy(id.first[:], b):]
	copy(id.keyring[:], b)
	return m, id, true
}

// createHead makes a HEAD for a store without groups. The file is durable and complete, or does not exist.
func createHead(path string) error {
	buf := make([]byte, 2*slotSize)
	fillSlot(buf[:slotSize], mark{}, identity{})
	fillSlot(buf[slotSize:], mark{}, identity{})
	return durable.Replace(path, fileMode, buf)
}
