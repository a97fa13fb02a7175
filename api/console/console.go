package console

import (
	"embed"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/admin"
	"mizan/api/console/apispec"
	"mizan/api/console/auditor"
	"mizan/api/console/contracts"
	"mizan/api/console/partner"
	"mizan/api/console/reconciliation"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/description/operations"
	"mizan/api/web"
	"mizan/ledger"
)

// Config contains the settings of the console, and the services that the console calls.
type Config struct {
	visit.Config
	Organizations Organizations
	Routes        func() []web.Route // returns the routes of the API
	IsNode        bool               // the server is a node of a cluster
}

// Organizations returns the service's organization if there is exactly one.
type Organizations interface {
	SoleOrganization() (ledger.ID, bool)
}

// Handlers serves the routes of the console.
type Handlers struct {
	cfg     Config
	console *visit.Console
	admin   *admin.Handlers
	partner *partner.Handlers

	contracts *contracts.Handlers
}

// catalog is the description of the API, from which the console generates pages.
var catalog = sync.OnceValue(func() *apispec.Catalog { return apispec.New(operations.Contents()) })

// New returns the handlers.
func New(cfg Config) *Handlers {
	return &Handlers{
		cfg: cfg, console: visit.New(cfg.Config),
		admin:   admin.New(admin.Config{Catalog: catalog(), Routes: cfg.Routes}),
		partner: partner.New(partner.Config{Catalog: catalog(), Routes: cfg.Routes}),

		contracts: contracts.New(contracts.Config{Catalog: catalog(), Clock: cfg.Clock}),
	}
}

// templates are the templates of this package's pages.
var templates = view.NewTemplates(templateFiles, nil)

//go:embed templates
var templateFiles embed.FS

// areas returns the pages of each area.
func (h *Handlers) areas() [][]visit.Page {
	return [][]visit.Page{
		h.ownPages(), h.settingsPages(), h.loginsPages(), h.clusterPages(),
		h.partner.Pages(), h.admin.Pages(), h.contracts.Pages(), auditor.Pages(), reconciliation.New(catalog(), h.cfg.Routes),
	}
}

// ownPages are the pages that every logged-in person may open, such as the first page.
func (h *Handlers) ownPages() []visit.Page {
	return []visit.Page{
		{Method: fiber.MethodGet, Path: view.Root, Handle: h.showHome},
		{Method: fiber.MethodPost, Path: view.Root + "logout", EndsSession: true, Handle: h.logOut},
		{Method: fiber.MethodGet, Path: visit.TokenPath, Handle: h.showToken},
		{Method: fiber.MethodPost, Path: visit.TokenPath, Handle: h.keepToken},
	}
}

// Routes returns the routes. The last route serves every path of the console that belongs to no other route.
func (h *Handlers) Routes() (routes []web.Route) {
	anyone := web.Access{Callers: web.Anyone}
	open := func(method, path string, handle func(*web.Request) error) {
		routes = append(routes, web.Route{Method: method, Path: path, Access: anyone, IsConsole: true, SkipsQueues: true, Refuse: h.console.Refuse, Handle: handle})
	}
	open(fiber.MethodGet, strings.TrimSuffix(view.Root, "/"), h.leadHome)
	open(fiber.MethodGet, view.AssetRoot+":name", h.sendAsset)
	open(fiber.MethodGet, visit.LoginPath, h.showLogin)
	open(fiber.MethodPost, visit.LoginPath, h.logIn)
	for _, pages := range h.areas() {
		routes = append(routes, h.console.Routes(pages...)...)
	}
	return append(routes, h.console.Routes(visit.Page{Method: fiber.MethodGet, Path: view.Root + "*", Handle: showNotFound})...)
}

// Refuse responds with an error page to a request that no route of the console serves.
func (h *Handlers) Refuse(req *web.Request, err error) error { return h.console.Refuse(req, err) }

// leadHome is GET /console. It redirects to the first page.
func (h *Handlers) leadHome(req *web.Request) error {
	v, err := h.console.AnonymousVisit(req)
	if err != nil {
		return v.Fail(err)
	}
	return v.Redirect(view.Root+queryOf(v), false)
}

// queryOf returns the query of the request, including the question mark. If there is no query, the result is empty.
func queryOf(v *visit.Visit) string {
	if query := v.QueryArgs().QueryString(); len(query) > 0 {
		return "?" + string(query)
	}
	return ""
}

// homePage is the data for the first page.
type homePage struct{ Welcome string }

// showHome is GET /console/. A person who acts for a partner sees the partner's figures; everybody else sees links to the pages
// that the person may open.
func (h *Handlers) showHome(v *visit.Visit) error {
	if v.Partner() != nil {
		return h.partner.Home(v)
	}
	return v.Show(templates, "home", visit.PageContent{Title: v.T.Home.Title, Page: homePage{v.T.Fill(v.T.Home.Welcome, "organization", v.Org.Name)}})
}

// showNotFound responds with 404 to every path of the console that has no page.
func showNotFound(*visit.Visit) error {
	return ledger.Refuse("console.showNothing", ledger.NotFound, "there is nothing at this path")
}

var (
	headerEncoding = []byte(fiber.HeaderContentEncoding)
	headerVary     = []byte(fiber.HeaderVary)
	valueGzip      = []byte("gzip")
	valueEncoding  = []byte(fiber.HeaderAcceptEncoding)
	valueImmutable = []byte("public, max-age=31536000, immutable")
)

// sendAsset sends a file. A file gets a new address when its content changes, so browsers may cache the file forever.
func (h *Handlers) sendAsset(req *web.Request) error {
	asset, found := view.AssetNamed(req.Parameter("name"))
	if !found {
		return h.console.Refuse(req, ledger.Refuse("console.sendAsset", ledger.NotFound, "there is no such file"))
	}
	header := &req.Response.Header
	header.SetContentType(asset.ContentType)
	header.SetCanonical(web.HeaderNoSniff, web.ValueNoSniff)
	header.SetCanonical(web.HeaderCache, valueImmutable)
	header.SetCanonical(headerVary, valueEncoding)
	if req.Request.Header.HasAcceptEncodingBytes(valueGzip) {
		header.SetCanonical(headerEncoding, valueGzip)
		req.Response.SetBodyRaw(asset.Compressed)
		return nil
	}
	req.Response.SetBodyRaw(asset.Content)
	return nil
}
