package store

import (
	"encoding/binary"
	"fmt"

	"mizan/ledger"
	"mizan/ledger/money"
)

// MaxPage is the maximum length of a page's row in bytes. A page contains consecutive lines of one account, or consecutive
// rows of one list.
const MaxPage = 32 << 10

// Line is a posting on an account, with the account's totals after the posting.
type Line struct {
	Seq    uint64
	Index  int // index of the posting in its entry. If a capture only released money on the account, Index is above the indexes of all postings
	Booked ledger.Micros
	Side   ledger.Side
	Phase  ledger.Phase
	Amount money.Amount
	Totals ledger.Totals
}

// EncodeLine appends a line to a page's row.
func EncodeLine(dst []byte, l *Line) []byte {
	dst = binary.AppendUvarint(dst, l.Seq)
	dst = binary.AppendUvarint(dst, uint64(l.Index))
	dst = binary.AppendUvarint(dst, uint64(l.Booked))
	dst = append(dst, byte(l.Side)<<4|byte(l.Phase))
	dst = l.Amount.AppendBinary(dst)
	dst = l.Totals.DebitsPosted.AppendBinary(dst)
	dst = l.Totals.CreditsPosted.AppendBinary(dst)
	dst = l.Totals.DebitsPending.AppendBinary(dst)
	return l.Totals.CreditsPending.AppendBinary(dst)
}

// DecodePage calls fn with every line of a page, oldest first.
func DecodePage(row []byte, fn func(*Line) (more bool, err error)) error {
	r := reader{src: row}
	for len(r.src) > 0 {
		l := Line{Seq: r.uvarint(), Index: int(r.uvarint()), Booked: ledger.Micros(r.uvarint())}
		sideAndPhase := r.byte()
		l.Side, l.Phase = ledger.Side(sideAndPhase>>4), ledger.Phase(sideAndPhase&15)
		for _, a := range [...]*money.Amount{&l.Amount, &l.Totals.DebitsPosted, &l.Totals.CreditsPosted, &l.Totals.DebitsPending, &l.Totals.CreditsPending} {
			*a = r.amount()
		}
		if r.hasFailed {
			return fmt.Errorf("page: cut short")
		}
		if more, err := fn(&l); err != nil || !more {
			return err
		}
	}
	return nil
}

func (r *reader) amount() money.Amount {
	if r.hasFailed {
		return money.Amount{}
	}
	a, rest, err := money.ReadAmount(r.src)
	if err != nil {
		r.hasFailed = true
		return a
	}
	r.src = rest
	return a
}

// EncodeAmount appends the value of a counter's row.
func EncodeAmount(dst []byte, a money.Amount) []byte { return a.AppendBinary(dst) }

// DecodeAmount parses a counter's row.
func DecodeAmount(row []byte) (money.Amount, error) {
	r := reader{src: row}
	a := r.amount()
	if r.hasFailed || len(r.src) != 0 {
		return a, fmt.Errorf("counter: cut short")
	}
	return a, nil
}

// EncodeLowWaterMark appends the value of the low-water mark, a time in seconds since 1970. A due row lists the records on
// which work becomes due in one second. Due rows of seconds before the mark are never read again.
func EncodeLowWaterMark(dst []byte, second int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(second))
}

// DecodeLowWaterMark parses the value of the low-water mark.
func DecodeLowWaterMark(row []byte) (second int64, err error) {
	if len(row) != 8 {
		return 0, fmt.Errorf("due mark: %d bytes", len(row))
	}
	return int64(binary.BigEndian.Uint64(row)), nil
}

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
