package directory

import (
	"cmp"
	"log/slog"

	"mizan/ledger/columns"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// APIKey is a key with which requests act as a partner. The key's value is shown once and is not stored. Hash is the
// SHA-256 of the value.
type APIKey struct {
	ID         ledger.ID
	Org        ledger.ID
	Partner    int64
	Name       string
	Prefix     string // the value's first characters, by which people tell keys apart
	Hash       [32]byte
	Value      string // set only for the response to the creation, and never stored
	CreatedAt  ledger.Micros
	ExpiresAt  ledger.Micros // 0: never
	RevokedAt  ledger.Micros // 0: not revoked
	LastUsedAt ledger.Micros // time of the last recorded use; 0: none

	FirstSeq uint64 // journal number (Seq) of the event that created the key; actors/directory sets it on reading
}

// Author returns the author to record in events that the key caused.
func (k *APIKey) Author() ledger.Author { return ledger.Author{Kind: ledger.ByAPIKey, Seq: k.FirstSeq} }

// IsValid tells whether the key is accepted at the instant now.
func (k *APIKey) IsValid(now ledger.Micros) bool {
	return k.RevokedAt == 0 && (k.ExpiresAt == 0 || now < k.ExpiresAt)
}

// String returns the record's identity. It shows no other field, because some fields are secret.
func (k *APIKey) String() string { return "key " + k.ID.String() }

// LogValue implements slog.LogValuer.
func (k *APIKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// APIKeys are the columns of API keys.
var APIKeys = schema.NewType[APIKey]("key",
	columns.IDColumn(func(k *APIKey) *ledger.ID { return &k.ID }),
	schema.Field(schema.Text(0, "key", schema.OutOfLists, schema.Transient, schema.Sparse, schema.ReadOnlyFixed,
		schema.Help("the key itself, shown only in the response that creates it")), func(k *APIKey) *string { return &k.Value }),
	schema.Field(schema.Text(1, "prefix", schema.RequiredInStore, schema.ReadOnlyFixed,
		schema.Help("first characters of the key, to tell keys apart")), func(k *APIKey) *string { return &k.Prefix }),
	schema.Field(schema.Text(2, "name", schema.Required, schema.Fixed, schema.OneLine,
		schema.Help("what the key is for")), func(k *APIKey) *string { return &k.Name }),
	columns.PartnerColumn(3, func(k *APIKey) *int64 { return &k.Partner }, schema.Required, schema.Fixed),
	columns.CreatedColumn(func(k *APIKey) *ledger.Micros { return &k.CreatedAt }),
	schema.Field(schema.Instant(4, "last_used_at", schema.AbsentWhenNew,
		schema.Help("when it was last used")), func(k *APIKey) *ledger.Micros { return &k.LastUsedAt }),
	schema.Field(schema.Instant(5, "expires_at", schema.Fixed, schema.Flag("expires"),
		schema.Help("when the key expires; absent means never")), func(k *APIKey) *ledger.Micros { return &k.ExpiresAt }),
	schema.Field(schema.Instant(6, "revoked_at", schema.AbsentWhenNew,
		schema.Help("when it was revoked")), func(k *APIKey) *ledger.Micros { return &k.RevokedAt }),
	schema.Field(hashColumn(7, "hash", schema.RequiredInStore), func(k *APIKey) *[32]byte { return &k.Hash }),
).Invariant(func(k *APIKey) string {
	return cmp.Or(partnerNumberProblem(k.Partner), timesProblem(k.ExpiresAt, k.RevokedAt, k.LastUsedAt))
}).
	WithRowMetadata(func(k *APIKey, metadata schema.RowMetadata) {
		k.Org, k.ID, k.CreatedAt = metadata.Org, metadata.ID, metadata.CreatedAt
	})

// Check returns an error that names all wrong fields of a new key, or nil if there is none.
func (k *APIKey) Check(now ledger.Micros) error {
	faults := new(schema.Faults)
	APIKeys.Check(nil, k, faults)
	if k.ExpiresAt != 0 && k.ExpiresAt <= now {
		faults.Add("expires_at", "must be in the future")
	}
	return FaultsAsRefusals("directory.CreateAPIKey", faults)
}

// NewAPIKey returns a new key with the fields of the draft, and the event of its creation. If the draft is invalid, the
// error names all wrong fields.
func NewAPIKey(draft APIKey, now ledger.Micros) (*APIKey, ledger.Event, error) {
	k := &draft
	if err := k.Check(now); err != nil {
		return nil, ledger.Event{}, err
	}
	return k, createdEvent(ledger.APIKey, k.ID, StateActive), nil
}

// Revoke returns a revoked copy of the key, and the event of this change. If the key is already revoked, it returns the
// unchanged key and an event without a name.
func (k *APIKey) Revoke(now ledger.Micros) (*APIKey, ledger.Event) {
	if k.RevokedAt != 0 {
		return k, ledger.Event{}
	}
	next := *k
	next.RevokedAt = now
	return &next, laterEvent(ledger.APIKey, k.ID, Revoke, StateActive, StateRevoked)
}

// RecordUse returns a copy of the key in which the time of a use is recorded, and the event of this change. If a later use
// is already recorded or the key is revoked, it returns the unchanged key and an event without a name.
func (k *APIKey) RecordUse(usedAt ledger.Micros) (*APIKey, ledger.Event) {
	if k.RevokedAt != 0 || usedAt <= k.LastUsedAt {
		return k, ledger.Event{}
	}
	next := *k
	next.LastUsedAt = usedAt
	return &next, laterEvent(ledger.APIKey, k.ID, Use, StateActive, StateActive)
}
