package api

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"mizan/api/accesslog"
	"mizan/api/web"
	"mizan/internal/tracing"
	"mizan/ledger"
)

// Exchange describes a request and its response for the metrics.
type Exchange struct {
	Route   string // the path pattern of the route, or "none"
	Method  string // a known HTTP method, or "other"
	Status  int
	Took    time.Duration
	Limiter ledger.Limiter // the limiter that refused the request; empty if it was not refused by a limiter
}

// beginHop begins the span of a request in a trace (a hop, in package tracing). Without a Tracer nothing is recorded. Health
// checks are never recorded, because most traces of a quiet service would be health checks.
func (s *Server) beginHop(ctx *fasthttp.RequestCtx, started time.Time) tracing.Hop {
	if s.cfg.Tracer == nil || isCheck(string(ctx.Path())) {
		return tracing.Hop{}
	}
	origin := web.OriginOf(ctx)
	hop := s.cfg.Tracer.BeginAt(tracing.Server, methodOf(ctx), origin, started, nil)
	web.SetOrigin(ctx, hop.Origin(origin))
	return hop
}

// report passes a response to the metrics, to the access log and to the request's span in a trace (the hop).
func (s *Server) report(ctx *fasthttp.RequestCtx, method string, started time.Time, hop tracing.Hop) {
	if ctx.UserValue(forwardedKey{}) != nil {
		return // reported by the node that has answered
	}
	req, isRouted := ctx.UserValue(requestKey).(*web.Request)
	e := Exchange{Route: noRoute, Method: method, Status: ctx.Response.StatusCode(), Took: time.Since(started), Limiter: web.LimiterOf(ctx)}
	if isRouted {
		e.Route = req.Route.Path
	}
	if s.cfg.Observe != nil {
		s.cfg.Observe(e)
	}
	wantsLine := s.cfg.AccessLog.Wants(e.Status)
	if !wantsLine && !hop.IsRecorded() {
		return
	}
	line := accesslog.Line{RequestID: ctx.Response.Header.PeekBytes(web.HeaderRequestID), Method: method, Route: e.Route, Status: e.Status, Bytes: bodyLength(ctx)}
	if isRouted {
		line.Organization, line.Partner = req.Identity()
	}
	if stream, isStream := ctx.Response.BodyStream().(web.EndedStream); isStream {
		ended := line // a copy for the closure below, which would otherwise make line escape to the heap for every request
		ended.RequestID = bytes.Clone(line.RequestID)
		stream.OnEnd(func(sent int64) {
			ended.Bytes = sent
			s.describe(ended, started, wantsLine, hop)
		})
		return
	}
	s.describe(line, started, wantsLine, hop)
}

// reportOutside is for responses that are sent without a Server. It passes the response to the metrics and to the access log.
func (cfg *Config) reportOutside(e Exchange, requestID []byte, length int) {
	if cfg.Observe != nil {
		cfg.Observe(e)
	}
	if cfg.AccessLog.Wants(e.Status) {
		cfg.AccessLog.Add(accesslog.Line{
			At: time.Now(), RequestID: requestID, Method: e.Method, Route: e.Route, Status: e.Status, Took: e.Took, Bytes: int64(length),
		})
	}
}

// describe is called when a response is complete. If wantsLine is true, it writes the request's line to the access log. It
// also ends the request's span in the trace (the hop).
func (s *Server) describe(line accesslog.Line, started time.Time, wantsLine bool, hop tracing.Hop) {
	line.At = time.Now()
	line.Took = line.At.Sub(started)
	if wantsLine {
		s.cfg.AccessLog.Add(line)
	}
	if !hop.IsRecorded() {
		return
	}
	hop.SetName(line.Method + " " + line.Route)
	hop.SetText("http.request.method", line.Method)
	hop.SetText("http.route", line.Route)
	hop.SetNumber("http.response.status_code", int64(line.Status))
	if line.Organization != (ledger.ID{}) {
		hop.SetText("mizan.organization_id", line.Organization.String())
	}
	if line.Partner != 0 {
		hop.SetNumber("mizan.partner_id", line.Partner)
	}
	if line.Status >= fasthttp.StatusInternalServerError {
		hop.Fail(fasthttp.StatusMessage(line.Status))
	}
	hop.EndAt(line.At)
}

// bodyLength returns the length of the response's body in bytes. If the body is a stream of unknown length, it returns 0.
func bodyLength(ctx *fasthttp.RequestCtx) int64 {
	switch {
	case ctx.IsHead():
		return 0
	case ctx.Response.IsBodyStream():
		return int64(max(0, ctx.Response.Header.ContentLength()))
	}
	return int64(len(ctx.Response.Body()))
}
