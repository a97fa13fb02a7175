package web

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/internal/steps"
	"mizan/ledger"
	"mizan/ledger/schema"
)

// Refusal codes that only the HTTP layer uses.
const (
	BadRequest           ledger.Code = "bad_request"
	MethodNotAllowed     ledger.Code = "method_not_allowed"
	PayloadTooLarge      ledger.Code = "payload_too_large"
	UnsupportedMediaType ledger.Code = "unsupported_media_type"
	RateLimited          ledger.Code = "rate_limited"
	RequestTimeout       ledger.Code = "request_timeout"
	HeadersTooLarge      ledger.Code = "headers_too_large"
	DestinationMissing   ledger.Code = "destination_missing" // the request has no target_bank_id
	VersionNotSupported  ledger.Code = "http_version_not_supported"
)

// shape is one of the three forms of an error's body (specification, "Errors").
type shape uint8

const (
	messageShape shape = iota + 1 // {error, message}
	fieldsShape                   // {errors: [{code, detail, field?}]}
	nameShape                     // {error}
)

// errorResponse is the HTTP response to a refusal code. If name is empty, the code itself is the
// error's name. If text is empty, the refusal's detail is shown.
type errorResponse struct {
	status     int
	shape      shape
	name       string
	text       string
	retryAfter int // seconds for the header Retry-After; 0 if the response has no such header

	limiter ledger.Limiter // the limiter that refused the request; empty if none did
}

// errorResponses maps every refusal code of packages ledger and web to its response.
var errorResponses = map[ledger.Code]errorResponse{
	ledger.Invalid:              {status: fiber.StatusUnprocessableEntity, shape: fieldsShape},
	ledger.WrongParams:          {status: fiber.StatusUnprocessableEntity, shape: nameShape, name: "wrong params - can't init tx"},
	ledger.InvalidRefundAmount:  {status: fiber.StatusUnprocessableEntity, shape: messageShape},
	ledger.NotReversible:        {status: fiber.StatusUnprocessableEntity, shape: messageShape},
	ledger.InvalidCaptureAmount: {status: fiber.StatusUnprocessableEntity, shape: messageShape},
	ledger.NotContinuable:       {status: fiber.StatusUnprocessableEntity, shape: fieldsShape},
	ledger.Expired:              {status: fiber.StatusUnprocessableEntity, shape: messageShape},
	ledger.NotFound:             {status: fiber.StatusNotFound, shape: messageShape},
	ledger.Conflict:             {status: fiber.StatusConflict, shape: messageShape},
	ledger.Forbidden:            {status: fiber.StatusForbidden, shape: messageShape},
	ledger.Unauthorized:         {status: fiber.StatusUnauthorized, shape: nameShape},
	ledger.ModuleNotActive:      {status: fiber.StatusForbidden, shape: messageShape},
	ledger.Unavailable:          {status: fiber.StatusServiceUnavailable, shape: messageShape, retryAfter: 1},
	ledger.Internal:             {status: fiber.StatusInternalServerError, shape: messageShape, text: "something went wrong on our side"},
	ledger.IllegalTransition:    {status: fiber.StatusConflict, shape: messageShape, name: "conflict"},

	ledger.ClaimTaken:        {status: fiber.StatusConflict, shape: messageShape, name: "conflict"},
	ledger.StaleVersion:      {status: fiber.StatusConflict, shape: messageShape, name: "conflict"},
	ledger.InsufficientFunds: {status: fiber.StatusUnprocessableEntity, shape: messageShape},
	ledger.LimitExceeded:     {status: fiber.StatusUnprocessableEntity, shape: messageShape},
	ledger.OutOfRange:        {status: fiber.StatusUnprocessableEntity, shape: messageShape},

	BadRequest:           {status: fiber.StatusBadRequest, shape: messageShape},
	MethodNotAllowed:     {status: fiber.StatusMethodNotAllowed, shape: messageShape},
	PayloadTooLarge:      {status: fiber.StatusRequestEntityTooLarge, shape: messageShape},
	UnsupportedMediaType: {status: fiber.StatusUnsupportedMediaType, shape: messageShape},
	RateLimited:          {status: fiber.StatusTooManyRequests, shape: messageShape, retryAfter: 1},
	RequestTimeout:       {status: fiber.StatusRequestTimeout, shape: messageShape},
	HeadersTooLarge:      {status: fiber.StatusRequestHeaderFieldsTooLarge, shape: messageShape},
	DestinationMissing:   {status: fiber.StatusBadRequest, shape: nameShape, name: "id and target_bank_id are required"},
	VersionNotSupported:  {status: fiber.StatusHTTPVersionNotSupported, shape: messageShape},
}

// ErrorForm describes the response to refusals with a certain code.
type ErrorForm struct {
	Status int

	// Name is the member "error" of the body. If the body has the list "errors" instead, whose entries contain the code,
	// Name is empty.
	Name string

	HasMessage bool // the body has the member "message"
	RetryAfter bool // the response has the header Retry-After
}

