package payment

import "mizan/ledger"

// Renewal identifies a payment that a subscription began, without a request of the partner. The payment is made with the
// credential that an earlier payment left at its provider. Subscription and Number together are unique, like the txid of
// other payments.
type Renewal struct {
	Subscription ledger.ID
	Number       uint64    // number of the renewal within its subscription, from 1
	Initial      ledger.ID // the payment that left the credential
	Terminal     ledger.ID // the terminal of Initial; no other terminal can charge the credential
}

// ChargeProgress returns the progress of a charge. paid tells whether the charge has settled, and over whether its outcome is
// final. A charge counts as settled even if its money was returned later.
func (r *Record) ChargeProgress() (paid, over bool) {
	switch r.Status {
	case Charged, Refunding, Refunded, Reversed:
		return true, true
	case Rejected, Failed:
		return false, true
	}
	return false, false
}

// HasCredential tells whether the payment has left a credential for further charges: it has
// settled, and the provider's token is stored.
func (r *Record) HasCredential() bool {
	return r.Type == Payment && r.Status == Charged && r.Token != nil
}

// keepToken stores the provider's token for the charged card. It keeps an earlier token, because
// subscriptions may use it.
func (r *Record) keepToken(a Answer) {
	if r.Token == nil {
		r.Token = a.Token
	}
}

// resend decides on a renewal after the provider's answer "unknown reference". Such an answer means that the provider has no
// charge with the renewal's reference. A renewal's credential is stored, unlike a card's verification value, so the charge
// can be submitted again with the same reference. This happens only after every second such answer, because at the first one
// the last submission may still be on its way. After giveUpAt such answers resend returns false, and the renewal fails.
func (c DecisionContext) resend(d *Decision) bool {
	const resubmitEvery, giveUpAt = 2, 32
	r := d.Record
	if r.Renewal == nil {
		return false
	}
	if r.NotFoundAnswers++; r.NotFoundAnswers >= giveUpAt {
		return false
	}
	d.move(Await, nil)
	d.Due = c.fromNow(c.InquiryTimeout)
	if r.NotFoundAnswers%resubmitEvery == 0 {
		d.Ask = AskSubmit
	}
	return true
}
