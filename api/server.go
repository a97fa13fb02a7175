package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"golang.org/x/mod/sumdb/note"

	"mizan/api/accesslog"
	"mizan/api/admin"
	"mizan/api/auth"
	"mizan/api/checkout"
	"mizan/api/console"
	"mizan/api/console/view"
	"mizan/api/contracts"
	ledgerapi "mizan/api/ledger"
	"mizan/api/payments"
	"mizan/api/reconciliation"
	"mizan/api/reference"
	"mizan/api/shed"
	"mizan/api/storefront"
	"mizan/api/web"
	"mizan/api/web/body"
	"mizan/api/web/conn"
	"mizan/api/web/journal"
	"mizan/api/web/payerpage"
	"mizan/internal/clock"
	"mizan/internal/tracing"
	"mizan/ledger"
)

// Config contains the settings of a Server and the services that its routes call.
type Config struct {
	Payments  payments.Transactions
	Directory Directory
	Journal   web.Journal
	Clock     clock.Clock
	Log       *slog.Logger

	// BeginCommand is called before each command (a request that may write). It waits while a manual clock is being
	// moved. The caller must call leave when the command ends.
	BeginCommand func() (leave func())

	// ProviderCalls returns the number of calls of providers in progress. Package shed bounds the number of running commands,
	// but does not count the commands that wait for a provider. If ProviderCalls is nil, no command calls a provider.
	ProviderCalls func() int

	// Advance moves the manual clock. If Advance is nil, the server has no manual clock and no routes for it.
	Advance func(to time.Time) error

	// Signer signs the heads of the ledger. A head is the size and root hash of an organization's journal.
	Signer note.Signer

	// HeadKey is the public key for Signer's signatures, in the form that note.NewVerifier expects.
	HeadKey string

	// Fingerprint returns a keyed hash of a card number or a request. Equal inputs can be recognized by their
	// hash, without being stored. Without the key, nobody can find the input by hashing all possible values.
	Fingerprint func(number []byte) string

	// AggregateWait is the time that a request for an aggregate (sums of transactions) may wait in the queue of such requests.
	// After this time the request gets the status 503. If AggregateWait is 0, the time is 3 seconds.
	AggregateWait time.Duration

	// UsageReader returns how much of a limit is used. If it is nil, the response has the status 503.
	UsageReader admin.UsageReader

	// Pages makes the URLs of the pages on which payers pay. Payers carries out what payers request on these pages. Challenges
	// serves the challenge page of the provider simulator. If one of these fields is not set, the routes that need it are
	// missing.
	Pages      payerpage.Pages
	Payers     checkout.Payers
	Challenges checkout.Challenges

	// ProviderUpdates accepts a provider's announcements that a transaction has changed. If it is nil, the route is missing.
	ProviderUpdates payments.Updates

	// Deliveries lists notifications, both sent and waiting ones, and sends them again. If it is nil, the routes are missing.
	Deliveries admin.Deliveries

	// LastCheck returns the result of the last check of the store. If it is nil, the route is missing.
	LastCheck func() (*ledgerapi.CheckResult, error)

	// Periods closes the months of an organization's books. If it is nil, the route is missing.
	Periods ledgerapi.Periods

	// Backup begins a backup and returns it as a stream, which the caller must close. If since is nil, the backup is full.
	// Otherwise it contains only what has changed since the backup that since identifies. If the error is a *ledger.Refusal,
	// its HTTP status becomes the status of the response. If Backup is nil, the route is missing.
	Backup func(since *admin.BackupBase) (io.ReadCloser, error)

	// Finder finds transactions for GET /search. If it is nil, GET /search finds transactions only by their ids.
	Finder admin.Finder

	// Circuits returns the states of the terminals' circuit breakers. If it is nil, the route is missing.
	Circuits admin.Circuits

	// System returns the figures of the process and its store. If it is nil, the route is missing.
	System func() (admin.System, error)

	// Contracts creates, changes and reads participatory-finance contracts. If it is nil, the routes are missing.
	Contracts contracts.Service

	// Subscriptions creates and changes subscriptions (recurring payments). If it is nil, the routes are missing.
	Subscriptions payments.Subscriptions

	// Turnover returns figures about a partner's transactions of each day, such as charges and refunds. If it is nil,
	// the route is missing.
	Turnover payments.Turnover

	// Storefront stores payment links, products and images. If it is nil, the routes are missing.
	Storefront Storefront

	// Reconciliation compares settlement reports of providers with the ledger. If it is nil, the routes are missing.
	Reconciliation reconciliation.Service

	// Front is the node's front, if the process is a node of a cluster. If it is nil, the routes about the cluster are missing.
	Front *Front

	// Status returns the state that the health check reports.
	Status  func() Status
	Version string
	Env     string // "sandbox" or "production"
	Domain  string // host of the base URL

	// TrustedProxies are the addresses of the proxies whose X-Forwarded-For and X-Forwarded-Proto headers the server trusts.
	// If BehindProxy is true, a request is refused if it comes from any other address, or if it reached the proxy without TLS.
	TrustedProxies []netip.Prefix
	BehindProxy    bool

	// RateLimit is the number of requests per second that each API key of a partner, and each session of a person who
	// acts as a partner, may make. If it is 0, there is no limit.
	RateLimit int

	// Observe, if set, is called with every response.
	Observe func(Exchange)

	// AccessLog writes a line for each request. If it is nil, nothing is written.
	AccessLog *accesslog.Log

	// Tracer records a span of a trace for each request except health checks. If it is nil, nothing is recorded.
	Tracer *tracing.Tracer
}

