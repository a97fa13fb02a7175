package auth

import (
	"net/netip"
	"slices"

	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Directory says who exists. Its answers are those of one moment after the last
// synced change; *actors/directory.Service is one.
type Directory interface {
	// Authenticate finds the key by the SHA-256 of its value inside the
	// organization, in the same time whether or not there is one. Not ok: it is
	// unknown, revoked or expired.
	Authenticate(org ledger.ID, key []byte) (*directory.APIKey, *directory.Partner, bool)
	// Session finds a session by its token inside the organization. Not ok: it
	// is unknown or over.
	Session(org ledger.ID, token []byte, now ledger.Micros) (*directory.Session, bool)
	// AdminToken tells whether the token is an administration token in force.
	AdminToken(token []byte) bool
	// Organization finds an organization.
	Organization(id ledger.ID) (*directory.Organization, bool)
}

// Credentials are what a request brings. Slices may alias its buffers.
type Credentials struct {
	APIKey       []byte // header x-api-key
	Organization []byte // header x-organization-id
	Bearer       []byte // header Authorization, the token of scheme Bearer
	Source       netip.Addr
}

// Principal is who makes a request.
type Principal struct {
	Org     ledger.ID
	Key     *directory.APIKey  // of a partner's request
	Partner *directory.Partner // of a partner's request
	Session *directory.Session // of a person's request
}

// Sees tells whether the principal may read the account: an auditor all of its
// organization, a partner its own.
func (p *Principal) Sees(path ledger.Path) bool {
	return p.Partner == nil || Owns(p.Partner.Number, path)
}

// Gate checks credentials.
type Gate struct {
	Directory Directory
	Clock     clock.Clock
}

// unauthorized is the one refusal for whoever is not who it claims to be.
func unauthorized() *ledger.Refusal {
	return ledger.Refuse("auth", ledger.Unauthorized, "unauthorized")
}

// Partner authenticates a partner's key (specification, "Authentication" 1 to
// 5). The error is a *ledger.Refusal: Unauthorized, or Forbidden for a partner
// that is switched off.
func (g *Gate) Partner(c *Credentials) (Principal, error) {
	org, wellFormed := organization(c.Organization)
	key, partner, known := g.Directory.Authenticate(org, c.APIKey)
	o, found := g.Directory.Organization(org)
	active := found && o.Active()
	if partner == nil {
		partner = nobody
	}
	admitted := partner.Admits(c.Source)
	if !wellFormed || !known || !active || !admitted {
		return Principal{}, unauthorized()
	}
	if !partner.Active {
		return Principal{}, ledger.Refuse("auth.Partner", ledger.Forbidden, "the partner is deactivated")
	}
	return Principal{Org: org, Key: key, Partner: partner}, nil
}

// nobody stands in for the partner of a key that nobody has.
var nobody = new(directory.Partner)

// Admin authenticates the operator by the administration token. A session that
// is valid where it says so gets Forbidden, all others Unauthorized.
func (g *Gate) Admin(c *Credentials) error {
	org, wellFormed := organization(c.Organization)
	admin := g.Directory.AdminToken(c.Bearer)
	_, live := g.session(org, wellFormed, c)
	switch {
	case admin:
		return nil
	case live:
		return ledger.Refuse("auth.Admin", ledger.Forbidden, "this needs the administration token")
	}
	return unauthorized()
}

// Reader authenticates who reads the ledger: a session with one of the roles,
// or a partner's key, which sees its own accounts. The administration token is
// no role in an organization: Forbidden.
func (g *Gate) Reader(c *Credentials, roles ...directory.Role) (Principal, error) {
	if len(c.Bearer) == 0 {
		return g.Partner(c)
	}
	org, wellFormed := organization(c.Organization)
	s, live := g.session(org, wellFormed, c)
	admin := g.Directory.AdminToken(c.Bearer)
	switch {
	case live && slices.Contains(roles, s.Role):
		return Principal{Org: org, Session: s}, nil
	case live:
		return Principal{}, ledger.Refuse("auth.Reader", ledger.Forbidden, "the session's role may not do this")
	case admin:
		return Principal{}, ledger.Refuse("auth.Reader", ledger.Forbidden, "this needs a session of the organization")
	}
	return Principal{}, unauthorized()
}

// session finds the session of a bearer token in an active organization.
func (g *Gate) session(org ledger.ID, wellFormed bool, c *Credentials) (*directory.Session, bool) {
	s, found := g.Directory.Session(org, c.Bearer, ledger.MicrosOf(g.Clock.Now()))
	o, exists := g.Directory.Organization(org)
	active := exists && o.Active()
	return s, found && wellFormed && active
}

// organization reads a UUID in its one usual form; uuid.ParseBytes takes three
// more. Not well formed: the id is no one's.
func organization(header []byte) (ledger.ID, bool) {
	const usual = 36
	if len(header) != usual {
		return ledger.ID{}, false
	}
	id, err := uuid.ParseBytes(header)
	return id, err == nil
}
