package stripe

import (
	"cmp"

	"github.com/stripe/stripe-go/v85"

	"mizan/ledger/payment"
)

// declineCodes maps Stripe's reasons to ours. A reason is a decline code (docs.stripe.com/declines/codes), or an error code
// (docs.stripe.com/error-codes) if there is no decline code. Every other reason is payment.CardDeclined, as the payer must not
// learn, for example, that the card is reported as stolen.
var declineCodes = map[string]payment.Code{
	"insufficient_funds":              payment.InsufficientFunds,
	"withdrawal_count_limit_exceeded": payment.InsufficientFunds,

	"expired_card":         payment.ExpiredCard,
	"invalid_expiry_month": payment.ExpiredCard,
	"invalid_expiry_year":  payment.ExpiredCard,

	"authentication_required":               payment.AuthenticationFailed,
	"authentication_not_handled":            payment.AuthenticationFailed,
	"mobile_device_authentication_required": payment.AuthenticationFailed,
	"payment_intent_authentication_failure": payment.AuthenticationFailed,
	"payment_intent_action_required":        payment.AuthenticationFailed,

	"payment_intent_payment_attempt_expired": payment.PayerActionExpired,

	"amount_too_large": payment.AmountOutOfRange,
	"amount_too_small": payment.AmountOutOfRange,
	"invalid_amount":   payment.AmountOutOfRange,
	"invalid_charge_amount_no_decimal_compatible": payment.AmountOutOfRange,

	"processing_error":     payment.ProcessingError,
	"issuer_not_available": payment.ProcessingError,
	"reenter_transaction":  payment.ProcessingError,
	"try_again_later":      payment.ProcessingError,
}

// failureOf returns the reason for which Stripe has refused a charge. The texts for payers are ours, never Stripe's.
func failureOf(e *stripe.Error) payment.Failure {
	if e == nil {
		return payment.Failure{Code: payment.CardDeclined}
	}
	reason := cmp.Or(string(e.DeclineCode), string(e.Code))
	code, known := declineCodes[reason]
	if !known {
		code, known = declineCodes[string(e.Code)]
	}
	switch {
	case known:
		return payment.Failure{Code: code}
	case e.Type == stripe.ErrorTypeCard, e.DeclineCode != "":
		return payment.Failure{Code: payment.CardDeclined}
	}
	return payment.Failure{Code: payment.ProcessingError}
}
