package notifier

import (
	"encoding/binary"
	"fmt"

	"mizan/ledger"
	"mizan/posting"
)

// RowKind is the purpose of a KV, the first byte of its key.
type RowKind byte

// The kinds of rows, for who reads all of them.
const (
	MarksRows   RowKind = rowMarks   // ReadMarks
	KeptRows    RowKind = rowKept    // ReadKept
	RetryRows   RowKind = rowRetries // ReadWaiting
	ParkedRows  RowKind = rowParked  // ReadWaiting
	CursorRow   RowKind = rowCursor  // ReadInstant: every notice on an earlier page is marked or kept
	PostedRows  RowKind = rowPosted  // ReadPosted
	NoticesRows RowKind = rowNotices // the writer's: posting/store has their form
)

// Mark is a first attempt that was acknowledged, as a row of marks has it.
type Mark struct {
	ID
	Attempt
}

// PageOfMarks is the page that a row of marks is of: the booked time of its first
// notice. An error says that the key has no known form.
func PageOfMarks(key []byte) (ledger.Micros, error) {
	if len(key) != 1+8+idSize || key[0] != rowMarks {
		return 0, fmt.Errorf("marks of deliveries with key %x", key)
	}
	return ledger.Micros(binary.BigEndian.Uint64(key[1:])), nil
}

// ReadMarks takes a row of marks apart: fn is called with each. An error says that
// the row has no known form.
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

// Kept is a delivery that has a row of its own, with what nobody but a checker asks
// for.
type Kept struct {
	*Delivery
	Page  ledger.Micros // that its notice is on; 0: a bulletin's
	Body  []byte
	Told  []byte // whom of its operators it has reached; nil: none of them
	Round int    // attempts before somebody asked for it again
}

// ReadKept takes the row of a delivery apart. An error says that it has no known form.
func ReadKept(key, value []byte) (Kept, error) {
	if len(key) != 1+idSize || key[0] != rowKept {
		return Kept{}, fmt.Errorf("delivery with key %x", key)
	}
	d, err := decodeKept(readID(key[1:]), value)
	if err != nil {
		return Kept{}, err
	}
	return Kept{d, d.page, d.body, d.told, d.round}, nil
}

// KeyOfKept is the key of the row of its own that a delivery may have.
func KeyOfKept(id ID) []byte { return keyKept(id) }

// KeyOfWaiting is the key of the one row that says of a delivery when it is tried
// next, or that it is parked; nil: it is over, and has none.
func (k *Kept) KeyOfWaiting(org ledger.ID) []byte {
	switch k.State {
	case Pending:
		return keyRetry(k.key(org), k.Next, k.ID)
	case Parked:
		return keyParked(k.key(org), k.ID)
	}
	return nil
}

// ReadWaiting is the delivery of which a row says when it is tried next, or that it
// is parked. An error says that the row has no known form.
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

// ReadInstant is what the row of the cursor, or that of the oldest, says. An error
// says that it has no known form.
func ReadInstant(key, value []byte) (ledger.Micros, error) {
	if len(key) != 1 || len(value) != 8 {
		return 0, fmt.Errorf("row %x of deliveries: unknown form", key)
	}
	return ledger.Micros(binary.BigEndian.Uint64(value)), nil
}

// ReadPosted is the delivery that was posted with the key that a row has. An error
// says that the row has no known form.
func ReadPosted(key, value []byte) (ID, error) {
	if len(key) < 2 || len(value) != idSize || readID(value).Channel != posting.Bulletin {
		return ID{}, fmt.Errorf("key of a message to operators: unknown form")
	}
	return readID(value), nil
}
