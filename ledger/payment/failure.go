package payment

import "slices"

// Code is the reason why a transaction or a refund did not succeed. It is the API's error_code, which is meant for programs
// and is the same in every language. The zero value is success. api/description/operations documents each code.
type Code string

// The codes. The list is closed: adapters map each reason of their rail to one of these
// codes.
const (
	UnexpectedCard       Code = "unexpected_card"
	ReturnURLsMissing    Code = "return_urls_missing"
	NoTerminal           Code = "no_terminal"
	InsufficientBalance  Code = "insufficient_balance"
	FeeExceedsAmount     Code = "fee_exceeds_amount"
	AmountOutOfRange     Code = "amount_out_of_range"
	NoExchangeRate       Code = "no_exchange_rate"
	LimitExceeded        Code = "limit_exceeded" // Failure.Detail is the limit's kind
	AntiFraud            Code = "anti_fraud"     // Failure.Detail is the blocklist entry's kind
	CardDeclined         Code = "card_declined"  // also the code if the rail refused without a reason
	InsufficientFunds    Code = "insufficient_funds"
	ExpiredCard          Code = "expired_card"
	ProcessingError      Code = "processing_error" // also the code if the reason is not known
	AuthenticationFailed Code = "authentication_failed"
	PayerActionExpired   Code = "payer_action_expired"
	Interrupted          Code = "interrupted"        // the call never reached the provider
	ForcedByTerminal     Code = "forced_by_terminal" // the terminal's settings force a failure
	HoldExpired          Code = "hold_expired"
	CancelledByCaller    Code = "cancelled"
	RefundDeclined       Code = "refund_refused"

	// TakenBack is the code of a reversed transaction, whose settled money the rail has taken back. The transaction did not
	// fail, so clients see error_description but no error_code.
	TakenBack Code = "taken_back"
)

// codes lists the published codes.
var codes = []Code{
	UnexpectedCard, ReturnURLsMissing, NoTerminal, InsufficientBalance, FeeExceedsAmount, AmountOutOfRange, NoExchangeRate,
	LimitExceeded, AntiFraud, CardDeclined, InsufficientFunds, ExpiredCard, ProcessingError, AuthenticationFailed,
	PayerActionExpired, Interrupted, ForcedByTerminal, HoldExpired, CancelledByCaller, RefundDeclined,
}

// Codes returns all error codes, in the order in which they are documented.
func Codes() []Code { return slices.Clone(codes) }

// Published tells whether clients see the code as error_code.
func (c Code) Published() bool { return slices.Contains(codes, c) }

// Failure is the reason why an operation did not succeed. The zero value is success.
type Failure struct {
	Code Code

	// Detail depends on the code. For LimitExceeded and AntiFraud it is the kind of the limit or of the blocklist entry.
	// Describe appends it to the sentence for the code. For other codes it is the rail's own text, which replaces that
	// sentence; empty if the rail gives none.
	Detail string
}

// IsZero tells whether nothing failed.
func (f Failure) IsZero() bool { return f == Failure{} }

// orCode returns the failure unchanged if its code is published. Otherwise it returns a failure with the given code and
// the same Detail.
func (f Failure) orCode(code Code) Failure {
	if !f.Code.Published() {
		f.Code = code
	}
	return f
}

// asRefundFailure returns the failure with the code of a refund. That is Interrupted if the refund never arrived, else
// RefundDeclined.
func (f Failure) asRefundFailure() Failure {
	if f.Code != Interrupted {
		f.Code = RefundDeclined
	}
	return f
}

// Describe returns error_description, the sentence for people. It is in the given language, or in English if there is no text
// in that language. It is empty if nothing failed.
func (f Failure) Describe(lang string) string {
	switch sentence := textIn(lang, string(f.Code)); {
	case f.Code == LimitExceeded || f.Code == AntiFraud:
		return sentence + ": " + f.Detail
	case f.Detail != "":
		return f.Detail
	default:
		return sentence
	}
}
