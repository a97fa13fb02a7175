package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"golang.org/x/mod/sumdb/note"

	"mizan/api/auth"
	"mizan/api/shed"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// Config is what a Server is made of.
type Config struct {
	Payments  Payments
	Directory Directory
	Journal   Journal
	Clock     clock.Clock
	Log       *slog.Logger

	// Enter brackets a command and returns what ends it; it waits while a
	// manual clock is being stepped.
	Enter func() (leave func())

	// Away is how many calls at rails are under way now: commands that wait for one take
	// no place from others (package shed). Nil: none.
	Away func() int

	// Advance steps the manual clock; nil: there is none, and no route to it.
	Advance func(to time.Time) error

	// Signer signs the ledger's heads.
	Signer note.Signer

	// HeadKey is the public half of Signer's key, as note.NewVerifier takes it.
	HeadKey string

	// Fingerprint tells equal card numbers from others without keeping them, and
	// equal requests: it is keyed, so that neither can be guessed from it.
	Fingerprint func(number []byte) string

	// AggregateWait is how long an aggregate waits for its turn; 0: 3 s.
	AggregateWait time.Duration

	// Usage tells how much of a limit was used; nil: nothing can tell, 503.
	Usage LimitUsage

	// Pages knows where payers find their pages, and Payers is asked on their
	// behalf. Challenges is the simulator's page, nil without one. Where one of
	// them is missing, its routes are.
	Pages      Pages
	Payers     Payers
	Challenges Challenges

	// Hints hears of notifications from other platforms; nil: none are taken in.
	Hints Hints

	// Deliveries are the notifications that were sent, and are to be; nil: their
	// routes are missing.
	Deliveries Deliveries

	// Periods closes months; nil: nobody does, and the route is missing.
	Periods Periods

	// Backup begins a backup, full or, since another one, an increment, and returns it
	// as a stream, which whoever reads it closes; nil: there is no route to it. Errors
	// that are a *ledger.Refusal are answered as such.
	Backup func(since *BackupBase) (io.ReadCloser, error)

	// Contracts are those of participatory finance; nil: their routes are missing.
	Contracts Contracts

	// Subscriptions renews payments; nil: nobody does, and the routes are missing.
	Subscriptions Subscriptions

	// Status is asked by the health check.
	Status  func() Status
	Version string
	Env     string // "sandbox" or "production"
	Domain  string // host of the base URL

	// TrustedProxies may say for whom they ask. BehindProxy refuses everyone
	// else, and what reached them without TLS.
	TrustedProxies []netip.Prefix
	BehindProxy    bool

	// RateLimit is how many requests a second a partner's key may make; 0: any.
	RateLimit int

	// Observe, if set, sees every answer; route is the pattern, or "none".
	Observe func(route, method string, status int, d time.Duration)
}

// Journal is where reads come from; *posting.Journal is one.
type Journal interface {
	View() *posting.View
}

// Server answers requests on the listeners that it is given.
type Server struct {
	cfg    Config
	gate   auth.Gate
	limits *limits
	app    *fiber.App

	known, strangers *budget // of bodies: of callers who were checked, and of all others

	shed *shed.Gate // commands pass through it

	routes  []route
	silent  silent
	exports *exports
	jump    sync.Mutex // one move of a manual clock at a time

	serving context.Context // ends when Shutdown begins; a request's own context is no safe parent (the transport writes what Done reads)
	stop    context.CancelFunc

	mu        sync.Mutex
	stopped   bool           // guarded by mu
	listeners []net.Listener // guarded by mu
}

// access says who may call a route. The zero value is invalid.
type access uint8

const (
	open      access = iota + 1 // anyone
	partner                     // a partner's API key
	admin                       // the administration token
	reader                      // a session of role admin or auditor, or a partner's key
	auditor                     // a session of role admin or auditor only
	lister                      // a partner's API key, or the administration token for a partner that it names
	viewer                      // a lister, or a session of role admin or auditor
	explainer                   // a viewer other than a partner
	holder                      // a partner's API key, or a session of role partner, which acts as it
	session                     // a session with one of the route's roles
)

// route is one thing that can be asked.
type route struct {
	method, path string
	access       access
	roles        []directory.Role // of access session
	family       *family          // whose module comes before the roles; nil: none
	leaves       bool             // ends the session that it is asked with
	sole         bool             // without x-organization-id it is asked of the only organization
	body         bool             // takes a JSON document
	page         bool             // is a page for people: errors are pages too
	command      bool             // writes: bracketed by Enter, and shed under overload
	bounded      bool             // bounds what waits itself: not shed
	handle       func(*Server, *call) error
}

