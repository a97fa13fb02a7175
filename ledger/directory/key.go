package directory

import (
	"log/slog"
	"time"

	"mizan/ledger"
)

// APIKey lets requests act as a partner. The value is shown once and kept
// nowhere; Hash is its SHA-256.
type APIKey struct {
	ID      ledger.ID
	Org     ledger.ID
	Partner int64
	Name    string
	Prefix  string // the value's first characters, to tell keys apart
	Hash    [32]byte
	Created ledger.Micros
	Expires ledger.Micros // 0: never
	Revoked ledger.Micros // 0: not
}

// Valid tells whether the key is taken at the instant.
func (k *APIKey) Valid(now ledger.Micros) bool {
	return k.Revoked == 0 && (k.Expires == 0 || now < k.Expires)
}

// String names the record and shows nothing of it: it holds what must not be printed.
func (k *APIKey) String() string { return "key " + k.ID.String() }

// LogValue implements slog.LogValuer.
func (k *APIKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// APIKeyDraft is what a new key was asked to be.
type APIKeyDraft struct {
	Partner int64
	Name    string
	Expires ledger.Micros // 0: never
}

// Check reports what is wrong with the draft. The error is a *ledger.Refusal.
func (d *APIKeyDraft) Check(now ledger.Micros) error {
	const op = "directory.CreateAPIKey"
	if err := checkText(op, "name", d.Name); err != nil {
		return err
	}
	if d.Expires != 0 && d.Expires <= now {
		return ledger.RefuseField(op, "expires_at", "must be in the future")
	}
	return nil
}

// NewAPIKey decides a creation. The error is a *ledger.Refusal.
func NewAPIKey(id ledger.ID, owner *Partner, prefix string, hash [32]byte, d APIKeyDraft, now ledger.Micros) (*APIKey, ledger.Event, error) {
	if err := d.Check(now); err != nil {
		return nil, ledger.Event{}, err
	}
	k := &APIKey{ID: id, Org: owner.Org, Partner: owner.Number, Name: d.Name, Prefix: prefix, Hash: hash, Expires: d.Expires}
	return k, began(ledger.APIKey, id, StateActive), nil
}

// Revoke decides that the key is taken no more. A revoked key stays as it is.
func (k *APIKey) Revoke(now ledger.Micros) (*APIKey, ledger.Event) {
	if k.Revoked != 0 {
		return k, ledger.Event{}
	}
	next := *k
	next.Revoked = now
	return &next, moved(ledger.APIKey, k.ID, Revoke, StateActive, StateRevoked)
}

// Role is what a session may do. The zero value is invalid.
type Role string

// The roles.
const (
	Admin       Role = "admin"
	Client      Role = "client"
	Auditor     Role = "auditor" // reads the ledger, writes nothing
	PartnerRole Role = "partner"
)

// Valid tells whether r is one of the roles.
func (r Role) Valid() bool {
	switch r {
	case Admin, Client, Auditor, PartnerRole:
		return true
	}
	return false
}

// Session lets requests act in a role inside one organization. Hash is the
// SHA-256 of its token.
type Session struct {
	ID      ledger.ID
	Org     ledger.ID
	Hash    [32]byte
	Role    Role
	Partner int64 // for PartnerRole; else 0
	Created ledger.Micros
	Expires ledger.Micros // 0: never
	Idle    time.Duration // how long it may rest between two uses; 0: for ever
}

// Valid tells whether the session is taken at the instant, as far as its own
// record can say: how long it rested is known to whoever sees its uses.
func (s *Session) Valid(now ledger.Micros) bool { return s.Expires == 0 || now < s.Expires }

// String names the record and shows nothing of it: it holds what must not be printed.
func (s *Session) String() string { return "session " + s.ID.String() }

// LogValue implements slog.LogValuer.
func (s *Session) LogValue() slog.Value { return slog.StringValue(s.String()) }

// NewSession decides a creation.
func NewSession(id, org ledger.ID, hash [32]byte, role Role, partner int64) (*Session, ledger.Event) {
	s := &Session{ID: id, Org: org, Hash: hash, Role: role, Partner: partner}
	return s, began(ledger.Session, id, StateActive)
}
