package auth

import (
	"errors"
	"net/netip"

	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Directory looks up records of the directory, in its state after the last synced change;
// *actors/directory.Service is one.
type Directory interface {
	// Authenticate finds an API key in the organization by the SHA-256 of its value. It takes
	// the same time whether or not the key exists. ok is false if the key is unknown, revoked or
	// expired.
	Authenticate(org ledger.ID, key []byte) (*directory.APIKey, *directory.Partner, bool)
	// Session finds a session in the organization by its token, and records a use of the
	// session. ok is false if the session is unknown or has ended.
	Session(org ledger.ID, token []byte, now ledger.Micros) (*directory.Session, bool)
	// Partner finds a partner of the organization by its number.
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
	// AdminToken tells whether the token is an administration token in force.
	AdminToken(token []byte) bool
	// Organization finds an organization.
	Organization(id ledger.ID) (*directory.Organization, bool)
}

// Credentials are the credentials in a request. Slices may alias the request's buffers.
type Credentials struct {
	APIKey       []byte // header x-api-key
	Organization []byte // header x-organization-id
	Bearer       []byte // header Authorization, the token of scheme Bearer
	Source       netip.Addr
}

// Principal is the authenticated caller of a request.
type Principal struct {
	Org     ledger.ID
	Key     *directory.APIKey  // set for a partner's key
	Partner *directory.Partner // set for a partner's key, and for a session that acts as a partner
	Session *directory.Session // set for a person's session
}

// Sees tells whether the principal may read the account. An auditor may read all accounts of its
// organization, a partner only its own.
func (p *Principal) Sees(path ledger.Path) bool {
	return p.Partner == nil || Owns(p.Partner.Number, path)
}

// Authenticator finds the principal of a request by its credentials.
type Authenticator struct {
	Directory Directory
	Clock     clock.Clock
}

// unauthorized returns the refusal for invalid credentials. It is the same for every fault.
func unauthorized() *ledger.Refusal {
	return ledger.Refuse("auth", ledger.Unauthorized, "unauthorized")
}

// PartnerKey authenticates a partner's key (specification, "Authentication" 1 to 5). The error is
// a *ledger.Refusal: Unauthorized, or Forbidden for a partner that is deactivated. A person
// who is logged in and sends no key gets Forbidden.
func (a *Authenticator) PartnerKey(c *Credentials) (Principal, error) {
	org, wellFormed := organization(c.Organization)
	if len(c.APIKey) == 0 && len(c.Bearer) != 0 {
		if _, live := a.session(org, wellFormed, c); live {
			return Principal{}, ledger.Refuse("auth.PartnerKey", ledger.Forbidden, "this needs a partner's key")
		}
	}
	key, partner, known := a.Directory.Authenticate(org, c.APIKey)
	o, found := a.Directory.Organization(org)
	active := found && o.Active()
	if partner == nil {
		partner = absentPartner
	}
	admitted := partner.Admits(c.Source)
	if !wellFormed || !known || !active || !admitted {
		return Principal{}, unauthorized()
	}
	if !partner.Active {
		return Principal{}, ledger.Refuse("auth.PartnerKey", ledger.Forbidden, "the partner is deactivated")
	}
	return Principal{Org: org, Key: key, Partner: partner}, nil
}

// absentPartner stands in for the partner of an unknown key. It has source addresses to search,
// so that the check takes as long as for a partner that has some.
var absentPartner = &directory.Partner{Sources: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}} // RFC 5737: reserved for documentation

// AdminToken authenticates the operator by the administration token. A valid session gets
// Forbidden, every other credential Unauthorized.
func (a *Authenticator) AdminToken(c *Credentials) error {
	org, wellFormed := organization(c.Organization)
	admin := a.Directory.AdminToken(c.Bearer)
	_, live := a.session(org, wellFormed, c)
	switch {
	case admin:
		return nil
	case live:
		return ledger.Refuse("auth.AdminToken", ledger.Forbidden, "this needs the administration token")
	}
	return unauthorized()
}

// PartnerKeyOrSession authenticates a caller that reads a partner's data: the partner's key, or
// a session of role partner, which acts as its partner. All other callers get the
// same refusals as from PartnerKey.
func (a *Authenticator) PartnerKeyOrSession(c *Credentials) (Principal, error) {
	if len(c.APIKey) != 0 || len(c.Bearer) == 0 {
		return a.PartnerKey(c)
	}
	org, wellFormed := organization(c.Organization)
	s, live := a.session(org, wellFormed, c)
	switch {
	case live && s.Roles.Has(directory.PartnerRole):
		return a.actAsPartner(org, s, c)
	case live:
		return Principal{}, refuseRole("auth.PartnerKeyOrSession")
	}
	return Principal{}, unauthorized()
}

