package payments

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Config has the settings of this package's handlers and the services that they call.
type Config struct {
	Payments  Transactions
	Directory Directory
	Journal   web.Journal
	Clock     clock.Clock
	Proxies   *web.Proxies
	Pages     payerpage.Pages

	// Subscriptions creates and changes subscriptions, which repeat payments. If it is nil, the routes of subscriptions do not
	// exist.
	Subscriptions Subscriptions

	// Turnover has counts and sums of each partner's transactions of each day. If it is nil, the route does not exist.
	Turnover Turnover

	// ProviderUpdates accepts provider updates. If it is nil, the route does not exist.
	ProviderUpdates Updates

	// Fingerprint returns a keyed hash of a card number or a request. With the hash, a repetition can be recognized without
	// storing the number or the request. Without the key, nobody can find a card number by hashing all possible numbers.
	Fingerprint func(content []byte) string

	// AggregateWait is the maximum time for which an aggregate waits for its first turn. If it is 0, the time is 3 s.
	AggregateWait time.Duration

	// Serving is cancelled when the server begins to stop. A request's own context can't replace it, because fasthttp overwrites
	// memory that the context's Done reads.
	Serving context.Context
}

// Directory finds the directory's records; *directory.Service of package actors/directory implements it.
type Directory interface {
	web.Organizations
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
	Terminal(org, id ledger.ID) (*directory.Terminal, bool)
	FindTerminal(id ledger.ID) (*directory.Terminal, bool)
}

// Handlers serves the routes of transactions, balances and subscriptions.
type Handlers struct {
	cfg           Config
	keys          web.IdempotencyKeys
	aggregateGate *aggregateGate
	updateState   *updateState
}

// New returns the handlers.
func New(cfg Config) *Handlers {
	return &Handlers{
		cfg: cfg, keys: web.IdempotencyKeys{Fingerprint: cfg.Fingerprint},
		aggregateGate: newAggregateGate(cfg.AggregateWait), updateState: newUpdateState(),
	}
}

// The prefixes of this package's paths.
const (
	transactionsPath  = "/api/v1/transactions"
	subscriptionsPath = "/api/v1/subscriptions"
)

// The kinds of callers that may use the routes. A transaction may be read by its partner, by the administration, and by users
// of the organization with the role auditor or admin.
var (
	byPartnerKey   = web.Access{Callers: web.PartnerKey}
	byPartner      = web.Access{Callers: web.PartnerKey | web.PartnerSession}
	byLister       = web.Access{Callers: web.PartnerKey | web.PartnerSession | web.AdminToken}
	byViewer       = web.Access{Callers: web.PartnerKey | web.PartnerSession | web.AdminToken | web.Session, Roles: web.LedgerRoles}
	byLedgerReader = web.Access{
		Callers: web.AdminToken | web.Session, Roles: web.LedgerRoles, PartnerRefusal: "this needs the administration token, or a session of role auditor or admin",
	}
)

// Routes returns the routes of this package.
func (h *Handlers) Routes() []web.Route {
	const get, post, put = fiber.MethodGet, fiber.MethodPost, fiber.MethodPut
	routes := []web.Route{
		{Method: post, Path: transactionsPath, Access: byPartnerKey, JSON: true, Command: true, Handle: h.createTransaction},
		{Method: get, Path: transactionsPath, Access: byLister, Console: web.ByAdmin(), Handle: h.listTransactions},
		{Method: get, Path: transactionsPath + "/aggregate", Access: byPartner, SkipsQueues: true, Handle: h.aggregate}, // must precede :id
		{Method: get, Path: transactionsPath + "/:id", Access: byViewer, SkipsQueues: true, Handle: h.readTransaction},  // SkipsQueues, because it reads only one record, and may wait for a provider
		{Method: get, Path: transactionsPath + "/:id/routing", Access: byLedgerReader, Console: web.ByAdmin().OrOwner(), Handle: h.readRouting},
		{Method: put, Path: transactionsPath + "/:id", Access: byPartnerKey, Console: web.ByPartner, JSON: true, Command: true, Handle: h.changeTransaction},
		{Method: post, Path: transactionsPath + "/commit/:id", Access: byPartnerKey, Console: web.ByPartner, Command: true, Handle: h.commitTransaction}, // the body may be absent
		{Method: post, Path: transactionsPath + "/continue/:id", Access: byPartnerKey, JSON: true, Command: true, Handle: h.continueTransaction},
		{Method: post, Path: transactionsPath + "/additional_params_for_auth/:id", Access: byPartnerKey, JSON: true, Command: true, Handle: h.completeTransaction},
		{Method: post, Path: transactionsPath + "/choose_target_destination/:id", Access: byPartnerKey, Command: true, Handle: h.chooseDestination}, // the handler itself refuses an absent body
		{Method: get, Path: "/api/v1/balances", Access: byPartner, Handle: h.listBalances},
	}
	if h.cfg.Subscriptions != nil {
		routes = append(routes,
			web.Route{Method: post, Path: subscriptionsPath, Access: byPartnerKey, JSON: true, Command: true, Handle: h.createSubscription},
			web.Route{Method: get, Path: subscriptionsPath, Access: byPartner, Handle: h.listSubscriptions},
			web.Route{Method: get, Path: subscriptionsPath + "/:id", Access: byPartner, Handle: h.readSubscription},
			web.Route{Method: post, Path: subscriptionsPath + "/:id/pause", Access: byPartnerKey, Console: web.ByPartner, Command: true, Handle: h.pauseSubscription},
			web.Route{Method: post, Path: subscriptionsPath + "/:id/resume", Access: byPartnerKey, Console: web.ByPartner, Command: true, Handle: h.resumeSubscription},
			web.Route{Method: post, Path: subscriptionsPath + "/:id/cancel", Access: byPartnerKey, Console: web.ByPartner, Command: true, Handle: h.cancelSubscription},
		)
	}
	if h.cfg.Turnover != nil {
		routes = append(routes, web.Route{Method: get, Path: "/api/v1/turnover", Access: byViewer, Handle: h.readTurnover})
	}
	if h.cfg.ProviderUpdates != nil {
		// Anyone may call this route: a provider has no credentials, but signs with the terminal's secret.
		routes = append(routes, web.Route{
			Method: post, Path: "/api/v1/terminal/:id/notifications", Access: web.Access{Callers: web.Anyone}, JSON: true, Command: true, Handle: h.receiveProviderUpdate,
		}, web.Route{
			Method: post, Path: StripePath + ":id", Access: web.Access{Callers: web.Anyone}, JSON: true, MaxBody: maxStripeEvent, Command: true, Repeatable: true, Handle: h.receiveStripeEvent,
		})
	}
	return routes
}
