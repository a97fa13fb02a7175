package api

import "github.com/gofiber/fiber/v2"

// table is every route that there is.
func (s *Server) table() []route {
	const (
		get, post, put, patch, del = fiber.MethodGet, fiber.MethodPost, fiber.MethodPut, fiber.MethodPatch, fiber.MethodDelete
		v1                         = "/api/v1"
	)
	routes := []route{
		{method: get, path: v1 + "/health", access: open, handle: (*Server).health},

		{method: post, path: transactionsPath, access: partner, body: true, command: true, handle: (*Server).createTransaction},
		{method: get, path: transactionsPath + "/:id", access: partner, handle: (*Server).readTransaction},

		{method: post, path: v1 + "/organizations", access: admin, body: true, command: true, handle: (*Server).createOrganization},
		{method: get, path: v1 + "/organizations", access: admin, handle: (*Server).listOrganizations},
		{method: get, path: v1 + "/organizations/:id", access: admin, handle: (*Server).readOrganization},
		{method: patch, path: v1 + "/organizations/:id", access: admin, body: true, command: true, handle: (*Server).patchOrganization},
		{method: post, path: v1 + "/partners", access: admin, body: true, command: true, handle: (*Server).createPartner},
		{method: get, path: v1 + "/partners", access: admin, handle: (*Server).listPartners},
		{method: get, path: v1 + "/partners/:id", access: admin, handle: (*Server).readPartner},
		{method: patch, path: v1 + "/partners/:id", access: admin, body: true, command: true, handle: (*Server).patchPartner},
		{method: post, path: v1 + "/terminal", access: admin, body: true, command: true, handle: (*Server).createTerminal},
		{method: get, path: v1 + "/terminals", access: admin, handle: (*Server).listTerminals},
		{method: get, path: v1 + "/terminal/:id", access: admin, handle: (*Server).readTerminal},
		{method: patch, path: v1 + "/terminal/:id", access: admin, body: true, command: true, handle: (*Server).patchTerminal},
		{method: post, path: v1 + "/api_keys", access: admin, body: true, command: true, handle: (*Server).createKey},
		{method: get, path: v1 + "/api_keys", access: admin, handle: (*Server).listKeys},
		{method: del, path: v1 + "/api_keys/:id", access: admin, command: true, handle: (*Server).revokeKey},

		{method: get, path: v1 + "/ledger/accounts", access: reader, handle: (*Server).listAccounts},
		{method: get, path: v1 + "/ledger/accounts/:path", access: reader, handle: (*Server).readAccount},
		{method: get, path: v1 + "/ledger/accounts/:path/postings", access: reader, handle: (*Server).readStatement},
		{method: get, path: v1 + "/ledger/trial-balance", access: reader, handle: (*Server).trialBalance},
		{method: get, path: v1 + "/ledger/entries", access: reader, handle: (*Server).listEntries},
		{method: get, path: v1 + "/ledger/entries/:seq", access: reader, handle: (*Server).readEntry},
		{method: get, path: v1 + "/ledger/events", access: reader, handle: (*Server).listEvents},
		{method: get, path: v1 + "/ledger/head", access: auditor, handle: (*Server).readHead},
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