// Directory finds and changes the records of the directory (organizations, partners, terminals, keys, …). The type
// *Service of actors/directory implements it.
type Directory interface {
	auth.Directory
	admin.Directory
	payments.Directory
	journal.Directory
}

// Storefront stores payment links, products and images. The type *Service of actors/storefront implements it.
type Storefront interface {
	storefront.Records
	checkout.Storefront
	IsImage(org ledger.ID, address string) (bool, error)
}

// Server is the service's HTTP server. Each request passes the same steps before the route's handler is called.
type Server struct {
	cfg    Config
	access web.Authorizer
	errors web.Errors
	limits *limits
	shed   *shed.Gate // bounds the number of running commands
	reads  *reads
	bodies *body.Bodies
	app    *fiber.App
	ledger *ledgerapi.Handlers
	pages  *checkout.Handlers

	reference *reference.Handlers
	console   *console.Handlers
	inner     fasthttp.RequestHandler // the router, without guard

	routes []web.Route
	silent conn.SilentConnections // connections that have sent nothing yet

	stop context.CancelFunc // ends the context serving (see newRoutes)

	mu        sync.Mutex
	stopped   bool           // guarded by mu
	listeners []net.Listener // guarded by mu
}

// New returns a server, which accepts connections once Serve is called.
func New(cfg Config) *Server {
	s := newServer(cfg)
	serving, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.routes = s.newRoutes(serving)
	for i := range s.routes {
		s.register(&s.routes[i])
	}
	s.app.Handler() // prepares the router, because a server whose requests a Front hands over never calls Serve
	return s
}

// newServer returns a server without routes.
func newServer(cfg Config) *Server {
	proxies := web.NewProxies(cfg.TrustedProxies, cfg.Log)
	s := &Server{
		cfg:    cfg,
		access: web.Authorizer{Authenticator: auth.Authenticator{Directory: cfg.Directory, Clock: cfg.Clock}, Organizations: cfg.Directory, Proxies: proxies},
		errors: web.Errors{Log: cfg.Log},
		limits: newLimits(cfg.RateLimit),
		shed:   shed.New(shed.Options{ProviderCalls: cfg.ProviderCalls}),
		reads:  newReads(),
		bodies: body.New(proxies, body.AuthenticatedBytes, body.AnonymousBytes),
	}
	s.app = fiber.New(fiber.Config{
		Immutable:                    true,
		StrictRouting:                true,
		CaseSensitive:                true,
		EnableTrustedProxyCheck:      true, // Fiber trusts no proxy and ignores their headers; access.Proxies reads them
		StreamRequestBody:            true, // s.bodies reads the body after the caller is authenticated
		BodyLimit:                    1,    // number of bytes of a body that fasthttp reads before the caller is authenticated
		ReadBufferSize:               headerLimit,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 web.WriteTimeout,
		IdleTimeout:                  idleTimeout,
		DisablePreParseMultipartForm: true,
		DisableStartupMessage:        true,
		ErrorHandler:                 s.handleError,
	})
	transport := s.app.Server()
	s.inner = transport.Handler
	transport.Handler = s.guard(s.inner)
	transport.HeaderReceived = body.LimitFirstByteWait
	transport.SecureErrorLogMessage = true // otherwise an error message would quote the request
	transport.CloseOnShutdown = true
	transport.ConnState = conn.NoteState
	return s
}

func (s *Server) register(route *web.Route) {
	serve := func(c *fiber.Ctx) error {
		req := web.NewRequest(route, c)
		c.Context().SetUserValue(requestKey, req)
		if err := s.handle(req); err != nil {
			s.errors.Respond(req, err)
		}
		return nil
	}
	s.app.Add(route.Method, route.Path, serve)
	if route.Method == fiber.MethodGet {
		s.app.Add(fiber.MethodHead, route.Path, serve)
	}
}