// ErrorFormOf returns the form of the response for a refusal code. If the code is unknown, ok is false.
func ErrorFormOf(code ledger.Code) (form ErrorForm, ok bool) {
	response, ok := errorResponses[code]
	form = ErrorForm{Status: response.status, HasMessage: response.shape == messageShape, RetryAfter: response.retryAfter > 0}
	if response.shape != fieldsShape {
		form.Name = response.nameOf(&ledger.Refusal{Code: code})
	}
	return form, ok
}

// ErrorCodes returns all refusal codes, sorted.
func ErrorCodes() []ledger.Code { return slices.Sorted(maps.Keys(errorResponses)) }

// WriteError sends the response to an error, and returns its status.
func WriteError(ctx *fasthttp.RequestCtx, err error) int {
	response, body := errorResponseTo(err)
	RecordLimiter(ctx, response.limiter)
	if response.retryAfter > 0 && len(ctx.Response.Header.PeekBytes(HeaderRetryAfter)) == 0 {
		ctx.Response.Header.SetCanonical(HeaderRetryAfter, strconv.AppendInt(nil, int64(response.retryAfter), 10))
	}
	WriteJSON(ctx, response.status, body)
	return response.status
}

// ErrorBody returns the body of the response to an error.
func ErrorBody(err error) []byte {
	_, body := errorResponseTo(err)
	return body
}

// errorResponseTo returns the response to an error, and the response's body.
func errorResponseTo(err error) (response errorResponse, body []byte) {
	var faults *schema.Faults
	if errors.As(err, &faults) {
		return errorResponse{status: fiber.StatusUnprocessableEntity}, appendFaults(nil, faults)
	}
	refusals := RefusalsOf(err)
	refusal := refusals[0]
	response, known := errorResponses[refusal.Code]
	if !known {
		response = errorResponses[ledger.Internal]
		refusal = &ledger.Refusal{Code: ledger.Internal}
	}
	response.limiter = refusal.Limiter
	body = make([]byte, 0, 256)
	switch response.shape {
	case fieldsShape:
		body = appendProblems(body, refusals)
	case nameShape:
		body = append(body, `{"error":`...)
		body = append(schema.AppendText(body, response.nameOf(refusal)), '}')
	default:
		body = append(body, `{"error":`...)
		body = schema.AppendText(body, response.nameOf(refusal))
		body = append(body, `,"message":`...)
		body = append(appendBounded(body, response.textOf(refusal)), '}')
	}
	return response, body
}

func (e *errorResponse) nameOf(r *ledger.Refusal) string {
	if e.name != "" {
		return e.name
	}
	return string(r.Code)
}

func (e *errorResponse) textOf(r *ledger.Refusal) string {
	switch {
	case e.text != "":
		return e.text
	case r.Field != "":
		return r.Field + ": " + r.Detail
	}
	return r.Detail
}

// appendBounded appends at most maxDetail bytes of an error's text. The text needs a bound, because it may repeat data
// of the request.
func appendBounded(dst []byte, text string) []byte {
	steps.Add(min(len(text), 2*maxDetail))
	return schema.AppendText(dst, Truncate([]byte(text[:min(len(text), 2*maxDetail)]), maxDetail))
}

func appendProblems(dst []byte, list Problems) []byte {
	dst = append(dst, `{"errors":[`...)
	for i, r := range list[:min(len(list), maxProblems)] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"code":`...)
		dst = schema.AppendText(dst, string(r.Code))
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

// appendFaults appends the body of a response 422 of the contracts' routes. It lists each refused field once, with all
// messages about the field. If the action is unknown, the message about it is also the message of the whole body.
func appendFaults(dst []byte, faults *schema.Faults) []byte {
	encoder := schema.Encoder{Buf: dst}
	encoder.Open('{')
	encoder.Word("error", "unprocessable_entity")
	for _, fault := range faults.List {
		if fault.Field == "action" {
			encoder.Key("message")
			encoder.Buf = appendBounded(encoder.Buf, fault.Message)
			break
		}
	}
	encoder.OpenField("details", '{')
	writtenFields := make(map[string]bool)
	list := faults.List[:min(len(faults.List), maxProblems)]
	for _, fault := range list {
		if writtenFields[fault.Field] {
			continue
		}
		writtenFields[fault.Field] = true
		encoder.Comma()
		encoder.Buf = append(appendBounded(encoder.Buf, fault.Field), ':', '[')
		for _, candidate := range list {
			if candidate.Field == fault.Field {
				encoder.Comma()
				encoder.Buf = appendBounded(encoder.Buf, candidate.Message)
			}
		}
		encoder.Close(']')
	}
	encoder.Close('}')
	encoder.Close('}')
	return encoder.Buf
}
