package checkout

import (
	"github.com/gofiber/fiber/v2"

	"mizan/actors/provider/simulator"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/storefront"
)

// Config contains the settings of the handlers of payers' pages, and the services that the handlers call.
type Config struct {
	Payers   Payers
	Pages    payerpage.Pages
	Partners Partners

	// Storefront finds payment links, products and images. If it is nil, there are no pages of links and products.
	Storefront Storefront

	Clock   clock.Clock
	Proxies *web.Proxies
	Errors  web.Errors

	// Challenges finds the simulator's challenges; nil if there is no simulator.
	Challenges Challenges

	// Fingerprint returns a keyed hash of a card number. Two equal numbers can be recognized by their hashes, without being
	// stored.
	Fingerprint func(number []byte) string

	// If Sandbox is set, pages may link and redirect to http URLs of this machine, because developers run their shops on it.
	Sandbox bool
}

// Partners finds organizations and their partners.
type Partners interface {
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
	Organization(org ledger.ID) (*directory.Organization, bool)
}

// Handlers serves the routes of the payers' pages.
type Handlers struct {
	cfg       Config
	creations *addressLimits
	attempts  *addressLimits
	keptForms *keptForms
}

// New returns the handlers.
func New(cfg Config) *Handlers {
	return &Handlers{
		cfg: cfg, creations: newAddressLimits(creationsPerMinute), attempts: newAddressLimits(attemptsPerMinute), keptForms: newKeptForms(keptFormLifetime),
	}
}

// Routes returns the routes of the payers' pages if Pages.Tokens is set, and the routes of the simulator's challenge if
// Challenges is set.
func (h *Handlers) Routes() (routes []web.Route) {
	if h.cfg.Payers == nil {
		return nil
	}
	const get, post = fiber.MethodGet, fiber.MethodPost
	anyone := web.Access{Callers: web.Anyone}
	if h.cfg.Pages.Tokens != nil {
		routes = append(routes,
			web.Route{Method: get, Path: payerpage.Root + "/:id", Access: anyone, Refuse: h.Refuse, Handle: h.showPage},
			web.Route{Method: post, Path: payerpage.Root + "/:id", Access: anyone, Refuse: h.Refuse, Command: true, Handle: h.postPage},
			web.Route{Method: get, Path: payerpage.Root + "/:id" + payerpage.ReceiptEnd, Access: anyone, Refuse: h.Refuse, Handle: h.showReceipt},
			web.Route{Method: get, Path: payerpage.Root + "/:id" + payerpage.ReturnEnd, Access: anyone, Refuse: h.Refuse, Command: true, Handle: h.returnPayer},
			web.Route{Method: post, Path: payerpage.Root + "/:id" + payerpage.ReturnEnd, Access: anyone, Refuse: h.Refuse, Command: true, Handle: h.returnPayer},
		)
	}
	if h.cfg.Pages.Tokens != nil && h.cfg.Storefront != nil {
		link, product := storefront.LinkPath+":id", storefront.ProductPath+":id"
		routes = append(routes,
			web.Route{Method: get, Path: link, Access: anyone, Refuse: h.Refuse, Handle: h.showLink},
			web.Route{Method: post, Path: link, Access: anyone, Refuse: h.Refuse, Command: true, Handle: h.postLink},
			web.Route{Method: get, Path: link + storefront.QRSuffix, Access: anyone, Refuse: h.Refuse, Handle: h.sendLinkCodeSVG},
			web.Route{Method: get, Path: link + storefront.PNGSuffix, Access: anyone, Refuse: h.Refuse, Handle: h.sendLinkCodePNG},
			web.Route{Method: get, Path: product, Access: anyone, Refuse: h.Refuse, Handle: h.showProduct},
			web.Route{Method: post, Path: product, Access: anyone, Refuse: h.Refuse, Command: true, Handle: h.postProduct},
			web.Route{Method: get, Path: product + storefront.QRSuffix, Access: anyone, Refuse: h.Refuse, Handle: h.sendProductCodeSVG},
			web.Route{Method: get, Path: product + storefront.PNGSuffix, Access: anyone, Refuse: h.Refuse, Handle: h.sendProductCodePNG},
			web.Route{Method: get, Path: storefront.ImagePath + ":name", Access: anyone, Refuse: h.Refuse, Handle: h.showImage},
		)
	}
	if h.cfg.Pages.Tokens != nil {
		routes = append(routes,
			web.Route{Method: get, Path: "/favicon.ico", Access: anyone, Refuse: h.Refuse, Handle: h.showIcon},
			web.Route{Method: get, Path: payerpage.Root + "/*", Access: anyone, Refuse: h.Refuse, Handle: h.showNothing},
		)
	}
	if h.cfg.Challenges != nil {
		routes = append(routes,
			web.Route{Method: get, Path: simulator.ChallengePath, Access: anyone, Refuse: h.Refuse, Handle: h.showChallenge},
			web.Route{Method: post, Path: simulator.ChallengePath, Access: anyone, Refuse: h.Refuse, Command: true, Handle: h.postChallenge},
		)
	}
	return routes
}

// Refuse responds with an error page to a request that was refused before its handler ran.
func (h *Handlers) Refuse(req *web.Request, err error) error {
	return h.sendError(req, &visitor{}, err)
}
