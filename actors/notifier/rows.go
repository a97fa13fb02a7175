package notifier

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/packed"
	"mizan/ledger"
	"mizan/posting"
)

// The purposes of KVs, by the first byte of the key. They are stored, so they never change their
// meaning.
//
// A notice that is acknowledged at its first attempt, as nearly all are, shares two rows with others:
// its page, and a row of marks for the notices of that page that were acknowledged at about the same
// time. Only a delivery that failed or had to wait has rows of its own: itself, and an empty row whose
// key says when it is due, or that it is parked. A million waiting deliveries cost neither memory nor
// time at start: memory holds one instant per destination.
const (
	rowMarks   = 'd' // d<page><id of the first mark>: acknowledged first attempts of notices of the page
	rowKept    = 'e' // e<id>: a delivery whose first attempt failed or was postponed
	rowRetries = 'r' // r<class><to><next><id>: a delivery that waits; the value is empty
	rowParked  = 'p' // p<class><to><id>: a parked delivery; the value is empty
	rowCursor  = 'c' // every notice on an earlier page is marked or kept
	rowPosted  = 'i' // i<key>: the key with which a bulletin was posted; the value is the bulletin's id
	rowNotices = 'n' // n<page>: written by the journal's writer
)

// class is the kind of receiver: the channels of a class share their destinations.
type class byte

const (
	merchants class = iota + 1
	operators
)

func classOf(c posting.Channel) class {
	if c == posting.Operators || c == posting.Bulletin {
		return operators
	}
	return merchants
}

// ID identifies a delivery inside its organization.
type ID struct {
	Booked  ledger.Micros // booked time of its event; for a bulletin, the time when it was posted
	Channel posting.Channel
}

const idSize = 8 + 1

func (id ID) append(dst []byte) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(id.Booked)), byte(id.Channel))
}

func readID(b []byte) ID {
	return ID{Booked: ledger.Micros(binary.BigEndian.Uint64(b)), Channel: posting.Channel(b[8])}
}

// EventID returns the event_id of a delivery, a UUID with the form of version 4 (RFC 9562, 5.4).
// Its last 62 bits are a hash of the organization and the id; its first 60 are the booked
// microsecond, masked with a hash of those 62 bits. So a delivery can be found by its event_id
// without a row, and the event_id of one organization names nothing in another.
func EventID(org ledger.ID, delivery ID) (id ledger.ID) {
	sum := sha256.Sum256(delivery.append(append(make([]byte, 0, len(org)+idSize), org[:]...)))
	copy(id[8:], sum[:8])
	id[8] = id[8]&0x3f | 0x80
	hidden := uint64(delivery.Booked) ^ eventMask(org, id[8:])
	binary.BigEndian.PutUint64(id[:8], hidden>>12<<16|4<<12|hidden&0xfff)
	return id
}

// eventBits masks the 60 bits of an event_id's first half that hold the microsecond.
const eventBits = 1<<60 - 1

// eventMask returns the mask of an event_id's microsecond.
func eventMask(org ledger.ID, tail []byte) uint64 {
	sum := sha256.Sum256(append(append(make([]byte, 0, len(org)+8), org[:]...), tail...))
	return binary.BigEndian.Uint64(sum[:8]) & eventBits
}

// OfEvent returns the delivery that an event_id names; false if it names none of the organization.
func OfEvent(org, event ledger.ID) (ID, bool) {
	half := binary.BigEndian.Uint64(event[:8])
	booked := (half>>16<<12 | half&0xfff) ^ eventMask(org, event[8:])
	for channel := posting.Webhook; channel <= posting.Bulletin; channel++ {
		if id := (ID{ledger.Micros(booked), channel}); EventID(org, id) == event {
			return id, true
		}
	}
	return ID{}, false
}

// key addresses a destination.
type key struct {
	org   ledger.ID
	class class
	to    ledger.ID
}

func keyKept(id ID) []byte { return id.append([]byte{rowKept}) }

func keyWaiting(kind byte, k key) []byte {
	return append(append(make([]byte, 0, 64), kind, byte(k.class)), k.to[:]...)
}

const waitingHead = 2 + 16 // length of the keys that keyWaiting returns

func keyRetry(k key, next ledger.Micros, id ID) []byte {
	return id.append(binary.BigEndian.AppendUint64(keyWaiting(rowRetries, k), uint64(next)))
}

// keyDue returns the key from which on the rows of a destination's waiting deliveries are due at the given time or
// later.
func keyDue(k key, at ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64(keyWaiting(rowRetries, k), uint64(at))
}

// parseRetry parses the key of a waiting delivery.
func parseRetry(org ledger.ID, row []byte) (k key, next ledger.Micros, id ID, ok bool) {
	if len(row) != waitingHead+8+idSize {
		return k, 0, id, false
	}
	k = key{org: org, class: class(row[1]), to: ledger.ID(row[2:waitingHead])}
	return k, ledger.Micros(binary.BigEndian.Uint64(row[waitingHead:])), readID(row[waitingHead+8:]), true
}

