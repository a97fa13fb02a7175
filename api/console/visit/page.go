package visit

import (
	"errors"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/view"
	"mizan/api/web"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Page declares a page of the console, or the target of a page's form.
type Page struct {
	Method, Path string           // a GET serves HEAD too
	Roles        []directory.Role // the person needs one of these roles; nil: any role
	MaxBody      int              // greatest length of the form in bytes; 0: the default bound
	Upload       bool             // the form has a file, so its encoding is multipart/form-data
	EndsSession  bool             // the page signs the person out, so a person of a deactivated partner may call it too
	Handle       func(*Visit) error
}

// Config has the services that visits call.
type Config struct {
	Internal *web.Internal
	Errors   web.Errors
	Proxies  *web.Proxies
	People   People
	Clock    clock.Clock
	Base     string // scheme and host of the service's own addresses

	// LedgerReaderIsHere is called for each page of a person who reads a whole organization's ledger, so that the sums of the
	// ledger are ready when the person looks at them. It returns at once.
	LedgerReaderIsHere func(org ledger.ID)
}

// People finds the person who is signed in.
type People interface {
	Organization(id ledger.ID) (*directory.Organization, bool)
	User(org, id ledger.ID) (*directory.User, bool)
	AdminToken(token []byte) bool
}

// Console makes the routes of pages.
type Console struct {
	cfg    Config
	exists map[string]bool // the paths of pages with GET
	tokens operatorTokens
}

// New returns the console without pages.
func New(cfg Config) *Console { return &Console{cfg: cfg, exists: make(map[string]bool)} }

// Routes returns the routes of the pages. Routes may be called several times: the menu shows the pages of all calls.
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

// serve reads and checks the posted form, if there is one, calls the handler of a page, and responds to its error.
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

// Refuse responds to a request that was refused before its handler ran. A person who is not signed in is redirected to the login.
func (c *Console) Refuse(req *web.Request, err error) error {
	var refusal *ledger.Refusal
	if errors.As(err, &refusal) && refusal.Code == ledger.Unauthorized {
		organization := string(req.QueryArgs().Peek(OrganizationParam))
		req.QueryArgs().Del(OrganizationParam)
		next := view.Root
		if req.IsGet() {
			next = string(req.URI().RequestURI())
		}
		ended := len(req.Request.Header.Cookie(web.SessionCookie)) > 0
		return redirect(req, loginAddress(next, organization, ended))
	}
	return c.newVisit(req).Fail(err)
}
