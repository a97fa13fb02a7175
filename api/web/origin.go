package web

import (
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"mizan/api/auth"
	"mizan/internal/tracing"
	"mizan/ledger"
)

// Keys of values in the context of a request.
const (
	originKey  = "origin"  // a *tracing.Origin, if the service records this request in a trace
	limiterKey = "limiter" // the ledger.Limiter that refused the request
)

var headerTraceparent = []byte(tracing.TraceparentHeader)

// OriginOf returns the origin to be recorded in the events that a request causes: the request's id and, if the request belongs
// to a trace, the trace.
func OriginOf(ctx *fasthttp.RequestCtx) (o tracing.Origin) {
	if recorded, isRecorded := ctx.UserValue(originKey).(*tracing.Origin); isRecorded {
		return *recorded
	}
	o.Request, _ = uuid.ParseBytes(ctx.Response.Header.PeekBytes(HeaderRequestID)) // begin in package api has set this header
	h := &ctx.Request.Header
	if header := h.PeekBytes(headerTraceparent); len(header) > 0 && len(h.PeekAll(tracing.TraceparentHeader)) == 1 { // two headers would be ambiguous
		o.SetTraceparent(header)
	}
	return o
}

// SetOrigin replaces the result of OriginOf, if the service records this request in a trace.
func SetOrigin(ctx *fasthttp.RequestCtx, o tracing.Origin) { ctx.SetUserValue(originKey, &o) }

// Origin returns OriginOf of the request. Calls to providers and notifications contain this origin.
func (req *Request) Origin() tracing.Origin { return OriginOf(req.RequestCtx) }

// Author returns the author of the events that the request causes. It need not read the author's record, because the principal
// contains what identifies the record. If an administrator acts as the operator through the console, the author is the
// administrator, not the administration token. On a route for anyone, the author is the payer.
func (req *Request) Author() ledger.Author {
	if author, known := req.Principal.Author(); known {
		return author
	}
	switch {
	case req.Route.Access.Callers == Anyone:
		return ledger.ByPayer.Author()
	case req.Grant != nil && !req.Grant.Operator:
		return req.Grant.Session.Author()
	}
	return ledger.ByAdminToken.Author()
}

// owner is the owner of the record that a request is about, if the route is for anyone.
type owner struct {
	org     ledger.ID
	partner int64 // 0: not known
}

// SetOwner stores the owner of the record that the request is about, for Identity. It is meant for routes for anyone. A handler
// calls it only after the sender has proved a right to the record by a token, a public address, a signature or a password. If
// the partner is not known, partner is 0.
func (req *Request) SetOwner(org ledger.ID, partner int64) { req.owner = owner{org, partner} }

// Identity returns the caller's organization and partner, for the access log and traces. If one of them is unknown, or if Admit
// has not admitted the request yet, it is zero. If the caller has the administration token, the organization is the one in the
// request's header. On a route for anyone, SetOwner has set both.
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

// RecordLimiter stores which limiter refused the request, for the metrics. If limiter is empty, it does nothing.
func RecordLimiter(ctx *fasthttp.RequestCtx, limiter ledger.Limiter) {
	if limiter != "" {
		ctx.SetUserValue(limiterKey, limiter)
	}
}

// LimiterOf returns the limiter that refused the request, or an empty one if none did.
func LimiterOf(ctx *fasthttp.RequestCtx) ledger.Limiter {
	limiter, _ := ctx.UserValue(limiterKey).(ledger.Limiter)
	return limiter
}
