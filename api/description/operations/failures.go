package operations

import (
	"mizan/api/description/spec"
	"mizan/internal/assert"
	"mizan/ledger/payment"
)

// failureTexts has three texts for each error_code of a transaction or refund: the statuses in which the code occurs, what the
// code means, and what the merchant can do.
var failureTexts = map[payment.Code][3]string{
	payment.UnexpectedCard:    {"rejected", "the request created a transaction that is not hosted, and had no `money_storage`", "send `money_storage`, or create a hosted transaction"},
	payment.ReturnURLsMissing: {"rejected", "a payment that is not hosted has no `returnUrl` or no `failUrl`", "send both addresses"},
	payment.NoTerminal: {"rejected", "none of your terminals serves the transaction's type, env, currency, network, method and amount",
		"ask the operator which terminals you have; the transaction's routing gives the reason for each of them"},
	payment.InsufficientBalance: {"rejected", "your available balance does not cover the payout", "wait until payments have settled, or pay money in"},
	payment.FeeExceedsAmount:    {"rejected", "the fee is not less than the payout's amount", "pay out a larger amount"},
	payment.AmountOutOfRange:    {"rejected", "the amount is above 10^72, or a total could overflow", "check the amount: it is in minor units"},
	payment.NoExchangeRate:      {"rejected", "the terminal settles in another currency, and no rate is set", "ask the operator to set a rate"},
	payment.LimitExceeded: {"rejected", "a limit refused the transaction; `error_description` ends with the kind of the limit",
		"try a smaller amount, try later, or ask the operator"},
	payment.AntiFraud: {"rejected", "the payer is on the blocklist; `error_description` ends with the kind of the entry",
		"do not repeat the transaction; if the entry is a mistake, ask the operator"},
	payment.CardDeclined:      {"rejected", "the provider refused the transaction without another reason", "ask the payer for another card or method"},
	payment.InsufficientFunds: {"rejected", "there is not enough money on the card", "ask the payer to use another card or to try later"},
	payment.ExpiredCard:       {"rejected", "the card has expired", "ask the payer for another card"},
	payment.ProcessingError: {"failed, rejected", "the provider could not process the transaction. If the transaction is still held, its capture failed",
		"try again with a new transaction; if a capture failed, you may repeat the commit"},
	payment.AuthenticationFailed: {"rejected", "the payer was not authenticated (3-D Secure, one-time password, signature), or refused",
		"let the payer try again"},
	payment.PayerActionExpired: {"rejected", "the payer did not act in time", "create the transaction again when the payer is there"},
	payment.Interrupted:        {"failed", "the call never reached the provider", "create the transaction again"},
	payment.ForcedByTerminal:   {"rejected, failed", "the terminal's setting `fail` (only in a sandbox) forces this outcome", "remove the setting"},
	payment.HoldExpired:        {"failed", "the hold was neither captured nor cancelled in time", "commit (capture the held money) sooner"},
	payment.CancelledByCaller:  {"failed", "the merchant or the payer cancelled the transaction before it settled", "no action needed"},
	payment.RawCardsNotAllowed: {"rejected", "the terminal's provider takes card numbers only from its own form, not from a request",
		"let the payer pay on the hosted page, or ask the operator for a terminal that accepts card numbers"},
	payment.RefundDeclined: {"(of a refund)", "the provider did not return the money; nothing was refunded",
		"read `msg`; refund in another way, or try again later"},
}

// failures returns the descriptions of all error codes, in the order of payment.Codes.
func failures() (list []spec.Failure) {
	for _, code := range payment.Codes() {
		texts, ok := failureTexts[code]
		assert.That(ok, "operations: %s has no texts", code)
		list = append(list, spec.Failure{Code: string(code), Status: texts[0], Meaning: texts[1], Remedy: texts[2]})
	}
	return list
}
