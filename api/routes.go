package api

import (
	"github.com/gofiber/fiber/v2"

	"mizan/actors/provider/simulator"
)

// table is every route that there is.
func (s *Server) table() []route {
	const (
		get, post, put, patch, del = fiber.MethodGet, fiber.MethodPost, fiber.MethodPut, fiber.MethodPatch, fiber.MethodDelete
		v1                         = "/api/v1"
	)
	routes := []route{
		{method: get, path: v1 + "/health", access: open, handle: (*Server).health},

		{method: post, path: transactionsPath, access: partner, body: true, command: true, handle: (*Server).createTransaction},
		{method: get, path: transactionsPath, access: partner, handle: (*Server).listTransactions},
		{method: get, path: transactionsPath + "/aggregate", access: partner, handle: newAggregates().answer}, // before :id
		{method: get, path: transactionsPath + "/:id", access: partner, handle: (*Server).readTransaction},
		{method: put, path: transactionsPath + "/:id", access: partner, body: true, command: true, handle: (*Server).changeTransaction},
		{method: post, path: transactionsPath + "/commit/:id", access: partner, command: true, handle: (*Server).commitTransaction}, // the body may be absent
		{method: post, path: transactionsPath + "/continue/:id", access: partner, body: true, command: true, handle: (*Server).continueTransaction},
		{method: post, path: transactionsPath + "/additional_params_for_auth/:id", access: partner, body: true, command: true, handle: (*Server).completeTransaction},
		{method: post, path: transactionsPath + "/choose_target_destination/:id", access: partner, command: true, handle: (*Server).chooseDestination}, // without one: its own 400
		{method: get, path: v1 + "/balances", access: partner, handle: (*Server).listBalances},

		{method: post, path: v1 + "/organizations", access: admin, body: true, command: true, handle: (*Server).createOrganization},
		{method: get, path: v1 + "/organizations", access: admin, handle: (*Server).listOrganizations},
		{method: get, path: v1 + "/organizations/:id", access: admin, handle: (*Server).readOrganization},
		{method: patch, path: v1 + "/organizations/:id", access: admin, body: true, command: true, handle: (*Server).patchOrganization},
		{method: post, path: v1 + "/partners", access: admin, body: true, command: true, handle: (*Server).createPartner},
		{method: get, path: v1 + "/partners", access: admin, handle: (*Server).listPartners},
		{method: get, path: v1 + "/partners/:id", access: admin, handle: (*Server).readPartner},
		{method: patch, path: v1 + "/partners/:id", access: admin, body: true, command: true, handle: (*Server).patchPartner},
		{method: del, path: v1 + "/partners/:id", access: admin, command: true, handle: (*Server).deletePartner},
		{method: post, path: v1 + "/terminal", access: admin, body: true, command: true, handle: (*Server).createTerminal},
		{method: get, path: v1 + "/terminals", access: admin, handle: (*Server).listTerminals},
		{method: get, path: v1 + "/terminal/:id", access: admin, handle: (*Server).readTerminal},
		{method: patch, path: v1 + "/terminal/:id", access: admin, body: true, command: true, handle: (*Server).patchTerminal},
		{method: del, path: v1 + "/terminal/:id", access: admin, command: true, handle: (*Server).deleteTerminal},
		{method: post, path: v1 + "/api_keys", access: admin, body: true, command: true, handle: (*Server).createKey},
		{method: get, path: v1 + "/api_keys", access: admin, handle: (*Server).listKeys},
		{method: del, path: v1 + "/api_keys/:id", access: admin, command: true, handle: (*Server).revokeKey},
		{method: put, path: v1 + "/rates", access: admin, body: true, command: true, handle: (*Server).putRate},
		{method: get, path: v1 + "/rates", access: admin, handle: (*Server).listRates},

		{method: get, path: v1 + "/ledger/accounts", access: reader, handle: (*Server).listAccounts},
		{method: get, path: v1 + "/ledger/accounts/:path", access: reader, handle: (*Server).readAccount},
		{method: get, path: v1 + "/ledger/accounts/:path/postings", access: reader, handle: (*Server).readStatement},
		{method: get, path: v1 + "/ledger/trial-balance", access: reader, handle: (*Server).trialBalance},
		{method: get, path: v1 + "/ledger/entries", access: reader, handle: (*Server).listEntries},
		{method: get, path: v1 + "/ledger/entries/:seq", access: reader, handle: (*Server).readEntry},
		{method: get, path: v1 + "/ledger/events", access: reader, handle: (*Server).listEvents},
		{method: get, path: v1 + "/ledger/head", access: auditor, handle: (*Server).readHead},
	}
	if s.cfg.Pages.Tokens != nil && s.cfg.Payers != nil {
		routes = append(routes,
			route{method: get, path: payPath + "/:id", access: open, handle: (*Server).showPage},
			route{method: post, path: payPath + "/:id", access: open, command: true, handle: (*Server).postPage},
			route{method: get, path: payPath + "/:id" + returnedEnd, access: open, command: true, handle: (*Server).returnPayer},
			route{method: post, path: payPath + "/:id" + returnedEnd, access: open, command: true, handle: (*Server).returnPayer},
		)
	}
	if s.cfg.Challenges != nil && s.cfg.Payers != nil {
		routes = append(routes,
			route{method: get, path: simulator.ChallengePath, access: open, handle: (*Server).showChallenge},
			route{method: post, path: simulator.ChallengePath, access: open, command: true, handle: (*Server).postChallenge},
		)
	}
	if s.cfg.Advance != nil {
		routes = append(routes,
			route{method: get, path: v1 + "/sandbox/clock", access: admin, handle: (*Server).readClock},
			// Not a command: it waits for all that are under way.
			route{method: put, path: v1 + "/sandbox/clock", access: admin, body: true, handle: (*Server).moveClock},
		)
	}
	return routes
}
