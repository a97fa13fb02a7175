package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"mizan/ledger"
)

// A daybook row holds what one group booked on pages of few lines: a section
// for each, with the page's head and its lines. The head is the prefix of the
// page's keys without the organization: the kind of row, and what follows.

// Shares of a daybook: a group that booked on many pages deals them into
// dealt rows by their heads, so that who looks for one page reads a part of it.
const (
	shares = 16
	Dealt  = 64 // sections of an organization in a group from which on they are dealt

	undealt = 0xff
)

// Share is which share of a daybook a page's sections are in, if they are dealt.
func Share(head []byte) byte { return byte(crc32.Checksum(head, castagnoli) % shares) }

// EachShare are all of an organization's shares.
func EachShare() []byte {
	all := make([]byte, 0, shares+1)
	for share := range byte(shares) {
		all = append(all, share)
	}
	return append(all, Undealt)
}

// PageHead is the head of a page whose keys begin with the prefix.
func PageHead(dst, prefix []byte) []byte {
	return append(append(dst, prefix[0]), prefix[1+16:]...)
}

// PagePrefix is what the keys of the pages of a head begin with.
func PagePrefix(dst []byte, org ledger.ID, head []byte) []byte {
	return append(orgKey(dst, head[0], org), head[1:]...)
}

// DayKey names a daybook row.
type DayKey struct {
	Org   ledger.ID
	Share byte   // 0 to 15, or 255: of all pages
	Group uint64 // whose lines it holds
	Part  uint16 // rows are not longer than pages
}

// Undealt is the share of the rows that hold sections of all pages.
const Undealt byte = undealt

// KeyDaybook is daybook/<org>/<share>/<group>/<part>.
func KeyDaybook(dst []byte, k DayKey) []byte {
	dst = append(KeyDaybooks(dst, k.Org), k.Share)
	dst = binary.BigEndian.AppendUint64(dst, k.Group)
	return binary.BigEndian.AppendUint16(dst, k.Part)
}

// KeyDaybooks is the prefix of an organization's daybook.
func KeyDaybooks(dst []byte, org ledger.ID) []byte { return orgKey(dst, prefixDaybook, org) }

// KeyDaybookShare is the prefix of a share of it.
func KeyDaybookShare(dst []byte, org ledger.ID, share byte) []byte {
	return append(KeyDaybooks(dst, org), share)
}

// KeyAllDaybooks is the prefix of every daybook.
func KeyAllDaybooks() []byte { return []byte{prefixDaybook} }

// ParseDaybookKey takes a daybook row's key apart.
func ParseDaybookKey(key []byte) (k DayKey, ok bool) {
	if len(key) != 1+16+1+8+2 || key[0] != prefixDaybook {
		return k, false
	}
	copy(k.Org[:], key[1:17])
	k.Share = key[17]
	k.Group = binary.BigEndian.Uint64(key[18:])
	k.Part = binary.BigEndian.Uint16(key[26:])
	return k, k.Share < shares || k.Share == undealt
}

// EncodeSection appends a section to a daybook row.
func EncodeSection(dst, head, lines []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(head)))
	dst = append(dst, head...)
	dst = binary.AppendUvarint(dst, uint64(len(lines)))
	return append(dst, lines...)
}

// EachSection calls fn with every section of a daybook row, in the order of
// booking. The slices alias the row.
func EachSection(row []byte, fn func(head, lines []byte) error) error {
	r := reader{src: row}
	for len(r.src) > 0 {
		head := r.take(int(r.uvarint()))
		lines := r.take(int(r.uvarint()))
		if r.bad || len(head) < 2 || len(lines) == 0 || head[0] != prefixPage && head[0] != prefixList {
			return fmt.Errorf("daybook: unknown form")
		}
		if err := fn(head, lines); err != nil {
			return err
		}
	}
	return nil
}

// FindSections calls fn with the sections of one head.
func FindSections(row, head []byte, fn func(lines []byte)) error {
	return EachSection(row, func(h, lines []byte) error {
		if bytes.Equal(h, head) {
			fn(lines)
		}
		return nil
	})
}

// Span is when the first and the last line of a page or section were booked,
// whichever kind of row it is of.
func Span(kind byte, lines []byte) (first, last ledger.Micros, err error) {
	note := func(at ledger.Micros) {
		if first == 0 {
			first = at
		}
		last = at
	}
	switch kind {
	case prefixPage:
		err = DecodePage(lines, func(l *Line) (bool, error) {
			note(l.Booked)
			return true, nil
		})
	case prefixList:
		r := reader{src: lines}
		for len(r.src) > 0 && !r.bad {
			note(ledger.Micros(r.uvarint() >> 1))
			r.id()
		}
		if r.bad {
			err = fmt.Errorf("list page: cut short")
		}
	default:
		err = fmt.Errorf("daybook: pages of kind %q", kind)
	}
	return first, last, err
}
