package visit

import (
	"errors"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/view"
	"mizan/api/web"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Page declares a page of the console, or an address to which a form is posted.
type Page struct {
	Method, Path string           // a page with GET also responds to HEAD
	Roles        []directory.Role // the person needs one of these roles; nil if any role suffices
	MaxBody      int              // greatest length of the form in bytes; 0 for the default
	Upload       bool             // the form uploads a file, so its encoding is multipart/form-data
	EndsSession  bool             // the page signs the person out, so people of a deactivated partner may also open it
	Handle       func(*Visit) error
}

// Config has what the console needs from the rest of the server.
type Config struct {
	Internal *web.Internal
	Errors   web.Errors
	Proxies  *web.Proxies
	People   People
	Clock    clock.Clock
	Base     string // scheme and host of the service's own URLs

	// LedgerReaderIsHere is called whenever a person who may read an organization's whole ledger opens a page. The ledger's
	// sums are then prepared, so that they are ready when the person looks at them. The function returns at once.
	LedgerReaderIsHere func(org ledger.ID)
}

// People finds the organization and the user who are signed in, and checks administration tokens.
type People interface {
	Organization(id ledger.ID) (*directory.Organization, bool)
	User(org, id ledger.ID) (*directory.User, bool)
	AdminToken(token []byte) bool
}

// Console makes the routes that serve the console's pages.
type Console struct {
	cfg    Config
	exists map[string]bool // paths of the pages that respond to GET
	tokens operatorTokens
}

// New returns a console that has no pages yet.
func New(cfg Config) *Console { return &Console{cfg: cfg, exists: make(map[string]bool)} }

// Routes returns the routes that serve the given pages. It may be called several times; the menu has the pages of all calls.
func (c *Console) Routes(pages ...Page) (routes []web.Route) {
	for _, p := range pages {
		if p.Method == fiber.MethodGet {
			c.exists[p.Path] = true
		}
		roles := p.Roles
		if roles == nil {
			roles = directory.AllRoles
		}
		routes = append(routes, web.Route{
			Method: p.Method, Path: p.Path, Access: web.Access{Callers: web.Visitor, Roles: roles}, MaxBody: p.MaxBody,
			EndsSession: p.EndsSession, IsConsole: true, SkipsQueues: true, Refuse: c.Refuse, Handle: func(req *web.Request) error { return c.serve(req, &p) },
		})
	}
	return routes
}

// serve calls the handler of a page. If a form was posted, serve first reads and checks the form. If the handler fails, serve
// responds with an error page.
func (c *Console) serve(req *web.Request, p *Page) error {
	v := c.newVisit(req)
	if !req.IsGet() && !req.IsHead() {
		if err := v.readForm(p.Upload); err != nil {
			return v.Fail(err)
		}
	}
	if err := p.Handle(v); err != nil {
		return v.Fail(err)
	}
	return nil
}

// Refuse responds to a request that was refused before its handler ran. If the person is not signed in, Refuse redirects to the
// login page.
func (c *Console) Refuse(req *web.Request, err error) error {
	var refusal *ledger.Refusal
	if errors.As(err, &refusal) && refusal.Code == ledger.Unauthorized {
		organization := string(req.QueryArgs().Peek(OrganizationParam))
		req.QueryArgs().Del(OrganizationParam)
		next := view.Root
		switch {
		case wantsPart(req):
			if page, err := url.Parse(string(req.Request.Header.Peek(headerPage))); err == nil {
				next = page.RequestURI()
			}
		case req.IsGet():
			next = string(req.URI().RequestURI())
		}
		ended := len(req.Request.Header.Cookie(web.SessionCookie)) > 0
		return redirect(req, loginAddress(next, organization, ended))
	}
	return c.newVisit(req).Fail(err)
}
