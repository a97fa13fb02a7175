package notifier

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/msgpackcheck"
	"mizan/ledger"
	"mizan/posting"
)

// The first byte of a key says what this package uses the KV (a row of key and value) for. These bytes are
// stored, so their meaning must never change.
//
// A notice that is acknowledged at its first attempt, as nearly all are, has no row of its own. It shares two
// rows with other notices: its page of notices, and a row of acknowledgements. A row of acknowledgements names the
// notices of one page that were acknowledged at about the same time. Only a delivery that failed or had to wait has
// rows of its own: one with the delivery, and an empty one whose key says when the delivery is due, or that it is
// parked. Even a million waiting deliveries need little memory and little time at start, because memory holds only
// one instant per destination.
const (
	rowAcknowledgements = 'd' // d<page><id of the first acknowledgement>: acknowledged first attempts of notices of the page
	rowDeliveries       = 'e' // e<id>: a delivery whose first attempt failed or was postponed
	rowRetries          = 'r' // r<class><to><next><id>: a delivery that waits; the value is empty
	rowParked           = 'p' // p<class><to><id>: a parked delivery; the value is empty
	rowCursor           = 'c' // a page; every notice on an earlier page has an acknowledgement or a delivery's row
	rowBulletinKeys     = 'i' // i<key>: the key with which a bulletin was posted; the value is the bulletin's id
	rowNotices          = 'n' // n<page>: written by the journal's writer
)

// receiverClass is a kind of receiver. The channels of a class share their destinations.
type receiverClass byte

const (
	merchantClass receiverClass = iota + 1
	operatorClass
	payerClass
)

// receiverClasses are all classes, in their order.
var receiverClasses = [...]receiverClass{merchantClass, operatorClass, payerClass}

