package payment

import "mizan/ledger"

// Renewal is what a payment is that a subscription has begun: no partner's request,
// and paid with what an earlier payment has left at its provider. Subscription and
// Number are its name, as a txid is a caller's.
type Renewal struct {
	Subscription ledger.ID
	Number       uint64    // of the subscription's renewals, from 1
	Initial      ledger.ID // the payment that has left the credential
	Terminal     ledger.ID // where that was charged: no other can charge it
}

// Standing is how far a charge has come, for who waits for money: paid says that
// it has settled, and over that it has or never will. What was returned later had
// settled.
func (r *Record) Standing() (paid, over bool) {
	switch r.Status {
	case Charged, Refunding, Refunded, Reversed:
		return true, true
	case Rejected, Failed:
		return false, true
	}
	return false, false
}

// HasCredential tells whether the payment has left something that can be charged
// again: it is settled, and its provider's token is kept.
func (r *Record) HasCredential() bool {
	return r.Type == Payment && r.Status == Charged && r.Token != nil
}

// remember keeps the provider's token for what it has charged. The first one
// stays: subscriptions may rest on it.
func (r *Record) remember(a Answer) {
	if r.Token == nil {
		r.Token = a.Token
	}
}

// resends decides on a renewal that surely never arrived. What it is paid with is
// stored, unlike a card's verification value, so it is submitted once more, by the
// same name, as what follows on a charge is: after each second "unknown reference",
// because what is submitted then may be lost as well. After the last one it is
// given up; false.
func (c DecisionContext) resends(d *Decision) bool {
	const each, last = 2, 32
	r := d.Record
	if r.Renewal == nil {
		return false
	}
	if r.NotFoundAnswers++; r.NotFoundAnswers >= last {
		return false
	}
	d.move(Await, nil)
	d.Due = c.after(c.Inquire)
	if r.NotFoundAnswers%each == 0 {
		d.Ask = AskSubmit
	}
	return true
}
