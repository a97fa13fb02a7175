package ledger

import (
	"time"

	"github.com/google/uuid"
)

// ID identifies organizations and records. It is a UUID (RFC 9562) of version 4, or made by DerivedID.
type ID = uuid.UUID

// Kind is the kind of a record. Its letter is part of the stored key.
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
	Settlement   Kind = 'b' // a transfer between the institution's bank and a partner or provider
	Limit        Kind = 'l' // a bound on the amounts or the number of a partner's transactions
	Block        Kind = 'z' // an entry of the blocklist
	Rate         Kind = 'r' // an exchange rate of an organization
	AdminReply   Kind = 'a' // the stored response to a write request with an Idempotency-Key from the administration
	Reply        Kind = 'y' // the stored response to a partner's request with an idempotency key
	Subscription Kind = 'v' // a recurring payment
	Contract     Kind = 'c' // a contract of participatory finance (without an interest rate fixed in advance)
	Screening    Kind = 'q' // the findings of a screening of an asset or a transaction
	Period       Kind = 'm' // a month whose books are closed
	Retention    Kind = 'd' // the instant up to which the entries of an organization's delivery log were deleted
	Link         Kind = 'w' // a payment link
	Product      Kind = 'g' // a product that is sold by link
	Image        Kind = 'i' // an uploaded image
	Transfer     Kind = 'x' // a transfer between two accounts in the ledger benchmark
)

// Source names the record of an event, inside an organization.
type Source struct {
	Kind Kind
	ID   ID
}

// Micros is an instant in microseconds since 1970-01-01 UTC, the resolution of the journal. Within an
// organization each event's instant (Event.Booked) is later than the previous event's.
type Micros int64

// MicrosOf truncates t to microseconds.
func MicrosOf(t time.Time) Micros { return Micros(t.UnixMicro()) }

// Time returns the instant in UTC.
func (m Micros) Time() time.Time { return time.UnixMicro(int64(m)).UTC() }

// Date returns the UTC day of the instant.
func (m Micros) Date() Date {
	const day = 24 * 60 * 60 * 1_000_000
	d := int64(m) / day
	if int64(m)%day < 0 {
		d--
	}
	return Date(d + 1)
}

// Date is a UTC day: 1 + days since 1970-01-01, so that the zero value means "not set".
type Date int32

// DateOf returns the UTC day of t.
func DateOf(t time.Time) Date { return MicrosOf(t).Date() }

// Time returns the day's first instant.
func (d Date) Time() time.Time { return time.Unix(int64(d-1)*24*60*60, 0).UTC() }

// String returns the ISO 8601 calendar date.
func (d Date) String() string { return d.Time().Format(time.DateOnly) }

// Event is one transition of one record. The code that decides on a transition leaves Seq, Version, Previous, Booked, Author
// and Stored empty. The journal's writer sets them when it appends the event.
type Event struct {
	Seq      uint64 // position in the organization's journal, from 1, gap-free
	Source   Source
	Version  uint64 // the record's version after this event, from 1, gap-free
	Previous uint64 // Seq of the same record's previous event; 0: this is its first
	Booked   Micros // when the event became part of the journal
	Author   Author // who asked for the transition
	Name     string // the action, for example "settle"
	From, To string // the record's states before and after; From is empty at creation
	Entry    *Entry // nil: no money moved
	Stored   Stored
}

// Hash is a SHA-256 digest; the zero value means that there is none.
type Hash [32]byte

// Stored has the hashes of the data that was stored with an event. With these hashes, a reader who knows the root hash of the
// whole journal can verify that data too. The journal's writer sets Stored. Package posting/store defines the bytes that are
// hashed (HashRecord, HashNotices, HashClaim).
type Stored struct {
	// Record is the hash of the record after the event's step. (A Change is everything that one decision makes durable; a
	// step is the part of a Change for one record.) A step stores its record once, so only the step's last event has this
	// hash. A record of kind Transfer consists only of its event and has no hash.
	Record Hash

	// Notices is the hash of the notifications about this event.
	Notices Hash

	// Claims are the hashes of the claims (unique keys) that the event's Change takes, in order. A claim that stores only its
	// owner's id is not hashed here. Only one event of a Change has these hashes: the last event of the Change's first step.
	Claims []Hash
}