// LedgerReader authenticates a caller that reads the ledger: a session with one of the roles,
// or a caller that PartnerKeyOrSession admits, which sees the partner's accounts. The
// administration token gets Forbidden, because it has no role in an organization.
func (a *Authenticator) LedgerReader(c *Credentials, roles ...directory.Role) (Principal, error) {
	if len(c.Bearer) == 0 {
		return a.PartnerKey(c)
	}
	org, wellFormed := organization(c.Organization)
	s, live := a.session(org, wellFormed, c)
	admin := a.Directory.AdminToken(c.Bearer)
	switch {
	case live && s.Roles.Has(roles...):
		return Principal{Org: org, Session: s}, nil
	case live && s.Roles.Has(directory.PartnerRole):
		return a.actAsPartner(org, s, c)
	case live:
		return Principal{}, refuseRole("auth.LedgerReader")
	case admin:
		return Principal{}, ledger.Refuse("auth.LedgerReader", ledger.Forbidden, "this needs a session of the organization")
	}
	return Principal{}, unauthorized()
}

// Session authenticates a person with one of the roles. A partner's key and the administration
// token get Forbidden, because they are not persons. A session whose only role is to act for a
// deactivated partner gets Forbidden too.
func (a *Authenticator) Session(c *Credentials, roles ...directory.Role) (Principal, error) {
	return a.person(c, false, roles)
}

// SessionToEnd authenticates a person who ends the session. It does what Session does, but also
// admits a session of a deactivated partner.
func (a *Authenticator) SessionToEnd(c *Credentials, roles ...directory.Role) (Principal, error) {
	return a.person(c, true, roles)
}

func (a *Authenticator) person(c *Credentials, ending bool, roles []directory.Role) (Principal, error) {
	const op = "auth.Session"
	if len(c.Bearer) == 0 {
		_, err := a.PartnerKey(c)
		if err == nil {
			err = ledger.Refuse(op, ledger.Forbidden, "this needs a session of the organization")
		}
		return Principal{}, err
	}
	org, wellFormed := organization(c.Organization)
	s, live := a.session(org, wellFormed, c)
	admin := a.Directory.AdminToken(c.Bearer)
	switch {
	case live && len(s.Roles) == 1 && s.Roles.Has(directory.PartnerRole):
		if _, err := a.actAsPartner(org, s, c); err != nil && !(ending && isDeactivated(err)) {
			return Principal{}, err
		}
	case admin && !live:
		return Principal{}, ledger.Refuse(op, ledger.Forbidden, "this needs a session of the organization")
	case !live:
		return Principal{}, unauthorized()
	}
	if !s.Roles.Has(roles...) {
		return Principal{}, refuseRole(op)
	}
	return Principal{Org: org, Session: s}, nil
}

// actAsPartner returns the principal for a session that acts as a partner. The rules are those
// for the partner's key.
func (a *Authenticator) actAsPartner(org ledger.ID, s *directory.Session, c *Credentials) (Principal, error) {
	partner, found := a.Directory.Partner(org, s.Partner)
	switch {
	case !found || !partner.Admits(c.Source):
		return Principal{}, unauthorized()
	case !partner.Active:
		return Principal{}, ledger.Refuse("auth.actAsPartner", ledger.Forbidden, "the partner is deactivated")
	}
	return Principal{Org: org, Partner: partner, Session: s}, nil
}

// isDeactivated tells whether an error of actAsPartner means that the partner is deactivated.
func isDeactivated(err error) bool {
	var refused *ledger.Refusal
	return errors.As(err, &refused) && refused.Code == ledger.Forbidden
}

// refuseRole returns the refusal of a person without any of the roles.
func refuseRole(op string) error {
	return ledger.Refuse(op, ledger.Forbidden, "the session's role may not do this")
}

// session finds the session of a bearer token in an active organization.
func (a *Authenticator) session(org ledger.ID, wellFormed bool, c *Credentials) (*directory.Session, bool) {
	s, found := a.Directory.Session(org, c.Bearer, ledger.MicrosOf(a.Clock.Now()))
	o, exists := a.Directory.Organization(org)
	active := exists && o.Active()
	return s, found && wellFormed && active
}

// Organization parses the header x-organization-id. If the header is malformed, it returns the nil
// UUID, which no organization has.
func Organization(header []byte) ledger.ID {
	id, wellFormed := organization(header)
	if !wellFormed {
		return ledger.ID{}
	}
	return id
}

// organization parses a UUID in its usual form only; uuid.ParseBytes accepts three more forms.
func organization(header []byte) (ledger.ID, bool) {
	const usual = 36
	if len(header) != usual {
		return ledger.ID{}, false
	}
	id, err := uuid.ParseBytes(header)
	return id, err == nil
}
