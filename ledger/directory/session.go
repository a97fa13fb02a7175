package directory

import (
	"cmp"
	"log/slog"
	"time"

	"mizan/ledger/columns"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// Lifetimes of a session that began with a login.
const (
	SessionLife    = 12 * time.Hour
	MaxSessionIdle = 30 * time.Minute // longest time between two uses
)

// Session lets requests act in roles inside one organization. Hash is the SHA-256 of its token.
type Session struct {
	ID      ledger.ID
	Org     ledger.ID
	Hash    [32]byte
	Roles   Roles
	User    ledger.ID // the user who logged in; zero: a partner logged in, or the session is the sandbox's
	Partner int64     // the partner that PartnerRole acts as; else 0
	Epoch   uint32    // epoch of the user or partner at the login; a new password or role increases it; 0: no login
	Created ledger.Micros
	Expires ledger.Micros // 0: never
	MaxIdle time.Duration // the longest time between two uses; 0: unlimited
	Revoked ledger.Micros // 0: not revoked
	Used    ledger.Micros // the last recorded use; the login counts as a use
	Source  string        // the address from which the login came; empty: not known
	Console bool          // began at the console; the console accepts only such sessions, and the API only others

	// Login attempts with a wrong password between the last successful login and the login of this session, as far as they
	// are known.
	Failures   uint32        // number of these attempts
	FailedAt   ledger.Micros // instant of the last of them; 0: none
	FailedFrom string        // IP address from which the last of them came

	// AuthorSeq is the journal number (Seq) of the event that created the user or the partner who logged in. For a session
	// without a login, it is that of the session's own first event. It is not stored: actors/directory sets it on reading.
	AuthorSeq uint64
}

// Sessions are the columns of sessions, which no response shows.
var Sessions = schema.NewType[Session]("session",
	schema.Field(hashColumn(1, "hash", schema.RequiredInStore), func(s *Session) *[32]byte { return &s.Hash }),
	schema.Field(rolesColumn(2, "roles", schema.RequiredInStore, schema.NotShown), func(s *Session) *Roles { return &s.Roles }),
	schema.Field(schema.ID(3, "user", schema.NotShown), func(s *Session) *ledger.ID { return &s.User }),
	schema.Field(schema.DerivedInteger(4, "partner", schema.NotShown), func(s *Session) *int64 { return &s.Partner }),
	schema.NumberField(schema.DerivedInteger(5, "epoch", schema.NotShown), func(s *Session) *uint32 { return &s.Epoch }),
	schema.Field(schema.Instant(6, "expires", schema.NotShown), func(s *Session) *ledger.Micros { return &s.Expires }),
	columns.DurationColumn(7, "idle", func(s *Session) *time.Duration { return &s.MaxIdle }),
	schema.Field(schema.Instant(8, "revoked", schema.NotShown), func(s *Session) *ledger.Micros { return &s.Revoked }),
	schema.Field(schema.Instant(9, "used", schema.NotShown), func(s *Session) *ledger.Micros { return &s.Used }),
	schema.Field(schema.Bool(10, "console", schema.NotShown), func(s *Session) *bool { return &s.Console }),
	schema.Field(schema.Text(11, "source", schema.NotShown), func(s *Session) *string { return &s.Source }),
	schema.NumberField(schema.DerivedInteger(12, "failures", schema.NotShown), func(s *Session) *uint32 { return &s.Failures }),
	schema.Field(schema.Instant(13, "failed", schema.NotShown), func(s *Session) *ledger.Micros { return &s.FailedAt }),
	schema.Field(schema.Text(14, "failed_from", schema.NotShown), func(s *Session) *string { return &s.FailedFrom }),
).Invariant(func(s *Session) string {
	if s.MaxIdle < 0 {
		return "has an idle time below zero"
	}
	if s.Console && s.Epoch == 0 {
		return "is of the console, but no login began it"
	}
	return cmp.Or(partnerRoleProblem(s.Roles, s.Partner), timesProblem(s.Expires, s.Revoked, s.Used))
}).
	WithEnvelope(func(s *Session, envelope schema.Envelope) {
		s.Org, s.ID, s.Created = envelope.Org, envelope.ID, envelope.Created
	})

// Author returns the person who has the session as the author of events.
func (s *Session) Author() ledger.Author {
	return ledger.Author{Kind: ledger.BySession, Seq: s.AuthorSeq}
}

// Valid tells whether the record allows the session at the instant. The latest uses may not be recorded yet, and the record
// does not have the state of the session's owner. The caller checks them with IdleTooLong and AllowsSession.
func (s *Session) Valid(now ledger.Micros) bool {
	return s.Revoked == 0 && (s.Expires == 0 || now < s.Expires)
}

// IdleTooLong tells whether at least MaxIdle has passed since the session's last use. lastUse is the last use that the caller
// knows. The recorded use counts if it is later.
func (s *Session) IdleTooLong(lastUse, now ledger.Micros) bool {
	return s.MaxIdle > 0 && now-max(lastUse, s.Used) >= ledger.Micros(s.MaxIdle.Microseconds())
}

// String returns the record's identity. It shows no field, because fields are secret.
func (s *Session) String() string { return "session " + s.ID.String() }

// LogValue implements slog.LogValuer.
func (s *Session) LogValue() slog.Value { return slog.StringValue(s.String()) }

// NewSession returns a new session without owner and expiry, for the sandbox, and the event of its creation.
func NewSession(id, org ledger.ID, hash [32]byte, roles ...Role) (*Session, ledger.Event) {
	s := &Session{ID: id, Org: org, Hash: hash, Roles: roles}
	return s, createdEvent(ledger.Session, id, StateActive)
}

// BeginSession returns a new session of the user, and the event of its creation. The session takes its ID, its Hash and the
// fields about the login from the draft.
func (u *User) BeginSession(draft Session, now ledger.Micros) (*Session, ledger.Event) {
	s := &draft
	s.Org, s.Roles, s.User, s.Partner, s.Epoch = u.Org, u.Roles, u.ID, u.Partner, u.Epoch
	return s.begin(now)
}

// BeginSession returns a new session in which the partner acts as itself, and the event of its creation. The session takes
// its ID, its Hash and the fields about the login from the draft.
func (p *Partner) BeginSession(draft Session, now ledger.Micros) (*Session, ledger.Event) {
	s := &draft
	s.Org, s.Roles, s.Partner, s.Epoch = p.Org, Roles{PartnerRole}, p.Number, p.epoch()
	return s.begin(now)
}

// epoch returns the partner's epoch in the form in which sessions store it. It is above zero even if the password was never
// changed, because sessions without a login have the epoch zero.
func (p *Partner) epoch() uint32 { return p.Epoch + 1 }

// AllowsSession tells whether the session belongs to the user's current epoch and the user is active.
func (u *User) AllowsSession(s *Session) bool {
	return u.Active && u.ID == s.User && u.Epoch == s.Epoch
}

// AllowsSession tells whether the session belongs to the partner's current epoch, that is, its current
// password. The caller checks whether the partner is active.
func (p *Partner) AllowsSession(s *Session) bool {
	return s.User == (ledger.ID{}) && p.Number == s.Partner && p.epoch() == s.Epoch
}

// begin sets the lifetimes of a new session with a login at the instant now. It returns the session and the event of its
// creation.
func (s *Session) begin(now ledger.Micros) (*Session, ledger.Event) {
	s.Used, s.MaxIdle = now, MaxSessionIdle
	s.Expires = now + ledger.Micros(SessionLife.Microseconds())
	return s, createdEvent(ledger.Session, s.ID, StateActive)
}

// Revoke returns the session as revoked, and the event of this change. If the session is revoked already, it returns the
// unchanged session and an event without a name.
func (s *Session) Revoke(now ledger.Micros) (*Session, ledger.Event) {
	if s.Revoked != 0 {
		return s, ledger.Event{}
	}
	next := *s
	next.Revoked = now
	return &next, movedEvent(ledger.Session, s.ID, Revoke, StateActive, StateRevoked)
}

// RecordUse returns the session with the time of a use, and the event of this change. If a later use is already recorded or
// the session is revoked, it returns the unchanged session and an event without a name.
func (s *Session) RecordUse(usedAt ledger.Micros) (*Session, ledger.Event) {
	if s.Revoked != 0 || usedAt <= s.Used {
		return s, ledger.Event{}
	}
	next := *s
	next.Used = usedAt
	return &next, movedEvent(ledger.Session, s.ID, Use, StateActive, StateActive)
}
