package contracts

import (
	"embed"
	"net/url"
	"path"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/labels"
	"mizan/api/console/resource"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
)

// Config contains what the pages need: the API's description and the clock.
type Config struct {
	Catalog *apispec.Catalog
	Clock   clock.Clock
}

// Root is the path of the area's first page.
const Root = view.Root + "contracts"

// Handlers serves the pages.
type Handlers struct {
	cfg        Config
	families   []*family
	operations map[string]*apispec.Operation // by method and path
}

// family serves the pages of one reading, which is the secular or the religious form of the contracts.
type family struct {
	handlers *Handlers
	reading  *contract.Reading
	name     string // in addresses
	kinds    []*kind
}

// kind is a product (a type of contract) in one reading.
type kind struct {
	*family
	product *contract.Product
	name    string // as it appears in addresses and texts
	create  *apispec.Operation
	list    *apispec.Operation
	read    *apispec.Operation
}

//go:embed all:templates
var templateFiles embed.FS

var templates = view.NewTemplates(templateFiles, func(lang string) any { return textsIn(lang) })

// New returns the handlers.
func New(cfg Config) *Handlers {
	h := &Handlers{cfg: cfg, operations: make(map[string]*apispec.Operation)}
	for _, o := range cfg.Catalog.Operations() {
		h.operations[o.Method+" "+o.Path] = o
	}
	for _, reading := range contract.Readings {
		f := &family{handlers: h, reading: reading, name: path.Base(reading.Path)}
		for _, product := range contract.Products {
			if variant := product.Variants[reading]; variant != nil {
				k := &kind{family: f, product: product, name: variant.Name}
				k.create, k.list, k.read = h.operation(fiber.MethodPost, k.api("")), h.operation(fiber.MethodGet, k.api("")), h.operation(fiber.MethodGet, k.api("{id}"))
				f.kinds = append(f.kinds, k)
			}
		}
		h.families = append(h.families, f)
	}
	return h
}

// apiRoot is the prefix of the API's paths.
const apiRoot = "/api/v1"

// operation returns the API operation with the given method and path. If there is no such operation, it panics.
func (h *Handlers) operation(method, path string) *apispec.Operation {
	o := h.operations[method+" "+path]
	if o == nil {
		panic("contracts: the description has no " + method + " " + path)
	}
	return o
}

// api returns the path of an API route for the reading, and path returns the path of a page in the console.
func (f *family) api(below string) string  { return apiRoot + f.reading.Path + "/" + below }
func (f *family) path(below string) string { return Root + "/" + f.name + "/" + below }

// screeningPath returns the path prefix of the pages of screenings. If the family has no screenings, it is empty.
func (f *family) screeningPath() string {
	if !f.reading.ReviewFirst {
		return ""
	}
	return f.path("screening/")
}

// api returns the path of an API route for one of the product's contracts or, if id is empty, for all of them. path returns the
// path of a page in the console.
func (k *kind) api(id string, below ...string) string {
	return path.Join(append([]string{apiRoot + k.product.Path(k.reading), id}, below...)...)
}

func (k *kind) path(below ...string) string {
	return path.Join(append([]string{k.family.path(k.name)}, below...)...)
}

// roles are the roles that the API admits to the contracts of both readings.
var roles = []directory.Role{directory.Admin, directory.Client}

