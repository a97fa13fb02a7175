package admin

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/api/web"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Config contains the settings of the handlers, and the services that the handlers call.
type Config struct {
	Directory    Directory
	Transactions Transactions
	Clock        clock.Clock
	Proxies      *web.Proxies

	// IsImage tells whether an address belongs to an image that the organization has uploaded. If IsImage is nil, every address
	// is refused.
	IsImage func(org ledger.ID, address string) (bool, error)

	// UsageReader returns how much of a limit is used. If it is nil, the response is 503.
	UsageReader UsageReader

	// Journal is the store that GET /search reads.
	Journal web.Journal

	// Finder finds transactions for GET /search. If it is nil, transactions are found only by their ids.
	Finder Finder

	// Circuits returns the states of the terminals' circuit breakers. If it is nil, the route is missing.
	Circuits Circuits

	// System returns the figures of the process and its store. If it is nil, the route is missing.
	System func() (System, error)

	// Deliveries lists the sent and the waiting deliveries of notifications, and repeats deliveries. If it is nil, the routes
	// are missing.
	Deliveries Deliveries

	// Backup begins a backup and returns it as a stream, which the caller closes. If since is nil, the backup is full;
	// otherwise it contains only the changes since that earlier backup. If the error is a *ledger.Refusal, the response has the
	// refusal's HTTP status. If Backup is nil, the route is missing.
	Backup func(since *BackupBase) (io.ReadCloser, error)

	// Advance moves the manual clock. If Advance is nil, there is no manual clock and there are no routes for it.
	Advance func(to time.Time) error

	// Serving is cancelled when the server begins to stop. Streams end then.
	Serving context.Context

	// Fingerprint returns a keyed hash of a card number or a request. Two equal card numbers or requests can be recognized by
	// their hashes, without being stored.
	Fingerprint func(number []byte) string
}

// Transactions finds the transactions of a partner.
type Transactions interface {
	Read(org ledger.ID, partner int64, id ledger.ID) (paymentactor.Result, error)
}

// Handlers serves the routes for administration and for sessions.
type Handlers struct {
	cfg            Config
	keys           web.IdempotencyKeys
	testDeliveries *testDeliveries
	clockMoves     sync.Mutex // held while a request moves the manual clock
}

// New returns the handlers.
func New(cfg Config) *Handlers {
	return &Handlers{cfg: cfg, keys: web.IdempotencyKeys{Fingerprint: cfg.Fingerprint}, testDeliveries: newTestDeliveries(maxTestDeliveries)}
}

// v1 is the prefix of all URL paths of this package.
const v1 = "/api/v1"

// anyUser admits every person who is logged in.
var anyUser = web.Access{Callers: web.Session, Roles: directory.AllRoles}

// adminTokenOnly admits only callers with the administration token.
var adminTokenOnly = web.Access{Callers: web.AdminToken}

// Routes returns the routes for administration and for sessions.
func (h *Handlers) Routes() []web.Route {
	routes := h.directoryRoutes()
	routes = append(routes, h.limitRoutes()...)
	routes = append(routes, h.sessionRoutes()...)
	routes = append(routes, h.deliveryRoutes()...)
	routes = append(routes, web.Route{Method: fiber.MethodGet, Path: v1 + "/search", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.search})
	if h.cfg.Circuits != nil {
		routes = append(routes, web.Route{Method: fiber.MethodGet, Path: v1 + "/circuits", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.listCircuits})
	}
	if h.cfg.System != nil {
		routes = append(routes, web.Route{Method: fiber.MethodGet, Path: v1 + "/system", Access: adminTokenOnly, Handle: h.readSystem})
	}
	if h.cfg.Backup != nil {
		routes = append(routes, web.Route{Method: fiber.MethodPost, Path: v1 + "/backups", Access: adminTokenOnly, JSON: true, Handle: h.takeBackup})
	}
	if h.cfg.Advance != nil {
		routes = append(routes,
			web.Route{Method: fiber.MethodGet, Path: v1 + "/sandbox/clock", Access: adminTokenOnly, Handle: h.readClock},
			// This route is not a command, because moving the clock waits until no command is running.
			web.Route{Method: fiber.MethodPut, Path: v1 + "/sandbox/clock", Access: adminTokenOnly, JSON: true, Handle: h.moveClock},
		)
	}
	return routes
}

