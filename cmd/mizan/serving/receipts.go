package serving

import (
	"mizan/actors/notifier"
	"mizan/actors/notifier/operators"
	"mizan/api/checkout"
	"mizan/ledger"
)

// mailReceipt makes one attempt to send the address of a transaction's receipt to the payer by e-mail. It composes the e-mail
// from the current records.
func (s *server) mailReceipt(org, transaction ledger.ID) notifier.Attempt {
	letters := checkout.ReceiptMailer{Find: s.payments.Find, Partners: s.directory, Pages: s.pagesConfig()}
	letter, err := letters.Receipt(org, transaction)
	if err != nil {
		s.log.Error("a receipt cannot be written", "transaction", transaction.String(), "error", err)
		return notifier.Attempt{At: ledger.MicrosOf(s.clock.Now()), Failure: "the receipt cannot be written"}
	}
	return attemptOf(s.operators.Mail(s.runtime.Context(), letter.To, operators.Email{Subject: letter.Subject, Text: letter.Text}))
}

// attemptOf converts an attempt to the form in which attempts are stored.
func attemptOf(a operators.Attempt) notifier.Attempt {
	return notifier.Attempt{At: ledger.MicrosOf(a.At), Status: a.Status, Failure: a.Failure, Took: a.Duration.Milliseconds()}
}
