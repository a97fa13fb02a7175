package contracts

import (
	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/api/web/journal"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
)

// Config has the settings of the package's handlers, and the services that the handlers call.
type Config struct {
	Contracts     Service // if nil, there are no routes for contracts
	Organizations OrganizationSettings
	Journal       web.Journal
	Clock         clock.Clock

	// Fingerprint returns a keyed hash of the content of a request. It is used for requests that have an Idempotency-Key.
	Fingerprint func(content []byte) string
}

// OrganizationSettings looks up organizations, with their modules and regions. It also looks up their users and the authors of
// events.
type OrganizationSettings interface {
	Organization(ledger.ID) (*directory.Organization, bool)
	journal.Directory
}

// Handlers serves the routes for contracts in both readings.
type Handlers struct {
	cfg  Config
	keys web.IdempotencyKeys
}

// New returns the handlers.
func New(cfg Config) *Handlers {
	return &Handlers{cfg: cfg, keys: web.IdempotencyKeys{Fingerprint: cfg.Fingerprint}}
}

// v1 is the beginning of all paths of this version of the API.
const v1 = "/api/v1"

// contractors are the roles that may create contracts and act on them. contractReaders are the roles that may read contracts.
var (
	contractEditors = []directory.Role{directory.Admin, directory.Client}
	contractReaders = []directory.Role{directory.Admin, directory.Client, directory.Auditor}
)

// handler serves a request about contracts of a family. If the route does not belong to a single product, product is nil.
type handler func(req *web.Request, f *family, product *contract.Product) error

// Routes returns the routes of both families. In the secular reading each product has its own routes, and in the religious
// reading one set of routes serves all products.
func (h *Handlers) Routes() []web.Route {
	if h.cfg.Contracts == nil {
		return nil
	}
	return append(h.secularRoutes(), h.religiousRoutes()...)
}

// route returns a route that checks the conditions of the family before it calls the handler. The body of a refusal has the
// form {error, details}.
func (h *Handlers) route(f *family, method, path string, roles []directory.Role, handle handler, product *contract.Product) web.Route {
	return web.Route{
		Method: method, Path: path, Access: web.Access{Callers: web.Session, Roles: roles},
		ReplaceForbidden: func(org ledger.ID, refusal error) error { return h.replaceForbidden(f, org, refusal) },
		Handle: func(req *web.Request) error {
			if err := h.checkModule(f, req); err != nil {
				return err
			}
			return withDetails(handle(req, f, product))
		},
	}
}

// secularRoutes returns the routes of the secular reading.
func (h *Handlers) secularRoutes() (routes []web.Route) {
	add := func(method, path string, handle handler, product *contract.Product) {
		r := h.route(secularFamily, method, path, contractReaders, handle, product)
		if method == fiber.MethodPost {
			r.Access.Roles, r.Command = contractEditors, true // an action without parameters needs no body
		}
		routes = append(routes, r)
	}
	const get, post = fiber.MethodGet, fiber.MethodPost
	add(get, v1+contract.Secular.Path+"/stats", h.stats, nil)
	for _, product := range contract.Products {
		if product.Variants[contract.Secular] == nil {
			continue
		}
		base := v1 + product.Path(contract.Secular)
		add(get, base, h.listContracts, product)
		add(post, base, h.createContract, product)
		add(get, base+"/:id", h.readContract, product)
		add(get, base+"/:id/actions", h.listActions, product)
		add(get, base+"/:id/entries", h.listEntries, product)
		add(get, base+"/:id/events", h.listEvents, product)
		if product.RegisterQuery != nil {
			add(get, base+"/:id/subscriptions", h.listSubscriptions, product)
			add(get, base+"/:id/holders", h.listHolders, product)
		}
		add(get, base+"/:id/schedule.csv", h.writeSchedule, product)
		add(post, base+"/:id/:action", h.actOnContract, product)
	}
	return routes
}

// religiousRoutes returns the routes of the religious reading.
func (h *Handlers) religiousRoutes() []web.Route {
	const get, post = fiber.MethodGet, fiber.MethodPost
	gated := func(method, path string, command bool, handle handler) web.Route {
		r := h.route(religiousFamily, method, v1+contract.Religious.Path+path, contractEditors, handle, nil)
		r.Command = command
		return r
	}
	return []web.Route{
		gated(get, "/stats", false, h.stats),
		gated(get, "/regions", false, h.regions),
		gated(get, "/charity", false, h.charity),
		gated(get, "/reviews", false, h.listWaiting),
		gated(get, "/screen", true, h.screen), // GET, but still a command, because it stores the result
		gated(get, "/screen/:id", false, h.readScreening),
		gated(get, "/:product_type", false, withProductType(h.pageOfContracts)),
		gated(post, "/:product_type", true, withProductType(h.createContract)),
		gated(get, "/:product_type/:id", false, withProductType(h.readContract)),
		gated(get, "/:product_type/:id/actions", false, withProductType(h.listActions)),
		gated(get, "/:product_type/:id/review", false, withProductType(h.readReview)),
		gated(get, "/:product_type/:id/entries", false, withProductType(h.listEntries)),
		gated(get, "/:product_type/:id/events", false, withProductType(h.listEvents)),
		gated(get, "/:product_type/:id/subscriptions", false, withProductType(h.listSubscriptions)),
		gated(get, "/:product_type/:id/holders", false, withProductType(h.listHolders)),
		gated(get, "/:product_type/:id/schedule.csv", false, withProductType(h.writeSchedule)),
		gated(post, "/:product_type/:id/:action", true, withProductType(h.actOnContract)),
	}
}

// withProductType returns a handler that finds the product named by product_type in the URL path, and calls handle with that
// product.
func withProductType(handle handler) handler {
	return func(req *web.Request, f *family, _ *contract.Product) error {
		product := contract.Find(f.reading, req.Parameter("product_type"))
		if product == nil {
			return ledger.Refuse("contracts.ofType", web.BadRequest, "there is no such product_type")
		}
		return handle(req, f, product)
	}
}
