package directory

import (
	"log/slog"

	"mizan/ledger"
)

// APIKey lets requests act as a partner. The key's value is shown once and not stored; Hash is
// its SHA-256.
type APIKey struct {
	ID      ledger.ID
	Org     ledger.ID
	Partner int64
	Name    string
	Prefix  string // the value's first characters, to tell keys apart
	Hash    [32]byte
	Created ledger.Micros
	Expires ledger.Micros // 0: never
	Revoked ledger.Micros // 0: not revoked
	Used    ledger.Micros // the last recorded use; 0: none
}

// Valid tells whether the key is accepted at the instant.
func (k *APIKey) Valid(now ledger.Micros) bool {
	return k.Revoked == 0 && (k.Expires == 0 || now < k.Expires)
}

// String returns the record's identity. It shows no field, because fields are secret.
func (k *APIKey) String() string { return "key " + k.ID.String() }

// LogValue implements slog.LogValuer.
func (k *APIKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// APIKeyDraft is a request for a new key.
type APIKeyDraft struct {
	Partner int64
	Name    string
	Expires ledger.Micros // 0: never
}

// Check reports what is wrong with the draft. The error is Join's.
func (d *APIKeyDraft) Check(now ledger.Micros) error {
	const op = "directory.CreateAPIKey"
	return Join(
		checkText(op, "name", d.Name),
		check(d.Expires == 0 || d.Expires > now, op, "expires_at", "must be in the future"),
	)
}

// NewAPIKey decides the creation of a key. The error is Join's.
func NewAPIKey(id ledger.ID, owner *Partner, prefix string, hash [32]byte, d APIKeyDraft, now ledger.Micros) (*APIKey, ledger.Event, error) {
	if err := d.Check(now); err != nil {
		return nil, ledger.Event{}, err
	}
	k := &APIKey{ID: id, Org: owner.Org, Partner: owner.Number, Name: d.Name, Prefix: prefix, Hash: hash, Expires: d.Expires}
	return k, began(ledger.APIKey, id, StateActive), nil
}

// Revoke decides that the key is no longer accepted. A revoked key does not change.
func (k *APIKey) Revoke(now ledger.Micros) (*APIKey, ledger.Event) {
	if k.Revoked != 0 {
		return k, ledger.Event{}
	}
	next := *k
	next.Revoked = now
	return &next, moved(ledger.APIKey, k.ID, Revoke, StateActive, StateRevoked)
}

// Note decides to record a use of the key. It changes nothing if a later use is already recorded
// or the key is revoked.
func (k *APIKey) Note(used ledger.Micros) (*APIKey, ledger.Event) {
	if k.Revoked != 0 || used <= k.Used {
		return k, ledger.Event{}
	}
	next := *k
	next.Used = used
	return &next, moved(ledger.APIKey, k.ID, Use, StateActive, StateActive)
}
