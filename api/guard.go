package api

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/api/web/body"
	"mizan/api/web/conn"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/ledger/schema"
)

// Bounds of a connection.
const (
	headerLimit = 8 << 10 // bytes of the request line and the headers
	readTimeout = 30 * time.Second
	idleTimeout = 2 * time.Minute
)

// requestKey is the key under which the *web.Request of a request is stored in its fasthttp context. Metrics and logs
// read it there.
const requestKey = "request"

// noRoute is the label for requests that match no route, so that arbitrary paths do not become labels of metrics.
const noRoute = "none"

// guard wraps all request handling, including Fiber's router. It sets the response's x-request-id, refuses
// requests that two parsers could read differently, turns a panic into a response, and wipes the body.
func (s *Server) guard(inner fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		started := time.Now()
		s.begin(ctx)
		defer s.finish(ctx, started, s.beginHop(ctx, started))
		if err := s.checkRequest(ctx); err != nil {
			web.WriteError(ctx, err)
			return
		}
		inner(ctx)
	}
}

// finish wipes a request's body, sends a response if the handler has panicked, and reports the response. It is deferred, so
// that it also runs after a panic.
func (s *Server) finish(ctx *fasthttp.RequestCtx, started time.Time, hop tracing.Hop) {
	p := recover()
	body.Wipe(ctx)
	if p != nil {
		s.respondToPanic(ctx, p)
	}
	body.SkipRest(ctx)
	s.report(ctx, methodOf(ctx), started, hop)
}

// respondToPanic sends the response after a panic. It logs the panic's text only if the panic is a runtime
// error, because any other value may contain data of the request.
func (s *Server) respondToPanic(ctx *fasthttp.RequestCtx, p any) {
	id := string(ctx.Response.Header.PeekBytes(web.HeaderRequestID))
	secure := len(ctx.Response.Header.PeekBytes(web.HeaderTLSOnly)) > 0
	ctx.Response.Reset()
	ctx.Response.Header.SetCanonical(web.HeaderRequestID, []byte(id))
	setPolicy(ctx)
	if secure {
		ctx.Response.Header.SetCanonical(web.HeaderTLSOnly, s.tlsOnly())
	}
	fault := ledger.Refuse("api", ledger.Internal, "panic")
	if req, isRouted := ctx.UserValue(requestKey).(*web.Request); !isRouted || !req.Route.IsConsole || !refuseAsPage(req, fault) {
		web.WriteError(ctx, fault)
	}
	ctx.Response.SetConnectionClose()
	reason := "other"
	if cause, isRuntimeError := p.(runtime.Error); isRuntimeError {
		reason = cause.Error()
	}
	s.cfg.Log.Error("panic in a handler", "request_id", id, "reason", reason, "stack", string(debug.Stack()))
}

// refuseAsPage responds with an error page of the console. If making the page fails or panics, it returns false.
func refuseAsPage(req *web.Request, fault error) (isMade bool) {
	defer func() { isMade = recover() == nil && isMade }()
	return refuse(req, fault) == nil
}

// otherMethod is the label for requests with an unknown method, so that arbitrary methods do not become labels of metrics.
const otherMethod = "other"

// methodOf returns the label for the request's method. TRACE counts as unknown, because no route has this method and
// checkRequest replaces unknown methods by TRACE.
func methodOf(ctx *fasthttp.RequestCtx) string { return methodLabel(ctx.Request.Header.Method()) }

func methodLabel[T string | []byte](method T) string {
	for _, m := range fiber.DefaultMethods {
		if string(method) == m && m != fiber.MethodTrace {
			return m
		}
	}
	return otherMethod
}

// begin sets the headers that every response has: x-request-id, a content security policy and, over TLS, the instruction to
// use TLS only. An x-request-id in the request is ignored, because in the log it would look like one of the service's own ids.
func (s *Server) begin(ctx *fasthttp.RequestCtx) {
	var buf [36]byte
	ctx.Response.Header.SetCanonical(web.HeaderRequestID, schema.AppendID(buf[:0], uuid.New()))
	setPolicy(ctx)
	if ctx.IsTLS() {
		ctx.Response.Header.SetCanonical(web.HeaderTLSOnly, s.tlsOnly())
	}
}

// setPolicy sets headers that forbid browsers to load resources for the response, and to show the response in a frame. A
// response that is a page replaces this content security policy by its own.
func setPolicy(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.SetCanonical(web.HeaderPolicy, web.ValueStrictPolicy)
	ctx.Response.Header.SetCanonical(web.HeaderFrameOptions, web.ValueDeny)
}

// tlsOnly returns the value of the header that tells browsers for how long they must use TLS only. In a sandbox the time
// is short, because a developer may also run programs without TLS under the same host name, localhost.
func (s *Server) tlsOnly() []byte {
	if s.cfg.Env == sandbox {
		return web.ValueTLSOnlyBriefly
	}
	return web.ValueTLSOnly
}

// checkRequest runs before any work is done for a request. It refuses a request that is malformed, that two parsers could read
// in different ways, or that should have come over TLS. If credentials occur more than once, it removes them.
func (s *Server) checkRequest(ctx *fasthttp.RequestCtx) error {
	headers, err := checkHeaders(ctx.Request.Header.RawHeaders())
	if err == nil && headers.chunked && !ctx.Request.Header.IsHTTP11() {
		err = ledger.Refuse("api.guard", web.BadRequest, "HTTP/1.0 has no chunks")
	}
	if err == nil {
		err = checkTarget(&ctx.Request.Header)
	}
	if err != nil {
		conn.HangUp(ctx) // we cannot know where the next request on the connection begins
		return err
	}
	if s.cfg.BehindProxy {
		// Two X-Forwarded-Proto headers prove nothing, because the client may have sent one of them.
		switch isSecure := headers.schemes == 1 && s.access.Proxies.IsSecure(ctx); {
		case isSecure:
			ctx.Response.Header.SetCanonical(web.HeaderTLSOnly, s.tlsOnly())
		case !isProbe(ctx.Path()):
			return ledger.Refuse("api.guard", ledger.Forbidden, "requests must come over TLS")
		}
	}
	if headers.encoded {
		return ledger.Refuse("api.guard", web.UnsupportedMediaType, "content encodings are not supported")
	}
	if methodOf(ctx) == otherMethod {
		// No route has the method TRACE, so the router responds with 404 or 405 according to the path alone.
		ctx.Request.Header.SetMethod(fiber.MethodTrace)
	}
	headers.removeRepeated(&ctx.Request.Header)
	return nil
}
