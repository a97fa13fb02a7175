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

// ConsoleAccess declares which persons may call a route through the console, besides those whom the route's Access admits.
type ConsoleAccess struct {
	// If Roles contains PartnerRole, a partner's session may call the route like the partner's API key. If it contains Admin,
	// an administrator may call the route like the operator, but only for the administrator's own organization.
	Roles []directory.Role

	// Reserved are members of the body that an administrator may not send, because they are reserved for the administration
	// token.
	Reserved []string

	// If Own is true, a partner's session may call a route of the administration for the partner's own records. The handler
	// must then restrict the request to the partner Request.OwnPartner, and the body may have only the members in OwnMembers.
	Own        bool
	OwnMembers []string
}

// OrOwner returns a copy of a that also lets a partner's session call the route for the partner's own records. The body of such
// a call may have only the given members.
func (a ConsoleAccess) OrOwner(members ...string) ConsoleAccess {
	a.Own, a.OwnMembers = true, members
	return a
}

// ByAdmin lets an administrator of the organization call a route through the console, in the role of the organization's
// operator. The body may not have the reserved members.
func ByAdmin(reserved ...string) ConsoleAccess {
	return ConsoleAccess{Roles: []directory.Role{directory.Admin}, Reserved: reserved}
}

// ByPartner lets a session with the role partner call a route through the console, as if the partner's API key called it.
var ByPartner = ConsoleAccess{Roles: []directory.Role{directory.PartnerRole}}

// ByAdminOrPartner combines ByAdmin (without reserved members) and ByPartner.
var ByAdminOrPartner = ConsoleAccess{Roles: []directory.Role{directory.Admin, directory.PartnerRole}}

// Grant says who makes an internal request, that is, a request that the console sends to a route of this server for a person
// who is signed in. Only code in this process can attach a Grant to a request. A client can't do so with headers or cookies.
type Grant struct {
	Org      ledger.ID          // the organization of the request; zero if none
	Session  *directory.Session // nil if nobody is signed in; then only routes for anyone admit the request
	Partner  *directory.Partner // the partner for which the person may act; nil if none
	Operator bool               // the person has entered a valid administration token
}

// grantKey is the key for the *Grant in the context of an internal request. The type is not exported, so no other package can
// set the value.
type grantKey struct{}

// IsInternal tells whether the console in this process made the request, and not a client.
func (req *Request) IsInternal() bool { return grantOf(req.RequestCtx) != nil }

func grantOf(ctx *fasthttp.RequestCtx) *Grant {
	grant, _ := ctx.UserValue(grantKey{}).(*Grant)
	return grant
}

// admitGranted checks that the route admits the person for whom an internal request is made, and sets the request's principal.
func (a *Authorizer) admitGranted(req *Request, grant *Grant) error {
	access, console := &req.Route.Access, directory.Roles(req.Route.Console.Roles)
	req.Grant = grant
	switch {
	case access.Callers == Anyone:
	case access.Callers == Visitor:
		return refuseConsole() // the console makes internal requests only to the API, not to its own pages
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

// May tells whether the person may call the route through the console (ok). maySend tells whether the person may send a member
// of the route's body.
func (g *Grant) May(route *Route) (maySend func(member string) bool, ok bool) {
	req := &Request{Route: route}
	if (&Authorizer{}).admitGranted(req, g) != nil {
		return nil, false
	}
	return func(member string) bool { return req.reservedBy(member) == "" }, true
}

// CheckReserved returns an error if the body of an internal request has members that the person may not send.
func (req *Request) CheckReserved() error {
	if req.Grant == nil || req.Grant.Operator || !req.Operator {
		return nil
	}
	var problems Problems
	body, err := Document(req.Request.Body())
	if err != nil || !IsObject(body) {
		return nil // there are no members to check; if the body is malformed, the handler refuses it
	}
	if params := Member(body, "params"); IsObject(params) { // if there is an object params, handlers read only its members
		body = params
	}
	for name := range memberNames(body) {
		if who := req.reservedBy(name); who != "" {
			problems.Add(name, "only "+who+" may set this")
		}
	}
	return problems.Err()
}

// reservedBy returns who may send a member of the body, for the text of the refusal. If the person for whom the internal
// request is made may send it, reservedBy returns "".
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

// SessionCookie is the name of the cookie that identifies a session of the console. The cookie's value is the id of the
// organization, a point and the session's token.
const SessionCookie = "mizan_session"

// admitVisitor authenticates a person who opens a page of the console. The person's cookie identifies the session.
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
