package period

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"mizan/internal/assert"
	"mizan/ledger"
)

// MonthField is the name of the request field that contains the month. Refusals mention it.
const MonthField = "month"

// Books describes the state of an organization's books at the time of a request to close a month.
type Books struct {
	Now          ledger.Micros
	FirstMonth   Month // month of the journal's first event
	LastClosed   Month // the last closed month; 0 if none
	PendingItems int   // number of items that were due by the end of the month to be closed, and are still pending
}

// nextToClose returns the month that has to be closed next.
func (b *Books) nextToClose() Month {
	if b.LastClosed != 0 {
		return b.LastClosed + 1
	}
	return b.FirstMonth
}

// CheckClose returns an error if the month can't be closed. The error is Invalid if the month is before the journal's
// first event, and otherwise Conflict.
func (m Month) CheckClose(books Books) error {
	const op = "period.Close"
	switch {
	case m < books.FirstMonth:
		return ledger.RefuseField(op, MonthField, "is before %v, in which the books began", books.FirstMonth)
	case m <= books.LastClosed:
		return ledger.Refuse(op, ledger.Conflict, "%v is closed already", m)
	case books.Now < m.End():
		return ledger.Refuse(op, ledger.Conflict, "%v has not ended", m)
	case m != books.nextToClose():
		return ledger.Refuse(op, ledger.Conflict, "%v has to be closed first", books.nextToClose())
	case books.PendingItems != 0:
		return ledger.Refuse(op, ledger.Conflict, "%d items due in %v or earlier are still pending", books.PendingItems, m)
	}
	return nil
}

// ClosedBy identifies the session and the user that closed a month.
type ClosedBy struct {
	Session ledger.ID
	User    ledger.ID // zero if the session has no user, as in the sandbox
	Login   string    // the user's login at that time
}

// Record is the record of a closed month. It never changes.
type Record struct {
	Month       Month
	BalanceHash [sha256.Size]byte // hash of the trial balance at the month's end (BalanceHasher.Sum)
	Rows        uint64            // number of rows of the trial balance
	ClosedBy    ClosedBy

	// At and Seq are not part of the payload: the store keeps them in the row that contains it.
	At  ledger.Micros // when the month was closed
	Seq uint64        // journal number of the event that closed the month
}

// Event returns the event that closes the month. The event's To contains the state, the month and the hash, so that the
// journal's Merkle tree proves them: closed 2026-10 <64 hexadecimal digits>.
func (r *Record) Event() ledger.Event {
	step, ok := Machine.Next(Open, Close)
	assert.That(ok, "period: nothing is closed")
	return ledger.Event{
		Source: r.Month.Source(), Name: string(Close),
		To: string(step.To) + " " + r.Month.String() + " " + hex.EncodeToString(r.BalanceHash[:]),
	}
}

// ReadEvent parses an event that closes a month, and returns the month and the hash. ok is false if Record.Event can't
// have returned the event.
func ReadEvent(e *ledger.Event) (m Month, sum [sha256.Size]byte, ok bool) {
	words := strings.Split(e.To, " ")
	if e.Source.Kind != ledger.Period || e.From != "" || e.Entry != nil || len(words) != 3 {
		return 0, sum, false
	}
	m, known := Parse(words[1])
	step, legal := Machine.Next(Open, Action(e.Name))
	hash, err := hex.DecodeString(words[2])
	if !known || !legal || words[0] != string(step.To) || err != nil || len(hash) != len(sum) || e.Source != m.Source() {
		return 0, sum, false
	}
	copy(sum[:], hash)
	return m, sum, hex.EncodeToString(sum[:]) == words[2]
}