// handle passes a request through the steps before the route's handler, and then calls the handler.
func (s *Server) handle(req *web.Request) error {
	route := req.Route
	if err := s.access.Admit(req); err != nil {
		return refuse(req, err)
	}
	req.IsAdmitted = true
	if route.Access.Callers != web.Anyone {
		conn.MarkAuthenticated(req.RequestCtx)
	}
	if id, limited := limitedBy(req); limited && !s.limits.allow(id, time.Now()) {
		return refuse(req, ledger.Refuse("api.answer", web.RateLimited, "too many requests").By(ledger.LimitKeyRate))
	}
	if route.JSON && !web.IsJSON(req.Request.Header.ContentType()) {
		return refuse(req, ledger.Refuse("api.answer", web.UnsupportedMediaType, "the body must be application/json"))
	}
	if err := s.bodies.Read(req); err != nil {
		return refuse(req, err)
	}
	if err := req.CheckReserved(); err != nil {
		return refuse(req, err)
	}
	if isBoundedRead(route) {
		defer s.reads.enter()()
	}
	if !route.Command {
		return route.Handle(req)
	}
	defer s.cfg.BeginCommand()()
	if !route.SkipsQueues {
		place := s.shed.Enter()
		if place == nil {
			return refuse(req, ledger.Refuse("api.answer", ledger.Unavailable, "too many commands are waiting: nothing was done").By(ledger.LimitCommands))
		}
		defer place.Leave()
	}
	return route.Handle(req)
}

// refuse responds to a request that is refused before the route's handler runs. If the route has its own Refuse function, that
// function writes the response.
func refuse(req *web.Request, err error) error {
	if req.Route.Refuse != nil {
		return req.Route.Refuse(req, err)
	}
	return err
}

// BodyBytes returns the number of bytes of memory that large request bodies occupy. A body is large if it is longer
// than body.FirstBuffer.
func (s *Server) BodyBytes() int { return s.bodies.HeldBytes() }

// Shed returns figures about waiting commands: how long they wait before they run, and how many were refused because
// they would have waited too long.
func (s *Server) Shed() shed.Figures { return s.shed.Figures() }

// handleError responds to the requests that Fiber itself refuses, because their path or method is unknown or they cannot be
// parsed.
func (s *Server) handleError(c *fiber.Ctx, err error) error {
	ctx := c.Context()
	if len(ctx.Response.Header.PeekBytes(web.HeaderRequestID)) == 0 {
		s.begin(ctx) // the request could not be parsed, so it did not pass guard
		conn.HangUp(ctx)
		defer s.report(ctx, otherMethod, time.Now(), tracing.Hop{}) // the method of the request is unknown
	}
	var refused *fiber.Error
	if !errors.As(err, &refused) {
		refused = fiber.ErrInternalServerError
	}
	if isPage := strings.HasPrefix(c.Path(), payerpage.Root+"/"); isPage && s.cfg.Pages.Tokens != nil && refused.Code == fiber.StatusMethodNotAllowed {
		return s.pages.Refuse(web.NewRequest(&web.Route{}, c), routerRefusal(refused.Code))
	}
	if req := web.NewRequest(&web.Route{}, c); s.console != nil && isOfConsole(c.Path()) && !req.IsInternal() {
		return s.console.Refuse(req, routerRefusal(refused.Code))
	}
	web.WriteError(ctx, routerRefusal(refused.Code))
	return nil
}

// isOfConsole tells whether a URL path belongs to the console.
func isOfConsole(path string) bool {
	return strings.HasPrefix(path, view.Root)
}

func routerRefusal(status int) error {
	const op = "api.router"
	switch status {
	case fiber.StatusNotFound:
		return ledger.Refuse(op, ledger.NotFound, "there is nothing at this path")
	case fiber.StatusMethodNotAllowed:
		return ledger.Refuse(op, web.MethodNotAllowed, "this path has other methods")
	case fiber.StatusRequestHeaderFieldsTooLarge:
		return ledger.Refuse(op, web.HeadersTooLarge, "the headers are larger than %d bytes", headerLimit)
	case fiber.StatusRequestTimeout:
		return ledger.Refuse(op, web.RequestTimeout, "the request took too long to arrive")
	case fiber.StatusBadRequest, fiber.StatusBadGateway: // BadGateway is Fiber's code for a client that has disconnected
		return ledger.Refuse(op, web.BadRequest, "the request could not be read")
	}
	return ledger.Refuse(op, ledger.Internal, "the router failed")
}

// Serve accepts and serves connections of the listener until Shutdown is called, and closes the listener. It returns nil
// after Shutdown, and otherwise the error that ended it.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return l.Close()
	}
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	return s.app.Listener(conn.Listener{Listener: l, SilentConnections: &s.silent})
}

// HandOver is like Quit. Also, it refuses the requests whose bodies have not arrived yet, because whoever is to continue may have to
// wait for the end of all requests.
func (s *Server) HandOver() {
	s.Quit()
	go s.bodies.End() // ends when the reads have ended
}

// Quit makes handlers that wait for something stop waiting, and ends exports. It is called by Shutdown and HandOver.
func (s *Server) Quit() {
	if s.stop != nil { // a server without routes has nothing to stop
		s.stop()
		s.ledger.Close()
	}
}

// Shutdown stops accepting connections, closes idle connections, and waits until the running requests have ended, but no
// longer than until ctx ends. The server can't be used again.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	// The listeners are closed here because fasthttp closes only those that it has begun to serve.
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()
	s.Quit()
	s.silent.CloseAll()
	if err := s.app.ShutdownWithContext(ctx); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
