package web

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/ledger"
)

// InternalRequest is an internal request: a request that the console makes to a route of the API, without leaving the process.
type InternalRequest struct {
	Method, Path   string
	Query          url.Values
	Body           []byte // overwritten when the call returns; nil if none
	ContentType    string // media type of the body; if empty, application/json
	IdempotencyKey string // empty if none
}

// Internal carries out internal requests. Like requests of clients, they pass all steps of the API, except authentication and
// the rate limit, because the caller is already known.
type Internal struct {
	Handle fasthttp.RequestHandler // the router
	Log    *slog.Logger
}

// Do carries out a call for the person in the grant, while the request outer of that person is being handled. source is the
// address of the client that sent outer. If the call is a command or a bounded read, it may have to wait for a place. So outer
// itself must be neither, or it would occupy a place meanwhile.
func (in *Internal) Do(outer *Request, source netip.Addr, grant *Grant, call *InternalRequest) *InternalResponse {
	ctx := new(fasthttp.RequestCtx)
	ctx.Init2(outer.Conn(), nil, false)
	ctx.SetRemoteAddr(net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0)))
	h := &ctx.Request.Header
	h.SetMethod(call.Method)
	h.SetHost(string(outer.Host()))
	uri := call.Path
	if len(call.Query) > 0 {
		uri += "?" + call.Query.Encode()
	}
	h.SetRequestURI(uri)
	if grant.Org != (ledger.ID{}) {
		h.SetCanonical(HeaderOrganization, []byte(grant.Org.String()))
	}
	if call.IdempotencyKey != "" {
		h.SetCanonical(headerIdempotency, []byte(call.IdempotencyKey))
	}
	if call.Body != nil {
		h.SetContentTypeBytes(ValueJSON)
		if call.ContentType != "" {
			h.SetContentType(call.ContentType)
		}
		ctx.Request.SetBodyRaw(call.Body)
		defer clear(call.Body)
	}
	ctx.Response.Header.SetCanonical(HeaderRequestID, slices.Clone(outer.Response.Header.PeekBytes(HeaderRequestID)))
	SetOrigin(ctx, outer.Origin())
	ctx.SetUserValue(grantKey{}, grant)
	in.Handle(ctx)
	return newAnswer(ctx)
}

// InternalResponse is the response to an internal request.
type InternalResponse struct {
	Status int
	Body   []byte // JSON; empty if the response is a stream
	ctx    *fasthttp.RequestCtx
}

func newAnswer(ctx *fasthttp.RequestCtx) *InternalResponse {
	a := &InternalResponse{Status: ctx.Response.StatusCode(), ctx: ctx}
	if !ctx.Response.IsBodyStream() {
		a.Body = ctx.Response.Body()
	}
	return a
}

// Header returns the value of a header, which is empty if there is no such header.
func (a *InternalResponse) Header(name string) string {
	return string(a.ctx.Response.Header.Peek(name))
}

// IsOK tells whether the request was carried out, and not refused.
func (a *InternalResponse) IsOK() bool { return a.Status < fiber.StatusBadRequest }

// Decode decodes the JSON of the response into v. If the request was not carried out, the error is a *Refusal.
func (a *InternalResponse) Decode(v any) error {
	if !a.IsOK() {
		return a.Refusal()
	}
	return json.Unmarshal(a.Body, v)
}

// SendTo makes the response to another request a copy of this response. It also works for streams and files.
func (a *InternalResponse) SendTo(req *Request) {
	to, from := &req.Response, &a.ctx.Response
	to.SetStatusCode(a.Status)
	for _, name := range [][]byte{[]byte(fiber.HeaderContentType), []byte(fiber.HeaderContentDisposition), HeaderCache, HeaderNoSniff} {
		if value := from.Header.PeekBytes(name); len(value) > 0 {
			to.Header.SetBytesKV(name, value)
		}
	}
	if from.IsBodyStream() {
		to.ImmediateHeaderFlush = from.ImmediateHeaderFlush
		to.SetBodyStream(from.BodyStream(), -1)
		return
	}
	to.SetBodyRaw(from.Body())
}

// Refusal is the error of an internal request that the API refused.
type RefusedError struct {
	Status   int
	Code     string         // code of the first problem, or of the whole response
	Message  string         // message that is not about a field; empty if none
	Problems []FieldProblem // the problems of fields, in the order of the response
}

// Text returns the message and the problems of fields as one text.
func (r *RefusedError) Text() string {
	var parts []string
	if r.Message != "" {
		parts = append(parts, r.Message)
	}
	for _, p := range r.Problems {
		parts = append(parts, p.Detail)
	}
	return strings.Join(parts, ". ")
}

// FieldProblem says why a field was refused.
type FieldProblem struct{ Field, Code, Detail string }

// Error implements error.
func (r *RefusedError) Error() string { return "console: " + r.Code }

// Of returns the text of the problem with a field, which is empty if there is no problem.
func (r *RefusedError) Of(field string) string {
	if r == nil {
		return ""
	}
	for _, p := range r.Problems {
		if p.Field == field {
			return p.Detail
		}
	}
	return ""
}

// Refusal returns the refusal. If the request was carried out, it returns nil.
func (a *InternalResponse) Refusal() *RefusedError {
	if a.IsOK() {
		return nil
	}
	var body struct {
		Error   string              `json:"error"`
		Message string              `json:"message"`
		Details map[string][]string `json:"details"`
		Errors  []struct {
			Code, Detail, Field string
		} `json:"errors"`
	}
	_ = json.Unmarshal(a.Body, &body) // if the response is not JSON, only the status is known
	r := &RefusedError{Status: a.Status, Code: body.Error, Message: body.Message}
	for _, e := range body.Errors {
		if r.Code == "" {
			r.Code = e.Code
		}
		if e.Field == "" {
			r.Message = e.Detail
			continue
		}
		r.Problems = append(r.Problems, FieldProblem{e.Field, e.Code, e.Detail})
	}
	for _, field := range slices.Sorted(maps.Keys(body.Details)) {
		for _, detail := range body.Details[field] {
			r.Problems = append(r.Problems, FieldProblem{field, body.Error, detail})
		}
	}
	return r
}
