package auth

import (
	"errors"
	"net/netip"

	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Directory looks up the records that authenticate callers, and never returns a change that is not durable yet.
// *directory.Service of package actors/directory implements it.
type Directory interface {
	// Authenticate finds an API key in the organization by the SHA-256 of its value. It takes
	// the same time whether or not the key exists. ok is false if the key is unknown, revoked or
	// expired.
	Authenticate(org ledger.ID, key []byte) (apiKey *directory.APIKey, partner *directory.Partner, ok bool)
	// Session finds a session in the organization by its token, and records a use of the
	// session. ok is false if the session is unknown or has ended.
	Session(org ledger.ID, token []byte, now ledger.Micros) (session *directory.Session, ok bool)
	// ConsoleSession is Session for the sessions of the console. Session does not find console sessions, and ConsoleSession
	// finds no others.
	ConsoleSession(org ledger.ID, token []byte, now ledger.Micros) (session *directory.Session, ok bool)
	// Partner finds a partner of the organization by its number.
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
	// AdminToken tells whether the token is a valid administration token.
	AdminToken(token []byte) bool
	// Organization finds an organization.
	Organization(id ledger.ID) (*directory.Organization, bool)
}

// Credentials are the credentials in a request. Their slices may alias the request's buffers.
type Credentials struct {
	APIKey       []byte     // header x-api-key
	Organization []byte     // header x-organization-id
	Bearer       []byte     // header Authorization: the token after "Bearer"
	Source       netip.Addr // the caller's address

	// IsOperator tells that another node of the cluster has checked that Bearer is a valid administration token.
	IsOperator bool
}

// Principal is the authenticated caller of a request.
type Principal struct {
	Org     ledger.ID
	Key     *directory.APIKey  // set if the caller used a partner's key
	Partner *directory.Partner // set if the caller used a partner's key, or a session that acts as a partner
	Session *directory.Session // set if the caller used a person's session
}

// Author returns the principal as the author of events. If the principal has neither a key nor a session, known is false.
func (p *Principal) Author() (author ledger.Author, known bool) {
	switch {
	case p.Key != nil:
		return p.Key.Author(), true
	case p.Session != nil:
		return p.Session.Author(), true
	}
	return author, false
}

// MayRead tells whether the principal may read the account. An auditor may read all accounts of its
// organization, a partner only its own.
func (p *Principal) MayRead(path ledger.Path) bool {
	return p.MayReadAll() || Owns(p.Partner.Number, path)
}

// MayReadAll tells whether the principal may read all accounts of its organization.
func (p *Principal) MayReadAll() bool { return p.Partner == nil }

// Authenticator finds the principal of a request by its credentials.
type Authenticator struct {
	Directory Directory
	Clock     clock.Clock
}

// unauthorized returns the refusal of invalid credentials. The refusal doesn't tell what is wrong with the credentials.
func unauthorized() *ledger.Refusal {
	return ledger.Refuse("auth", ledger.Unauthorized, "unauthorized")
}

// AuthenticatePartnerKey authenticates a partner's key (specification, "Authentication" 1 to 5). The error is a
// *ledger.Refusal. If the partner is deactivated, or if the request has a session but no key, the refusal is Forbidden; in all
// other cases it is Unauthorized.
func (a *Authenticator) AuthenticatePartnerKey(credentials *Credentials) (Principal, error) {
	org, wellFormed := organization(credentials.Organization)
	if len(credentials.APIKey) == 0 && len(credentials.Bearer) != 0 {
		if _, live := a.session(org, wellFormed, credentials); live {
			return Principal{}, ledger.Refuse("auth.AuthenticatePartnerKey", ledger.Forbidden, "this needs a partner's key")
		}
	}
	key, partner, known := a.Directory.Authenticate(org, credentials.APIKey)
	o, found := a.Directory.Organization(org)
	active := found && o.Active()
	if partner == nil {
		partner = absentPartner
	}
	admitted := partner.Admits(credentials.Source)
	if !wellFormed || !known || !active || !admitted {
		return Principal{}, unauthorized()
	}
	if !partner.Active {
		return Principal{}, ledger.Refuse("auth.AuthenticatePartnerKey", ledger.Forbidden, "the partner is deactivated")
	}
	return Principal{Org: org, Key: key, Partner: partner}, nil
}

// absentPartner is used instead of a partner if the key is unknown. It lists a source address, so that the check of the
// caller's address takes as long as for a real partner that lists addresses.
var absentPartner = &directory.Partner{Sources: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}} // RFC 5737: reserved for documentation

