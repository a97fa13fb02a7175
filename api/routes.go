package api

import (
	"context"
	"slices"

	"github.com/gofiber/fiber/v2"

	"mizan/api/admin"
	"mizan/api/checkout"
	"mizan/api/console"
	"mizan/api/console/visit"
	"mizan/api/contracts"
	ledgerapi "mizan/api/ledger"
	"mizan/api/payments"
	"mizan/api/reconciliation"
	"mizan/api/reference"
	"mizan/api/storefront"
	"mizan/api/web"
	"mizan/ledger"
)

// newRoutes creates the handlers and returns all their routes. When the context serving ends, handlers that are waiting
// for something stop waiting.
func (s *Server) newRoutes(serving context.Context) []web.Route {
	cfg := &s.cfg
	s.ledger = ledgerapi.New(ledgerapi.Config{
		Journal: cfg.Journal, Authors: cfg.Directory, Clock: cfg.Clock, Log: cfg.Log,
		Signer: cfg.Signer, HeadKey: cfg.HeadKey, Periods: cfg.Periods, LastCheck: cfg.LastCheck, Fingerprint: cfg.Fingerprint,
	})
	paymentHandlers := payments.New(payments.Config{
		Payments: cfg.Payments, Directory: cfg.Directory, Journal: cfg.Journal, Clock: cfg.Clock,
		Proxies: s.access.Proxies, Pages: cfg.Pages, Subscriptions: cfg.Subscriptions, Turnover: cfg.Turnover, ProviderUpdates: cfg.ProviderUpdates,
		Fingerprint: cfg.Fingerprint, AggregateWait: cfg.AggregateWait, Serving: serving,
	})
	var isImage func(org ledger.ID, address string) (bool, error)
	if cfg.Storefront != nil {
		isImage = cfg.Storefront.IsImage
	}
	adminHandlers := admin.New(admin.Config{
		IsImage:   isImage,
		Directory: cfg.Directory, Transactions: cfg.Payments, Clock: cfg.Clock, Proxies: s.access.Proxies,
		UsageReader: cfg.UsageReader, Deliveries: cfg.Deliveries, Backup: cfg.Backup, Advance: cfg.Advance,
		Journal: cfg.Journal, Finder: cfg.Finder, Circuits: cfg.Circuits, System: cfg.System, Fingerprint: cfg.Fingerprint, Serving: serving,
	})
	contractHandlers := contracts.New(contracts.Config{
		Contracts: cfg.Contracts, Organizations: cfg.Directory, Journal: cfg.Journal, Clock: cfg.Clock, Fingerprint: cfg.Fingerprint,
	})
	s.pages = checkout.New(checkout.Config{
		Payers: cfg.Payers, Pages: cfg.Pages, Partners: cfg.Directory, Storefront: cfg.Storefront, Clock: cfg.Clock, Proxies: s.access.Proxies, Errors: s.errors,
		Challenges: cfg.Challenges, Fingerprint: cfg.Fingerprint, Sandbox: cfg.Env == sandbox,
	})
	s.reference = reference.New(reference.Config{Version: cfg.Version, Env: cfg.Env, Routes: s.describedRoutes})
	s.console = console.New(console.Config{
		Organizations: cfg.Directory, Routes: s.describedRoutes, IsNode: cfg.Front != nil,
		Config: visit.Config{
			Internal: &web.Internal{Handle: s.inner, Log: cfg.Log}, Errors: s.errors, Proxies: s.access.Proxies, People: s.people(), Clock: cfg.Clock,
			Base: cfg.Pages.Base, LedgerReaderIsHere: s.ledger.ReaderIsHere,
		},
	})
	store := storefront.New(storefront.Config{Records: cfg.Storefront, Directory: cfg.Directory, Fingerprint: cfg.Fingerprint})
	reconciler := reconciliation.New(reconciliation.Config{Service: cfg.Reconciliation, Directory: cfg.Directory, Clock: cfg.Clock, Fingerprint: cfg.Fingerprint})
	routes := healthRoutes(s)
	for _, handlerRoutes := range [][]web.Route{paymentHandlers.Routes(), adminHandlers.Routes(), s.ledger.Routes(), contractHandlers.Routes(), s.pages.Routes(), store.Routes(), reconciler.Routes(), s.reference.Routes(), s.console.Routes()} {
		routes = append(routes, handlerRoutes...)
	}
	if cfg.Front != nil {
		routes = append(routes, cfg.Front.clusterRoutes()...)
	}
	return routes
}

// healthRoutes returns the routes of the health checks.
func healthRoutes(s *Server) []web.Route {
	anyone := web.Access{Callers: web.Anyone}
	return []web.Route{
		{Method: fiber.MethodGet, Path: healthPath, Access: anyone, Handle: s.health},
		{Method: fiber.MethodGet, Path: livenessPath, Access: anyone, Handle: s.liveness},
		{Method: fiber.MethodGet, Path: readinessPath, Access: anyone, Handle: s.readiness},
	}
}

// describedRoutes returns the routes that the API's description contains. It omits the routes of the console, whose pages are
// only for people.
func (s *Server) describedRoutes() []web.Route {
	return slices.DeleteFunc(slices.Clone(s.routes), func(r web.Route) bool { return r.IsConsole })
}

// sandbox is the value of Config.Env for a service that moves no real money.
const sandbox = "sandbox"
