package payment

import "mizan/ledger"

// Renewal identifies a payment that a subscription began, without a request of the partner. The payment uses the
// credential that the provider stored for an earlier payment. Subscription and Number together are unique, like the txid
// of other payments.
type Renewal struct {
	Subscription ledger.ID
	Number       uint64    // number of the renewal within its subscription, from 1
	Initial      ledger.ID // the payment for which the provider stored the credential
	Terminal     ledger.ID // the terminal of Initial; no other terminal can charge the credential
}

// ChargeProgress tells whether a charge has settled (paid) and whether its outcome is final (over). A charge counts as
// settled even if its money was returned later.
func (r *Record) ChargeProgress() (paid, over bool) {
	switch r.Status {
	case Charged, Refunding, Refunded, Reversed:
		return true, true
	case Rejected, Failed:
		return false, true
	}
	return false, false
}

// HasCredential tells whether a subscription can charge the payment's card again: the payment is charged and not
// refunded, and the provider's token is stored.
func (r *Record) HasCredential() bool {
	return r.Type == Payment && r.Status == Charged && r.Token != nil
}

// keepToken stores the provider's token for the charged card. If a token is already stored, that token stays, because
// subscriptions may use it.
func (r *Record) keepToken(a ProviderAnswer) {
	if r.Token == nil {
		r.Token = a.Token
	}
}

// resend decides on a repeated answer "unknown reference", which means that the provider has no charge with the
// reference. Only a renewal can be submitted again, with the same reference, because its credential is stored; a card's
// verification value is not. It is submitted again after every second such answer: when the first one arrives, the last
// submission may still be on its way. After giveUpAt such answers, resend returns false, and the renewal fails.
func (c DecisionContext) resend(d *Decision) bool {
	const resubmitEvery, giveUpAt = 2, 32
	r := d.Record
	if r.Renewal == nil {
		return false
	}
	if r.NotFoundAnswers++; r.NotFoundAnswers >= giveUpAt {
		return false
	}
	d.move(AwaitOutcome, nil)
	d.Due = c.fromNow(c.InquiryTimeout)
	if r.NotFoundAnswers%resubmitEvery == 0 {
		d.ProviderRequest = SubmitCharge
	}
	return true
}