// directoryRoutes returns the routes of the directory's records: organizations, partners, and the records of a partner.
func (h *Handlers) directoryRoutes() []web.Route {
	const get, post, put, patch, del = fiber.MethodGet, fiber.MethodPost, fiber.MethodPut, fiber.MethodPatch, fiber.MethodDelete
	return []web.Route{
		{Method: post, Path: v1 + "/organizations", Access: adminTokenOnly, JSON: true, Command: true, Handle: h.createOrganization},
		{Method: get, Path: v1 + "/organizations", Access: adminTokenOnly, Handle: h.listOrganizations},
		{Method: get, Path: v1 + "/organizations/:id", Access: adminTokenOnly, Handle: h.readOrganization},
		{Method: patch, Path: v1 + "/organizations/:id", Access: adminTokenOnly, JSON: true, Command: true, Handle: h.patchOrganization},
		{Method: post, Path: v1 + "/partners", Access: adminTokenOnly, Console: web.ByAdmin("overdraft_limit"), JSON: true, Command: true, Handle: h.createPartner},
		{Method: get, Path: v1 + "/partners", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.listPartners},
		{Method: get, Path: v1 + "/partners/:id", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner(), Handle: h.readPartner},
		{Method: patch, Path: v1 + "/partners/:id", Access: adminTokenOnly, Console: web.ByAdmin("overdraft_limit").OrOwner("notify_url", "secret", "branding", "lang"), JSON: true, Command: true, Handle: h.patchPartner},
		{Method: del, Path: v1 + "/partners/:id", Access: adminTokenOnly, Console: web.ByAdmin(), Command: true, Handle: h.deletePartner},
		{Method: post, Path: v1 + "/partners/:id/settlements", Access: adminTokenOnly, JSON: true, Command: true, Handle: h.settlePartner},
		{Method: get, Path: v1 + "/partners/:id/settlements", Access: adminTokenOnly, Handle: h.listPartnerSettlements},
		{Method: post, Path: v1 + "/terminal/:id/settlements", Access: adminTokenOnly, JSON: true, Command: true, Handle: h.settleProvider},
		{Method: get, Path: v1 + "/terminal/:id/settlements", Access: adminTokenOnly, Handle: h.listProviderSettlements},
		{Method: get, Path: v1 + "/settlements/:id", Access: adminTokenOnly, Handle: h.readSettlement},
		{Method: post, Path: v1 + "/users", Access: adminTokenOnly, Console: web.ByAdmin(), JSON: true, Command: true, Handle: h.createUser},
		{Method: get, Path: v1 + "/users", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.listUsers},
		{Method: get, Path: v1 + "/users/current", Access: anyUser, Handle: h.readOwnUser}, // must precede /users/:id
		{Method: patch, Path: v1 + "/users/current", Access: anyUser, JSON: true, Command: true, Repeatable: true, Handle: h.patchOwnUser},
		{Method: get, Path: v1 + "/users/:id", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.readUser},
		{Method: patch, Path: v1 + "/users/:id", Access: adminTokenOnly, Console: web.ByAdmin(), JSON: true, Command: true, Handle: h.patchUser},
		{Method: del, Path: v1 + "/users/:id", Access: adminTokenOnly, Console: web.ByAdmin(), Command: true, Handle: h.deleteUser},
		{Method: post, Path: v1 + "/admin_tokens/rotate", Access: adminTokenOnly, Command: true, Handle: h.rotateAdminToken}, // the body may be absent
		{Method: post, Path: v1 + "/terminal", Access: adminTokenOnly, Console: web.ByAdmin(), JSON: true, Command: true, Handle: h.createTerminal},
		{Method: get, Path: v1 + "/terminals", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner(), Handle: h.listTerminals},
		{Method: get, Path: v1 + "/terminal/:id", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner(), Handle: h.readTerminal},
		{Method: patch, Path: v1 + "/terminal/:id", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner("merchant_params"), JSON: true, Command: true, Handle: h.patchTerminal},
		{Method: del, Path: v1 + "/terminal/:id", Access: adminTokenOnly, Console: web.ByAdmin(), Command: true, Handle: h.deleteTerminal},
		{Method: post, Path: v1 + "/api_keys", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner("name", "partner_id", "expires_at"), JSON: true, Command: true, Handle: h.createKey},
		{Method: get, Path: v1 + "/api_keys", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner(), Handle: h.listKeys},
		{Method: get, Path: v1 + "/api_keys/:id", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner(), Handle: h.readKey},
		{Method: del, Path: v1 + "/api_keys/:id", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner(), Command: true, Handle: h.revokeKey},
		{Method: put, Path: v1 + "/rates", Access: adminTokenOnly, Console: web.ByAdmin(), JSON: true, Command: true, Handle: h.putRate},
		{Method: get, Path: v1 + "/rates", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.listRates},
		{Method: get, Path: v1 + "/rates/:id", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.readRate},
	}
}

