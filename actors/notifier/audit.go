package notifier

import (
	"encoding/binary"
	"fmt"

	"mizan/ledger"
	"mizan/posting"
)

// RowKind is the purpose of a KV. It is the first byte of the KV's key.
type RowKind byte

// The kinds of rows, with the function that reads each.
const (
	MarksRows   RowKind = rowMarks   // ReadMarks
	KeptRows    RowKind = rowKept    // ReadKept
	RetryRows   RowKind = rowRetries // ReadWaiting
	ParkedRows  RowKind = rowParked  // ReadWaiting
	CursorRow   RowKind = rowCursor  // ReadInstant: every notice on an earlier page is marked or kept
	PostedRows  RowKind = rowPosted  // ReadPosted
	NoticesRows RowKind = rowNotices // written by the journal's writer; posting/store defines their form
)

// Mark is an acknowledged first attempt, as a row of marks stores it.
type Mark struct {
	ID
	Attempt
}

// PageOfMarks returns the page that a row of marks belongs to: the booked time of the page's first
// notice. The error says that the key has no known form.
func PageOfMarks(key []byte) (ledger.Micros, error) {
	if len(key) != 1+8+idSize || key[0] != rowMarks {
		return 0, fmt.Errorf("marks of deliveries with key %x", key)
	}
	return ledger.Micros(binary.BigEndian.Uint64(key[1:])), nil
}

// ReadMarks parses a row of marks and calls fn with each mark. The error says that the row has no
// known form.
func ReadMarks(key, value []byte, fn func(m Mark)) error {
	page, err := PageOfMarks(key)
	if err != nil {
		return err
	}
	first, foreign := true, false
	err = eachMark(page, value, func(m mark) {
		foreign = foreign || first && m.ID != readID(key[1+8:])
		first = false
		fn(Mark{m.ID, Attempt{At: m.at, Status: m.status, Took: m.took}})
	})
	if err == nil && (first || foreign) {
		err = fmt.Errorf("marks of deliveries: the first is not the key's")
	}
	return err
}

// Kept is a delivery that has a row of its own, with the fields that only the checker needs.
type Kept struct {
	*Delivery
	Page    ledger.Micros // page of its notice; 0: a bulletin has none
	Body    []byte
	Reached []byte // the operators that were reached; nil: none
	Round   int    // number of attempts before the last request to deliver it again
}

// ReadKept parses the row of a delivery. The error says that it has no known form.
func ReadKept(key, value []byte) (Kept, error) {
	if len(key) != 1+idSize || key[0] != rowKept {
		return Kept{}, fmt.Errorf("delivery with key %x", key)
	}
	d, err := decodeKept(readID(key[1:]), value)
	if err != nil {
		return Kept{}, err
	}
	return Kept{d, d.page, d.body, d.reached, d.round}, nil
}

// KeyOfKept returns the key of a delivery's own row, if it has one.
func KeyOfKept(id ID) []byte { return keyKept(id) }

// KeyOfWaiting returns the key of the row that says when a delivery is tried next, or that it is
// parked; nil for a delivery that was acknowledged, which has no such row.
func (k *Kept) KeyOfWaiting(org ledger.ID) []byte {
	switch k.State {
	case Pending:
		return keyRetry(k.key(org), k.Next, k.ID)
	case Parked:
		return keyParked(k.key(org), k.ID)
	}
	return nil
}

// ReadWaiting returns the delivery that a row of KeyOfWaiting is about, which waits or is parked. The
// error says that the row has no known form.
func ReadWaiting(key, value []byte) (ID, error) {
	size := waitingHead + idSize
	if RowKind(key[0]) == RetryRows {
		size += 8
	}
	if len(key) != size || len(value) != 0 {
		return ID{}, fmt.Errorf("delivery that waits with key %x", key)
	}
	return readID(key[size-idSize:]), nil
}

// ReadInstant returns the instant in the cursor's row. The error says that the row has no known
// form.
func ReadInstant(key, value []byte) (ledger.Micros, error) {
	if len(key) != 1 || len(value) != 8 {
		return 0, fmt.Errorf("row %x of deliveries: unknown form", key)
	}
	return ledger.Micros(binary.BigEndian.Uint64(value)), nil
}

// ReadPosted returns the delivery that was posted with the key that the row stores. The error says
// that the row has no known form.
func ReadPosted(key, value []byte) (ID, error) {
	if len(key) < 2 || len(value) != idSize || readID(value).Channel != posting.Bulletin {
		return ID{}, fmt.Errorf("key of a message to operators: unknown form")
	}
	return readID(value), nil
}
