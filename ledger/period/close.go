package period

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"mizan/internal/assert"
	"mizan/ledger"
)

// Field is the name by which a month is refused.
const Field = "month"

// Standing is how an organization's books stand when a month is to be closed.
type Standing struct {
	Now     ledger.Micros
	Began   Month // of the journal's first event
	Through Month // the last closed one; 0: none
	Overdue int   // what the organization still waits for that was due in the month, or before
}

// next is the month that can be closed before any other.
func (s *Standing) next() Month {
	if s.Through != 0 {
		return s.Through + 1
	}
	return s.Began
}

// Ready tells why the month can't be closed; nil: it can. The error is Invalid for a
// month before the books began, else a Conflict.
func (m Month) Ready(s Standing) error {
	const op = "period.Close"
	switch {
	case m < s.Began:
		return ledger.RefuseField(op, Field, "is before %v, in which the books began", s.Began)
	case m <= s.Through:
		return ledger.Refuse(op, ledger.Conflict, "%v is closed already", m)
	case s.Now < m.End():
		return ledger.Refuse(op, ledger.Conflict, "%v has not ended", m)
	case m != s.next():
		return ledger.Refuse(op, ledger.Conflict, "%v has to be closed first", s.next())
	case s.Overdue != 0:
		return ledger.Refuse(op, ledger.Conflict, "%d of what was due in %v, or before, is not done yet", s.Overdue, m)
	}
	return nil
}

// By is who has closed a month.
type By struct {
	Session ledger.ID
	User    ledger.ID // the nil UUID: the session is nobody's, as the sandbox's own is
	Login   string    // the user's, as it was then
}

// Record is a month that is closed. It never changes.
type Record struct {
	Month Month
	Sum   [sha256.Size]byte // Balance's
	Rows  uint64            // of that balance
	By    By

	// From the record's envelope.
	At  ledger.Micros
	Seq uint64
}

// Event is the one that closes the month. The state that it leads to says what was
// closed and with what hash, so that the leaf of the journal does:
// closed 2026-10 <64 hexadecimal digits>.
func (r *Record) Event() ledger.Event {
	step, ok := Machine.Next(Open, Close)
	assert.That(ok, "period: nothing is closed")
	return ledger.Event{
		Source: r.Month.Source(), Name: string(Close),
		To: string(step.To) + " " + r.Month.String() + " " + hex.EncodeToString(r.Sum[:]),
	}
}

// ReadEvent takes a closing's event apart: which month it closes and with what hash.
// It is false for what Record.Event would not have made.
func ReadEvent(e *ledger.Event) (m Month, sum [sha256.Size]byte, ok bool) {
	words := strings.Split(e.To, " ")
	if e.Source.Kind != ledger.Period || e.From != "" || e.Entry != nil || len(words) != 3 {
		return 0, sum, false
	}
	m, known := Parse(words[1])
	step, legal := Machine.Next(Open, Action(e.Name))
	said, err := hex.DecodeString(words[2])
	if !known || !legal || words[0] != string(step.To) || err != nil || len(said) != len(sum) || e.Source != m.Source() {
		return 0, sum, false
	}
	copy(sum[:], said)
	return m, sum, hex.EncodeToString(sum[:]) == words[2]
}
