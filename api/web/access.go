package web

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Kinds is a set of kinds of principal.
type Kinds uint8

// The kinds of principal that call routes.
const (
	Anyone         Kinds = 1 << iota // no credentials are asked for
	PartnerKey                       // a partner's API key
	PartnerSession                   // a session of role partner, which acts as its partner
	AdminToken                       // the administration token
	Session                          // a session with one of the roles that the route lists
)

func (k Kinds) has(one Kinds) bool { return k&one != 0 }

// Access says who may call a route. The zero value admits nobody.
type Access struct {
	By    Kinds
	Roles []directory.Role // for the kind Session

	// Needs is the text of the refusal for a partner that the route does not admit. A route that
	// has one authenticates the partner first, to tell it so; without one the refusal asks for a
	// session of the organization.
	Needs string
}

// Overseers are the roles that read a whole organization's ledger.
var Overseers = []directory.Role{directory.Admin, directory.Auditor}

// Gate authenticates the caller of a request, and checks that the route admits it.
type Gate struct {
	Credentials   auth.Gate
	Organizations Organizations
	Proxies       Proxies
}

// Admit sets the request's principal. The error is a *ledger.Refusal: Unauthorized for unknown
// credentials, Forbidden for a principal that the route does not admit.
func (g *Gate) Admit(req *Request) error {
	route := req.Route
	if route.Access.By == Anyone {
		return nil
	}
	h := &req.Request.Header
	c := auth.Credentials{
		APIKey:       h.PeekBytes(HeaderAPIKey),
		Organization: h.PeekBytes(HeaderOrganization),
		Bearer:       Bearer(h.Peek(fiber.HeaderAuthorization)),
		Source:       g.Proxies.Source(req.RequestCtx),
	}
	if route.SoleOrganization && len(c.Organization) == 0 {
		if id, only := g.Organizations.SoleOrganization(); only {
			c.Organization = []byte(id.String())
		}
	}
	err := g.admit(req, &c)
	if route.Forbid != nil && ledger.IsRefusal(err, ledger.Forbidden) {
		err = route.Forbid(auth.Organization(c.Organization), err)
	}
	return err
}

// admit chooses the credential that counts and checks its principal against the route. If the
// route admits the administration token or no sessions, a request with a partner's key counts
// as the partner's; on other routes a bearer token has precedence over a key.
func (g *Gate) admit(req *Request, c *auth.Credentials) (err error) {
	a := &req.Route.Access
	switch a.By {
	case AdminToken:
		if err = g.Credentials.Admin(c); err == nil {
			err = namedOnce(c.Organization)
		}
		return err
	case PartnerKey:
		req.Principal, err = g.Credentials.Partner(c)
		return err
	}
	keyFirst := a.By.has(AdminToken) || !a.By.has(Session)
	byKey := len(c.Bearer) == 0 || keyFirst && len(c.APIKey) != 0
	if !byKey && a.By.has(AdminToken) && g.Credentials.Admin(c) == nil {
		req.Operator = true
		return nil
	}
	switch {
	case byKey:
		req.Principal, err = g.Credentials.Partner(c)
	case !a.By.has(Session):
		req.Principal, err = g.Credentials.Holder(c)
	case a.By.has(PartnerSession) || a.Needs != "":
		req.Principal, err = g.Credentials.Reader(c, a.Roles...)
	case req.Route.EndsSession:
		req.Principal, err = g.Credentials.Leaver(c, a.Roles...)
	default:
		req.Principal, err = g.Credentials.Session(c, a.Roles...)
	}
	if err == nil && req.Principal.Partner != nil && !a.By.has(PartnerKey) {
		return ledger.Refuse("web.Admit", ledger.Forbidden, "%s", a.needs())
	}
	return err
}

func (a *Access) needs() string {
	if a.Needs != "" {
		return a.Needs
	}
	return "this needs a session of the organization"
}

// Bearer returns the token of an Authorization header of scheme Bearer (RFC 6750).
func Bearer(header []byte) []byte {
	const scheme = "Bearer "
	if len(header) > len(scheme) && strings.EqualFold(string(header[:len(scheme)]), scheme) {
		return header[len(scheme):]
	}
	return nil
}

// SeveralOrganizations stands for the organization of a request that names several. No
// organization has this id.
const SeveralOrganizations = "several"

// namedOnce refuses a request that names several organizations.
func namedOnce(organization []byte) error {
	if string(organization) != SeveralOrganizations {
		return nil
	}
	return ledger.RefuseField("web.namedOnce", "x-organization-id", "x-organization-id must be sent once")
}
