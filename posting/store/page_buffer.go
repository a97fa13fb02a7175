package store

import (
	"encoding/binary"
	"fmt"

	"mizan/ledger"
)

// A page-buffer row contains lines that one group has booked on pages that get only few lines. For each of these pages, the
// row contains a chunk: the page's head, and the page's new lines. The head is the prefix of the page's keys without the
// organization. So it consists of the kind of row, and the account or list.

// PageHead appends the head of a page. prefix is the prefix of the page's keys.
func PageHead(dst, prefix []byte) []byte {
	return append(append(dst, prefix[0]), prefix[1+16:]...)
}

// PagePrefix is the inverse of PageHead: it appends the prefix of a page's keys. head is the page's head.
func PagePrefix(dst []byte, org ledger.ID, head []byte) []byte {
	return append(orgKey(dst, head[0], org), head[1:]...)
}

// BufferKey identifies a page-buffer row.
type BufferKey struct {
	Org   ledger.ID
	Group uint64 // the group that booked the lines
	Part  uint16 // counted from 0; a group has several rows if its lines do not fit into one row
}

// KeyBufferRow appends the key of a page-buffer row: kind of row, org, group, part.
func KeyBufferRow(dst []byte, k BufferKey) []byte {
	dst = binary.BigEndian.AppendUint64(KeyBuffer(dst, k.Org), k.Group)
	return binary.BigEndian.AppendUint16(dst, k.Part)
}

// KeyBuffer appends the common prefix of the keys of an organization's page-buffer rows.
func KeyBuffer(dst []byte, org ledger.ID) []byte { return orgKey(dst, prefixBuffer, org) }

// KeyAllBuffers returns the common prefix of the keys of all page-buffer rows.
func KeyAllBuffers() []byte { return []byte{prefixBuffer} }

// ParseBufferKey parses the key of a page-buffer row.
func ParseBufferKey(key []byte) (k BufferKey, ok bool) {
	if len(key) != 1+16+8+2 || key[0] != prefixBuffer {
		return k, false
	}
	copy(k.Org[:], key[1:17])
	k.Group = binary.BigEndian.Uint64(key[17:])
	k.Part = binary.BigEndian.Uint16(key[25:])
	return k, true
}

// AppendChunk appends a chunk to a page-buffer row.
func AppendChunk(dst, head, lines []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(head)))
	dst = append(dst, head...)
	dst = binary.AppendUvarint(dst, uint64(len(lines)))
	return append(dst, lines...)
}

// EachChunk calls fn with every chunk of a page-buffer row, in the order of the chunks. The slices share the memory of the
// row.
func EachChunk(row []byte, fn func(head, lines []byte) error) error {
	r := reader{src: row}
	for len(r.src) > 0 {
		head := r.take(int(r.uvarint()))
		lines := r.take(int(r.uvarint()))
		if r.hasFailed || len(head) < 2 || len(lines) == 0 || head[0] != prefixPage && head[0] != prefixList {
			return fmt.Errorf("page buffer: unknown form")
		}
		if err := fn(head, lines); err != nil {
			return err
		}
	}
	return nil
}

// BookedTimes returns the booked times of the first and the last line in lines. lines are the lines of a page or a chunk.
// kind is the first byte of the page's head.
func BookedTimes(kind byte, lines []byte) (first, last ledger.Micros, err error) {
	addTime := func(at ledger.Micros) {
		if first == 0 {
			first = at
		}
		last = at
	}
	switch kind {
	case prefixPage:
		err = DecodePage(lines, func(l *Line) (bool, error) {
			addTime(l.Booked)
			return true, nil
		})
	case prefixList:
		r := reader{src: lines}
		for len(r.src) > 0 && !r.hasFailed {
			addTime(ledger.Micros(r.uvarint() >> 1))
			r.id()
		}
		if r.hasFailed {
			err = fmt.Errorf("list page: cut short")
		}
	default:
		err = fmt.Errorf("page buffer: pages of kind %q", kind)
	}
	return first, last, err
}
