package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/mod/sumdb/note"

	"mizan/api/admin"
	"mizan/api/auth"
	"mizan/api/checkout"
	"mizan/api/contracts"
	ledgerapi "mizan/api/ledger"
	"mizan/api/payments"
	"mizan/api/shed"
	"mizan/api/web"
	"mizan/api/web/body"
	"mizan/api/web/conn"
	"mizan/api/web/payerpage"
	"mizan/internal/clock"
	"mizan/ledger"
)

// Config is what a Server is made of.
type Config struct {
	Payments  payments.Transactions
	Directory Directory
	Journal   web.Journal
	Clock     clock.Clock
	Log       *slog.Logger

	// Enter begins a command and returns the function that ends it. It waits while a manual
	// clock is being moved.
	Enter func() (leave func())

	// ProviderCalls is how many calls at providers are under way now: a command that waits
	// for one takes no place from others (package shed). Nil: none.
	ProviderCalls func() int

	// Advance moves the manual clock; nil: there is none, and its routes are missing.
	Advance func(to time.Time) error

	// Signer signs the ledger's heads.
	Signer note.Signer

	// HeadKey is the public half of Signer's key, as note.NewVerifier takes it.
	HeadKey string

	// Fingerprint tells equal card numbers and equal requests from others without keeping
	// them. It is keyed, so that neither can be guessed from it.
	Fingerprint func(number []byte) string

	// AggregateWait is how long an aggregate waits for its turn; 0: 3 s.
	AggregateWait time.Duration

	// Usage tells how much of a limit was used; nil: the answer is 503.
	Usage admin.LimitUsage

	// Pages makes the addresses of payers' pages, and Payers acts for their holders.
	// Challenges is the simulator's page. The routes of what is missing are missing.
	Pages      payerpage.Pages
	Payers     checkout.Payers
	Challenges checkout.Challenges

	// Updates takes in what other platforms report of transactions; nil: the route is
	// missing.
	Updates payments.Updates

	// Deliveries are notifications that were sent or are waiting; nil: their routes are
	// missing.
	Deliveries admin.Deliveries

	// Periods closes months; nil: the route is missing.
	Periods ledgerapi.Periods

	// Backup begins a backup, full or, since another one, an increment, and returns it
	// as a stream that its reader closes; nil: the route is missing. Errors
	// that are a *ledger.Refusal are answered as such.
	Backup func(since *admin.BackupBase) (io.ReadCloser, error)

	// Contracts are those of participatory finance; nil: their routes are missing.
	Contracts contracts.Service

	// Subscriptions renews payments; nil: their routes are missing.
	Subscriptions payments.Subscriptions

	// Status is asked by the health check.
	Status  func() Status
	Version string
	Env     string // "sandbox" or "production"
	Domain  string // host of the base URL

	// TrustedProxies may say for whom they ask. BehindProxy refuses requests of all other
	// addresses, and requests that reached a proxy without TLS.
	TrustedProxies []netip.Prefix
	BehindProxy    bool

	// RateLimit is how many requests a second a partner's key may make; 0: any.
	RateLimit int

	// Observe, if set, sees every answer; route is the pattern, or "none".
	Observe func(route, method string, status int, d time.Duration)
}

// Directory says who takes part, and changes it; *directory.Service of actors is one.
type Directory interface {
	auth.Directory
	admin.Directory
	payments.Directory
}

// Server answers requests on the listeners that it is given.
type Server struct {
	cfg    Config
	gate   web.Gate
	errors web.Errors
	limits *limits
	shed   *shed.Gate // commands pass through it
	bodies *body.Bodies
	app    *fiber.App
	ledger *ledgerapi.Handlers
	routes []web.Route
	silent conn.Silent

	stop context.CancelFunc // ends the context that handlers serve in

	mu        sync.Mutex
	stopped   bool           // guarded by mu
	listeners []net.Listener // guarded by mu
}

