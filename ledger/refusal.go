package ledger

import (
	"errors"
	"fmt"
)

// Code is the reason of a refusal. Codes are API: they never change.
type Code string

// The refusal codes. Package api maps each code to one HTTP status.
const (
	Invalid              Code = "invalid"      // the value of a field is wrong; Field names the field
	WrongParams          Code = "wrong_params" // the request has no params object
	InvalidRefundAmount  Code = "invalid_refund_amount"
	NotReversible        Code = "not_reversible"
	InvalidCaptureAmount Code = "invalid_capture_amount"
	NotContinuable       Code = "flow_not_continuable"
	Expired              Code = "expired" // the submission came after its deadline
	NotFound             Code = "not_found"
	Conflict             Code = "conflict"
	Forbidden            Code = "forbidden"
	Unauthorized         Code = "unauthorized"
	ModuleNotActive      Code = "module_not_active"
	Unavailable          Code = "unavailable" // the service cannot answer now (queue or disk full, stopping); the request can be repeated
	Internal             Code = "internal"
	IllegalTransition    Code = "illegal_transition"

	// Refusals by the journal's writer, which makes decisions durable. The actor that made the decision handles them.
	ClaimTaken        Code = "claim_taken"        // a unique key has another owner
	StaleVersion      Code = "stale_version"      // the record has changed meanwhile
	InsufficientFunds Code = "insufficient_funds" // an account has less money than a guard (a condition of the entry) requires
	LimitExceeded     Code = "limit_exceeded"     // a counter would exceed a guard's maximum
	OutOfRange        Code = "out_of_range"       // a total could overflow
)

// Refusal is an error caused by a request or by the present state, not by a bug. It says what was refused and why, in words
// that the client may see, and never contains data of the request.
type Refusal struct {
	Op     string // for logs, for example "payment.Capture"
	Code   Code
	Field  string // the request's field that is wrong; empty if the refusal is not about a field
	Detail string // what is wrong, as a text for people

	// Limiter is the service's limit that caused the refusal, for metrics; empty if no such limit did.
	Limiter Limiter
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Field != "" {
		return fmt.Sprintf("%s: %s: %s: %s", r.Op, r.Code, r.Field, r.Detail)
	}
	return fmt.Sprintf("%s: %s: %s", r.Op, r.Code, r.Detail)
}

// IsRefusal tells whether the error is a Refusal with the code.
func IsRefusal(err error, code Code) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Code == code
}

// Refuse builds a Refusal.
func Refuse(op string, code Code, format string, args ...any) *Refusal {
	return &Refusal{Op: op, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// RefuseField builds a Refusal about one field of a request.
func RefuseField(op, field, format string, args ...any) *Refusal {
	return &Refusal{Op: op, Code: Invalid, Field: field, Detail: fmt.Sprintf(format, args...)}
}
