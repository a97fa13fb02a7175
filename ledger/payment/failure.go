package payment

import "slices"

// Code says why a transaction, or a refund, did not succeed: error_code, for programs,
// the same in every language. The zero value is success. docs/api.md has the catalogue.
type Code string

// The codes (DECISIONS, "Payments"). The list is closed: what a rail says is brought
// under one of them.
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
	CardDeclined         Code = "card_declined"  // also: the rail refused, and does not say why
	InsufficientFunds    Code = "insufficient_funds"
	ExpiredCard          Code = "expired_card"
	ProcessingError      Code = "processing_error" // also: it failed, and nobody says why
	AuthenticationFailed Code = "authentication_failed"
	PayerActionExpired   Code = "payer_action_expired"
	Interrupted          Code = "interrupted"
	ForcedByTerminal     Code = "forced_by_terminal"
	HoldExpired          Code = "hold_expired"
	CancelledByCaller    Code = "cancelled"
	RefundDeclined       Code = "refund_refused"

	// TakenBack is why settled money was returned by the rail. It is no failure of the
	// transaction: it has a sentence and no error_code.
	TakenBack Code = "taken_back"
)

// codes are those that are published.
var codes = []Code{
	UnexpectedCard, ReturnURLsMissing, NoTerminal, InsufficientBalance, FeeExceedsAmount, AmountOutOfRange, NoExchangeRate,
	LimitExceeded, AntiFraud, CardDeclined, InsufficientFunds, ExpiredCard, ProcessingError, AuthenticationFailed,
	PayerActionExpired, Interrupted, ForcedByTerminal, HoldExpired, CancelledByCaller, RefundDeclined,
}

// Codes are all error codes, in the order of the catalogue.
func Codes() []Code { return slices.Clone(codes) }

// Published tells whether the code is one that callers see as error_code.
func (c Code) Published() bool { return slices.Contains(codes, c) }

// Failure is why something did not succeed. The zero value is success.
type Failure struct {
	Code Code

	// Detail is, of LimitExceeded and AntiFraud, the kind that their sentence ends
	// with. Of every other code it is what the rail says in its own words, in place of
	// the catalogue's sentence; empty: it says nothing.
	Detail string
}

// IsZero tells whether nothing failed.
func (f Failure) IsZero() bool { return f == Failure{} }

// as is the failure if its code is published, and else one with that code and the
// rail's own words.
func (f Failure) as(code Code) Failure {
	if !f.Code.Published() {
		f.Code = code
	}
	return f
}

// ofRefund is why a refund was not done: refused by the rail, whatever it calls it, or
// never there.
func (f Failure) ofRefund() Failure {
	if f.Code != Interrupted {
		f.Code = RefundDeclined
	}
	return f
}

// Describe is the sentence for people, error_description, in a language; English where
// the catalogue has none in it. Empty: nothing failed.
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
