package payment

import "slices"

// Code is the reason why a transaction or a refund did not succeed. The API shows it as error_code, which is meant for
// programs and is the same in every language. The zero value is success. api/description/operations documents each code.
type Code string

// The codes. There are no others: an adapter maps each reason that its rail gives to one of these codes.
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
	RawCardsNotAllowed   Code = "raw_cards_not_allowed" // the terminal's provider takes card numbers only from its own form

	// TakenBack means that the rail has taken settled money back, so that the transaction is reversed. The transaction
	// did not fail, so clients see error_description but no error_code.
	TakenBack Code = "taken_back"
)

// codes lists the codes that clients see as error_code.
var codes = []Code{
	UnexpectedCard, ReturnURLsMissing, NoTerminal, InsufficientBalance, FeeExceedsAmount, AmountOutOfRange, NoExchangeRate,
	LimitExceeded, AntiFraud, CardDeclined, InsufficientFunds, ExpiredCard, ProcessingError, AuthenticationFailed,
	PayerActionExpired, Interrupted, ForcedByTerminal, HoldExpired, CancelledByCaller, RefundDeclined, RawCardsNotAllowed,
}

// Codes returns all codes that clients see as error_code, in the order of the documentation.
func Codes() []Code { return slices.Clone(codes) }

// IsPublished tells whether clients see the code as error_code.
func (c Code) IsPublished() bool { return slices.Contains(codes, c) }

// Failure says why a transaction or a refund did not succeed. The zero value means success.
type Failure struct {
	Code Code

	// Detail depends on the code. For LimitExceeded and AntiFraud it is the kind of the limit or of the blocklist entry.
	// Describe appends this kind to the sentence for the code. For other codes, Detail is the rail's own text, which
	// replaces the sentence. It is empty if the rail gives no text.
	Detail string
}

// IsZero tells whether f is the zero value, that is, whether nothing failed.
func (f Failure) IsZero() bool { return f == Failure{} }

// orCode returns the failure unchanged if its code is published. Otherwise it returns a failure with the given code and
// the same Detail.
func (f Failure) orCode(code Code) Failure {
	if !f.Code.IsPublished() {
		f.Code = code
	}
	return f
}

// asRefundFailure returns the failure with a code for refunds: Interrupted if the refund never arrived at the provider,
// and otherwise RefundDeclined.
func (f Failure) asRefundFailure() Failure {
	if f.Code != Interrupted {
		f.Code = RefundDeclined
	}
	return f
}

// Describe returns error_description, a sentence for people, in the given language. If the sentence does not exist in
// that language, the result is in English. If nothing failed, the result is empty.
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
