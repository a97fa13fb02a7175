package api

import (
	"github.com/gofiber/fiber/v2"

	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// checkoutConfig is what the handlers of the payer's pages are made of.
type checkoutConfig struct {
	Payers   Payers
	Pages    Pages
	Partners Partners
	Clock    clock.Clock
	Proxies  Proxies
	Errors   Errors

	// Challenges is the simulator's page; nil: there is none.
	Challenges Challenges

	// Fingerprint tells equal card numbers from others without keeping them.
	Fingerprint func(number []byte) string

	// Sandbox lets pages lead to addresses of this machine, where shops are developed.
	Sandbox bool
}

// Partners finds the partners of an organization.
type Partners interface {
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
}

// checkoutHandlers answers the routes of the payer's pages.
type checkoutHandlers struct {
	cfg checkoutConfig
}

// newCheckout makes the handlers.
func newCheckout(cfg checkoutConfig) *checkoutHandlers { return &checkoutHandlers{cfg: cfg} }

// Routes are the routes of the family: those of the pages if there are tokens to open
// them with, and that of the simulator's challenge if it has one.
func (h *checkoutHandlers) Routes() (routes []Route) {
	if h.cfg.Payers == nil {
		return nil
	}
	const get, post = fiber.MethodGet, fiber.MethodPost
	anyone := Access{By: Anyone}
	if h.cfg.Pages.Tokens != nil {
		routes = append(routes,
			Route{Method: get, Path: payPath + "/:id", Access: anyone, Refuse: h.refuse, Handle: h.showPage},
			Route{Method: post, Path: payPath + "/:id", Access: anyone, Refuse: h.refuse, Command: true, Handle: h.postPage},
			Route{Method: get, Path: payPath + "/:id" + returnedEnd, Access: anyone, Refuse: h.refuse, Command: true, Handle: h.returnPayer},
			Route{Method: post, Path: payPath + "/:id" + returnedEnd, Access: anyone, Refuse: h.refuse, Command: true, Handle: h.returnPayer},
		)
	}
	if h.cfg.Challenges != nil {
		routes = append(routes,
			Route{Method: get, Path: simulator.ChallengePath, Access: anyone, Refuse: h.refuse, Handle: h.showChallenge},
			Route{Method: post, Path: simulator.ChallengePath, Access: anyone, Refuse: h.refuse, Command: true, Handle: h.postChallenge},
		)
	}
	return routes
}

// refuse answers as a page a request whose handler did not run.
func (h *checkoutHandlers) refuse(req *Request, err error) error {
	return h.apologise(req, &visit{}, err)
}
