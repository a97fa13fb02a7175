package web

import (
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"mizan/api/auth"
	"mizan/internal/tracing"
	"mizan/ledger"
)

// Names under which the context of a request contains values.
const (
	originKey  = "origin"  // *tracing.Origin of what the request causes, if its hop is recorded
	limiterKey = "limiter" // ledger.Limiter that refused the request
)

var headerTraceparent = []byte(tracing.TraceparentHeader)

// OriginOf returns the origin of what a request causes: its id and, if it has one, its trace.
func OriginOf(ctx *fasthttp.RequestCtx) (o tracing.Origin) {
	if recorded, isRecorded := ctx.UserValue(originKey).(*tracing.Origin); isRecorded {
		return *recorded
	}
	o.Request, _ = uuid.ParseBytes(ctx.Response.Header.PeekBytes(HeaderRequestID)) // the service has made it
	h := &ctx.Request.Header
	if header := h.PeekBytes(headerTraceparent); len(header) > 0 && len(h.PeekAll(tracing.TraceparentHeader)) == 1 { // two would be two traces
		o.SetTraceparent(header)
	}
	return o
}

// SetOrigin makes the origin that of what the request causes, because the request's hop is recorded.
func SetOrigin(ctx *fasthttp.RequestCtx, o tracing.Origin) { ctx.SetUserValue(originKey, &o) }

// Origin returns the origin of what the request causes, for calls of providers and for notifications.
func (req *Request) Origin() tracing.Origin { return OriginOf(req.RequestCtx) }

// owner is whose record a request on a route for anyone is about.
type owner struct {
	org     ledger.ID
	partner int64 // 0: not known
}

// SetOwner says whose record a request on a route for anyone is about, for Identity. The handler calls it when the request has
// proved that it may know: by a token, a public address, a signature or a password. partner 0: not known.
func (req *Request) SetOwner(org ledger.ID, partner int64) { req.owner = owner{org, partner} }

// Identity returns the organization and the partner of the caller, as far as they are known after Admit has admitted the
// request. The administration token belongs to no organization: then it is the one in the request's header. On a route for
// anyone they are those of SetOwner.
func (req *Request) Identity() (org ledger.ID, partner int64) {
	if !req.IsAdmitted {
		return org, 0
	}
	if req.Route.Access.Callers == Anyone {
		return req.owner.org, req.owner.partner
	}
	if req.Principal.Partner != nil {
		partner = req.Principal.Partner.Number
	}
	if org = req.Principal.Org; org == (ledger.ID{}) {
		org = auth.Organization(req.Request.Header.PeekBytes(HeaderOrganization))
	}
	return org, partner
}

// NoteLimiter remembers which bound has refused a request, for the metrics. It does nothing for an error that is not the
// refusal of a bound.
func NoteLimiter(ctx *fasthttp.RequestCtx, limiter ledger.Limiter) {
	if limiter != "" {
		ctx.SetUserValue(limiterKey, limiter)
	}
}

// LimiterOf returns the bound that has refused a request; empty: none has.
func LimiterOf(ctx *fasthttp.RequestCtx) ledger.Limiter {
	limiter, _ := ctx.UserValue(limiterKey).(ledger.Limiter)
	return limiter
}
