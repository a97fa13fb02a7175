package api

import (
	"errors"
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/internal/jsonwalk"
	"mizan/internal/steps"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Codes that only this layer refuses with.
const (
	badRequest           ledger.Code = "bad_request"
	methodNotAllowed     ledger.Code = "method_not_allowed"
	payloadTooLarge      ledger.Code = "payload_too_large"
	unsupportedMediaType ledger.Code = "unsupported_media_type"
	rateLimited          ledger.Code = "rate_limited"
	requestTimeout       ledger.Code = "request_timeout"
	headersTooLarge      ledger.Code = "headers_too_large"
	destinationMissing   ledger.Code = "destination_missing" // no target_bank_id
	versionNotSupported  ledger.Code = "http_version_not_supported"
)

// shape is one of the three error bodies of the specification, "Errors".
type shape uint8

const (
	message shape = iota + 1 // {error, message}
	fields                   // {errors: [{code, detail, field?}]}
	bare                     // {error}
)

// answer says how a code leaves the house. Without a name the code is its own;
// without text the refusal's detail is shown.
type answer struct {
	status int
	shape  shape
	name   string
	text   string
	retry  int // seconds of Retry-After
}

// answers maps every code, ledger's and this layer's own, to its answer.
var answers = map[ledger.Code]answer{
	ledger.Invalid:              {status: fiber.StatusUnprocessableEntity, shape: fields},
	ledger.WrongParams:          {status: fiber.StatusUnprocessableEntity, shape: bare, name: "wrong params - can't init tx"},
	ledger.InvalidRefundAmount:  {status: fiber.StatusUnprocessableEntity, shape: message},
	ledger.NotReversible:        {status: fiber.StatusUnprocessableEntity, shape: message},
	ledger.InvalidCaptureAmount: {status: fiber.StatusUnprocessableEntity, shape: message},
	ledger.NotContinuable:       {status: fiber.StatusUnprocessableEntity, shape: fields},
	ledger.Expired:              {status: fiber.StatusUnprocessableEntity, shape: message},
	ledger.NotFound:             {status: fiber.StatusNotFound, shape: message},
	ledger.Conflict:             {status: fiber.StatusConflict, shape: message},
	ledger.Forbidden:            {status: fiber.StatusForbidden, shape: message},
	ledger.Unauthorized:         {status: fiber.StatusUnauthorized, shape: bare},
	ledger.ModuleNotActive:      {status: fiber.StatusForbidden, shape: message},
	ledger.Unavailable:          {status: fiber.StatusServiceUnavailable, shape: message, retry: 1},
	ledger.Internal:             {status: fiber.StatusInternalServerError, shape: message, text: "something went wrong on our side"},
	ledger.IllegalTransition:    {status: fiber.StatusConflict, shape: message, name: "conflict"},

	ledger.ClaimTaken:        {status: fiber.StatusConflict, shape: message, name: "conflict"},
	ledger.StaleVersion:      {status: fiber.StatusConflict, shape: message, name: "conflict"},
	ledger.InsufficientFunds: {status: fiber.StatusUnprocessableEntity, shape: message},
	ledger.LimitExceeded:     {status: fiber.StatusUnprocessableEntity, shape: message},
	ledger.OutOfRange:        {status: fiber.StatusUnprocessableEntity, shape: message},

	badRequest:           {status: fiber.StatusBadRequest, shape: message},
	methodNotAllowed:     {status: fiber.StatusMethodNotAllowed, shape: message},
	payloadTooLarge:      {status: fiber.StatusRequestEntityTooLarge, shape: message},
	unsupportedMediaType: {status: fiber.StatusUnsupportedMediaType, shape: message},
	rateLimited:          {status: fiber.StatusTooManyRequests, shape: message, retry: 1},
	requestTimeout:       {status: fiber.StatusRequestTimeout, shape: message},
	headersTooLarge:      {status: fiber.StatusRequestHeaderFieldsTooLarge, shape: message},
	destinationMissing:   {status: fiber.StatusBadRequest, shape: bare, name: "id and target_bank_id are required"},
	versionNotSupported:  {status: fiber.StatusHTTPVersionNotSupported, shape: message},
}

// Bounds of what bad input is answered with, whatever was sent.
const (
	maxProblems = 100 // refused fields; more are not told
	maxDetail   = 512 // bytes of a field's name, and of what is wrong with it
)

// problems are the fields of one request that were refused, in the order of
// the checks, at most maxProblems. As an error they are one answer of shape fields.
type problems []*ledger.Refusal

// Error implements error.
func (p problems) Error() string { return p[0].Error() + " (of " + strconv.Itoa(len(p)) + ")" }

// add refuses a field. Details never hold what was sent, but for the names that
// the specification puts there.
func (p *problems) add(field, detail string) {
	if p.full() {
		return
	}
	*p = append(*p, &ledger.Refusal{Op: "api", Code: ledger.Invalid, Field: field, Detail: detail})
}

// full tells whether no further problem is told.
func (p *problems) full() bool { return len(*p) >= maxProblems }

// err is the problems as an error; nil if there are none.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// refusalsOf turns any error into refusals of one code; what is not a refusal is ours
// to explain and answers internal, or unavailable while the process ends.
func refusalsOf(err error) problems {
	var several problems
	var fields directory.Refusals
	var one *ledger.Refusal
	switch {
	case errors.As(err, &several):
		return several
	case errors.As(err, &fields):
		return problems(fields)
	case errors.As(err, &one):
		return problems{one}
	case errors.Is(err, posting.ErrStopped):
		return problems{ledger.Refuse("api", ledger.Unavailable, "the service is stopping")}
	}
	return problems{ledger.Refuse("api", ledger.Internal, "unexpected error")}
}

// writeError answers with an error and returns the status for the log.
func writeError(ctx *fasthttp.RequestCtx, err error) int {
	var faults *schema.Faults
	if errors.As(err, &faults) {
		writeJSON(ctx, fiber.StatusUnprocessableEntity, appendFaults(nil, faults))
		return fiber.StatusUnprocessableEntity
	}
	refusals := refusalsOf(err)
	first := refusals[0]
	a, known := answers[first.Code]
	if !known {
		a = answers[ledger.Internal]
		first = &ledger.Refusal{Code: ledger.Internal}
	}
	body := make([]byte, 0, 256)
	switch a.shape {
	case fields:
		body = appendProblems(body, refusals)
	case bare:
		body = append(body, `{"error":`...)
		body = append(jsonwalk.AppendText(body, a.nameOf(first)), '}')
	default:
		body = append(body, `{"error":`...)
		body = jsonwalk.AppendText(body, a.nameOf(first))
		body = append(body, `,"message":`...)
		body = append(appendBounded(body, a.textOf(first)), '}')
	}
	if a.retry > 0 && len(ctx.Response.Header.PeekBytes(headerRetryAfter)) == 0 {
		ctx.Response.Header.SetCanonical(headerRetryAfter, strconv.AppendInt(nil, int64(a.retry), 10))
	}
	writeJSON(ctx, a.status, body)
	return a.status
}

func (a *answer) nameOf(r *ledger.Refusal) string {
	if a.name != "" {
		return a.name
	}
	return string(r.Code)
}

func (a *answer) textOf(r *ledger.Refusal) string {
	switch {
	case a.text != "":
		return a.text
	case r.Field != "":
		return r.Field + ": " + r.Detail
	}
	return r.Detail
}

// appendBounded appends a text of an error, which may repeat what was sent, as far as it
// is told.
func appendBounded(dst []byte, text string) []byte {
	steps.Took(min(len(text), 2*maxDetail))
	return jsonwalk.AppendText(dst, beginning([]byte(text[:min(len(text), 2*maxDetail)]), maxDetail))
}

func appendProblems(dst []byte, list problems) []byte {
	dst = append(dst, `{"errors":[`...)
	for i, r := range list[:min(len(list), maxProblems)] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"code":`...)
		dst = jsonwalk.AppendText(dst, string(r.Code))
		dst = append(dst, `,"detail":`...)
		dst = appendBounded(dst, r.Detail)
		if r.Field != "" {
			dst = append(dst, `,"field":`...)
			dst = appendBounded(dst, r.Field)
		}
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

var (
	headerRetryAfter  = []byte("Retry-After")
	headerRequestID   = []byte("X-Request-Id")
	headerLocation    = []byte("Location")
	headerNoSniff     = []byte("X-Content-Type-Options")
	headerCache       = []byte("Cache-Control")
	valueNoSniff      = []byte("nosniff")
	valueNoStore      = []byte("no-store")
	valueJSON         = []byte("application/json")
	headerReplay      = []byte("X-Idempotent-Replay")
	headerMismatch    = []byte("X-Idempotent-Mismatch")
	headerIdempotency = []byte("Idempotency-Key")
	headerKey         = []byte("X-Api-Key")
	headerOrg         = []byte("X-Organization-Id")
	headerSecurity    = []byte("Strict-Transport-Security")
	valueSecurity     = []byte("max-age=31536000") // a year

	valueSecurityBrief = []byte("max-age=3600")
	headerForwarded    = []byte("X-Forwarded-For")
	headerForwardedBy  = []byte("X-Forwarded-Proto")
	valueTrue          = []byte("true")
)

// writeJSON answers with a status and a JSON body, which is copied.
func writeJSON(ctx *fasthttp.RequestCtx, status int, body []byte) {
	h := &ctx.Response.Header
	h.SetContentTypeBytes(valueJSON)
	h.SetCanonical(headerCache, valueNoStore)
	h.SetCanonical(headerNoSniff, valueNoSniff)
	ctx.Response.SetStatusCode(status)
	ctx.Response.SetBody(body)
}

// notFound is the answer for everything that is not there or not the caller's.
func notFound() error { return ledger.Refuse("api", ledger.NotFound, "there is no such thing") }
