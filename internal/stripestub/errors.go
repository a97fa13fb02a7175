package stripestub

import (
	"fmt"
	"net/http"
	"strings"
)

// failure is an answer that is an error. Its members are those of Stripe's error object; empty members are left out.
type failure struct {
	status                                           int
	kind                                             string // invalid_request_error, card_error, idempotency_error or api_error
	code, declineCode, message, param, chargeID, log string
	intent, method                                   object
}

// Types of errors.
const (
	invalidRequest   = "invalid_request_error"
	cardError        = "card_error"
	idempotencyError = "idempotency_error"
	apiError         = "api_error"
)

// json returns the error object, without the envelope {"error": …}.
func (f *failure) json() object {
	o := object{"type": f.kind, "message": f.message}
	for name, value := range map[string]string{"code": f.code, "decline_code": f.declineCode, "param": f.param, "charge": f.chargeID, "request_log_url": f.log} {
		if value != "" {
			o[name] = value
		}
	}
	if f.code != "" {
		o["doc_url"] = "https://stripe.com/docs/error-codes/" + strings.ReplaceAll(f.code, "_", "-")
	}
	if f.intent != nil {
		o["payment_intent"] = f.intent
	}
	if f.method != nil {
		o["payment_method"], o["payment_method_type"] = f.method, "card"
	}
	return o
}

func invalid(code, param, format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, kind: invalidRequest, code: code, param: param, message: fmt.Sprintf(format, args...)}
}

// missing is the error for an id that does not exist: 404 if the id is in the path, and 400 if it is a parameter.
func missing(status int, what, id, param string) *failure {
	return &failure{status: status, kind: invalidRequest, code: "resource_missing", param: param, message: fmt.Sprintf("No such %s: '%s'", what, id)}
}

// unexpectedState is the error for a call that an intent's status does not allow.
func unexpectedState(in *intent, format string, args ...any) *failure {
	f := invalid("payment_intent_unexpected_state", "", format, args...)
	f.intent = in.json()
	return f
}

// declined is the error of a card that is declined. message is Stripe's text for the payer.
func declined(code, declineCode, param, message string) *failure {
	return &failure{status: http.StatusPaymentRequired, kind: cardError, code: code, declineCode: declineCode, param: param, message: message}
}