// call is a request that reached its route.
type call struct {
	*fasthttp.RequestCtx
	who auth.Principal

	operator bool // the administration token asks where others may too

	path *fiber.Ctx // for the parameters of the path
}

// New makes a server; nothing happens before Serve.
func New(cfg Config) *Server {
	s := &Server{
		cfg:     cfg,
		gate:    auth.Gate{Directory: cfg.Directory, Clock: cfg.Clock},
		limits:  newLimits(cfg.RateLimit),
		exports: newExports(),
		known:   newBudget(knownBytes), strangers: newBudget(openBytes),
		shed: shed.New(shed.Options{Away: cfg.Away}),
	}
	s.serving, s.stop = context.WithCancel(context.Background())
	s.app = fiber.New(fiber.Config{
		Immutable:                    true,
		StrictRouting:                true,
		CaseSensitive:                true,
		EnableTrustedProxyCheck:      true, // with no one to trust: who asks is found in source
		StreamRequestBody:            true, // bodies are read in readBody, when the caller is known
		BodyLimit:                    1,    // bytes that the transport reads, and makes room for, before that
		ReadBufferSize:               headerLimit,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		DisablePreParseMultipartForm: true,
		DisableStartupMessage:        true,
		ErrorHandler:                 s.handleError,
	})
	transport := s.app.Server()
	transport.Handler = s.guard(transport.Handler)
	transport.HeaderReceived = awaitBody
	transport.SecureErrorLogMessage = true // its errors would quote the request
	transport.CloseOnShutdown = true
	transport.ConnState = noteState
	s.routes = s.table()
	for i := range s.routes {
		s.register(&s.routes[i])
	}
	return s
}

func (s *Server) register(r *route) {
	serve := func(c *fiber.Ctx) error {
		ctx := c.Context()
		ctx.SetUserValue(routeKey, r)
		if err := s.answer(r, &call{RequestCtx: ctx, path: c}); err != nil {
			s.refuse(ctx, r, err)
		}
		return nil
	}
	s.app.Add(r.method, r.path, serve)
	if r.method == fiber.MethodGet {
		s.app.Add(fiber.MethodHead, r.path, serve)
	}
}

// answer lets a caller in and hands the request to its route.
func (s *Server) answer(r *route, req *call) error {
	if err := s.authenticate(r, req); err != nil {
		return err
	}
	if r.access != open {
		known(req.RequestCtx)
	}
	if id, limited := limitedBy(&req.who); limited && !s.limits.allow(id, time.Now()) {
		return ledger.Refuse("api.answer", rateLimited, "too many requests")
	}
	if r.body && !isJSON(req.Request.Header.ContentType()) {
		return ledger.Refuse("api.answer", unsupportedMediaType, "the body must be application/json")
	}
	if err := s.readBody(r, req); err != nil {
		return s.turnAway(r, req, err)
	}
	if !r.command {
		return r.handle(s, req)
	}
	defer s.cfg.Enter()()
	if !r.bounded {
		place := s.shed.Enter()
		if place == nil {
			return s.turnAway(r, req, ledger.Refuse("api.answer", ledger.Unavailable, "too many commands are waiting: nothing was done"))
		}
		defer place.Leave()
	}
	return r.handle(s, req)
}

// turnAway answers with an error what never got to its handler: as a page, where the
// route is one.
func (s *Server) turnAway(r *route, req *call, err error) error {
	if r.page {
		return s.apologise(req, &visit{}, err)
	}
	return err
}

// Shed is what commands wait for, and how many were refused because they would have
// waited too long.
func (s *Server) Shed() shed.Figures { return s.shed.Figures() }

// refuse answers with an error and logs what is ours to explain. Neither bodies
// nor details of refusals are logged: both may hold what was sent.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, r *route, err error) {
	status := writeError(ctx, err)
	level := slog.LevelError
	if status == fiber.StatusServiceUnavailable {
		level = slog.LevelDebug // an overloaded service must not fill its log, or a full disk
	}
	if status >= fiber.StatusInternalServerError {
		s.cfg.Log.Log(ctx, level, "request failed", "request_id", string(ctx.Response.Header.PeekBytes(headerRequestID)),
			"method", r.method, "route", r.path, "status", status, "error", errorClass(err))
	}
}

// errorClass is what may be logged of an error.
func errorClass(err error) string {
	var refusal *ledger.Refusal
	if errors.As(err, &refusal) {
		return refusal.Op + ": " + string(refusal.Code)
	}
	return err.Error()
}

