package store

import (
	"encoding/binary"
	"fmt"
	"slices"

	"mizan/ledger"
)

// MaxBlock is the maximum length of a block's row in bytes. Every event fits into a row, because an event has at most
// ledger.MaxPostings postings.
const MaxBlock = 64 << 10

// Block builds the row of a block. A block has consecutive events of one organization.
type Block struct {
	First  uint64 // seq of the first event
	Count  uint64 // number of events
	events []byte
}

// Add appends an event's canonical bytes.
func (b *Block) Add(seq uint64, canonical []byte) {
	if b.Count == 0 {
		b.First = seq
	}
	b.Count++
	b.events = binary.AppendUvarint(b.events, uint64(len(canonical)))
	b.events = append(b.events, canonical...)
}

// Full tells whether the block has no room for another event of n bytes.
func (b *Block) Full(n int) bool { return b.Count > 0 && len(b.events)+n+64 > MaxBlock }

// Bytes returns the size of the events in the block.
func (b *Block) Bytes() int { return len(b.events) }

// Reset empties the block for the next one.
func (b *Block) Reset() { b.First, b.Count, b.events = 0, 0, b.events[:0] }

// EncodeBlock appends the block's row: the number of events, the root of the organization's hash tree after
// the last event, and the events.
func EncodeBlock(dst []byte, b *Block, root [32]byte) []byte {
	dst = append(dst, 1)
	dst = binary.AppendUvarint(dst, b.Count)
	dst = append(dst, root[:]...)
	return append(dst, b.events...)
}

// BlockRow is a block that was read from a row.
type BlockRow struct {
	First, Count uint64
	Root         [32]byte // root of the organization's hash tree after the block's last event
	events       []byte
}

// DecodeBlock parses a block's row.
func DecodeBlock(key, row []byte) (BlockRow, error) {
	r := reader{src: row}
	var b BlockRow
	if len(key) != 1+16+8 || r.byte() != 1 {
		return b, fmt.Errorf("block %x: unknown form", key)
	}
	b.First = binary.BigEndian.Uint64(key[17:])
	b.Count = r.uvarint()
	copy(b.Root[:], r.take(32))
	b.events = r.src
	if r.hasFailed || b.Count == 0 {
		return b, fmt.Errorf("block %x: cut short", key)
	}
	return b, nil
}

// Each calls fn with the seq and the canonical bytes of each event, in order.
func (b *BlockRow) Each(fn func(seq uint64, canonical []byte) (more bool, err error)) error {
	r := reader{src: b.events}
	for i := range b.Count {
		canonical := r.take(int(r.uvarint()))
		if r.hasFailed {
			return fmt.Errorf("block %d: event %d cut short", b.First, i)
		}
		if more, err := fn(b.First+i, canonical); err != nil || !more {
			return err
		}
	}
	if len(r.src) != 0 {
		return fmt.Errorf("block %d: %d bytes too many", b.First, len(r.src))
	}
	return nil
}

// Subtree is the hash of a complete subtree of an organization's hash tree. The leaves of the tree are the organization's
// events. The subtree has 1<<Level leaves, and its first leaf is number Index<<Level of the tree, counted from 0.
type Subtree struct {
	Level int
	Index uint64
	Hash  [32]byte
}

// EncodeTree appends the tree row of a block. The row contains two lists of subtrees. edge is the right edge of the tree
// after the block: the complete subtrees that together have all leaves, the lowest level last. crossing lists the subtrees
// that begin before the block and end in it. Subtrees that are inside the block are not stored, because their hashes can be
// computed from the block's events.
func EncodeTree(dst []byte, edge []Subtree, crossing []Subtree) []byte {
	dst = append(dst, 1)
	for _, list := range [2][]Subtree{edge, crossing} {
		dst = binary.AppendUvarint(dst, uint64(len(list)))
		for i := range list {
			dst = append(dst, byte(list[i].Level))
			dst = binary.AppendUvarint(dst, list[i].Index)
			dst = append(dst, list[i].Hash[:]...)
		}
	}
	return dst
}

// DecodeTree parses a tree row.
func DecodeTree(row []byte) (edge, crossing []Subtree, err error) {
	r := reader{src: row}
	if r.byte() != 1 {
		return nil, nil, fmt.Errorf("tree row: unknown form")
	}
	for _, list := range [2]*[]Subtree{&edge, &crossing} {
		n := r.uvarint()
		if n > 64*64 {
			return nil, nil, fmt.Errorf("tree row: %d subtrees", n)
		}
		for range n {
			s := Subtree{Level: int(r.byte()), Index: r.uvarint()}
			copy(s.Hash[:], r.take(32))
			*list = append(*list, s)
		}
	}
	if r.hasFailed || len(r.src) != 0 {
		return nil, nil, fmt.Errorf("tree row: cut short")
	}
	return edge, crossing, nil
}

// DueItem is a record and the instant at which work on it becomes due.
type DueItem struct {
	At     ledger.Micros
	Org    ledger.ID
	Source ledger.Source // the record
}

// EncodeDue appends one item to a due row.
func EncodeDue(dst []byte, d DueItem) []byte {
	dst = binary.AppendUvarint(dst, uint64(d.At))
	dst = append(dst, d.Org[:]...)
	dst = append(dst, byte(d.Source.Kind))
	return append(dst, d.Source.ID[:]...)
}

// DecodeDues calls fn with each item of a due row.
func DecodeDues(row []byte, fn func(DueItem)) error {
	r := reader{src: row}
	for len(r.src) > 0 && !r.hasFailed {
		d := DueItem{At: ledger.Micros(r.uvarint()), Org: r.id()}
		d.Source.Kind = ledger.Kind(r.byte())
		d.Source.ID = r.id()
		if !r.hasFailed {
			fn(d)
		}
	}
	if r.hasFailed {
		return fmt.Errorf("due row: cut short")
	}
	return nil
}

// ListRow is a row of a list of records. It says that an event changed a record. Booked is the booked time of the event.
type ListRow struct {
	Booked     ledger.Micros
	IsCreation bool // the event created the record
	ID         ledger.ID
}

// EncodeListed appends one row to a list page.
func EncodeListed(dst []byte, l ListRow) []byte {
	firstFlag := uint64(0)
	if l.IsCreation {
		firstFlag = 1
	}
	dst = binary.AppendUvarint(dst, uint64(l.Booked)<<1|firstFlag)
	return append(dst, l.ID[:]...)
}

// DecodeListed returns the rows of a list page, oldest first.
func DecodeListed(row []byte) ([]ListRow, error) { return AppendListed(nil, row) }

// AppendListed appends the rows of a list page, oldest first.
func AppendListed(rows []ListRow, page []byte) ([]ListRow, error) {
	rows = slices.Grow(rows, len(page)/(8+16)) // encoded booked times of this century take eight bytes, and the rest of a row 16
	r := reader{src: page}
	for len(r.src) > 0 && !r.hasFailed {
		v := r.uvarint()
		rows = append(rows, ListRow{Booked: ledger.Micros(v >> 1), IsCreation: v&1 == 1, ID: r.id()})
	}
	if r.hasFailed {
		return nil, fmt.Errorf("list page: cut short")
	}
	return rows, nil
}
