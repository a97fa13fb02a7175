package period

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"mizan/internal/assert"
	"mizan/ledger"
)

// Field is the name of the request's field with the month, for refusals.
const Field = "month"

// Books is the state of an organization's books when the closing of a month is requested.
type Books struct {
	Now          ledger.Micros
	FirstMonth   Month // month of the journal's first event
	LastClosed   Month // the last closed month; 0: none
	PendingItems int   // number of items that were due by the month's end and are still pending
}

// nextToClose returns the only month that can be closed now.
func (s *Books) nextToClose() Month {
	if s.LastClosed != 0 {
		return s.LastClosed + 1
	}
	return s.FirstMonth
}

// CheckClose returns an error if the month can't be closed. The error is Invalid for a month before the journal's
// first event, else a Conflict.
func (m Month) CheckClose(books Books) error {
	const op = "period.Close"
	switch {
	case m < books.FirstMonth:
		return ledger.RefuseField(op, Field, "is before %v, in which the books began", books.FirstMonth)
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

// ClosedBy identifies the session and user that closed a month.
type ClosedBy struct {
	Session ledger.ID
	User    ledger.ID // zero if the session has no user, as in the sandbox
	Login   string    // the user's login at that time
}

// Record is a closed month. It never changes.
type Record struct {
	Month       Month
	BalanceHash [sha256.Size]byte // the sum that Balance.Sum returns
	Rows        uint64            // number of rows of that trial balance
	ClosedBy    ClosedBy

	// At and Seq are not in the payload, but in the store's row around it.
	At  ledger.Micros // when the month was closed
	Seq uint64        // journal number of the event that closed the month
}

// Event returns the event that closes the month. Its target state contains the month and the hash: closed 2026-10 <64
// hexadecimal digits>. So the journal's Merkle tree proves the month and the hash.
func (r *Record) Event() ledger.Event {
	step, ok := Machine.Next(Open, Close)
	assert.That(ok, "period: nothing is closed")
	return ledger.Event{
		Source: r.Month.Source(), Name: string(Close),
		To: string(step.To) + " " + r.Month.String() + " " + hex.EncodeToString(r.BalanceHash[:]),
	}
}

// ReadEvent parses an event that closes a month, and returns the month and the hash. ok is false for an event that
// Record.Event would not have made.
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
