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
	headName = "HEAD"
	slotSize = 4096
	slotSum  = slotSize - 4 // offset of the slot's checksum
)

// headMagic begins each slot; the last character is the version of the format.
var headMagic = []byte("mizanHD2")

// head is the small file beside the store with the last durable group. Badger opens without an
// error after it lost the end of one of its logs, and only a file outside of it can show that.
// Two slots are written in turn, each on a page of its own, so that a torn write leaves the
// other slot intact.
type head struct {
	f   *os.File
	id  identity // stored in each slot
	buf [slotSize]byte
}

// mark is the content of a slot: the last group and its hash.
type mark struct {
	n    uint64
	hash [32]byte
}

// openHead opens the file DIR/HEAD. The error is os.ErrNotExist if there is none.
func openHead(path string) (*head, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &head{f: f}, nil
}

// read returns the newer of the valid slots, and the number of valid slots. It keeps the store's
// identity for later writes. If all valid slots have another format, the error is ErrOlderSchema
// or ErrNewerSchema.
func (h *head) read() (newest mark, valid int, err error) {
	var formatErr error
	for slot := range int64(2) {
		n, err := h.f.ReadAt(h.buf[:], slot*slotSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return mark{}, 0, err
		}
		m, id, ok := parseSlot(h.buf[:n])
		if !ok && formatErr == nil {
			formatErr = formatOf(h.buf[:n])
		}
		if !ok || m.n%2 != uint64(slot) && m.n != 0 {
			continue
		}
		valid++
		if valid == 1 || m.n > newest.n {
			newest, h.id = m, id
		}
	}
	if valid == 0 {
		return newest, 0, formatErr
	}
	return newest, valid, nil
}

// formatOf returns ErrOlderSchema or ErrNewerSchema for a valid slot of another format.
func formatOf(buf []byte) error {
	last := len(headMagic) - 1
	if len(buf) != slotSize || !bytes.HasPrefix(buf, headMagic[:last]) ||
		crc32.Checksum(buf[:slotSum], castagnoli) != binary.BigEndian.Uint32(buf[slotSum:]) {
		return nil
	}
	switch version := buf[last]; {
	case version < headMagic[last]:
		return ErrOlderSchema
	case version > headMagic[last]:
		return ErrNewerSchema
	}
	return nil
}

// write makes m durable in the older slot.
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
	binary.BigEndian.PutUint32(buf[slotSum:], crc32.Checksum(buf[:slotSum], castagnoli))
}

func parseSlot(buf []byte) (m mark, id identity, ok bool) {
	if len(buf) != slotSize || !bytes.HasPrefix(buf, headMagic) ||
		crc32.Checksum(buf[:slotSum], castagnoli) != binary.BigEndian.Uint32(buf[slotSum:]) {
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

// createHead writes a durable HEAD for a store without groups, completely or not at all.
func createHead(path string) error {
	buf := make([]byte, 2*slotSize)
	fillSlot(buf[:slotSize], mark{}, identity{})
	fillSlot(buf[slotSize:], mark{}, identity{})
	return durable.Replace(path, fileMode, buf)
}
