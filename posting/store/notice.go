package store

import (
	"encoding/binary"
	"fmt"

	"mizan/ledger"
)

// kvNotices is the first byte of the keys of notice pages. Only the writer sets these KVs.
const kvNotices = 'n'

// Bounds of KVs and notices, in bytes.
const (
	MaxKVKey   = 256      // longest key of a KV
	MaxKVValue = 96 << 10 // longest value of a KV
	MaxNotice  = 16 << 10 // longest body of a notice
	MaxNotices = 48 << 10 // longest page of notices; further notices begin a new page
)

// Notice is the stored form of a notice.
type Notice struct {
	Booked  ledger.Micros // booked time of the notice's event
	Source  ledger.Source // record of the event
	Channel byte
	To      ledger.ID // destination
	Body    []byte
}

// KeyKV is kv/<org>/<key>.
func KeyKV(dst []byte, org ledger.ID, key []byte) []byte {
	return append(orgKey(dst, prefixKV, org), key...)
}

// KVKey returns the key of a KV without its prefix.
func KVKey(key []byte) []byte { return key[1+16:] }

// IsActorKV tells whether actors may set the KV. Only the writer sets the others.
func IsActorKV(key []byte) bool { return key[0] != kvNotices }

// KeyNotices is kv/<org>/n: the prefix of an organization's notices.
func KeyNotices(dst []byte, org ledger.ID) []byte {
	return append(orgKey(dst, prefixKV, org), kvNotices)
}

// KeyNoticePage is kv/<org>/n<booked time of the page's first notice>.
func KeyNoticePage(dst []byte, org ledger.ID, first ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64(KeyNotices(dst, org), uint64(first))
}

// ParseNoticePage returns the booked time of the first notice of the page with the key.
func ParseNoticePage(key []byte) (first ledger.Micros, ok bool) {
	if len(key) != 1+16+1+8 || key[0] != prefixKV || key[17] != kvNotices {
		return 0, false
	}
	return ledger.Micros(binary.BigEndian.Uint64(key[18:])), true
}

// NoticePage builds the row of notices of one organization in one group.
type NoticePage struct {
	First ledger.Micros // 0: the page is empty
	last  Notice        // without its body
	row   []byte
}

// sameTo is a flag in the byte of a notice's channel: the destination is that of the previous notice.
const sameTo = 0x80

// Full tells whether a notice with a body of n bytes does not fit into the page.
func (p *NoticePage) Full(n int) bool { return p.First != 0 && len(p.row)+n+64 > MaxNotices }

// Add appends a notice. Notices must be in the order of their booked times.
func (p *NoticePage) Add(n *Notice) {
	if p.First == 0 {
		p.First, p.last = n.Booked, Notice{Booked: n.Booked}
		p.row = append(p.row, 1)
	}
	sameDestination := len(p.row) > 1 && n.Channel == p.last.Channel && n.To == p.last.To
	p.row = binary.AppendUvarint(p.row, uint64(n.Booked-p.last.Booked))
	p.row = append(append(p.row, byte(n.Source.Kind)), n.Source.ID[:]...)
	if sameDestination {
		p.row = append(p.row, n.Channel|sameTo)
	} else {
		p.row = append(append(p.row, n.Channel), n.To[:]...)
	}
	p.row = binary.AppendUvarint(p.row, uint64(len(n.Body)))
	p.row = append(p.row, n.Body...)
	p.last = Notice{Booked: n.Booked, Channel: n.Channel, To: n.To}
}

// Bytes returns the size of the page.
func (p *NoticePage) Bytes() int { return len(p.row) }

// Row returns the stored form of the page.
func (p *NoticePage) Row() []byte { return p.row }

// Reset empties the page for the next one.
func (p *NoticePage) Reset() { p.First, p.last, p.row = 0, Notice{}, p.row[:0] }

// EachNotice calls fn with the notices of a page in order; the bodies alias the row.
func EachNotice(first ledger.Micros, row []byte, fn func(n *Notice) (more bool, err error)) error {
	r := reader{src: row}
	if r.byte() != 1 {
		return fmt.Errorf("page of notices: unknown form")
	}
	n := Notice{Booked: first}
	for len(r.src) > 0 {
		n.Booked += ledger.Micros(r.uvarint())
		n.Source.Kind = ledger.Kind(r.byte())
		n.Source.ID = r.id()
		channel := r.byte()
		n.Channel = channel &^ sameTo
		if channel&sameTo == 0 {
			n.To = r.id()
		}
		n.Body = r.take(int(r.uvarint()))
		if r.bad {
			return fmt.Errorf("page of notices: cut short")
		}
		if more, err := fn(&n); err != nil || !more {
			return err
		}
	}
	return nil
}