func classOf(c posting.Channel) receiverClass {
	switch c {
	case posting.OperatorAlert, posting.OperatorBulletin:
		return operatorClass
	case posting.PayerReceipt:
		return payerClass
	}
	return merchantClass
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

// EventID returns the event_id of a delivery, a UUID with the form of version 4 (RFC 9562, 5.4). Its last 62
// bits are a hash of the organization and the id. Its first 60 bits are the booked time in µs, masked with a
// hash of the other 62. So a delivery is found by its event_id without an index, and no delivery is found if
// the event_id is used in another organization.
func EventID(org ledger.ID, delivery ID) (id ledger.ID) {
	sum := sha256.Sum256(delivery.append(append(make([]byte, 0, len(org)+idSize), org[:]...)))
	copy(id[8:], sum[:8])
	id[8] = id[8]&0x3f | 0x80
	hidden := uint64(delivery.Booked) ^ eventMask(org, id[8:])
	binary.BigEndian.PutUint64(id[:8], hidden>>12<<16|4<<12|hidden&0xfff)
	return id
}

// microsecondMask selects the 60 bits of a booked time (in µs) that an event_id contains.
const microsecondMask = 1<<60 - 1

// eventMask returns the mask of the booked time in an event_id. hash is the second half of the event_id.
func eventMask(org ledger.ID, hash []byte) uint64 {
	sum := sha256.Sum256(append(append(make([]byte, 0, len(org)+8), org[:]...), hash...))
	return binary.BigEndian.Uint64(sum[:8]) & microsecondMask
}

// DeliveryOfEvent returns the ID of the delivery that has the given event_id. It returns false if no delivery of the
// organization can have it.
func DeliveryOfEvent(org, event ledger.ID) (ID, bool) {
	firstHalf := binary.BigEndian.Uint64(event[:8])
	booked := (firstHalf>>16<<12 | firstHalf&0xfff) ^ eventMask(org, event[8:])
	for channel := posting.Webhook; channel <= posting.OperatorBulletin; channel++ {
		if id := (ID{ledger.Micros(booked), channel}); EventID(org, id) == event {
			return id, true
		}
	}
	return ID{}, false
}

// destinationKey identifies a destination.
type destinationKey struct {
	org   ledger.ID
	class receiverClass
	to    ledger.ID
}

func keyDelivery(id ID) []byte { return id.append([]byte{rowDeliveries}) }

func keyWaiting(kind byte, k destinationKey) []byte {
	return append(append(make([]byte, 0, 64), kind, byte(k.class)), k.to[:]...)
}

const waitingPrefixLen = 2 + 16 // length of the keys that keyWaiting returns

func keyRetry(k destinationKey, dueAt ledger.Micros, id ID) []byte {
	return id.append(binary.BigEndian.AppendUint64(keyWaiting(rowRetries, k), uint64(dueAt)))
}

// keyDue returns the lower bound of the keys of a destination's waiting deliveries that are due at the given time or
// later.
func keyDue(k destinationKey, at ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64(keyWaiting(rowRetries, k), uint64(at))
}

// parseRetry parses the key of a row of a waiting delivery.
func parseRetry(org ledger.ID, row []byte) (k destinationKey, dueAt ledger.Micros, id ID, ok bool) {
	if len(row) != waitingPrefixLen+8+idSize {
		return k, 0, id, false
	}
	k = destinationKey{org: org, class: receiverClass(row[1]), to: ledger.ID(row[2:waitingPrefixLen])}
	return k, ledger.Micros(binary.BigEndian.Uint64(row[waitingPrefixLen:])), readID(row[waitingPrefixLen+8:]), true
}

func keyParked(k destinationKey, id ID) []byte { return id.append(keyWaiting(rowParked, k)) }

func keyAcknowledgements(pageStart ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64([]byte{rowAcknowledgements}, uint64(pageStart))
}

// acknowledgement is the result of a first attempt that was acknowledged.
type acknowledgement struct {
	ID
	pageStart ledger.Micros
	at        ledger.Micros
	status    int
	took      int64 // milliseconds
}

// appendAcknowledgement appends an acknowledgement to the row of its page.
func appendAcknowledgement(dst []byte, m *acknowledgement) []byte {
	if len(dst) == 0 {
		dst = append(dst, 1)
	}
	dst = binary.AppendUvarint(dst, uint64(m.Booked-m.pageStart))
	dst = append(dst, byte(m.Channel))
	dst = binary.AppendVarint(dst, int64(m.at-m.Booked))
	dst = binary.AppendUvarint(dst, uint64(m.status))
	return binary.AppendUvarint(dst, uint64(m.took))
}

// eachAcknowledgement parses a row of acknowledgements and calls fn with each acknowledgement.
func eachAcknowledgement(pageStart ledger.Micros, row []byte, fn func(m acknowledgement)) error {
	if len(row) == 0 || row[0] != 1 {
		return fmt.Errorf("marks of deliveries: unknown form")
	}
	damaged := false
	unread := row[1:]
	readNumber := func() uint64 {
		v, n := binary.Uvarint(unread)
		if n <= 0 {
			damaged, unread = true, nil
			return 0
		}
		unread = unread[n:]
		return v
	}
	for len(unread) > 0 && !damaged {
		m := acknowledgement{pageStart: pageStart}
		m.Booked = pageStart + ledger.Micros(readNumber())
		if len(unread) == 0 {
			damaged = true
			break
		}
		m.Channel, unread = posting.Channel(unread[0]), unread[1:]
		delay, n := binary.Varint(unread)
		if n <= 0 {
			damaged = true
			break
		}
		unread = unread[n:]
		m.at, m.status, m.took = m.Booked+ledger.Micros(delay), int(readNumber()), int64(readNumber())
		if !damaged {
			fn(m)
		}
	}
	if damaged {
		return fmt.Errorf("marks of deliveries: cut short")
	}
	return nil
}

// deliveryVersion is the first byte of a delivery's own row; a msgpack map follows.
const deliveryVersion = 1

type deliveryRow struct {
	Kind                 byte         `msgpack:"k"`
	Source               []byte       `msgpack:"s"`
	To                   []byte       `msgpack:"t"`
	Page                 int64        `msgpack:"p,omitempty"`
	Body                 []byte       `msgpack:"b,omitempty"`
	State                byte         `msgpack:"z"`
	Next                 int64        `msgpack:"n,omitempty"`
	AttemptsBeforeReplay int          `msgpack:"r,omitempty"`
	ReplayRequests       int          `msgpack:"q,omitempty"`
	ReachedOperators     []byte       `msgpack:"l,omitempty"`
	Attempts             []attemptRow `msgpack:"a,omitempty"`
}

type attemptRow struct {
	At      int64  `msgpack:"a"`
	Status  int    `msgpack:"s,omitempty"`
	Failure string `msgpack:"f,omitempty"`
	Took    int64  `msgpack:"t,omitempty"`
}

func encodeDelivery(d *Delivery) ([]byte, error) {
	row := deliveryRow{
		Kind: byte(d.Source.Kind), Source: d.Source.ID[:], To: d.To[:], Page: int64(d.pageStart), Body: d.body,
		State: byte(d.State), Next: int64(d.Next), AttemptsBeforeReplay: d.attemptsBeforeReplay, ReplayRequests: d.replayRequests, ReachedOperators: d.reachedOperators,
	}
	for _, a := range d.Attempts {
		row.Attempts = append(row.Attempts, attemptRow{int64(a.At), a.Status, a.Failure, a.Took})
	}
	body, err := msgpack.Marshal(&row)
	return append([]byte{deliveryVersion}, body...), err
}

func decodeDelivery(id ID, value []byte) (*Delivery, error) {
	var row deliveryRow
	if len(value) == 0 || value[0] != deliveryVersion || !msgpackcheck.WellFormed(value[1:]) {
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
		State: State(row.State), Next: ledger.Micros(row.Next), pageStart: ledger.Micros(row.Page), body: row.Body, attemptsBeforeReplay: row.AttemptsBeforeReplay, replayRequests: row.ReplayRequests, reachedOperators: row.ReachedOperators,
	}
	for _, a := range row.Attempts {
		d.Attempts = append(d.Attempts, Attempt{ledger.Micros(a.At), a.Status, a.Failure, a.Took})
	}
	return d, nil
}
