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
		{method: get, path: healthPath, access: open, handle: (*Server).health},
		{method: get, path: livenessPath, access: open, handle: (*Server).liveness},
		{method: get, path: readinessPath, access: open, handle: (*Server).readiness},

		{method: post, path: transactionsPath, access: partner, body: true, command: true, handle: (*Server).createTransaction},
		{method: get, path: transactionsPath, access: lister, handle: (*Server).listTransactions},
		{method: get, path: transactionsPath + "/aggregate", access: holder, handle: newAggregates(s.cfg.AggregateWait).answer}, // before :id
		{method: get, path: transactionsPath + "/:id", access: viewer, handle: (*Server).readTransaction},
		{method: get, path: transactionsPath + "/:id/routing", access: explainer, handle: (*Server).readRouting},
		{method: put, path: transactionsPath + "/:id", access: partner, body: true, command: true, handle: (*Server).changeTransaction},
		{method: post, path: transactionsPath + "/commit/:id", access: partner, command: true, handle: (*Server).commitTransaction}, // the body may be absent
		{method: post, path: transactionsPath + "/continue/:id", access: partner, body: true, command: true, handle: (*Server).continueTransaction},
		{method: post, path: transactionsPath + "/additional_params_for_auth/:id", access: partner, body: true, command: true, handle: (*Server).completeTransaction},
		{method: post, path: transactionsPath + "/choose_target_destination/:id", access: partner, command: true, handle: (*Server).chooseDestination}, // without one: its own 400
		{method: get, path: v1 + "/balances", access: holder, handle: (*Server).listBalances},

		{method: post, path: v1 + "/organizations", access: admin, body: true, command: true, handle: (*Server).createOrganization},
		{method: get, path: v1 + "/organizations", access: admin, handle: (*Server).listOrganizations},
		{method: get, path: v1 + "/organizations/:id", access: admin, handle: (*Server).readOrganization},
		{method: patch, path: v1 + "/organizations/:id", access: admin, body: true, command: true, handle: (*Server).patchOrganization},
		{method: post, path: v1 + "/partners", access: admin, body: true, command: true, handle: (*Server).createPartner},
		{method: get, path: v1 + "/partners", access: admin, handle: (*Server).listPartners},
		{method: get, path: v1 + "/partners/:id", access: admin, handle: (*Server).readPartner},
		{method: patch, path: v1 + "/partners/:id", access: admin, body: true, command: true, handle: (*Server).patchPartner},
		{method: del, path: v1 + "/partners/:id", access: admin, command: true, handle: (*Server).deletePartner},
		{method: post, path: v1 + "/partners/:id/settlements", access: admin, body: true, command: true, handle: (*Server).settlePartner},
		{method: get, path: v1 + "/partners/:id/settlements", access: admin, handle: (*Server).listPartnerSettlements},
		{method: post, path: v1 + "/terminal/:id/settlements", access: admin, body: true, command: true, handle: (*Server).settleProvider},
		{method: get, path: v1 + "/terminal/:id/settlements", access: admin, handle: (*Server).listProviderSettlements},
		{method: get, path: v1 + "/settlements/:id", access: admin, handle: (*Server).readSettlement},
		{method: post, path: v1 + "/users", access: admin, body: true, command: true, handle: (*Server).createUser},
		{method: get, path: v1 + "/users", access: admin, handle: (*Server).listUsers},
		{method: get, path: v1 + "/users/:id", access: admin, handle: (*Server).readUser},
		{method: patch, path: v1 + "/users/:id", access: admin, body: true, command: true, handle: (*Server).patchUser},
		{method: del, path: v1 + "/users/:id", access: admin, command: true, handle: (*Server).deleteUser},
		{method: post, path: v1 + "/admin_tokens/rotate", access: admin, command: true, handle: (*Server).rotateAdminToken}, // the body may be absent
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

		{method: post, path: v1 + "/limits", access: admin, body: true, command: true, handle: (*Server).createLimit},
		{method: get, path: v1 + "/limits", access: admin, handle: (*Server).listLimits},
		{method: get, path: v1 + "/limits/:id", access: admin, handle: (*Server).readLimit},
		{method: patch, path: v1 + "/limits/:id", access: admin, body: true, command: true, handle: (*Server).patchLimit},
		{method: del, path: v1 + "/limits/:id", access: admin, command: true, handle: (*Server).deleteLimit},
		{method: get, path: v1 + "/limits/:id/usage", access: admin, handle: (*Server).readUsage},
		{method: post, path: v1 + "/blocklist", access: admin, body: true, command: true, handle: (*Server).createBlock},
		{method: get, path: v1 + "/blocklist", access: admin, handle: (*Server).listBlocks},
		{method: get, path: v1 + "/blocklist/:id", access: admin, handle: (*Server).readBlock},
		{method: del, path: v1 + "/blocklist/:id", access: admin, command: true, handle: (*Server).deleteBlock},

		{method: get, path: v1 + "/ledger/accounts", access: reader, handle: (*Server).listAccounts},
		{method: get, path: v1 + "/ledger/accounts/:path", access: reader, handle: (*Server).readAccount},
		{method: get, path: v1 + "/ledger/accounts/:path/postings", access: reader, handle: (*Server).readStatement},
		{method: get, path: v1 + "/ledger/trial-balance", access: reader, handle: (*Server).trialBalance},
		{method: get, path: v1 + "/ledger/entries", access: reader, handle: (*Server).listEntries},
		{method: get, path: v1 + "/ledger/entries/:seq", access: reader, handle: (*Server).readEntry},
		{method: get, path: v1 + "/ledger/events", access: reader, handle: (*Server).listEvents},
		{method: get, path: v1 + "/ledger/head", access: auditor, handle: (*Server).readHead},
	}
	routes = append(routes, sessionRoutes()...)
	routes = append(routes, proofRoutes()...)
	routes = append(routes, s.periodRoutes()...)
	routes = append(routes, route{method: get, path: v1 + "/ledger/export", access: auditor, handle: s.exports.answer})
	routes = append(routes, s.backupRoutes()...)
	routes = append(routes, s.deliveryRoutes()...)
	routes = append(routes, s.contractRoutes()...)
	routes = append(routes, s.religiousRoutes()...)
	if s.cfg.Pages.Tokens != nil && s.cfg.Payers != nil {
		routes = append(routes,
			route{method: get, path: payPath + "/:id", access: open, page: true, handle: (*Server).showPage},
			route{method: post, path: payPath + "/:id", access: open, page: true, command: true, handle: (*Server).postPage},
			route{method: get, path: payPath + "/:id" + returnedEnd, access: open, page: true, command: true, handle: (*Server).returnPayer},
			route{method: post, path: payPath + "/:id" + returnedEnd, access: open, page: true, command: true, handle: (*Server).returnPayer},
		)
	}
	if s.cfg.Challenges != nil && s.cfg.Payers != nil {
		routes = append(routes,
			route{method: get, path: simulator.ChallengePath, access: open, page: true, handle: (*Server).showChallenge},
			route{method: post, path: simulator.ChallengePath, access: open, page: true, command: true, handle: (*Server).postChallenge},
		)
	}
	routes = append(routes, s.subscriptionRoutes()...)
	if s.cfg.Hints != nil {
		// Open: who signs with the terminal's secret is its platform.
		routes = append(routes, route{method: post, path: v1 + "/terminal/:id/notifications", access: open, body: true, command: true, handle: newNotifications().take})
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
