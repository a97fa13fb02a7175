package payment

import "slices"

// Code is the reason why a transaction or a refund did not succeed: error_code, for programs,
// the same in every language. The zero value is success. api/description/operations says what each means.
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
	CardDeclined         Code = "card_declined"  // also if the rail refused without a reason
	InsufficientFunds    Code = "insufficient_funds"
	ExpiredCard          Code = "expired_card"
	ProcessingError      Code = "processing_error" // also if the reason is not known
	AuthenticationFailed Code = "authentication_failed"
	PayerActionExpired   Code = "payer_action_expired"
	Interrupted          Code = "interrupted"        // the call never reached the provider
	ForcedByTerminal     Code = "forced_by_terminal" // the terminal's settings force a failure
	HoldExpired          Code = "hold_expired"
	CancelledByCaller    Code = "cancelled"
	RefundDeclined       Code = "refund_refused"

	// TakenBack is the code of a reversed transaction: the rail has returned its settled money. The transaction did
	// not fail, so callers see a sentence but no error_code.
	TakenBack Code = "taken_back"
)

// codes lists the published codes.
var codes = []Code{
	UnexpectedCard, ReturnURLsMissing, NoTerminal, InsufficientBalance, FeeExceedsAmount, AmountOutOfRange, NoExchangeRate,
	LimitExceeded, AntiFraud, CardDeclined, InsufficientFunds, ExpiredCard, ProcessingError, AuthenticationFailed,
	PayerActionExpired, Interrupted, ForcedByTerminal, HoldExpired, CancelledByCaller, RefundDeclined,
}

// Codes returns all error codes, in the order of the catalogue.
func Codes() []Code { return slices.Clone(codes) }

// Published tells whether callers see the code as error_code.
func (c Code) Published() bool { return slices.Contains(codes, c) }

// Failure is the reason why an operation did not succeed. The zero value is success.
type Failure struct {
	Code Code

	// Detail depends on the code. For LimitExceeded and AntiFraud it is the kind of the limit or the blocklist entry,
	// with which the sentence ends. For other codes it is the rail's own text, which replaces the catalogue's sentence;
	// empty if the rail gives none.
	Detail string
}

// IsZero tells whether nothing failed.
func (f Failure) IsZero() bool { return f == Failure{} }

// orCode returns the failure unchanged if its code is published. If not, it returns a failure with the given code and
// the rail's own text.
func (f Failure) orCode(code Code) Failure {
	if !f.Code.Published() {
		f.Code = code
	}
	return f
}

// asRefundFailure returns the failure with the code of a refund: Interrupted if the refund never arrived, else
// RefundDeclined.
func (f Failure) asRefundFailure() Failure {
	if f.Code != Interrupted {
		f.Code = RefundDeclined
	}
	return f
}

// Describe returns the sentence for people, error_description, in a language, or in English if the catalogue lacks
// the language. It is empty if nothing failed.
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
