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
	MaxSessionIdle = 30 * time.Minute // between two uses
)

// Session lets requests act in roles inside one organization. Hash is the SHA-256 of its token.
type Session struct {
	ID      ledger.ID
	Org     ledger.ID
	Hash    [32]byte
	Roles   Roles
	User    ledger.ID // the user who logged in; zero: a partner did, or the session is the sandbox's
	Partner int64     // the partner that PartnerRole acts as; else 0
	Epoch   uint32    // epoch of the user or partner at the login; new passwords and roles increase it; 0: no login
	Created ledger.Micros
	Expires ledger.Micros // 0: never
	MaxIdle time.Duration // the longest time between two uses; 0: unlimited
	Revoked ledger.Micros // 0: not revoked
	Used    ledger.Micros // the last recorded use; the login counts as a use
}

// Sessions are the columns of sessions, which no response shows.
var Sessions = schema.NewType[Session]("session",
	schema.Field(hashColumn(1, "hash", schema.Needed), func(s *Session) *[32]byte { return &s.Hash }),
	schema.Field(rolesColumn(2, "roles", schema.Needed, schema.NotShown), func(s *Session) *Roles { return &s.Roles }),
	schema.Field(schema.ID(3, "user", schema.NotShown), func(s *Session) *ledger.ID { return &s.User }),
	schema.Field(schema.DerivedInteger(4, "partner", schema.NotShown), func(s *Session) *int64 { return &s.Partner }),
	schema.NumberField(schema.DerivedInteger(5, "epoch", schema.NotShown), func(s *Session) *uint32 { return &s.Epoch }),
	schema.Field(schema.Instant(6, "expires", schema.NotShown), func(s *Session) *ledger.Micros { return &s.Expires }),
	columns.DurationColumn(7, "idle", func(s *Session) *time.Duration { return &s.MaxIdle }),
	schema.Field(schema.Instant(8, "revoked", schema.NotShown), func(s *Session) *ledger.Micros { return &s.Revoked }),
	schema.Field(schema.Instant(9, "used", schema.NotShown), func(s *Session) *ledger.Micros { return &s.Used }),
).Invariant(func(s *Session) string {
	if s.MaxIdle < 0 {
		return "has an idle time below zero"
	}
	return cmp.Or(partnerRoleProblem(s.Roles, s.Partner), timesProblem(s.Expires, s.Revoked, s.Used))
}).
	WithEnvelope(func(s *Session, envelope schema.Envelope) {
		s.Org, s.ID, s.Created = envelope.Org, envelope.ID, envelope.Created
	})

// Valid tells whether the record allows the session at the instant. The record does not know uses that
// are not recorded yet, or the owner's state: the caller checks these with IdleTooLong and AllowsSession.
func (s *Session) Valid(now ledger.Micros) bool {
	return s.Revoked == 0 && (s.Expires == 0 || now < s.Expires)
}

// IdleTooLong tells whether the session has been idle for too long since its last use. lastUse is the last use
// that the caller knows; if a later use is recorded, the recorded use counts.
func (s *Session) IdleTooLong(lastUse, now ledger.Micros) bool {
	return s.MaxIdle > 0 && now-max(lastUse, s.Used) >= ledger.Micros(s.MaxIdle.Microseconds())
}

// String returns the record's identity. It shows no field, because fields are secret.
func (s *Session) String() string { return "session " + s.ID.String() }

// LogValue implements slog.LogValuer.
func (s *Session) LogValue() slog.Value { return slog.StringValue(s.String()) }

// NewSession decides the creation of a session without owner and expiry, for the sandbox.
func NewSession(id, org ledger.ID, hash [32]byte, roles ...Role) (*Session, ledger.Event) {
	s := &Session{ID: id, Org: org, Hash: hash, Roles: roles}
	return s, createdEvent(ledger.Session, id, StateActive)
}

// BeginSession decides the creation of a session of the user.
func (u *User) BeginSession(id ledger.ID, hash [32]byte, now ledger.Micros) (*Session, ledger.Event) {
	s := &Session{ID: id, Org: u.Org, Hash: hash, Roles: u.Roles, User: u.ID, Partner: u.Partner, Epoch: u.Epoch}
	return s.begin(now)
}

// BeginSession decides the creation of a session in which the partner acts as itself.
func (p *Partner) BeginSession(id ledger.ID, hash [32]byte, now ledger.Micros) (*Session, ledger.Event) {
	s := &Session{ID: id, Org: p.Org, Hash: hash, Roles: Roles{PartnerRole}, Partner: p.Number, Epoch: p.epoch()}
	return s.begin(now)
}

// epoch returns the partner's epoch as sessions have it. It is above zero even if the password was never changed, because
// zero marks a session without a login.
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

// begin completes a new session with the lifetimes that follow from a login at now.
func (s *Session) begin(now ledger.Micros) (*Session, ledger.Event) {
	s.Used, s.MaxIdle = now, MaxSessionIdle
	s.Expires = now + ledger.Micros(SessionLife.Microseconds())
	return s, createdEvent(ledger.Session, s.ID, StateActive)
}

// Revoke decides that the session is no longer accepted. A revoked session does not change.
func (s *Session) Revoke(now ledger.Micros) (*Session, ledger.Event) {
	if s.Revoked != 0 {
		return s, ledger.Event{}
	}
	next := *s
	next.Revoked = now
	return &next, movedEvent(ledger.Session, s.ID, Revoke, StateActive, StateRevoked)
}

// RecordUse decides to record a use of the session. It changes nothing if a later use is already
// recorded or the session is revoked.
func (s *Session) RecordUse(usedAt ledger.Micros) (*Session, ledger.Event) {
	if s.Revoked != 0 || usedAt <= s.Used {
		return s, ledger.Event{}
	}
	next := *s
	next.Used = usedAt
	return &next, movedEvent(ledger.Session, s.ID, Use, StateActive, StateActive)
}
