package admin

import (
	"embed"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/apispec"
	"mizan/api/console/resource"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger/directory"
)

// Config contains the descriptions from which the pages are generated.
type Config struct {
	Catalog *apispec.Catalog
	Routes  func() []web.Route // returns the routes of the API
}

// Root is the path of the area's pages.
const Root = view.Root + "admin/"

var byAdmin = []directory.Role{directory.Admin}

//go:embed templates
var templateFiles embed.FS

var templates = view.NewTemplates(templateFiles, func(lang string) any { return textsIn(lang) })

// Handlers serves the pages.
type Handlers struct {
	records *resource.Pages
}

// New returns the handlers.
func New(cfg Config) *Handlers {
	return &Handlers{records: resource.New(resource.Area{
		Root: Root, Roles: byAdmin, Catalog: cfg.Catalog, Kinds: kinds(cfg.Catalog), Figures: figures, Routes: cfg.Routes,
	})}
}

// Pages returns the pages.
func (h *Handlers) Pages() []visit.Page {
	return append(h.records.Pages(), visit.Page{Method: fiber.MethodGet, Path: view.SearchPath, Roles: byAdmin, Handle: h.search})
}
