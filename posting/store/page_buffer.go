package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"mizan/ledger"
)

// A page-buffer row holds the lines that one group booked on pages that get few lines: a
// chunk for each page, with the page's head and its new lines. The head is the prefix of
// the page's keys without the organization: the kind of row, and the account or list.

// Shards of a page buffer: a group with many chunks of an organization distributes them
// over shards by their heads, so that a reader of one page need not read all chunks.
const (
	shardCount  = 16
	ShardedFrom = 64 // if a group has at least so many chunks of an organization, they are sharded

	unsharded = 0xff
)

// Shard returns the shard for the chunks of the page with the head, if the chunks of their group are sharded.
func Shard(head []byte) byte { return byte(crc32.Checksum(head, castagnoli) % shardCount) }

// Shards returns all shards of an organization, Unsharded included.
func Shards() []byte {
	shards := make([]byte, 0, shardCount+1)
	for shard := range byte(shardCount) {
		shards = append(shards, shard)
	}
	return append(shards, Unsharded)
}

// PageHead appends the head of the page whose keys begin with the prefix.
func PageHead(dst, prefix []byte) []byte {
	return append(append(dst, prefix[0]), prefix[1+16:]...)
}

// PagePrefix is the reverse of PageHead: it appends the prefix of the keys of the pages that have the head.
func PagePrefix(dst []byte, org ledger.ID, head []byte) []byte {
	return append(orgKey(dst, head[0], org), head[1:]...)
}

// BufferKey identifies a page-buffer row.
type BufferKey struct {
	Org   ledger.ID
	Shard byte   // 0 to 15, or Unsharded
	Group uint64 // the group that booked the lines
	Part  uint16 // from 0; a group has several rows if its lines do not fit into one
}

// Unsharded is the shard of rows that may contain chunks of any page.
const Unsharded byte = unsharded

// KeyBufferRow is buffer/<org>/<shard>/<group>/<part>.
func KeyBufferRow(dst []byte, k BufferKey) []byte {
	dst = append(KeyBuffer(dst, k.Org), k.Shard)
	dst = binary.BigEndian.AppendUint64(dst, k.Group)
	return binary.BigEndian.AppendUint16(dst, k.Part)
}

// KeyBuffer is the prefix of an organization's page buffer.
func KeyBuffer(dst []byte, org ledger.ID) []byte { return orgKey(dst, prefixBuffer, org) }

// KeyBufferShard is the prefix of one shard of an organization's page buffer.
func KeyBufferShard(dst []byte, org ledger.ID, shard byte) []byte {
	return append(KeyBuffer(dst, org), shard)
}

// KeyAllBuffers is the prefix of every page buffer.
func KeyAllBuffers() []byte { return []byte{prefixBuffer} }

// ParseBufferKey parses the key of a page-buffer row.
func ParseBufferKey(key []byte) (k BufferKey, ok bool) {
	if len(key) != 1+16+1+8+2 || key[0] != prefixBuffer {
		return k, false
	}
	copy(k.Org[:], key[1:17])
	k.Shard = key[17]
	k.Group = binary.BigEndian.Uint64(key[18:])
	k.Part = binary.BigEndian.Uint16(key[26:])
	return k, k.Shard < shardCount || k.Shard == unsharded
}

// AppendChunk appends a chunk to a page-buffer row.
func AppendChunk(dst, head, lines []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(head)))
	dst = append(dst, head...)
	dst = binary.AppendUvarint(dst, uint64(len(lines)))
	return append(dst, lines...)
}

// EachChunk calls fn with every chunk of a page-buffer row, in the order of booking. The
// slices alias the row.
func EachChunk(row []byte, fn func(head, lines []byte) error) error {
	r := reader{src: row}
	for len(r.src) > 0 {
		head := r.take(int(r.uvarint()))
		lines := r.take(int(r.uvarint()))
		if r.bad || len(head) < 2 || len(lines) == 0 || head[0] != prefixPage && head[0] != prefixList {
			return fmt.Errorf("page buffer: unknown form")
		}
		if err := fn(head, lines); err != nil {
			return err
		}
	}
	return nil
}

// FindChunks calls fn with the lines of each chunk that has the given head.
func FindChunks(row, head []byte, fn func(lines []byte)) error {
	return EachChunk(row, func(chunkHead, lines []byte) error {
		if bytes.Equal(chunkHead, head) {
			fn(lines)
		}
		return nil
	})
}

// Span returns the booked times of the first and the last line of a page or chunk. kind is
// the first byte of its head.
func Span(kind byte, lines []byte) (first, last ledger.Micros, err error) {
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
		for len(r.src) > 0 && !r.bad {
			addTime(ledger.Micros(r.uvarint() >> 1))
			r.id()
		}
		if r.bad {
			err = fmt.Errorf("list page: cut short")
		}
	default:
		err = fmt.Errorf("page buffer: pages of kind %q", kind)
	}
	return first, last, err
}