// AuthenticateAdmin authenticates the operator by the administration token. If the credential is a valid session, the refusal
// is Forbidden; for every other credential it is Unauthorized.
func (a *Authenticator) AuthenticateAdmin(credentials *Credentials) error {
	org, wellFormed := organization(credentials.Organization)
	admin := a.isOperator(credentials)
	_, live := a.session(org, wellFormed, credentials)
	switch {
	case admin:
		return nil
	case live:
		return ledger.Refuse("auth.AuthenticateAdmin", ledger.Forbidden, "this needs the administration token")
	}
	return unauthorized()
}

// isOperator tells whether the bearer token is a valid administration token.
func (a *Authenticator) isOperator(credentials *Credentials) bool {
	return credentials.IsOperator || a.Directory.AdminToken(credentials.Bearer)
}

// AuthenticatePartnerKeyOrSession authenticates a caller that reads a partner's data. The caller must have the partner's key,
// or a session of role partner, which acts as its partner. Other callers get the same refusals as from AuthenticatePartnerKey.
func (a *Authenticator) AuthenticatePartnerKeyOrSession(credentials *Credentials) (Principal, error) {
	if len(credentials.APIKey) != 0 || len(credentials.Bearer) == 0 {
		return a.AuthenticatePartnerKey(credentials)
	}
	org, wellFormed := organization(credentials.Organization)
	session, live := a.session(org, wellFormed, credentials)
	switch {
	case live && session.Roles.Has(directory.PartnerRole):
		return a.actAsPartner(org, session, credentials)
	case live:
		return Principal{}, refuseRole("auth.AuthenticatePartnerKeyOrSession")
	}
	return Principal{}, unauthorized()
}

// AuthenticateLedgerReader authenticates a caller that reads the ledger. It admits sessions with one of the roles, and the
// callers that AuthenticatePartnerKeyOrSession admits, who see only their partner's accounts. The administration token is
// refused with Forbidden, because it has no role in an organization.
func (a *Authenticator) AuthenticateLedgerReader(credentials *Credentials, roles ...directory.Role) (Principal, error) {
	if len(credentials.Bearer) == 0 {
		return a.AuthenticatePartnerKey(credentials)
	}
	org, wellFormed := organization(credentials.Organization)
	session, live := a.session(org, wellFormed, credentials)
	admin := a.isOperator(credentials)
	switch {
	case live && session.Roles.Has(roles...):
		return Principal{Org: org, Session: session}, nil
	case live && session.Roles.Has(directory.PartnerRole):
		return a.actAsPartner(org, session, credentials)
	case live:
		return Principal{}, refuseRole("auth.AuthenticateLedgerReader")
	case admin:
		return Principal{}, ledger.Refuse("auth.AuthenticateLedgerReader", ledger.Forbidden, "this needs a session of the organization")
	}
	return Principal{}, unauthorized()
}

// AuthenticateSession authenticates a person by a session. The person must have one of the roles. A partner's key and the
// administration token are refused with Forbidden, because they do not belong to a person. If a session's only role is partner
// and the partner is deactivated, the session is refused with Forbidden too.
func (a *Authenticator) AuthenticateSession(credentials *Credentials, roles ...directory.Role) (Principal, error) {
	return a.authenticatePerson(credentials, false, roles)
}

// AuthenticateSessionToEnd authenticates a person who ends the session. Unlike AuthenticateSession, it also admits a session of
// a deactivated partner.
func (a *Authenticator) AuthenticateSessionToEnd(credentials *Credentials, roles ...directory.Role) (Principal, error) {
	return a.authenticatePerson(credentials, true, roles)
}

