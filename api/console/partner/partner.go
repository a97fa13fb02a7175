package partner

import (
	"embed"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/apispec"
	"mizan/api/console/labels"
	"mizan/api/console/resource"
	"mizan/api/console/texts"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger/directory"
)

// Config has the description and the routes of the API, from which the pages are made.
type Config struct {
	Catalog *apispec.Catalog
	Routes  func() []web.Route // returns the routes of the API
}

// Handlers serves the pages.
type Handlers struct {
	catalog *apispec.Catalog
	areas   []*resource.Pages
}

// Paths of pages.
const (
	paymentsPath      = view.Root + "payments"
	balancesPath      = view.Root + "balances"
	webhooksPath      = view.Root + "webhooks"
	brandingPath      = view.Root + "settings/branding"
	v1                = "/api/v1"
	maxPicture        = 5<<20 + 64<<10 // greatest length in bytes of a form with a picture, the same as for POST /images
	pictureField      = "image"
	statementFileName = "statement.csv"
)

var (
	byPartner  = []directory.Role{directory.PartnerRole}
	byPayments = []directory.Role{directory.Admin, directory.PartnerRole}
)

// New returns the handlers.
func New(cfg Config) *Handlers {
	h := &Handlers{catalog: cfg.Catalog}
	links := map[string]string{"transaction_id": paymentsPath + "/", "initial_payment_id": paymentsPath + "/", "last_transaction_id": paymentsPath + "/"}
	h.areas = []*resource.Pages{
		resource.New(resource.Area{Root: view.Root, Roles: byPartner, Catalog: cfg.Catalog, Kinds: h.kinds(), Links: links, Routes: cfg.Routes}),
		resource.New(resource.Area{Root: webhooksPath + "/", Roles: byPartner, Catalog: cfg.Catalog, Kinds: notificationKinds(), Links: links, Routes: cfg.Routes}),
	}
	return h
}

// Pages returns the pages.
func (h *Handlers) Pages() (pages []visit.Page) {
	const get, post = fiber.MethodGet, fiber.MethodPost
	pages = []visit.Page{
		{Method: get, Path: paymentsPath, Roles: byPayments, Handle: h.listPayments},
		{Method: get, Path: paymentsPath + "/:id", Roles: byPayments, Handle: h.showPayment},
		{Method: get, Path: balancesPath, Roles: byPartner, Handle: h.showBalances},
		{Method: get, Path: balancesPath + "/statement", Roles: byPartner, Handle: h.showStatement},
		{Method: get, Path: balancesPath + "/" + statementFileName, Roles: byPartner, Handle: h.sendStatement},
		{Method: get, Path: webhooksPath, Roles: byPartner, Handle: h.showWebhooks},
		{Method: post, Path: webhooksPath, Roles: byPartner, Handle: h.saveAddress},
		{Method: post, Path: webhooksPath + "/secret", Roles: byPartner, Handle: h.newSecret},
		{Method: get, Path: brandingPath, Roles: byPartner, Handle: h.changeBranding},
		{Method: post, Path: brandingPath, Roles: byPartner, Handle: h.changeBranding},
	}
	for _, o := range operations {
		handle := func(v *visit.Visit) error { return h.operate(v, o) }
		pages = append(pages, visit.Page{Method: get, Path: paymentsPath + "/:id/" + o.name, Roles: byPartner, Handle: handle},
			visit.Page{Method: post, Path: paymentsPath + "/:id/" + o.name, Roles: byPartner, Handle: handle})
	}
	for _, p := range pictured {
		pages = append(pages, visit.Page{Method: post, Path: p.page, Roles: byPartner, MaxBody: maxPicture, Upload: true,
			Handle: func(v *visit.Visit) error { return h.takePicture(v, p) }})
	}
	for _, area := range h.areas {
		pages = append(pages, area.Pages()...)
	}
	for i := range pages {
		if p := &pages[i]; p.Method == get && p.Path == webhooksPath+"/deliveries" {
			p.Handle = choosingReceiver(p.Handle)
		}
	}
	return pages
}

//go:embed all:templates
var templateFiles embed.FS

//go:embed catalog
var catalogFiles embed.FS

//go:embed assets
var assetFiles embed.FS

var templates = view.NewTemplates(templateFiles, func(lang string) any { return textsIn(lang) })

// files has the addresses of the package's style sheets and scripts.
var files = struct{ Style, Chart, UPlot, UPlotStyle string }{
	addAsset("partner.css"), addAsset("chart.js"), addAsset("uPlot.iife.min.js"), addAsset("uPlot.min.css"),
}

func addAsset(name string) (address string) {
	content, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		panic(err)
	}
	return view.AddAsset(name, content)
}

// catalogs has the texts of each language.
var catalogs = func() map[string]*Texts {
	loaded := texts.Load[Texts](catalogFiles)
	for lang, t := range loaded {
		t.Texts = labels.In(lang)
	}
	return loaded
}()

// Files returns the addresses of the style sheets and scripts that only pages of this package load.
func (t *Texts) Files() any { return files }

// textsIn returns the texts in the given language, or in English if the console does not have that language.
func textsIn(lang string) *Texts { return catalogs[texts.In(lang).Lang] }

// textsOf returns the texts in the language of the visited page.
func textsOf(v *visit.Visit) *Texts { return textsIn(v.T.Lang) }
