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

// Bounds of administration tokens: in force, and remembered as retired. Of more
// retired ones the oldest are forgotten, 32 bytes each otherwise for ever.
const (
	MaxAdminTokens   = 64
	MaxRetiredTokens = 1024
)

// Platform is what all organizations share.
type Platform struct {
	NextPartner int64      // the number that the next partner gets
	AdminTokens [][32]byte // SHA-256, oldest first
	Retired     [][32]byte // those that were in force, oldest first: never admitted again
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
// changes nothing, a retired one is a Conflict. The error is a *ledger.Refusal.
func (p *Platform) Admit(hash [32]byte) (*Platform, error) {
	if slices.Contains(p.AdminTokens, hash) {
		return p, nil
	}
	if slices.Contains(p.Retired, hash) {
		return nil, ledger.Refuse("directory.AdmitAdminToken", ledger.Conflict, "the administration token was retired")
	}
	if len(p.AdminTokens) >= MaxAdminTokens {
		return nil, ledger.Refuse("directory.AdmitAdminToken", ledger.Conflict, "%d administration tokens are in force", MaxAdminTokens)
	}
	next := p.clone()
	next.AdminTokens = append(next.AdminTokens, hash)
	return next, nil
}

// Rotate retires an administration token and takes another in its place. The
// error is a *ledger.Refusal: Unauthorized if the first is not in force.
func (p *Platform) Rotate(hash, successor [32]byte) (*Platform, error) {
	at := slices.Index(p.AdminTokens, hash)
	if at < 0 {
		return nil, ledger.Refuse("directory.RotateAdminToken", ledger.Unauthorized, "unauthorized")
	}
	next := p.clone()
	next.AdminTokens = append(slices.Delete(next.AdminTokens, at, at+1), successor)
	next.retire(hash)
	return next, nil
}

// RotateAll retires all administration tokens and takes another.
func (p *Platform) RotateAll(successor [32]byte) *Platform {
	next := p.clone()
	next.AdminTokens = [][32]byte{successor}
	next.retire(p.AdminTokens...)
	return next
}

func (p *Platform) retire(hashes ...[32]byte) {
	p.Retired = append(p.Retired, hashes...)
	p.Retired = slices.Delete(p.Retired, 0, max(0, len(p.Retired)-MaxRetiredTokens))
}

// Event is the event that explains the platform's change, its first or a later one.
func (p *Platform) Event(first bool) ledger.Event {
	if first {
		return began(ledger.Platform, PlatformID, StateOpen)
	}
	return moved(ledger.Platform, PlatformID, Update, StateOpen, StateOpen)
}

// Rotated is the event that explains a rotation.
func (p *Platform) Rotated() ledger.Event {
	return moved(ledger.Platform, PlatformID, Rotate, StateOpen, StateOpen)
}

func (p *Platform) clone() *Platform {
	next := *p
	next.AdminTokens = slices.Clone(p.AdminTokens)
	next.Retired = slices.Clone(p.Retired)
	next.Sandbox = slices.Clone(p.Sandbox)
	return &next
}
