package ledger

import (
	"time"

	"github.com/google/uuid"
)

// ID identifies organizations and records: a UUID (RFC 9562), v4 unless derived.
type ID = uuid.UUID

// Kind says what a record is. Its letter is part of the stored key.
type Kind byte

// The kinds of records.
const (
	Transaction  Kind = 't'
	Platform     Kind = 'f' // the platform's own record: partner numbers, administration
	Organization Kind = 'o'
	Partner      Kind = 'p'
	Terminal     Kind = 'n'
	APIKey       Kind = 'k'
	Session      Kind = 's'
	User         Kind = 'u'
	Settlement   Kind = 'b' // money between the institution's bank and a partner or provider
	Limit        Kind = 'l' // how much a partner may move, or how often
	Block        Kind = 'z' // an entry of the blocklist
	Rate         Kind = 'r' // what one currency is worth in another
	Answer       Kind = 'a' // what a write of the administration with an Idempotency-Key was answered with
	Reply        Kind = 'y' // what a partner's request with a key was answered with
	Subscription Kind = 'v' // a recurring payment
	Contract     Kind = 'c' // a contract of participatory finance
	Screening    Kind = 'q' // what a screening of an asset or a transaction found
	Period       Kind = 'm' // a month whose books are closed
	Retention    Kind = 'd' // up to when an organization's deliveries were removed
	Transfer     Kind = 'x' // a bare two-leg transfer of the ledger benchmark
)

// Source names the record that an event happened to, inside an organization.
type Source struct {
	Kind Kind
	ID   ID
}

// Micros is an instant in microseconds since 1970-01-01 UTC, the journal's
// resolution. Booked times are strictly increasing within an organization.
type Micros int64

// MicrosOf cuts t to the microsecond.
func MicrosOf(t time.Time) Micros { return Micros(t.UnixMicro()) }

// Time is the instant in UTC.
func (m Micros) Time() time.Time { return time.UnixMicro(int64(m)).UTC() }

// Date is the UTC day of the instant.
func (m Micros) Date() Date {
	const day = 24 * 60 * 60 * 1_000_000
	d := int64(m) / day
	if int64(m)%day < 0 {
		d--
	}
	return Date(d + 1)
}

// Date is a UTC day: 1 + days since 1970-01-01, so that the zero value means
// "not set".
type Date int32

// DateOf is the UTC day of t.
func DateOf(t time.Time) Date { return MicrosOf(t).Date() }

// Time is the day's first instant.
func (d Date) Time() time.Time { return time.Unix(int64(d-1)*24*60*60, 0).UTC() }

// String is the ISO 8601 calendar date.
func (d Date) String() string { return d.Time().Format(time.DateOnly) }

// Event is one transition of one record. Seq, Version, Previous, Booked and Stored
// are late: the writer fills them when it orders the event.
type Event struct {
	Seq      uint64 // position in the organization's journal, from 1, gap-free
	Source   Source
	Version  uint64 // the record's version after this event, from 1, gap-free
	Previous uint64 // seq of the same record's event before this one; 0: the first
	Booked   Micros
	Name     string // what happened, for example "settle"
	From, To string // the record's states; From is empty at creation
	Entry    *Entry // nil: no money moved
	Stored   Stored
}

// Hash is a SHA-256 digest; the zero value means that there is none.
type Hash [32]byte

// Stored has the hashes of what was stored with an event, so that whoever has a
// head of the journal can prove the stored bytes too. It is late: the writer fills
// it. posting/store says which bytes are hashed (HashRecord, HashNotices, HashClaim).
type Stored struct {
	// Record is of the record as the event's step left it. Only the last event of
	// a step has it, because a step stores its record once; a record that is
	// nothing but its event (Transfer) has none.
	Record Hash

	// Notices is of the notifications about this event.
	Notices Hash

	// Claims are of the keys that the event's Change claimed whose claim holds more
	// than the id of its owner, in order. They are on the last event of the
	// Change's first step.
	Claims []Hash
}
