package api

import (
	"context"

	"github.com/gofiber/fiber/v2"
)

// table makes the handlers and lists all of their routes. What waits in handlers ends
// with the context.
func (s *Server) table(serving context.Context) []Route {
	cfg := &s.cfg
	s.ledger = newLedger(ledgerConfig{
		Journal: cfg.Journal, Users: cfg.Directory, Clock: cfg.Clock, Log: cfg.Log,
		Signer: cfg.Signer, HeadKey: cfg.HeadKey, Periods: cfg.Periods, Fingerprint: cfg.Fingerprint,
	})
	transactions := newPayments(paymentsConfig{
		Payments: cfg.Payments, Directory: cfg.Directory, Journal: cfg.Journal, Clock: cfg.Clock,
		Proxies: s.gate.Proxies, Pages: cfg.Pages, Subscriptions: cfg.Subscriptions, Updates: cfg.Hints,
		Fingerprint: cfg.Fingerprint, AggregateWait: cfg.AggregateWait, Serving: serving,
	})
	administration := newAdmin(adminConfig{
		Directory: cfg.Directory, Transactions: cfg.Payments, Clock: cfg.Clock, Proxies: s.gate.Proxies,
		Usage: cfg.Usage, Deliveries: cfg.Deliveries, Backup: cfg.Backup, Advance: cfg.Advance, Fingerprint: cfg.Fingerprint,
	})
	agreements := newContracts(contractsConfig{
		Contracts: cfg.Contracts, Organizations: cfg.Directory, Journal: cfg.Journal, Clock: cfg.Clock, Fingerprint: cfg.Fingerprint,
	})
	pages := newCheckout(checkoutConfig{
		Payers: cfg.Payers, Pages: cfg.Pages, Partners: cfg.Directory, Clock: cfg.Clock, Proxies: s.gate.Proxies, Errors: s.errors,
		Challenges: cfg.Challenges, Fingerprint: cfg.Fingerprint, Sandbox: cfg.Env == sandbox,
	})
	anyone := Access{By: Anyone}
	routes := []Route{
		{Method: fiber.MethodGet, Path: healthPath, Access: anyone, Handle: s.health},
		{Method: fiber.MethodGet, Path: livenessPath, Access: anyone, Handle: s.liveness},
		{Method: fiber.MethodGet, Path: readinessPath, Access: anyone, Handle: s.readiness},
	}
	for _, family := range [][]Route{transactions.Routes(), administration.Routes(), s.ledger.Routes(), agreements.Routes(), pages.Routes()} {
		routes = append(routes, family...)
	}
	return routes
}

// sandbox is the environment of a service that moves no money.
const sandbox = "sandbox"
