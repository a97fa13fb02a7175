package notifier

import (
	"encoding/binary"
	"fmt"

	"mizan/ledger"
	"mizan/posting"
)

// RowKind is the kind of a row that this package stores. It is the first byte of the row's key. The checker
// (snapshots/check) reads the rows with the functions below.
type RowKind byte

// The kinds of rows, with the function that reads each.
const (
	AcknowledgementsRows RowKind = rowAcknowledgements // read by ReadAcknowledgements
	DeliveryRows         RowKind = rowDeliveries       // read by ReadDelivery
	RetryRows            RowKind = rowRetries          // read by ReadWaiting
	ParkedRows           RowKind = rowParked           // read by ReadWaiting
	CursorRow            RowKind = rowCursor           // read by ReadCursor; every notice on an earlier page has an acknowledgement or its own row
	BulletinKeyRows      RowKind = rowBulletinKeys     // read by ReadBulletinKey
	NoticesRows          RowKind = rowNotices          // written by the journal's writer; posting/store defines their form
)

// Acknowledgement is the stored result of a first attempt that was acknowledged. A row of acknowledgements stores many
// of them.
type Acknowledgement struct {
	ID
	Attempt
}

// PageOfAcknowledgements returns the page of notices to which the row of acknowledgements with this key belongs. The
// page is identified by the booked time of its first notice. If the key cannot be parsed, PageOfAcknowledgements
// returns an error.
func PageOfAcknowledgements(key []byte) (ledger.Micros, error) {
	if len(key) != 1+8+idSize || key[0] != rowAcknowledgements {
		return 0, fmt.Errorf("marks of deliveries with key %x", key)
	}
	return ledger.Micros(binary.BigEndian.Uint64(key[1:])), nil
}

// ReadAcknowledgements parses a row of acknowledgements and calls fn with each acknowledgement. If the row cannot be
// parsed, ReadAcknowledgements returns an error.
func ReadAcknowledgements(key, value []byte, fn func(m Acknowledgement)) error {
	pageStart, err := PageOfAcknowledgements(key)
	if err != nil {
		return err
	}
	isFirst, keyDiffers := true, false
	err = eachAcknowledgement(pageStart, value, func(m acknowledgement) {
		keyDiffers = keyDiffers || isFirst && m.ID != readID(key[1+8:])
		isFirst = false
		fn(Acknowledgement{m.ID, Attempt{At: m.at, Status: m.status, Took: m.took}})
	})
	if err == nil && (isFirst || keyDiffers) {
		err = fmt.Errorf("marks of deliveries: the first mark differs from the key")
	}
	return err
}

// StoredDelivery is a delivery that has its own row. The fields after Delivery are read only by the checker.
type StoredDelivery struct {
	*Delivery
	Page                 ledger.Micros // booked time of the first notice on its page; 0 for a bulletin, which is on no page
	Body                 []byte
	ReachedOperators     []byte // the operators who were reached; nil if none
	AttemptsBeforeReplay int    // number of attempts before the last request to deliver the notice again
}

// ReadDelivery parses the row of a delivery. If the row cannot be parsed, ReadDelivery returns an error.
func ReadDelivery(key, value []byte) (StoredDelivery, error) {
	if len(key) != 1+idSize || key[0] != rowDeliveries {
		return StoredDelivery{}, fmt.Errorf("delivery with key %x", key)
	}
	d, err := decodeDelivery(readID(key[1:]), value)
	if err != nil {
		return StoredDelivery{}, err
	}
	return StoredDelivery{d, d.pageStart, d.body, d.reachedOperators, d.attemptsBeforeReplay}, nil
}

// KeyOfDelivery returns the key of a delivery's own row. The row need not exist.
func KeyOfDelivery(id ID) []byte { return keyDelivery(id) }

// KeyOfWaiting returns the key of the row that says when a pending delivery is tried next, or that a delivery is parked
// (given up). It returns nil for an acknowledged delivery, which has no such row.
func (k *StoredDelivery) KeyOfWaiting(org ledger.ID) []byte {
	switch k.State {
	case Pending:
		return keyRetry(k.key(org), k.Next, k.ID)
	case Parked:
		return keyParked(k.key(org), k.ID)
	}
	return nil
}

// ReadWaiting parses a row whose key KeyOfWaiting returns, and returns the id of the pending or parked
// delivery. If the row cannot be parsed, ReadWaiting returns an error.
func ReadWaiting(key, value []byte) (ID, error) {
	size := waitingPrefixLen + idSize
	if RowKind(key[0]) == RetryRows {
		size += 8
	}
	if len(key) != size || len(value) != 0 {
		return ID{}, fmt.Errorf("delivery that waits with key %x", key)
	}
	return readID(key[size-idSize:]), nil
}

// ReadCursor parses the row of the cursor. The cursor is a page of notices, identified by the booked time of its first
// notice. If the row cannot be parsed, ReadCursor returns an error.
func ReadCursor(key, value []byte) (ledger.Micros, error) {
	if len(key) != 1 || len(value) != 8 {
		return 0, fmt.Errorf("row %x of deliveries: unknown form", key)
	}
	return ledger.Micros(binary.BigEndian.Uint64(value)), nil
}

// ReadBulletinKey parses the row that stores the key of a bulletin (a message to operators that is about no
// event), and returns the bulletin's id. With this row, PostBulletin recognises a bulletin that was already posted. If
// the row cannot be parsed, ReadBulletinKey returns an error.
func ReadBulletinKey(key, value []byte) (ID, error) {
	if len(key) < 2 || len(value) != idSize || readID(value).Channel != posting.OperatorBulletin {
		return ID{}, fmt.Errorf("key of a message to operators: unknown form")
	}
	return readID(value), nil
}