// Pages returns the pages.
func (h *Handlers) Pages() (pages []visit.Page) {
	get := func(path string, handle func(*visit.Visit) error) {
		pages = append(pages, visit.Page{Method: fiber.MethodGet, Path: path, Roles: roles, Handle: handle})
	}
	both := func(path string, handle func(*visit.Visit) error) {
		get(path, handle)
		pages = append(pages, visit.Page{Method: fiber.MethodPost, Path: path, Roles: roles, Handle: handle})
	}
	get(Root, func(v *visit.Visit) error { return h.overview(v, h.families) })
	for _, f := range h.families {
		get(Root+"/"+f.name, func(v *visit.Visit) error { return h.overview(v, []*family{f}) })
		if f.reading.ReviewFirst {
			get(f.path("review"), f.worklist)
			both(f.path("screening"), f.screen)
			get(f.path("screening/:id"), f.showScreening)
			get(f.path("charity"), f.charity)
		}
		get(f.path(":product_type"), f.of((*kind).showList))
		both(f.path(":product_type/new"), f.of((*kind).showCreation))
		get(f.path(":product_type/:id"), f.of((*kind).show))
		get(f.path(":product_type/:id/schedule.csv"), f.of((*kind).sendSchedule))
		get(f.path(":product_type/:id/entries"), f.of((*kind).showEntries))
		get(f.path(":product_type/:id/events"), f.of((*kind).showEvents))
		get(f.path(":product_type/:id/holders"), f.of(ofRegister((*kind).showHolders)))
		get(f.path(":product_type/:id/subscriptions"), f.of(ofRegister((*kind).showSubscriptions)))
		both(f.path(":product_type/:id/:action"), f.of((*kind).act))
	}
	return pages
}

// of returns a handler that finds the product that the URL path names, and calls handle with this product.
func (f *family) of(handle func(*kind, *visit.Visit) error) func(*visit.Visit) error {
	return func(v *visit.Visit) error {
		for _, k := range f.kinds {
			if k.name == v.Parameter("product_type") {
				return handle(k, v)
			}
		}
		return notFound()
	}
}

func notFound() error {
	return ledger.Refuse("contracts.notFound", ledger.NotFound, "there is no such page")
}

// idOf returns the contract's id from the URL path.
func idOf(v *visit.Visit) (string, error) {
	id, err := uuid.Parse(v.Parameter("id"))
	if err != nil {
		return "", notFound()
	}
	return id.String(), nil
}

// fetch reads the contract that the URL path names.
func (k *kind) fetch(v *visit.Visit) (id string, record map[string]any, err error) {
	if id, err = idOf(v); err != nil {
		return "", nil, err
	}
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: k.api(id)})
	if refused := answer.Refusal(); refused != nil {
		return "", nil, refused
	}
	return id, dataOf(answer.Body), nil
}

// dataOf returns the record that a response contains.
func dataOf(body []byte) map[string]any {
	data, _ := form.ReadObject(body)["data"].(map[string]any)
	return data
}

// rows reads a page of a list. If the query is wrong, the error is a *web.RefusedError with status 422.
func rows(v *visit.Visit, path string, query url.Values) (list []map[string]any, next string, err error) {
	return resource.ReadRows(v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: path, Query: query}))
}

// labelsOf returns the labels in the page's language, and textsOf returns the texts that only this area has.
func labelsOf(v *visit.Visit) *labels.Texts { return labels.In(v.T.Lang) }
func textsOf(v *visit.Visit) *Texts         { return textsIn(v.T.Lang) }

// crumbs returns links to the pages above a page of the family.
func (f *family) crumbs(v *visit.Visit, more ...view.Crumb) []view.Crumb {
	first := []view.Crumb{{Title: labelsOf(v).Record("contracts"), Path: Root}, {Title: textsOf(v).Families[f.name], Path: Root + "/" + f.name}}
	return append(first, more...)
}

// crumbs returns links to the pages above a page of the product.
func (k *kind) crumbs(v *visit.Visit, more ...view.Crumb) []view.Crumb {
	return k.family.crumbs(v, append([]view.Crumb{{Title: labelsOf(v).Record(k.name), Path: k.path()}}, more...)...)
}

// crumb returns the link to the page of a contract.
func (k *kind) crumb(id string, record map[string]any) view.Crumb {
	return view.Crumb{Title: textIn(record, "contract_number"), Path: k.path(id)}
}

func textIn(record map[string]any, name string) string {
	text, _ := record[name].(string)
	return text
}
