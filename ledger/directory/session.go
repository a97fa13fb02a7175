package directory

import (
	"cmp"
	"log/slog"
	"time"

	"mizan/ledger/columns"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// SessionPrefix begins the token of each session. People and secret scanners recognise tokens by their prefixes, and no
// administration token begins with it.
const SessionPrefix = "mzs_"

// How long a session that began with a login is valid.
const (
	SessionLife    = 12 * time.Hour
	MaxSessionIdle = 30 * time.Minute // longest time between two uses
)

// Session lets requests act in the session's roles inside one organization. Hash is the SHA-256 of the session's token.
type Session struct {
	ID         ledger.ID
	Org        ledger.ID
	Hash       [32]byte
	Roles      Roles
	User       ledger.ID // the user who logged in; zero for a partner's login and for the sandbox's session
	Partner    int64     // the partner for which a session with PartnerRole acts; otherwise 0
	Epoch      uint32    // epoch of the user or partner at the login (doc.go, invariant 10); 0: no login
	CreatedAt  ledger.Micros
	ExpiresAt  ledger.Micros // 0: never
	MaxIdle    time.Duration // the longest time between two uses; 0: unlimited
	RevokedAt  ledger.Micros // 0: not revoked
	LastUsedAt ledger.Micros // the last recorded use; the login counts as a use
	Source     string        // the IP address from which the login came; empty: not known
	Console    bool          // the login was at the console; such sessions are valid only there, and others only in the API

	// Login attempts with a wrong password that came after the previous successful login and before this session's login,
	// as far as they are known.
	Failures   uint32        // number of these attempts
	FailedAt   ledger.Micros // time of the last of these attempts; 0: none
	FailedFrom string        // IP address from which the last of these attempts came

	// AuthorSeq is the journal number (Seq) of the event that created the user or the partner who logged in. If nobody
	// logged in, it is the number of the session's own first event. AuthorSeq is not stored; actors/directory sets it when
	// it reads the session.
	AuthorSeq uint64
}

// Sessions are the columns of sessions, which no response shows.
var Sessions = schema.NewType[Session]("session",
	schema.Field(hashColumn(1, "hash", schema.RequiredInStore), func(s *Session) *[32]byte { return &s.Hash }),
	schema.Field(rolesColumn(2, "roles", schema.RequiredInStore, schema.NotShown), func(s *Session) *Roles { return &s.Roles }),
	schema.Field(schema.ID(3, "user", schema.NotShown), func(s *Session) *ledger.ID { return &s.User }),
	schema.Field(schema.DerivedInteger(4, "partner", schema.NotShown), func(s *Session) *int64 { return &s.Partner }),
	schema.NumberField(schema.DerivedInteger(5, "epoch", schema.NotShown), func(s *Session) *uint32 { return &s.Epoch }),
	schema.Field(schema.Instant(6, "expires", schema.NotShown), func(s *Session) *ledger.Micros { return &s.ExpiresAt }),
	columns.DurationColumn(7, "idle", func(s *Session) *time.Duration { return &s.MaxIdle }),
	schema.Field(schema.Instant(8, "revoked", schema.NotShown), func(s *Session) *ledger.Micros { return &s.RevokedAt }),
	schema.Field(schema.Instant(9, "used", schema.NotShown), func(s *Session) *ledger.Micros { return &s.LastUsedAt }),
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
	return cmp.Or(partnerRoleProblem(s.Roles, s.Partner), timesProblem(s.ExpiresAt, s.RevokedAt, s.LastUsedAt))
}).
	WithRowMetadata(func(s *Session, metadata schema.RowMetadata) {
		s.Org, s.ID, s.CreatedAt = metadata.Org, metadata.ID, metadata.CreatedAt
	})

// Author returns the author to record in events that requests with this session cause.
func (s *Session) Author() ledger.Author {
	return ledger.Author{Kind: ledger.BySession, Seq: s.AuthorSeq}
}

// IsValid tells whether the session is neither revoked nor expired at the instant now. The caller must also call
// IdleTooLong, because the latest uses may not be recorded yet, and AllowsSession, because the record does not contain the
// state of the session's owner.
func (s *Session) IsValid(now ledger.Micros) bool {
	return s.RevokedAt == 0 && (s.ExpiresAt == 0 || now < s.ExpiresAt)
}

