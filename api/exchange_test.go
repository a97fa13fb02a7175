package api

import (
	"io"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"mizan/api/accesslog"
	"mizan/api/web"
)

// Reporting a request to the metrics and to the access log allocates no memory. Without a tracer, the request's hop (its span in
// a trace) allocates none either.
func TestReportingARequestAllocatesNothing(t *testing.T) {
	log := accesslog.New(accesslog.Options{Mode: accesslog.All, Out: io.Discard, Buffer: 1}) // the log also encodes lines that do not fit into its buffer and are dropped
	t.Cleanup(func() { _ = log.Close() })
	for name, s := range map[string]*Server{
		"nothing is observed":    {},
		"access log":             {cfg: Config{AccessLog: log}},
		"access log and metrics": {cfg: Config{AccessLog: log, Observe: func(Exchange) {}}},
	} {
		t.Run(name, func(t *testing.T) {
			var ctx fasthttp.RequestCtx
			ctx.Request.SetRequestURI("/api/v1/transactions")
			s.begin(&ctx)
			ctx.SetUserValue(requestKey, &web.Request{RequestCtx: &ctx, Route: &web.Route{Path: "/api/v1/transactions"}})
			ctx.Response.SetBody([]byte(`{}`))
			started := time.Now()
			allocations := testing.AllocsPerRun(100, func() {
				hop := s.beginHop(&ctx, started)
				if origin := web.OriginOf(&ctx); origin.HasTrace() || !origin.HasRequest() {
					t.Error("the request's origin is wrong")
				}
				s.report(&ctx, methodOf(&ctx), started, hop)
			})
			if allocations != 0 {
				t.Errorf("%v allocations", allocations)
			}
		})
	}
}
