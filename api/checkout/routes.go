package checkout

import (
	"github.com/gofiber/fiber/v2"

	"mizan/actors/provider/simulator"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Config is what New needs.
type Config struct {
	Payers   Payers
	Pages    payerpage.Pages
	Partners Partners
	Clock    clock.Clock
	Proxies  web.Proxies
	Errors   web.Errors

	// Challenges is the simulator's page; nil: there is none.
	Challenges Challenges

	// Fingerprint returns a keyed hash of a card number, so that equal ones can be recognized
	// without being stored.
	Fingerprint func(number []byte) string

	// Sandbox allows pages to lead to addresses of this machine, on which developers run their
	// shops.
	Sandbox bool
}

// Partners finds the partners of an organization.
type Partners interface {
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
}

// Handlers serves the routes of the payer's pages.
type Handlers struct {
	cfg Config
}

// New returns the handlers.
func New(cfg Config) *Handlers { return &Handlers{cfg: cfg} }

// Routes returns the family's routes: those of the pages if tokens are configured, and that of
// the simulator's challenge if Challenges is.
func (h *Handlers) Routes() (routes []web.Route) {
	if h.cfg.Payers == nil {
		return nil
	}
	const get, post = fiber.MethodGet, fiber.MethodPost
	anyone := web.Access{Callers: web.Anyone}
	if h.cfg.Pages.Tokens != nil {
		routes = append(routes,
			web.Route{Method: get, Path: payerpage.Root + "/:id", Access: anyone, Refuse: h.refuse, Handle: h.showPage},
			web.Route{Method: post, Path: payerpage.Root + "/:id", Access: anyone, Refuse: h.refuse, Command: true, Handle: h.postPage},
			web.Route{Method: get, Path: payerpage.Root + "/:id" + payerpage.ReturnEnd, Access: anyone, Refuse: h.refuse, Command: true, Handle: h.returnPayer},
			web.Route{Method: post, Path: payerpage.Root + "/:id" + payerpage.ReturnEnd, Access: anyone, Refuse: h.refuse, Command: true, Handle: h.returnPayer},
		)
	}
	if h.cfg.Challenges != nil {
		routes = append(routes,
			web.Route{Method: get, Path: simulator.ChallengePath, Access: anyone, Refuse: h.refuse, Handle: h.showChallenge},
			web.Route{Method: post, Path: simulator.ChallengePath, Access: anyone, Refuse: h.refuse, Command: true, Handle: h.postChallenge},
		)
	}
	return routes
}

// refuse responds with a page if the handler of a request did not run.
func (h *Handlers) refuse(req *web.Request, err error) error {
	return h.sendError(req, &visit{}, err)
}