// IdleTooLong tells whether at least MaxIdle has passed since the session's last use. The last use is lastUse, which the
// caller knows, or the recorded use, whichever is later.
func (s *Session) IdleTooLong(lastUse, now ledger.Micros) bool {
	return s.MaxIdle > 0 && now-max(lastUse, s.LastUsedAt) >= ledger.Micros(s.MaxIdle.Microseconds())
}

// String returns the record's identity. It shows no other field, because some fields are secret.
func (s *Session) String() string { return "session " + s.ID.String() }

// LogValue implements slog.LogValuer.
func (s *Session) LogValue() slog.Value { return slog.StringValue(s.String()) }

// NewSession returns a new session for the sandbox, which has no owner and never expires, and the event of its creation.
func NewSession(id, org ledger.ID, hash [32]byte, roles ...Role) (*Session, ledger.Event) {
	s := &Session{ID: id, Org: org, Hash: hash, Roles: roles}
	return s, createdEvent(ledger.Session, id, StateActive)
}

// BeginSession returns a new session of the user, and the event of its creation. The draft contains the session's ID, its
// Hash, and the fields about the login.
func (u *User) BeginSession(draft Session, now ledger.Micros) (*Session, ledger.Event) {
	s := &draft
	s.Org, s.Roles, s.User, s.Partner, s.Epoch = u.Org, u.Roles, u.ID, u.Partner, u.Epoch
	return s.begin(now)
}

// BeginSession returns a new session of the partner, with the role PartnerRole, and the event of its creation. The draft
// contains the session's ID, its Hash, and the fields about the login.
func (p *Partner) BeginSession(draft Session, now ledger.Micros) (*Session, ledger.Event) {
	s := &draft
	s.Org, s.Roles, s.Partner, s.Epoch = p.Org, Roles{PartnerRole}, p.Number, p.epoch()
	return s.begin(now)
}

// epoch returns the number that sessions store as the partner's epoch. It is above zero even if the password was never
// changed, because epoch zero means a session without a login.
func (p *Partner) epoch() uint32 { return p.Epoch + 1 }

// AllowsSession tells whether the user is active and the session began in the user's current epoch.
func (u *User) AllowsSession(s *Session) bool {
	return u.Active && u.ID == s.User && u.Epoch == s.Epoch
}

// AllowsSession tells whether the session began in the partner's current epoch, that is, with the current password. The
// caller checks whether the partner is active.
func (p *Partner) AllowsSession(s *Session) bool {
	return s.User == (ledger.ID{}) && p.Number == s.Partner && p.epoch() == s.Epoch
}

// begin sets the expiry and the longest idle time of a session that begins with a login now. It returns the session and the
// event of the session's creation.
func (s *Session) begin(now ledger.Micros) (*Session, ledger.Event) {
	s.LastUsedAt, s.MaxIdle = now, MaxSessionIdle
	s.ExpiresAt = now + ledger.Micros(SessionLife.Microseconds())
	return s, createdEvent(ledger.Session, s.ID, StateActive)
}

// Revoke returns a revoked copy of the session, and the event of this change. If the session is already revoked, it returns
// the unchanged session and an event without a name.
func (s *Session) Revoke(now ledger.Micros) (*Session, ledger.Event) {
	if s.RevokedAt != 0 {
		return s, ledger.Event{}
	}
	next := *s
	next.RevokedAt = now
	return &next, laterEvent(ledger.Session, s.ID, Revoke, StateActive, StateRevoked)
}

// RecordUse returns a copy of the session in which the time of a use is recorded, and the event of this change. If a later
// use is already recorded or the session is revoked, it returns the unchanged session and an event without a name.
func (s *Session) RecordUse(usedAt ledger.Micros) (*Session, ledger.Event) {
	if s.RevokedAt != 0 || usedAt <= s.LastUsedAt {
		return s, ledger.Event{}
	}
	next := *s
	next.LastUsedAt = usedAt
	return &next, laterEvent(ledger.Session, s.ID, Use, StateActive, StateActive)
}
