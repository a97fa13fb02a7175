package directory

import (
	"log/slog"
	"time"

	"mizan/ledger"
)

// Lifetimes of a session that somebody logged in to.
const (
	SessionLife = 12 * time.Hour
	SessionIdle = 30 * time.Minute // between two uses
)

// Session lets requests act in roles inside one organization. Hash is the
// SHA-256 of its token.
type Session struct {
	ID      ledger.ID
	Org     ledger.ID
	Hash    [32]byte
	Roles   Roles
	User    ledger.ID // who logged in; zero: a partner, or the sandbox's own
	Partner int64     // whom PartnerRole acts as; else 0
	Epoch   uint32    // of the user or partner who logged in; 0: nobody did
	Created ledger.Micros
	Expires ledger.Micros // 0: never
	Idle    time.Duration // how long it may rest between two uses; 0: for ever
	Revoked ledger.Micros // 0: not
	Used    ledger.Micros // the last use that was noted; logging in is one
}

// Valid tells whether the session is taken at the instant, as far as its own
// record can say: how long it rested is known to whoever sees its uses, and that
// its owner is as it was to whoever knows the owner.
func (s *Session) Valid(now ledger.Micros) bool {
	return s.Revoked == 0 && (s.Expires == 0 || now < s.Expires)
}

// Rested tells whether the session, last used at the instant given, has rested
// for so long that it is over. What was noted is a use too.
func (s *Session) Rested(used, now ledger.Micros) bool {
	return s.Idle > 0 && now-max(used, s.Used) >= ledger.Micros(s.Idle.Microseconds())
}

// String names the record and shows nothing of it: it holds what must not be printed.
func (s *Session) String() string { return "session " + s.ID.String() }

// LogValue implements slog.LogValuer.
func (s *Session) LogValue() slog.Value { return slog.StringValue(s.String()) }

// NewSession decides the creation of a session that is nobody's and never ends
// by itself, as the sandbox has them.
func NewSession(id, org ledger.ID, hash [32]byte, roles ...Role) (*Session, ledger.Event) {
	s := &Session{ID: id, Org: org, Hash: hash, Roles: roles}
	return s, began(ledger.Session, id, StateActive)
}

// Begin decides the creation of a session of the user.
func (u *User) Begin(id ledger.ID, hash [32]byte, now ledger.Micros) (*Session, ledger.Event) {
	s := &Session{ID: id, Org: u.Org, Hash: hash, Roles: u.Roles, User: u.ID, Partner: u.Partner, Epoch: u.Epoch}
	return s.begin(now)
}

// Begin decides the creation of a session of the partner, which acts as itself.
func (p *Partner) Begin(id ledger.ID, hash [32]byte, now ledger.Micros) (*Session, ledger.Event) {
	s := &Session{ID: id, Org: p.Org, Hash: hash, Roles: Roles{PartnerRole}, Partner: p.Number, Epoch: p.epoch()}
	return s.begin(now)
}

// epoch is the partner's, above zero also where its password was never changed.
func (p *Partner) epoch() uint32 { return p.Epoch + 1 }

// Begun tells whether the session was begun by the user as the user is.
func (u *User) Begun(s *Session) bool { return u.Active && u.ID == s.User && u.Epoch == s.Epoch }

// Begun tells whether the session was begun by the partner with the password
// that it has. Whether the partner is switched off is for the caller to see.
func (p *Partner) Begun(s *Session) bool {
	return s.User == (ledger.ID{}) && p.Number == s.Partner && p.epoch() == s.Epoch
}

func (s *Session) begin(now ledger.Micros) (*Session, ledger.Event) {
	s.Used, s.Idle = now, SessionIdle
	s.Expires = now + ledger.Micros(SessionLife.Microseconds())
	return s, began(ledger.Session, s.ID, StateActive)
}

// Revoke decides that the session is taken no more. A revoked one stays as it is.
func (s *Session) Revoke(now ledger.Micros) (*Session, ledger.Event) {
	if s.Revoked != 0 {
		return s, ledger.Event{}
	}
	next := *s
	next.Revoked = now
	return &next, moved(ledger.Session, s.ID, Revoke, StateActive, StateRevoked)
}

// Note decides that a use of the session is written down. One that is older than
// what is written, or of a session that was revoked meanwhile, is not.
func (s *Session) Note(used ledger.Micros) (*Session, ledger.Event) {
	if s.Revoked != 0 || used <= s.Used {
		return s, ledger.Event{}
	}
	next := *s
	next.Used = used
	return &next, moved(ledger.Session, s.ID, Use, StateActive, StateActive)
}
