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
	originKey  = "origin"  // a *tracing.Origin, if the request's hop is recorded
	limiterKey = "limiter" // the ledger.Limiter that refused the request
)

var headerTraceparent = []byte(tracing.TraceparentHeader)

// OriginOf returns the origin that events caused by a request record: the request's id and, if it has one, its trace.
func OriginOf(ctx *fasthttp.RequestCtx) (o tracing.Origin) {
	if recorded, isRecorded := ctx.UserValue(originKey).(*tracing.Origin); isRecorded {
		return *recorded
	}
	o.Request, _ = uuid.ParseBytes(ctx.Response.Header.PeekBytes(HeaderRequestID)) // begin in package api has set it
	h := &ctx.Request.Header
	if header := h.PeekBytes(headerTraceparent); len(header) > 0 && len(h.PeekAll(tracing.TraceparentHeader)) == 1 { // with two headers, the trace is ambiguous
		o.SetTraceparent(header)
	}
	return o
}

// SetOrigin replaces the result of OriginOf for a request whose hop is recorded.
func SetOrigin(ctx *fasthttp.RequestCtx, o tracing.Origin) { ctx.SetUserValue(originKey, &o) }

// Origin returns OriginOf of the request. Calls to providers and notifications contain this origin.
func (req *Request) Origin() tracing.Origin { return OriginOf(req.RequestCtx) }

// Author returns the author of the events that the request causes. It reads no record, because the principal identifies its own.
// If an administrator acts as the operator through the console, the author is the administrator and not the administration token.
// On a route for anyone, the author is the payer.
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

// owner is the owner of the record that a request on a route for anyone concerns.
type owner struct {
	org     ledger.ID
	partner int64 // 0: not known
}

// SetOwner records for Identity the owner of the record that a request on a route for anyone concerns. A handler calls it only
// after the request has proved its right to the record: by a token, a public address, a signature or a password. partner is 0 if
// it is not known.
func (req *Request) SetOwner(org ledger.ID, partner int64) { req.owner = owner{org, partner} }

// Identity returns the organization and the partner of the caller, for the access log and traces. Unknown ones are zero, as is
// everything before Admit has admitted the request. With the administration token, the organization is that of the request's
// header. On a route for anyone, both come from SetOwner.
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

// NoteLimiter records which limiter has refused a request, for the metrics. It does nothing if limiter is empty.
func NoteLimiter(ctx *fasthttp.RequestCtx, limiter ledger.Limiter) {
	if limiter != "" {
		ctx.SetUserValue(limiterKey, limiter)
	}
}

// LimiterOf returns the limiter that has refused a request; empty: none.
func LimiterOf(ctx *fasthttp.RequestCtx) ledger.Limiter {
	limiter, _ := ctx.UserValue(limiterKey).(ledger.Limiter)
	return limiter
}