// handleError answers what Fiber refuses itself: unknown paths and methods, and
// requests that could not be read.
func (s *Server) handleError(c *fiber.Ctx, err error) error {
	ctx := c.Context()
	if len(ctx.Response.Header.PeekBytes(headerRequestID)) == 0 {
		s.begin(ctx) // the request never got as far as guard
		hangUp(ctx)
	}
	var refused *fiber.Error
	if !errors.As(err, &refused) {
		refused = fiber.ErrInternalServerError
	}
	writeError(ctx, routerRefusal(refused.Code))
	return nil
}

func routerRefusal(status int) error {
	const op = "api.router"
	switch status {
	case fiber.StatusNotFound:
		return ledger.Refuse(op, ledger.NotFound, "there is nothing at this path")
	case fiber.StatusMethodNotAllowed:
		return ledger.Refuse(op, methodNotAllowed, "this path has other methods")
	case fiber.StatusRequestHeaderFieldsTooLarge:
		return ledger.Refuse(op, headersTooLarge, "the headers are larger than %d bytes", headerLimit)
	case fiber.StatusRequestTimeout:
		return ledger.Refuse(op, requestTimeout, "the request took too long to arrive")
	case fiber.StatusBadRequest, fiber.StatusBadGateway: // what Fiber makes of a client that went away
		return ledger.Refuse(op, badRequest, "the request could not be read")
	}
	return ledger.Refuse(op, ledger.Internal, "the router failed")
}

// authenticate finds out who calls and whether the route is for them.
func (s *Server) authenticate(r *route, req *call) (err error) {
	a := r.access
	if a == open {
		return nil
	}
	h := &req.Request.Header
	credentials := auth.Credentials{
		APIKey:       h.PeekBytes(headerKey),
		Organization: h.PeekBytes(headerOrg),
		Bearer:       bearer(h.Peek(fiber.HeaderAuthorization)),
		Source:       s.source(req.RequestCtx),
	}
	if r.sole && len(credentials.Organization) == 0 {
		if id, only := s.cfg.Directory.SoleOrganization(); only {
			credentials.Organization = []byte(id.String())
		}
	}
	switch a {
	case partner:
		req.who, err = s.gate.Partner(&credentials)
	case holder:
		req.who, err = s.gate.Holder(&credentials)
	case session:
		enter := s.gate.Session
		if r.leaves {
			enter = s.gate.Leaver
		}
		req.who, err = enter(&credentials, r.roles...)
		if r.family != nil && ledger.IsRefusal(err, ledger.Forbidden) {
			err = r.family.forbids(s, auth.Organization(credentials.Organization), err)
		}
	case admin:
		if err = s.gate.Admin(&credentials); err == nil {
			err = namedOnce(credentials.Organization)
		}
	case reader:
		req.who, err = s.gate.Reader(&credentials, readers...)
	case lister, viewer, explainer:
		err = s.oversee(a, req, &credentials)
	case auditor:
		if req.who, err = s.gate.Reader(&credentials, readers...); err == nil && req.who.Partner != nil {
			err = ledger.Refuse("api.authenticate", ledger.Forbidden, "this needs a session of role auditor or admin")
		}
	}
	return err
}

// readers are the roles that read a whole organization's ledger.
var readers = []directory.Role{directory.Admin, directory.Auditor}

// bearer is the token of an Authorization header of scheme Bearer (RFC 6750).
func bearer(header []byte) []byte {
	const scheme = "Bearer "
	if len(header) > len(scheme) && strings.EqualFold(string(header[:len(scheme)]), scheme) {
		return header[len(scheme):]
	}
	return nil
}

// isJSON tells whether a content type is application/json; UTF-8 is the only
// charset that it may name.
func isJSON(contentType []byte) bool {
	kind, parameter, more := strings.Cut(string(contentType), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return false
	}
	if !more {
		return true
	}
	name, charset, _ := strings.Cut(strings.TrimSpace(parameter), "=")
	return strings.EqualFold(name, "charset") && strings.EqualFold(strings.Trim(charset, `"`), "utf-8")
}

// parameter is a parameter of the path, unescaped and safe to keep.
func (req *call) parameter(name string) string {
	said := req.path.Params(name)
	if strings.IndexByte(said, '%') < 0 {
		return said
	}
	unescaped, err := url.PathUnescape(said)
	if err != nil {
		return said
	}
	return unescaped
}

// object is the body as a JSON object.
func (req *call) object() ([]byte, error) {
	value, err := document(req.Request.Body())
	if err != nil {
		return nil, err
	}
	if !isObject(value) {
		return nil, ledger.RefuseField("api.object", "", "the body must be an object")
	}
	return value, nil
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
	return s.app.Listener(listener{Listener: l, silent: &s.silent})
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
	s.silent.letGo()
	s.exports.close()
	if err := s.app.ShutdownWithContext(ctx); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
