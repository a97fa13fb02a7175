package directory

import (
	"log/slog"
	"slices"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// PlatformOrg is the organization id under which the platform's own records are stored. It is the zero id, which no
// organization can have.
var PlatformOrg = ledger.ID{}

// PlatformID is the id of the only Platform record.
var PlatformID = ledger.ID{6: 0x80, 8: 0x80, 15: 1} // a UUID of version 8, which is for chosen values

// MaxAdminTokens is the largest number of administration tokens that are accepted at the same time. MaxRetiredTokens is the
// largest number of retired tokens whose hashes are stored: the oldest ones are forgotten, so that the record does not grow
// without bound.
const (
	MaxAdminTokens   = 64
	MaxRetiredTokens = 1024
)

// Platform is the record of the state that all organizations share.
type Platform struct {
	NextPartner   int64        // the number of the next partner
	PartnerStep   int64        // the difference between the numbers of one partner and the next; 0 means 1
	AdminTokens   [][32]byte   // SHA-256 of the accepted tokens, oldest first
	RetiredTokens [][32]byte   // SHA-256 of tokens that were replaced and must not be accepted again, oldest first
	Sandbox       []SandboxOrg // the organizations that the sandbox created at its first start
}

// SandboxOrg is an organization of the sandbox, with the number of the organization's partner.
type SandboxOrg struct {
	Org     ledger.ID
	Partner int64
}

// Platforms are the columns of the platform's record, which no response shows.
var Platforms = schema.NewType[Platform]("platform",
	schema.Field(schema.DerivedInteger(1, "next_partner", schema.NotShown, schema.RequiredInStore), func(p *Platform) *int64 { return &p.NextPartner }),
	schema.Field(schema.DerivedInteger(5, "partner_step", schema.NotShown), func(p *Platform) *int64 { return &p.PartnerStep }),
	schema.Field(hashesColumn(2, "admin_tokens"), func(p *Platform) *[][32]byte { return &p.AdminTokens }),
	schema.Field(hashesColumn(3, "retired"), func(p *Platform) *[][32]byte { return &p.RetiredTokens }),
	schema.Field(schema.Entries(4, "sandbox", sandboxOrgs, schema.NotShown), func(p *Platform) *[]SandboxOrg { return &p.Sandbox }),
).Invariant(func(p *Platform) string { return partnerNumberProblem(p.NextPartner) }).WithRowMetadata(func(*Platform, schema.RowMetadata) {})

var sandboxOrgs = schema.NewType[SandboxOrg]("demo",
	schema.Field(schema.ID(1, "org", schema.NotShown, schema.RequiredInStore), func(s *SandboxOrg) *ledger.ID { return &s.Org }),
	schema.Field(schema.DerivedInteger(2, "partner", schema.NotShown, schema.RequiredInStore), func(s *SandboxOrg) *int64 { return &s.Partner }),
).Invariant(func(s *SandboxOrg) string { return partnerNumberProblem(s.Partner) })

// NewPlatform returns the platform's record as it is before the first change.
func NewPlatform() *Platform { return &Platform{NextPartner: 1} }

// NewPlatformOf returns the record for one of several stores that share the platform's partner numbers: the store uses the
// number first, and then each step-th number.
func NewPlatformOf(first, step int64) *Platform {
	return &Platform{NextPartner: first, PartnerStep: step}
}

// LogValue implements slog.LogValuer.
func (p *Platform) LogValue() slog.Value { return slog.Int64Value(p.NextPartner) }

// ReservePartnerNumber returns the number for a new partner, and the platform's record after this number is taken.
func (p *Platform) ReservePartnerNumber() (next *Platform, number int64) {
	next = p.clone()
	next.NextPartner += max(p.PartnerStep, 1)
	return next, p.NextPartner
}

// AcceptAdminToken returns the platform's record with one more accepted administration token. If the token is already
// accepted, the record does not change. If the token is retired or too many tokens are accepted, the error is a
// *ledger.Refusal with the code Conflict.
func (p *Platform) AcceptAdminToken(hash [32]byte) (*Platform, error) {
	if slices.Contains(p.AdminTokens, hash) {
		return p, nil
	}
	if slices.Contains(p.RetiredTokens, hash) {
		return nil, ledger.Refuse("directory.AdmitAdminToken", ledger.Conflict, "the administration token was retired")
	}
	if len(p.AdminTokens) >= MaxAdminTokens {
		return nil, ledger.Refuse("directory.AdmitAdminToken", ledger.Conflict, "%d administration tokens are in force", MaxAdminTokens)
	}
	next := p.clone()
	next.AdminTokens = append(next.AdminTokens, hash)
	return next, nil
}

// RotateAdminToken returns the platform's record in which one administration token is retired and successor is accepted in
// its place. If the old token is not accepted, the error is a *ledger.Refusal with the code Unauthorized.
func (p *Platform) RotateAdminToken(hash, successor [32]byte) (*Platform, error) {
	index := slices.Index(p.AdminTokens, hash)
	if index < 0 {
		return nil, ledger.Refuse("directory.RotateAdminToken", ledger.Unauthorized, "unauthorized")
	}
	next := p.clone()
	next.AdminTokens = append(slices.Delete(next.AdminTokens, index, index+1), successor)
	next.retire(hash)
	return next, nil
}

// RotateAllAdminTokens returns the platform's record in which all administration tokens are retired and only successor is
// accepted.
func (p *Platform) RotateAllAdminTokens(successor [32]byte) *Platform {
	next := p.clone()
	next.AdminTokens = [][32]byte{successor}
	next.retire(p.AdminTokens...)
	return next
}

func (p *Platform) retire(hashes ...[32]byte) {
	p.RetiredTokens = append(p.RetiredTokens, hashes...)
	p.RetiredTokens = slices.Delete(p.RetiredTokens, 0, max(0, len(p.RetiredTokens)-MaxRetiredTokens))
}

// ChangeEvent returns the event of a change to the platform's record. isFirst tells whether this is the record's first
// event.
func (p *Platform) ChangeEvent(isFirst bool) ledger.Event {
	if isFirst {
		return createdEvent(ledger.Platform, PlatformID, StateOpen)
	}
	return laterEvent(ledger.Platform, PlatformID, Update, StateOpen, StateOpen)
}

// RotationEvent returns the event of a change that retires administration tokens.
func (p *Platform) RotationEvent() ledger.Event {
	return laterEvent(ledger.Platform, PlatformID, Rotate, StateOpen, StateOpen)
}

func (p *Platform) clone() *Platform {
	next := *p
	next.AdminTokens = slices.Clone(p.AdminTokens)
	next.RetiredTokens = slices.Clone(p.RetiredTokens)
	next.Sandbox = slices.Clone(p.Sandbox)
	return &next
}

// CachedReplyID returns the id of the record for a cached reply, which is the stored response to a request with an
// idempotency key. key is the request's claim (a unique key), which consists of the idempotency key and its scope.
func CachedReplyID(key string) ledger.ID { return ledger.DerivedID(PlatformOrg, "answer|"+key) }

// NewAdminReply returns the event that stores the response to a write request of the administration. The stored record
// never changes.
func NewAdminReply(id ledger.ID) ledger.Event {
	return createdEvent(ledger.AdminReply, id, StateReplyStored)
}

// NewReply returns the event that stores the response to a partner's request. The stored record never changes.
func NewReply(id ledger.ID) ledger.Event { return createdEvent(ledger.Reply, id, StateReplyStored) }
