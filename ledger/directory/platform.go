package directory

import (
	"log/slog"
	"slices"

	"mizan/ledger"
)

// PlatformOrg is the organization that the platform's own record is kept in: no
// one's, so that no organization can be named in its place.
var PlatformOrg = ledger.ID{}

// PlatformID is the id of the one Platform record.
var PlatformID = ledger.ID{6: 0x80, 8: 0x80, 15: 1} // a UUID version 8: made, not drawn

// MaxAdminTokens bounds the administration tokens in force.
const MaxAdminTokens = 64

// Platform is what all organizations share.
type Platform struct {
	NextPartner int64      // the number that the next partner gets
	AdminTokens [][32]byte // SHA-256, oldest first
	Sandbox     []Demo     // what the sandbox was given at its first start
}

// Demo names an organization of the sandbox and its partner.
type Demo struct {
	Org     ledger.ID
	Partner int64
}

// NewPlatform is the platform before anything happened to it.
func NewPlatform() *Platform { return &Platform{NextPartner: 1} }

// LogValue implements slog.LogValuer.
func (p *Platform) LogValue() slog.Value { return slog.Int64Value(p.NextPartner) }

// Reserve takes the next partner number.
func (p *Platform) Reserve() (next *Platform, number int64) {
	next = p.clone()
	next.NextPartner++
	return next, p.NextPartner
}

// Admit takes another administration token. One that is in force already
// changes nothing. The error is a *ledger.Refusal.
func (p *Platform) Admit(hash [32]byte) (*Platform, error) {
	if slices.Contains(p.AdminTokens, hash) {
		return p, nil
	}
	if len(p.AdminTokens) >= MaxAdminTokens {
		return nil, ledger.Refuse("directory.AdmitAdminToken", ledger.Conflict, "%d administration tokens are in force", MaxAdminTokens)
	}
	next := p.clone()
	next.AdminTokens = append(next.AdminTokens, hash)
	return next, nil
}

// Event is the event that explains the platform's change, its first or a later one.
func (p *Platform) Event(first bool) ledger.Event {
	if first {
		return began(ledger.Platform, PlatformID, StateOpen)
	}
	return moved(ledger.Platform, PlatformID, Update, StateOpen, StateOpen)
}

func (p *Platform) clone() *Platform {
	next := *p
	next.AdminTokens = slices.Clone(p.AdminTokens)
	next.Sandbox = slices.Clone(p.Sandbox)
	return &next
}
