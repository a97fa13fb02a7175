package web

import (
	"bytes"
	"iter"
	"slices"

	"github.com/valyala/fasthttp"

	"mizan/api/auth"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// ConsoleAccess declares who may call a route through the console, in addition to the persons whom its Access admits.
type ConsoleAccess struct {
	// Roles contains PartnerRole if a partner's session may act as its partner's key, and Admin if an administrator may act as
	// the operator of the organization. The organization is always that of the session.
	Roles []directory.Role

	// Reserved are the members of the body that an administrator may not send, because only the administration token may set
	// them.
	Reserved []string

	// Own lets a partner's session call a route of the administration for the partner's own records. The handler must restrict
	// the request to Request.OwnPartner. The body may then have only the members in OwnMembers.
	Own        bool
	OwnMembers []string
}

// OrOwner also lets a partner's session call the route for its own records. The body may then have only the given members.
func (a ConsoleAccess) OrOwner(members ...string) ConsoleAccess {
	a.Own, a.OwnMembers = true, members
	return a
}

// ByAdmin lets an administrator of the organization call a route through the console as the organization's operator. The body may
// not have the reserved members.
func ByAdmin(reserved ...string) ConsoleAccess {
	return ConsoleAccess{Roles: []directory.Role{directory.Admin}, Reserved: reserved}
}

// ByPartner lets a session of role partner call a route through the console as its partner's key.
var ByPartner = ConsoleAccess{Roles: []directory.Role{directory.PartnerRole}}

// ByAdminOrPartner combines ByAdmin, without reserved members, and ByPartner.
var ByAdminOrPartner = ConsoleAccess{Roles: []directory.Role{directory.Admin, directory.PartnerRole}}

// Grant is the caller of an internal request: a request that the console makes to a route of this server for a person who is
// signed in. Only code of this process can attach a Grant to a request; no header or cookie can.
type Grant struct {
	Org      ledger.ID          // the organization of the request; zero: none
	Session  *directory.Session // nil: nobody is signed in, so only routes for anyone admit the request
	Partner  *directory.Partner // the partner as which the person may act; nil: none
	Operator bool               // the person has entered an administration token that is in force
}

// grantKey is the key under which the context of an internal request has its *Grant. The type is private, so no other package can
// set the value.
type grantKey struct{}

// IsInternal tells whether this process has made the request itself.
func (req *Request) IsInternal() bool { return grantOf(req.RequestCtx) != nil }

func grantOf(ctx *fasthttp.RequestCtx) *Grant {
	grant, _ := ctx.UserValue(grantKey{}).(*Grant)
	return grant
}

// admitGranted checks that the route admits the person of an internal request, and sets the request's principal.
func (a *Authorizer) admitGranted(req *Request, grant *Grant) error {
	access, console := &req.Route.Access, directory.Roles(req.Route.Console.Roles)
	req.Grant = grant
	switch {
	case access.Callers == Anyone:
	case access.Callers == Visitor:
		return refuseConsole() // the console requests only routes of the API, not its own pages
	case grant.Operator && access.Callers.has(AdminToken):
		req.Operator = true
	case grant.Session == nil:
		return ledger.Refuse("web.Admit", ledger.Unauthorized, "unauthorized")
	case access.Callers.has(Session) && grant.Session.Roles.Has(access.Roles...):
		req.Principal.Org, req.Principal.Session = grant.Org, grant.Session
	case grant.Partner != nil && (access.Callers.has(PartnerSession) || access.Callers.has(PartnerKey) && console.Has(directory.PartnerRole)):
		req.Principal.Org, req.Principal.Session, req.Principal.Partner = grant.Org, grant.Session, grant.Partner
	case grant.Session.Roles.Has(directory.Admin) && access.Callers.has(AdminToken) && console.Has(directory.Admin):
		req.Operator = true
	case grant.Partner != nil && access.Callers.has(AdminToken) && req.Route.Console.Own:
		req.Operator, req.OwnPartner = true, grant.Partner.Number
	default:
		err := refuseConsole()
		if replace := req.Route.ReplaceForbidden; replace != nil {
			return replace(grant.Org, err)
		}
		return err
	}
	return nil
}

func refuseConsole() error {
	return ledger.Refuse("web.Admit", ledger.Forbidden, "the session's role may not do this")
}

// May tells whether the person may call a route through the console (ok), and which members of its body the person may send
// (maySend).
func (g *Grant) May(route *Route) (maySend func(member string) bool, ok bool) {
	req := &Request{Route: route}
	if (&Authorizer{}).admitGranted(req, g) != nil {
		return nil, false
	}
	return func(member string) bool { return req.reservedBy(member) == "" }, true
}

// CheckReserved refuses the members of the body that the person of an internal request may not send.
func (req *Request) CheckReserved() error {
	if req.Grant == nil || req.Grant.Operator || !req.Operator {
		return nil
	}
	var problems Problems
	body, err := Document(req.Request.Body())
	if err != nil || !IsObject(body) {
		return nil // the body has no members; the handler refuses a malformed body
	}
	if params := Member(body, "params"); IsObject(params) { // if the body has an object params, handlers read only its members
		body = params
	}
	for name := range memberNames(body) {
		if who := req.reservedBy(name); who != "" {
			problems.Add(name, "only "+who+" may set this")
		}
	}
	return problems.Err()
}

// reservedBy returns "" if the person of an internal request may send a member of the body. Otherwise it returns who may send the
// member, for the text of the refusal.
func (req *Request) reservedBy(member string) (who string) {
	console := &req.Route.Console
	switch {
	case req.Grant == nil || req.Grant.Operator || !req.Operator:
		return ""
	case slices.Contains(console.Reserved, member):
		return "the administration token"
	case req.OwnPartner != 0 && !slices.Contains(console.OwnMembers, member):
		return "an administrator"
	}
	return ""
}

// memberNames returns the names of a JSON object's members.
func memberNames(object []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for members := jsonwalk.MembersOf(object); ; {
			name, _, more := members.Next()
			if !more || !yield(string(name)) {
				return
			}
		}
	}
}

// SessionCookie is the name of the cookie of a session of the console. Its value is the id of the organization, a point and the
// session's token.
const SessionCookie = "mizan_session"

// admitVisitor authenticates the person who opens a page of the console by the session in the person's cookie.
func (a *Authorizer) admitVisitor(req *Request) (err error) {
	org, token, _ := bytes.Cut(req.Request.Header.Cookie(SessionCookie), []byte{'.'})
	req.Principal, err = a.Authenticator.AuthenticateVisitor(auth.Organization(org), token, a.Proxies.Source(req.RequestCtx), req.Route.EndsSession)
	if err != nil {
		return err
	}
	if !req.Principal.Session.Roles.Has(req.Route.Access.Roles...) {
		return refuseConsole()
	}
	return nil
}
