package ledger

import (
	"errors"
	"fmt"
)

// Code is the reason of a refusal. Codes are part of the API, so they must never change.
type Code string

// The refusal codes. Package api maps each code to one HTTP status.
const (
	Invalid              Code = "invalid"      // the value of a field is wrong; Refusal.Field names the field
	WrongParams          Code = "wrong_params" // the request has no params object
	InvalidRefundAmount  Code = "invalid_refund_amount"
	NotReversible        Code = "not_reversible"
	InvalidCaptureAmount Code = "invalid_capture_amount"
	NotContinuable       Code = "flow_not_continuable"
	Expired              Code = "expired" // the payer's input came after the deadline
	NotFound             Code = "not_found"
	Conflict             Code = "conflict"
	Forbidden            Code = "forbidden"
	Unauthorized         Code = "unauthorized"
	ModuleNotActive      Code = "module_not_active"
	Unavailable          Code = "unavailable" // a queue or the disk is full, or the service stops; clients may try again
	Internal             Code = "internal"
	IllegalTransition    Code = "illegal_transition"

	// Codes with which the journal's writer refuses to make a decision durable. The actor that has made the decision handles
	// the refusal.
	ClaimTaken        Code = "claim_taken"        // a unique key has another owner
	StaleVersion      Code = "stale_version"      // the record has changed since the decision
	InsufficientFunds Code = "insufficient_funds" // an account has less money than a FundsGuard requires
	LimitExceeded     Code = "limit_exceeded"     // a counter would exceed the maximum of a CounterGuard
	OutOfRange        Code = "out_of_range"       // a total could overflow
)

// Refusal is an error whose cause is the request or the present state, not a bug. It says what was refused and why. The client
// may see this text. The text never contains data of the request.
type Refusal struct {
	Op     string // for logs, for example "payment.Capture"
	Code   Code
	Field  string // name of the request's field that is wrong; empty if no single field is wrong
	Detail string // text for people that says what is wrong

	// Limiter is the limit of the service that caused the refusal. It is used for metrics. If the refusal has another cause,
	// Limiter is empty.
	Limiter Limiter
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Field != "" {
		return fmt.Sprintf("%s: %s: %s: %s", r.Op, r.Code, r.Field, r.Detail)
	}
	return fmt.Sprintf("%s: %s: %s", r.Op, r.Code, r.Detail)
}

// CodeOf returns the code of the Refusal that err is or wraps; empty if there is none.
func CodeOf(err error) Code {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal.Code
	}
	return ""
}

// IsRefusal tells whether err is, or wraps, a Refusal with the given code, which is not empty.
func IsRefusal(err error, code Code) bool { return CodeOf(err) == code }

// Refuse builds a Refusal.
func Refuse(op string, code Code, format string, args ...any) *Refusal {
	return &Refusal{Op: op, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// RefuseField builds a Refusal with the code Invalid, for a request in which one field is wrong.
func RefuseField(op, field, format string, args ...any) *Refusal {
	return &Refusal{Op: op, Code: Invalid, Field: field, Detail: fmt.Sprintf(format, args...)}
}