// authenticatePerson implements AuthenticateSession and, if ending is true, AuthenticateSessionToEnd.
func (a *Authenticator) authenticatePerson(credentials *Credentials, ending bool, roles []directory.Role) (Principal, error) {
	const op = "auth.authenticatePerson"
	if len(credentials.Bearer) == 0 {
		_, err := a.AuthenticatePartnerKey(credentials)
		if err == nil {
			err = ledger.Refuse(op, ledger.Forbidden, "this needs a session of the organization")
		}
		return Principal{}, err
	}
	org, wellFormed := organization(credentials.Organization)
	session, live := a.session(org, wellFormed, credentials)
	admin := a.isOperator(credentials)
	switch {
	case live && len(session.Roles) == 1 && session.Roles.Has(directory.PartnerRole):
		if _, err := a.actAsPartner(org, session, credentials); err != nil && !(ending && isDeactivated(err)) {
			return Principal{}, err
		}
	case admin && !live:
		return Principal{}, ledger.Refuse(op, ledger.Forbidden, "this needs a session of the organization")
	case !live:
		return Principal{}, unauthorized()
	}
	principal := Principal{Org: org, Session: session}
	if err := principal.RefuseRole(roles...); err != nil {
		return Principal{}, err
	}
	return principal, nil
}

// RefuseRole returns nil if the person has one of the roles, and otherwise a refusal.
func (p *Principal) RefuseRole(roles ...directory.Role) error {
	if p.Session.Roles.Has(roles...) {
		return nil
	}
	return refuseRole("auth.RefuseRole")
}

// AuthenticateVisitor authenticates a person who is signed in to the console. The principal contains the session and, if the
// person may act as a partner, the partner. If partner is the person's only role, the session must satisfy the rules for the
// partner's key. If ending is true, the request ends the session, and a session of a deactivated partner is admitted too.
func (a *Authenticator) AuthenticateVisitor(org ledger.ID, token []byte, source netip.Addr, ending bool) (Principal, error) {
	session, found := a.Directory.ConsoleSession(org, token, ledger.MicrosOf(a.Clock.Now()))
	o, exists := a.Directory.Organization(org)
	if !found || !exists || !o.Active() {
		return Principal{}, unauthorized()
	}
	principal := Principal{Org: org, Session: session}
	if session.Roles.Has(directory.PartnerRole) {
		acting, err := a.actAsPartner(org, session, &Credentials{Source: source})
		if err != nil && len(session.Roles) == 1 && !(ending && isDeactivated(err)) {
			return Principal{}, err
		}
		principal.Partner = acting.Partner
	}
	return principal, nil
}

// actAsPartner returns the principal for a session that acts as a partner. The session must satisfy the rules for the partner's
// key: its address must be admitted, and the partner must not be deactivated.
func (a *Authenticator) actAsPartner(org ledger.ID, session *directory.Session, credentials *Credentials) (Principal, error) {
	partner, found := a.Directory.Partner(org, session.Partner)
	switch {
	case !found || !partner.Admits(credentials.Source):
		return Principal{}, unauthorized()
	case !partner.Active:
		return Principal{}, ledger.Refuse("auth.actAsPartner", ledger.Forbidden, "the partner is deactivated")
	}
	return Principal{Org: org, Partner: partner, Session: session}, nil
}

// isDeactivated tells whether an error of actAsPartner means that the partner is deactivated.
func isDeactivated(err error) bool {
	var refused *ledger.Refusal
	return errors.As(err, &refused) && refused.Code == ledger.Forbidden
}

// refuseRole returns the refusal for a person who has none of the required roles.
func refuseRole(op string) error {
	return ledger.Refuse(op, ledger.Forbidden, "the session's role may not do this")
}

// session finds the session of a bearer token. If there is no such session, or if its organization is not active, live is
// false.
func (a *Authenticator) session(org ledger.ID, wellFormed bool, credentials *Credentials) (session *directory.Session, live bool) {
	session, found := a.Directory.Session(org, credentials.Bearer, ledger.MicrosOf(a.Clock.Now()))
	o, exists := a.Directory.Organization(org)
	active := exists && o.Active()
	return session, found && wellFormed && active
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

// organization parses a UUID, and accepts only the usual form of 36 characters. uuid.ParseBytes alone would accept three more
// forms.
func organization(header []byte) (id ledger.ID, wellFormed bool) {
	const uuidLength = 36
	if len(header) != uuidLength {
		return ledger.ID{}, false
	}
	id, err := uuid.ParseBytes(header)
	return id, err == nil
}
