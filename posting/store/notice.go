package store

import (
	"encoding/binary"
	"fmt"

	"mizan/ledger"
)

// kvNotices is the first byte of the keys of notice pages, which are KVs (rows of key and value) that only the
// writer sets.
const kvNotices = 'n'

// Bounds of KVs and notices, in bytes.
const (
	MaxKVKey      = 256      // length of a KV's own key
	MaxKVValue    = 96 << 10 // length of a KV's value
	MaxNotice     = 16 << 10 // length of a notice's body
	MaxNoticePage = 48 << 10 // longest page of notices; a notice that does not fit begins a new page
)

// Notice is the stored form of a notification about an event.
type Notice struct {
	Booked  ledger.Micros // booked time of the notice's event
	Source  ledger.Source // record of the event
	Channel byte          // how the notice is sent: a posting.Channel
	To      ledger.ID     // destination
	Body    []byte
}

// KeyKV appends the key of a KV's row: kind of row, org, the KV's own key.
func KeyKV(dst []byte, org ledger.ID, key []byte) []byte {
	return append(orgKey(dst, prefixKV, org), key...)
}

// KVKey returns the KV's own key in the key of its row.
func KVKey(key []byte) []byte { return key[1+16:] }

// IsActorKV tells whether actors may set a KV. key is the KV's own key. All other KVs are set only by the writer.
func IsActorKV(key []byte) bool { return key[0] != kvNotices }

// KeyNotices appends the common prefix of the keys of an organization's notice pages.
func KeyNotices(dst []byte, org ledger.ID) []byte {
	return append(orgKey(dst, prefixKV, org), kvNotices)
}

// KeyNoticePage appends the key of a notice page: the prefix from KeyNotices, and the booked time of the page's first notice.
func KeyNoticePage(dst []byte, org ledger.ID, firstBooked ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64(KeyNotices(dst, org), uint64(firstBooked))
}

// ParseNoticePage parses the key of a notice page. It returns the booked time of the page's first notice.
func ParseNoticePage(key []byte) (firstBooked ledger.Micros, ok bool) {
	if len(key) != 1+16+1+8 || key[0] != prefixKV || key[17] != kvNotices {
		return 0, false
	}
	return ledger.Micros(binary.BigEndian.Uint64(key[18:])), true
}

// NoticePage builds a page of notices: a row with notices that one group adds for one organization.
type NoticePage struct {
	First    ledger.Micros // booked time of the first notice; 0: the page is empty
	previous Notice        // the last notice of the page, without its body
	row      []byte
}

// sameDestinationFlag is a flag in the byte with a notice's channel. It means that the notice has the same destination as the
// previous one.
const sameDestinationFlag = 0x80

// Full tells whether the page has no room for another notice with a body of n bytes.
func (p *NoticePage) Full(n int) bool { return p.First != 0 && len(p.row)+n+64 > MaxNoticePage }

// Add appends a notice. Notices must be in the order of their booked times.
func (p *NoticePage) Add(n *Notice) {
	if p.First == 0 {
		p.First, p.previous = n.Booked, Notice{Booked: n.Booked}
		p.row = append(p.row, 1)
	}
	sameDestination := len(p.row) > 1 && n.Channel == p.previous.Channel && n.To == p.previous.To
	p.row = binary.AppendUvarint(p.row, uint64(n.Booked-p.previous.Booked))
	p.row = append(append(p.row, byte(n.Source.Kind)), n.Source.ID[:]...)
	if sameDestination {
		p.row = append(p.row, n.Channel|sameDestinationFlag)
	} else {
		p.row = append(append(p.row, n.Channel), n.To[:]...)
	}
	p.row = binary.AppendUvarint(p.row, uint64(len(n.Body)))
	p.row = append(p.row, n.Body...)
	p.previous = Notice{Booked: n.Booked, Channel: n.Channel, To: n.To}
}

// Bytes returns the size of the page.
func (p *NoticePage) Bytes() int { return len(p.row) }

// Row returns the stored form of the page.
func (p *NoticePage) Row() []byte { return p.row }

// Reset empties the page for the next one.
func (p *NoticePage) Reset() { p.First, p.previous, p.row = 0, Notice{}, p.row[:0] }

// EachNotice calls fn with the notices of a page in order. The bodies share the memory of the row. firstBooked is the booked
// time in the page's key.
func EachNotice(firstBooked ledger.Micros, row []byte, fn func(n *Notice) (more bool, err error)) error {
	r := reader{src: row}
	if r.byte() != 1 {
		return fmt.Errorf("page of notices: unknown form")
	}
	n := Notice{Booked: firstBooked}
	for len(r.src) > 0 {
		n.Booked += ledger.Micros(r.uvarint())
		n.Source.Kind = ledger.Kind(r.byte())
		n.Source.ID = r.id()
		channelAndFlag := r.byte()
		n.Channel = channelAndFlag &^ sameDestinationFlag
		if channelAndFlag&sameDestinationFlag == 0 {
			n.To = r.id()
		}
		n.Body = r.take(int(r.uvarint()))
		if r.hasFailed {
			return fmt.Errorf("page of notices: cut short")
		}
		if more, err := fn(&n); err != nil || !more {
			return err
		}
	}
	return nil
}
