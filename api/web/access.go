package web

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Callers is a set of the kinds of callers below.
type Callers uint8

// The kinds of callers.
const (
	Anyone         Callers = 1 << iota // no credentials are needed
	PartnerKey                         // a partner's API key
	PartnerSession                     // a session of role partner, which acts as its partner
	AdminToken                         // the administration token
	Session                            // a session with one of the roles that the route lists
	Visitor                            // a session of the console with one of the route's roles; not combined with other kinds
)

func (c Callers) has(kind Callers) bool { return c&kind != 0 }

// Access declares who may call a route. The zero value admits nobody.
type Access struct {
	Callers Callers
	Roles   []directory.Role // a caller of the kind Session needs one of these roles

	// PartnerRefusal is the text of the refusal if a partner calls the route and the route does not admit
	// partners. If there is a text, the partner is authenticated before it is refused. If there is none, the
	// refusal says that a session of the organization is needed.
	PartnerRefusal string
}

// LedgerRoles are the roles that may read the whole ledger of an organization.
var LedgerRoles = []directory.Role{directory.Admin, directory.Auditor}

// Authorizer authenticates the caller of a request, and checks that the route admits the caller.
type Authorizer struct {
	Authenticator auth.Authenticator
	Organizations Organizations
	Proxies       *Proxies
}

// Admit sets the request's principal (the authenticated caller). Errors are *ledger.Refusal: the code is
// Unauthorized if the credentials are unknown, and Forbidden if the route does not admit the principal.
func (a *Authorizer) Admit(req *Request) error {
	route := req.Route
	if grant := grantOf(req.RequestCtx); grant != nil {
		return a.admitGranted(req, grant)
	}
	if route.Access.Callers == Anyone {
		return nil
	}
	h := &req.Request.Header
	if route.Access.Callers == Visitor {
		return a.admitVisitor(req)
	}
	credentials := auth.Credentials{
		APIKey:       h.PeekBytes(HeaderAPIKey),
		Organization: h.PeekBytes(HeaderOrganization),
		Bearer:       Bearer(h.Peek(fiber.HeaderAuthorization)),
		Source:       a.Proxies.Source(req.RequestCtx),
		IsOperator:   isOfOperator(req.RequestCtx),
	}
	if route.SoleOrganization && len(credentials.Organization) == 0 {
		if id, isSole := a.Organizations.SoleOrganization(); isSole {
			credentials.Organization = []byte(id.String())
		}
	}
	err := a.admit(req, &credentials)
	if route.ReplaceForbidden != nil && ledger.IsRefusal(err, ledger.Forbidden) {
		err = route.ReplaceForbidden(auth.Organization(credentials.Organization), err)
	}
	return err
}

// admit chooses one credential of the request, and checks whether the route admits the principal to whom the
// credential belongs. If a request has both a partner's key and a bearer token, admit uses the key if the
// route admits the administration token or does not admit the kind Session. Otherwise it uses the token.
func (a *Authorizer) admit(req *Request, credentials *auth.Credentials) (err error) {
	access := &req.Route.Access
	switch access.Callers {
	case AdminToken:
		if err = a.Authenticator.AuthenticateAdmin(credentials); err == nil {
			err = refuseSeveralOrganizations(credentials.Organization)
		}
		return err
	case PartnerKey:
		req.Principal, err = a.Authenticator.AuthenticatePartnerKey(credentials)
		return err
	}
	prefersKey := access.Callers.has(AdminToken) || !access.Callers.has(Session)
	usesKey := len(credentials.Bearer) == 0 || prefersKey && len(credentials.APIKey) != 0
	if !usesKey && access.Callers.has(AdminToken) && a.Authenticator.AuthenticateAdmin(credentials) == nil {
		req.Operator = true
		return nil
	}
	switch {
	case usesKey:
		req.Principal, err = a.Authenticator.AuthenticatePartnerKey(credentials)
	case !access.Callers.has(Session) && !access.Callers.has(PartnerSession):
		req.Principal, err = a.Authenticator.AuthenticatePartnerKey(credentials)
	case !access.Callers.has(Session):
		req.Principal, err = a.Authenticator.AuthenticatePartnerKeyOrSession(credentials)
	case access.Callers.has(PartnerSession) || access.PartnerRefusal != "":
		req.Principal, err = a.Authenticator.AuthenticateLedgerReader(credentials, access.Roles...)
	case req.Route.EndsSession:
		req.Principal, err = a.Authenticator.AuthenticateSessionToEnd(credentials, access.Roles...)
	default:
		req.Principal, err = a.Authenticator.AuthenticateSession(credentials, access.Roles...)
	}
	if err == nil && req.Principal.Partner != nil && !access.Callers.has(PartnerKey) {
		return ledger.Refuse("web.Admit", ledger.Forbidden, "%s", access.partnerRefusal())
	}
	return err
}

func (a *Access) partnerRefusal() string {
	if a.PartnerRefusal != "" {
		return a.PartnerRefusal
	}
	return "this needs a session of the organization"
}

// Bearer returns the token in an Authorization header with the scheme Bearer (RFC 6750). If the scheme is
// another one, it returns nil.
func Bearer(header []byte) []byte {
	const scheme = "Bearer "
	if len(header) > len(scheme) && strings.EqualFold(string(header[:len(scheme)]), scheme) {
		return header[len(scheme):]
	}
	return nil
}

// SeveralOrganizations is used as the organization's id if a request has the header x-organization-id more
// than once. No organization has this id.
const SeveralOrganizations = "several"

// refuseSeveralOrganizations returns an error if the request names several organizations.
func refuseSeveralOrganizations(organization []byte) error {
	if string(organization) != SeveralOrganizations {
		return nil
	}
	return ledger.RefuseField("web.refuseSeveralOrganizations", "x-organization-id", "x-organization-id must be sent once")
}