// New makes a server; nothing happens before Serve.
func New(cfg Config) *Server {
	proxies := web.Proxies(cfg.TrustedProxies)
	s := &Server{
		cfg:    cfg,
		gate:   web.Gate{Credentials: auth.Gate{Directory: cfg.Directory, Clock: cfg.Clock}, Organizations: cfg.Directory, Proxies: proxies},
		errors: web.Errors{Log: cfg.Log},
		limits: newLimits(cfg.RateLimit),
		shed:   shed.New(shed.Options{ProviderCalls: cfg.ProviderCalls}),
		bodies: body.New(proxies, body.KnownBytes, body.AnyoneBytes),
	}
	serving, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.app = fiber.New(fiber.Config{
		Immutable:                    true,
		StrictRouting:                true,
		CaseSensitive:                true,
		EnableTrustedProxyCheck:      true, // with no proxy to trust: Proxies finds out who asks
		StreamRequestBody:            true, // bodies are read by bodies, when the caller is known
		BodyLimit:                    1,    // bytes that the transport reads, and makes room for, before that
		ReadBufferSize:               headerLimit,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 web.WriteTimeout,
		IdleTimeout:                  idleTimeout,
		DisablePreParseMultipartForm: true,
		DisableStartupMessage:        true,
		ErrorHandler:                 s.handleError,
	})
	transport := s.app.Server()
	transport.Handler = s.guard(transport.Handler)
	transport.HeaderReceived = body.FirstByteConfig
	transport.SecureErrorLogMessage = true // its errors would quote the request
	transport.CloseOnShutdown = true
	transport.ConnState = conn.NoteState
	s.routes = s.table(serving)
	for i := range s.routes {
		s.register(&s.routes[i])
	}
	return s
}

func (s *Server) register(route *web.Route) {
	serve := func(c *fiber.Ctx) error {
		c.Context().SetUserValue(routeKey, route)
		req := web.NewRequest(route, c)
		if err := s.answer(req); err != nil {
			s.errors.Answer(req, err)
		}
		return nil
	}
	s.app.Add(route.Method, route.Path, serve)
	if route.Method == fiber.MethodGet {
		s.app.Add(fiber.MethodHead, route.Path, serve)
	}
}

// answer admits a caller and hands the request to its route.
func (s *Server) answer(req *web.Request) error {
	route := req.Route
	if err := s.gate.Admit(req); err != nil {
		return err
	}
	if route.Access.By != web.Anyone {
		conn.MarkAuthenticated(req.RequestCtx)
	}
	if id, limited := limitedBy(&req.Principal); limited && !s.limits.allow(id, time.Now()) {
		return ledger.Refuse("api.answer", web.RateLimited, "too many requests")
	}
	if route.JSON && !web.IsJSON(req.Request.Header.ContentType()) {
		return ledger.Refuse("api.answer", web.UnsupportedMediaType, "the body must be application/json")
	}
	if err := s.bodies.Read(req); err != nil {
		return refuse(req, err)
	}
	if !route.Command {
		return route.Handle(req)
	}
	defer s.cfg.Enter()()
	if !route.Unshed {
		place := s.shed.Enter()
		if place == nil {
			return refuse(req, ledger.Refuse("api.answer", ledger.Unavailable, "too many commands are waiting: nothing was done"))
		}
		defer place.Leave()
	}
	return route.Handle(req)
}

// refuse answers a request whose handler does not run in the form of its route.
func refuse(req *web.Request, err error) error {
	if req.Route.Refuse != nil {
		return req.Route.Refuse(req, err)
	}
	return err
}

// BodyBytes is how many bytes are held for request bodies larger than a connection's
// first buffer.
func (s *Server) BodyBytes() int { return s.bodies.Held() }

// Shed is how long commands wait for their turn, and how many were refused because they
// would have waited too long.
func (s *Server) Shed() shed.Figures { return s.shed.Figures() }

// handleError answers requests that Fiber refuses itself: unknown paths and methods, and
// requests that could not be read.
func (s *Server) handleError(c *fiber.Ctx, err error) error {
	ctx := c.Context()
	if len(ctx.Response.Header.PeekBytes(web.HeaderRequestID)) == 0 {
		s.begin(ctx) // the request never got as far as guard
		conn.HangUp(ctx)
	}
	var refused *fiber.Error
	if !errors.As(err, &refused) {
		refused = fiber.ErrInternalServerError
	}
	web.WriteError(ctx, routerRefusal(refused.Code))
	return nil
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
	case fiber.StatusBadRequest, fiber.StatusBadGateway: // how Fiber reports a client that went away
		return ledger.Refuse(op, web.BadRequest, "the request could not be read")
	}
	return ledger.Refuse(op, ledger.Internal, "the router failed")
}

// Serve answers on the listener until Shutdown; the error is why it ended, nil
// after Shutdown. It closes the listener.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return l.Close()
	}
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	return s.app.Listener(conn.Listener{Listener: l, Silent: &s.silent})
}

// Shutdown stops accepting, waits for what is under way until ctx ends, and
// closes idle connections. A server does not serve again.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	// The transport only knows listeners that it has begun to serve.
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()
	s.stop()
	s.silent.CloseAll()
	s.ledger.Close()
	if err := s.app.ShutdownWithContext(ctx); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
