package mizan

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is a refusal: a response whose status is not 2xx.
type Error struct {
	Status  int
	Code    string // for programs: one of the Code constants; empty if the response has no code
	Message string // for people
	Fields  []FieldError

	RequestID  string        // the id under which the service logs the request
	RetryAfter time.Duration // time after which the request may be repeated; 0 if the response names none

	Method, Path   string
	IdempotencyKey string // if you repeat a write with this key, the write is carried out only once
}

// FieldError describes an error in a field of the request.
type FieldError struct {
	Field  string // name of the field, or path of a nested field, such as overdraft_limit.0.network
	Code   string
	Detail string // for people
}

// Kinds of refusals. Use errors.Is to find out whether an error is of a kind.
var (
	ErrUnauthorized = errors.New("mizan: no valid credential")
	ErrForbidden    = errors.New("mizan: the caller may not do this")
	ErrNotFound     = errors.New("mizan: you have no record with this id")
	ErrConflict     = errors.New("mizan: the state does not allow it, or another operation is under way")
	ErrInvalid      = errors.New("mizan: fields of the request are wrong")
	ErrRateLimited  = errors.New("mizan: too many requests")
	ErrUnavailable  = errors.New("mizan: the service is unavailable")
)

var kinds = map[int]error{
	http.StatusUnauthorized: ErrUnauthorized, http.StatusForbidden: ErrForbidden, http.StatusNotFound: ErrNotFound,
	http.StatusConflict: ErrConflict, http.StatusUnprocessableEntity: ErrInvalid,
	http.StatusTooManyRequests: ErrRateLimited, http.StatusServiceUnavailable: ErrUnavailable,
}

// Is tells whether the refusal is of the given kind. errors.Is calls it.
func (e *Error) Is(kind error) bool { return kind == kinds[e.Status] }

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("mizan: %s %s: %d", e.Method, e.Path, e.Status)
	for _, part := range []string{e.Code, e.Message} {
		if part != "" {
			text += " " + part
		}
	}
	for _, f := range e.Fields {
		text += fmt.Sprintf("; %s: %s", f.Field, f.Detail)
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// OutcomeUnknown tells whether the request may have been carried out despite the error. If so, repeat the request with the same
// IdempotencyKey, or read the record to find out.
func (e *Error) OutcomeUnknown() bool { return e.Status >= http.StatusInternalServerError }

// NoResponseError means that no complete response arrived, or that the response did not come from the service. The request may
// have been carried out. Repeat it with the same IdempotencyKey, or read the record.
type NoResponseError struct {
	Method, Path   string
	IdempotencyKey string // empty for a read
	Attempts       int
	Err            error // of the last attempt
}

// Error implements error.
func (e *NoResponseError) Error() string {
	return fmt.Sprintf("mizan: %s %s: no complete response, %d attempts: %v", e.Method, e.Path, e.Attempts, e.Err)
}

// Unwrap returns the error of the last attempt to send the request.
func (e *NoResponseError) Unwrap() error { return e.Err }

// refusalOf reads a refusal. The service's refusals have one of three forms of body. If the body has none of these forms, a
// proxy has sent it.
func refusalOf(p *prepared, response *http.Response, content []byte) *Error {
	e := &Error{
		Status: response.StatusCode, RequestID: response.Header.Get("x-request-id"),
		RetryAfter: retryAfterOf(response.Header, time.Now()), Method: p.method, Path: p.path,
	}
	var body struct {
		Error   string `json:"error"`
		Message string `json:"message"`
		Errors  []struct {
			Code   string `json:"code"`
			Detail string `json:"detail"`
			Field  string `json:"field"`
		} `json:"errors"`
		Details map[string][]string `json:"details"`
	}
	if json.Unmarshal(content, &body) != nil {
		e.Message = http.StatusText(response.StatusCode)
		return e
	}
	e.Code, e.Message = body.Error, body.Message
	for _, f := range body.Errors {
		e.Fields = append(e.Fields, FieldError{Field: f.Field, Code: f.Code, Detail: f.Detail})
	}
	for field, details := range body.Details {
		e.Fields = append(e.Fields, FieldError{Field: field, Detail: strings.Join(details, ", ")})
	}
	if e.Code == "" && len(e.Fields) > 0 {
		e.Code = e.Fields[0].Code
	}
	return e
}
