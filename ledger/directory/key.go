package directory

import (
	"cmp"
	"log/slog"

	"mizan/ledger/columns"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// APIKey lets requests act as a partner. The key's value is shown once and not stored. Hash is the
// SHA-256 of the value.
type APIKey struct {
	ID      ledger.ID
	Org     ledger.ID
	Partner int64
	Name    string
	Prefix  string // the value's first characters, to tell keys apart
	Hash    [32]byte
	Value   string // set only for the response to the creation, and never stored
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

// APIKeys are the columns of API keys.
var APIKeys = schema.NewType[APIKey]("key",
	columns.IDColumn(func(k *APIKey) *ledger.ID { return &k.ID }),
	schema.Field(schema.Text(0, "key", schema.InDeep, schema.Transient, schema.Sparse, schema.Constant,
		schema.Help("the key itself, shown only in the response that creates it")), func(k *APIKey) *string { return &k.Value }),
	schema.Field(schema.Text(1, "prefix", schema.Needed, schema.Constant,
		schema.Help("first characters of the key, to tell keys apart")), func(k *APIKey) *string { return &k.Prefix }),
	schema.Field(schema.Text(2, "name", schema.Required, schema.Fixed, schema.OneLine,
		schema.Help("what the key is for")), func(k *APIKey) *string { return &k.Name }),
	columns.PartnerColumn(3, func(k *APIKey) *int64 { return &k.Partner }, schema.Required, schema.Fixed),
	columns.CreatedColumn(func(k *APIKey) *ledger.Micros { return &k.Created }),
	schema.Field(schema.Instant(4, "last_used_at", schema.AbsentWhenNew,
		schema.Help("when it was last used")), func(k *APIKey) *ledger.Micros { return &k.Used }),
	schema.Field(schema.Instant(5, "expires_at", schema.Fixed, schema.Flag("expires"),
		schema.Help("when the key expires; absent means never")), func(k *APIKey) *ledger.Micros { return &k.Expires }),
	schema.Field(schema.Instant(6, "revoked_at", schema.AbsentWhenNew,
		schema.Help("when it was revoked")), func(k *APIKey) *ledger.Micros { return &k.Revoked }),
	schema.Field(hashColumn(7, "hash", schema.Needed), func(k *APIKey) *[32]byte { return &k.Hash }),
).Invariant(func(k *APIKey) string {
	return cmp.Or(partnerNumberProblem(k.Partner), timesProblem(k.Expires, k.Revoked, k.Used))
}).
	WithEnvelope(func(k *APIKey, envelope schema.Envelope) {
		k.Org, k.ID, k.Created = envelope.Org, envelope.ID, envelope.Created
	})

// Check checks the fields of a new key. The error comes from Join.
func (k *APIKey) Check(now ledger.Micros) error {
	faults := new(schema.Faults)
	APIKeys.Check(nil, k, faults)
	if k.Expires != 0 && k.Expires <= now {
		faults.Add("expires_at", "must be in the future")
	}
	return FaultsAsRefusals("directory.CreateAPIKey", faults)
}

// NewAPIKey decides the creation of a key, whose fields the caller has set. The error comes from Join.
func NewAPIKey(draft APIKey, now ledger.Micros) (*APIKey, ledger.Event, error) {
	k := &draft
	if err := k.Check(now); err != nil {
		return nil, ledger.Event{}, err
	}
	return k, createdEvent(ledger.APIKey, k.ID, StateActive), nil
}

// Revoke decides that the key is no longer accepted. A revoked key does not change.
func (k *APIKey) Revoke(now ledger.Micros) (*APIKey, ledger.Event) {
	if k.Revoked != 0 {
		return k, ledger.Event{}
	}
	next := *k
	next.Revoked = now
	return &next, movedEvent(ledger.APIKey, k.ID, Revoke, StateActive, StateRevoked)
}

// RecordUse decides to record a use of the key. It changes nothing if a later use is already recorded
// or the key is revoked.
func (k *APIKey) RecordUse(usedAt ledger.Micros) (*APIKey, ledger.Event) {
	if k.Revoked != 0 || usedAt <= k.Used {
		return k, ledger.Event{}
	}
	next := *k
	next.Used = usedAt
	return &next, movedEvent(ledger.APIKey, k.ID, Use, StateActive, StateActive)
}
