package ledger

import (
	"time"

	"github.com/google/uuid"
)

// ID identifies organizations and records. An ID is a UUID (RFC 9562) with the form of version 4.
type ID = uuid.UUID

// Kind is the kind of a record. The value is a letter, which is part of the record's stored key.
type Kind byte

// The kinds of records.
const (
	Transaction  Kind = 't'
	Platform     Kind = 'f' // the platform's own record, for partner numbers and the administration
	Organization Kind = 'o'
	Partner      Kind = 'p'
	Terminal     Kind = 'n'
	APIKey       Kind = 'k'
	Session      Kind = 's'
	User         Kind = 'u'
	Settlement   Kind = 'b' // a transfer between the institution's bank and a partner or provider
	Limit        Kind = 'l' // a limit on the amounts or the number of a partner's transactions
	Block        Kind = 'z' // an entry of the blocklist
	Rate         Kind = 'r' // an exchange rate of an organization
	AdminReply   Kind = 'a' // the stored response to a write request with an Idempotency-Key from the administration
	Reply        Kind = 'y' // the stored response to a partner's request with an idempotency key
	Subscription Kind = 'v' // a recurring payment
	Contract     Kind = 'c' // a contract of participatory finance (without an interest rate fixed in advance)
	Screening    Kind = 'q' // the findings of a screening of an asset or a transaction
	Period       Kind = 'm' // a month whose books are closed
	Retention    Kind = 'd' // the instant up to which an organization's delivery log was deleted
	Link         Kind = 'w' // a payment link
	Product      Kind = 'g' // a product that is sold by link
	Image        Kind = 'i' // an uploaded image
	Transfer     Kind = 'x' // a transfer between two accounts in the ledger benchmark

	SettlementReport Kind = 'e' // a settlement report of a provider
	SettlementLines  Kind = 'h' // a batch of lines of a settlement report
	Difference       Kind = 'j' // a difference between a settlement report and the ledger
	ReconciledDay    Kind = 'D' // a day of a terminal that was compared with the provider and closed
)

// Source identifies the record to which an event belongs, within an organization.
type Source struct {
	Kind Kind
	ID   ID
}

// Micros is an instant in microseconds since 1970-01-01 UTC. The journal stores times with this resolution. Within an
// organization, no two events have the same instant (Event.Booked): each event is later than the previous one.
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

// Date is a UTC day. The value is 1 + the number of days since 1970-01-01, so that the zero value means "not set".
type Date int32

// DateOf returns the UTC day of t.
func DateOf(t time.Time) Date { return MicrosOf(t).Date() }

// Time returns the day's first instant.
func (d Date) Time() time.Time { return time.Unix(int64(d-1)*24*60*60, 0).UTC() }

// String returns the day in the format of ISO 8601, for example "2026-11-21".
func (d Date) String() string { return d.Time().Format(time.DateOnly) }

// Event is a transition of a record. The code that decides on the transition leaves Seq, Version, Previous, Booked, Author and
// StoredHashes empty. The journal's writer sets these fields when it appends the event.
type Event struct {
	Seq          uint64 // position in the organization's journal: 1, 2, 3 and so on
	Source       Source
	Version      uint64 // version of the record after this event: 1, 2, 3 and so on
	Previous     uint64 // Seq of the previous event of the same record; 0 if this is the record's first event
	Booked       Micros // when the event became part of the journal
	Author       Author // who asked for the transition
	Name         string // the action, for example "settle"
	From, To     string // states of the record before and after; From is empty if the event creates the record
	Entry        *Entry // nil if no money moved
	StoredHashes StoredHashes
}

// Hash is a SHA-256 digest. The zero value means that there is no hash.
type Hash [32]byte

// StoredHashes has the hashes of the data that was stored together with an event. Somebody who knows the root hash of the
// journal can use these hashes to verify the data. The journal's writer sets StoredHashes. Package posting/store defines the
// bytes that are hashed (HashRecord, HashNotices, HashClaim).
type StoredHashes struct {
	// Record is the hash of the record as it was stored with the event. A Change is everything that one decision makes durable,
	// and a step is the part of a Change for one record. A step stores its record only once, so only the last event of a step
	// has this hash. A record of kind Transfer has no hash, because nothing but its event is stored.
	Record Hash

	// Notices is the hash of the notifications that tell about this event.
	Notices Hash

	// Claims are the hashes of the claims (unique keys) that the event's Change takes, in the same order. A claim that stores
	// only its owner's id has no hash. Only one event of a Change has these hashes: the last event of the first step.
	Claims []Hash
}