func keyParked(k key, id ID) []byte { return id.append(keyWaiting(rowParked, k)) }

func keyMarks(page ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64([]byte{rowMarks}, uint64(page))
}

// mark is an acknowledged first attempt.
type mark struct {
	ID
	page   ledger.Micros
	at     ledger.Micros
	status int
	took   int64 // milliseconds
}

// appendMark appends a mark to the row of its page.
func appendMark(dst []byte, m *mark) []byte {
	if len(dst) == 0 {
		dst = append(dst, 1)
	}
	dst = binary.AppendUvarint(dst, uint64(m.Booked-m.page))
	dst = append(dst, byte(m.Channel))
	dst = binary.AppendVarint(dst, int64(m.at-m.Booked))
	dst = binary.AppendUvarint(dst, uint64(m.status))
	return binary.AppendUvarint(dst, uint64(m.took))
}

// eachMark parses a row of marks.
func eachMark(page ledger.Micros, row []byte, fn func(m mark)) error {
	if len(row) == 0 || row[0] != 1 {
		return fmt.Errorf("marks of deliveries: unknown form")
	}
	damaged := false
	rest := row[1:]
	number := func() uint64 {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			damaged, rest = true, nil
			return 0
		}
		rest = rest[n:]
		return v
	}
	for len(rest) > 0 && !damaged {
		m := mark{page: page}
		m.Booked = page + ledger.Micros(number())
		if len(rest) == 0 {
			damaged = true
			break
		}
		m.Channel, rest = posting.Channel(rest[0]), rest[1:]
		since, n := binary.Varint(rest)
		if n <= 0 {
			damaged = true
			break
		}
		rest = rest[n:]
		m.at, m.status, m.took = m.Booked+ledger.Micros(since), int(number()), int64(number())
		if !damaged {
			fn(m)
		}
	}
	if damaged {
		return fmt.Errorf("marks of deliveries: cut short")
	}
	return nil
}

// keptVersion is the first byte of the row of a kept delivery; a msgpack map follows.
const keptVersion = 1

type keptRow struct {
	Kind     byte         `msgpack:"k"`
	Source   []byte       `msgpack:"s"`
	To       []byte       `msgpack:"t"`
	Page     int64        `msgpack:"p,omitempty"`
	Body     []byte       `msgpack:"b,omitempty"`
	State    byte         `msgpack:"z"`
	Next     int64        `msgpack:"n,omitempty"`
	Round    int          `msgpack:"r,omitempty"`
	Asks     int          `msgpack:"q,omitempty"`
	Reached  []byte       `msgpack:"l,omitempty"`
	Attempts []attemptRow `msgpack:"a,omitempty"`
}

type attemptRow struct {
	At      int64  `msgpack:"a"`
	Status  int    `msgpack:"s,omitempty"`
	Failure string `msgpack:"f,omitempty"`
	Took    int64  `msgpack:"t,omitempty"`
}

func encodeKept(d *Delivery) ([]byte, error) {
	row := keptRow{
		Kind: byte(d.Source.Kind), Source: d.Source.ID[:], To: d.To[:], Page: int64(d.page), Body: d.body,
		State: byte(d.State), Next: int64(d.Next), Round: d.round, Asks: d.replayRequests, Reached: d.reached,
	}
	for _, a := range d.Attempts {
		row.Attempts = append(row.Attempts, attemptRow{int64(a.At), a.Status, a.Failure, a.Took})
	}
	body, err := msgpack.Marshal(&row)
	return append([]byte{keptVersion}, body...), err
}

func decodeKept(id ID, value []byte) (*Delivery, error) {
	var row keptRow
	if len(value) == 0 || value[0] != keptVersion || !packed.WellFormed(value[1:]) {
		return nil, fmt.Errorf("delivery: unknown form")
	}
	if err := msgpack.Unmarshal(value[1:], &row); err != nil {
		return nil, fmt.Errorf("delivery: %w", err)
	}
	if len(row.Source) != 16 || len(row.To) != 16 || State(row.State) < Pending || State(row.State) > Parked {
		return nil, fmt.Errorf("delivery: unknown form")
	}
	d := &Delivery{
		ID: id, Source: ledger.Source{Kind: ledger.Kind(row.Kind), ID: ledger.ID(row.Source)}, To: ledger.ID(row.To),
		State: State(row.State), Next: ledger.Micros(row.Next), page: ledger.Micros(row.Page), body: row.Body, round: row.Round, replayRequests: row.Asks, reached: row.Reached,
	}
	for _, a := range row.Attempts {
		d.Attempts = append(d.Attempts, Attempt{ledger.Micros(a.At), a.Status, a.Failure, a.Took})
	}
	return d, nil
}