// limitRoutes returns the routes of limits and of the block list.
func (h *Handlers) limitRoutes() []web.Route {
	const get, post, patch, del = fiber.MethodGet, fiber.MethodPost, fiber.MethodPatch, fiber.MethodDelete
	return []web.Route{
		{Method: post, Path: v1 + "/limits", Access: adminTokenOnly, Console: web.ByAdmin(), JSON: true, Command: true, Handle: h.createLimit},
		{Method: get, Path: v1 + "/limits", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.listLimits},
		{Method: get, Path: v1 + "/limits/:id", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.readLimit},
		{Method: patch, Path: v1 + "/limits/:id", Access: adminTokenOnly, Console: web.ByAdmin(), JSON: true, Command: true, Handle: h.patchLimit},
		{Method: del, Path: v1 + "/limits/:id", Access: adminTokenOnly, Console: web.ByAdmin(), Command: true, Handle: h.deleteLimit},
		{Method: get, Path: v1 + "/limits/:id/usage", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.readUsage},
		{Method: post, Path: v1 + "/blocklist", Access: adminTokenOnly, Console: web.ByAdmin(), JSON: true, Command: true, Handle: h.createBlock},
		{Method: get, Path: v1 + "/blocklist", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.listBlocks},
		{Method: get, Path: v1 + "/blocklist/:id", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.readBlock},
		{Method: del, Path: v1 + "/blocklist/:id", Access: adminTokenOnly, Console: web.ByAdmin(), Command: true, Handle: h.deleteBlock},
	}
}

// sessionRoutes returns the routes of sessions.
func (h *Handlers) sessionRoutes() []web.Route {
	const current = v1 + "/sessions/current"
	return append([]web.Route{
		{Method: fiber.MethodPost, Path: v1 + "/sessions", Access: web.Access{Callers: web.Anyone}, JSON: true, Command: true, SkipsQueues: true, Handle: h.logIn},
		{Method: fiber.MethodGet, Path: current, Access: anyUser, SoleOrganization: true, Handle: h.readSession},
		{Method: fiber.MethodDelete, Path: current, Access: anyUser, EndsSession: true, Command: true, Handle: h.logOut}, // must precede /sessions/:id
		{Method: fiber.MethodGet, Path: v1 + "/logins", Access: adminTokenOnly, Console: web.ByAdmin(), Handle: h.listLogins},
	}, h.ownSessionRoutes()...)
}

// deliveryRoutes returns the routes of notifications.
func (h *Handlers) deliveryRoutes() []web.Route {
	if h.cfg.Deliveries == nil {
		return nil
	}
	const get, post, deliveries = fiber.MethodGet, fiber.MethodPost, v1 + "/deliveries"
	return []web.Route{
		{Method: get, Path: deliveries, Access: adminTokenOnly, Console: web.ByAdmin().OrOwner(), Handle: h.listDeliveries},
		{Method: post, Path: deliveries + "/replay", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner("terminal_id", "from", "to"), JSON: true, Command: true, Handle: h.replayParked},
		{Method: get, Path: deliveries + "/:id", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner(), Handle: h.readDelivery},
		{Method: post, Path: deliveries + "/:id/replay", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner(), Command: true, Handle: h.replayDelivery}, // the body may be absent
		// This route is not a command: it stores nothing, and may take 15 s of real time.
		{Method: post, Path: v1 + "/terminal/:id/test-delivery", Access: adminTokenOnly, Console: web.ByAdmin().OrOwner(), Handle: h.sendTestDelivery},
		{Method: get, Path: v1 + "/notifications/stream", Access: adminTokenOnly, Handle: h.streamNotifications},
	}
}
