package payment

import (
	"slices"

	"mizan/ledger"
)

// This file decides on the attempts of a hosted payment. If a provider definitely refuses the card, the transaction
// goes back to created, and the payer may try again while attempts and time are left. Each attempt has a charge of
// its own, with a reference of its own at the provider.

// EndedAttempt is an attempt of a hosted payment that was refused, after which the payer could try again.
type EndedAttempt struct {
	Reference   ledger.ID   // the id by which each terminal's provider knows the attempt's charge
	Credentials Credentials // what the payer had entered
	Terminals   []Attempt   // the terminals that were passed over or that refused, in order; the last one ended the attempt
	RailMeta    []byte      // JSON object with the own keys of the last terminal's rail (the provider), at most maxEndedMeta bytes; nil: none
}

// maxEndedMeta bounds the rail's keys that a record keeps for an ended attempt. Longer keys are not stored, and their
// rail has to find the charge by its reference.
const maxEndedMeta = 1 << 10

// Last returns the terminal that ended the attempt, with the reason; zero in a record that no decision has made.
func (e *EndedAttempt) Last() (last Attempt) {
	if n := len(e.Terminals); n > 0 {
		last = e.Terminals[n-1]
	}
	return last
}

// ChargeReference returns the id by which the provider knows the charge of the present attempt: the transaction's id
// for the first attempt, and an id of its own for each later one. The result has no meaning while the record has no
// terminal.
func (r *Record) ChargeReference() ledger.ID {
	if r.Reference == (ledger.ID{}) {
		return r.ID
	}
	return r.Reference
}

// RefusedCharge is a charge of a payment that a terminal has refused, after which the payment went on: with another
// terminal, or with another attempt of its payer.
type RefusedCharge struct {
	Attempt               // the terminal that refused, and why
	Reference   ledger.ID // the id by which the terminal's provider knows the charge
	Credentials Credentials
	RailMeta    []byte // as in EndedAttempt; nil for a terminal before the attempt's last one
}

// FindRefused returns the charge that a terminal knows by the reference and has refused. The charge belongs to an ended
// attempt, or to the present attempt if that went on to another terminal. The result is nil if there is no such charge,
// and for a payout.
func (r *Record) FindRefused(terminal, reference ledger.ID) *RefusedCharge {
	if r.Type != Payment {
		return nil
	}
	for i := range r.Ended {
		e := &r.Ended[i]
		if e.Reference != reference {
			continue
		}
		refused := findRefused(e.Terminals, terminal)
		if refused == nil {
			return nil
		}
		refused.Reference, refused.Credentials = reference, e.Credentials
		if terminal == e.Last().Terminal {
			refused.RailMeta = e.RailMeta
		}
		return refused
	}
	if r.Terminal == (ledger.ID{}) || terminal == r.Terminal || reference != r.ChargeReference() {
		return nil
	}
	refused := findRefused(r.Attempts, terminal)
	if refused != nil {
		refused.Reference, refused.Credentials = reference, r.credentials()
	}
	return refused
}

// findRefused returns the refused charge at one of the tried terminals; nil if the charge was not sent to that
// terminal.
func findRefused(tried []Attempt, terminal ledger.ID) *RefusedCharge {
	for i := range tried {
		if a := &tried[i]; a.Terminal == terminal && a.WasRouted() {
			return &RefusedCharge{Attempt: *a}
		}
	}
	return nil
}

// AttemptNumber returns the number of the payer's present attempt or, while the transaction waits for the payer to choose a
// method, of the next one. The first has the number 1.
func (r *Record) AttemptNumber() int { return len(r.Ended) + 1 }

// AttemptsLeft returns how many further attempts the payer of a hosted payment has, besides one that is under way. It is
// zero before the first attempt, whose terminal decides the number.
func (r *Record) AttemptsLeft() int {
	used := len(r.Ended)
	if r.Status != Created {
		used++
	}
	return max(int(r.HostedAttempts)-used, 0)
}

// ListedTerminals returns how many tried terminals the record lists.
func (r *Record) ListedTerminals() int {
	n := len(r.Attempts)
	for i := range r.Ended {
		n += len(r.Ended[i].Terminals)
	}
	return n
}

// mayTryAgain tells whether the payer may try again after a refusal: attempts and time are left, and nobody has asked to
// give the charge up.
func (c DecisionContext) mayTryAgain(r *Record) bool {
	return r.AttemptsLeft() > 0 && !r.GivenUp && ledger.MicrosOf(c.Now) < r.HostedUntil
}

// endAttempt takes a hosted payment back to created after an attempt that certainly moved no money. The failure stays in the
// record until the next attempt begins, so that the payer can read it. If the attempt has resolved the network, the network
// stays for good, because the amount's scale depends on it, and the payer has seen the amount.
func (c DecisionContext) endAttempt(d *Decision, outcome string, why Failure) {
	r := d.Record
	d.Counters = r.unreserve(c.Org, c.room(d.Counters))
	d.move(EndAttempt, nil)
	refusal := Attempt{Terminal: r.Terminal, Failure: why, At: ledger.MicrosOf(c.Now), Outcome: outcome, Priority: r.Priority, Total: r.AmountWithFee}
	ended := EndedAttempt{
		Reference: r.ChargeReference(), Credentials: r.credentials(),
		Terminals: append(r.Attempts[:len(r.Attempts):len(r.Attempts)], refusal),
	}
	if len(r.RailMeta) <= maxEndedMeta {
		ended.RailMeta = r.RailMeta
	}
	*r = Record{
		ID: r.ID, Partner: r.Partner, Request: r.Request, Status: r.Status, Failure: why, Hosted: true, HostedUntil: r.HostedUntil,
		Notified: r.Notified, Unnotified: r.Unnotified, Unwanted: r.Unwanted, HostedAttempts: r.HostedAttempts, Ended: append(r.Ended[:len(r.Ended):len(r.Ended)], ended),
	}
	r.takeCredentials(Credentials{})
	r.clearPrice()
	d.Due = r.HostedUntil
}

// credentials returns the payer's credentials as the record has them.
func (r *Record) credentials() Credentials {
	return Credentials{
		Method: r.Method, CardBIN: r.CardBIN, CardLast4: r.CardLast4, CardFingerprint: r.CardFingerprint,
		Network: r.Asset.Network, AgreedTotal: r.AgreedTotal, PayerIP: r.PayerIP, Attempted: r.Attempted,
	}
}

// AddPassedOver adds terminals that failover passed over after the charge's last terminal had refused.
func (d *Decision) AddPassedOver(terminals []Attempt) {
	r := d.Record
	if r.Status != Created {
		r.Attempts = slices.Concat(r.Attempts, terminals)
		return
	}
	r.Ended = slices.Clone(r.Ended)
	ended := &r.Ended[len(r.Ended)-1]
	last := len(ended.Terminals) - 1
	ended.Terminals = slices.Concat(ended.Terminals[:last], terminals, ended.Terminals[last:])
}

// CancelByPayer decides on the payer's request to give up. A hosted payment that waits for its payer ends at once; any
// other payment is voided as by Cancel, with the same errors. The error is also NotReversible for a payout, and for held
// money, because the payer has approved the hold and the merchant may rely on it.
func (c DecisionContext) CancelByPayer(r *Record, request ledger.ID) (Decision, error) {
	switch {
	case r.Type != Payment || r.Status.Held():
		return Decision{}, ledger.Refuse("payment.CancelByPayer", ledger.NotReversible, "only the merchant can cancel it")
	case !r.AwaitsPayer():
		return c.Cancel(r, request)
	}
	d := newDecision(r)
	d.move(Abandon, nil)
	d.end(Failure{Code: CancelledByCaller})
	return d, nil
}

// SettleAttempt decides on a rail's report that a refused charge of the transaction r has moved money after all. The money
// does not belong to r, which may be in any status by now. It gets a transaction of its own with the given id; that
// transaction is rejected from the start, holds the money on the suspense account and returns it. route is the terminal's
// rail.
func (c DecisionContext) SettleAttempt(r *Record, charge *RefusedCharge, route string, id ledger.ID) Decision {
	entered := &charge.Credentials
	late := Record{
		ID: id, Partner: r.Partner, Status: Absent, AttemptOf: r.ID, Reference: charge.Reference, Route: route,
		Terminal: charge.Terminal, Priority: charge.Priority, SettledLate: true, RailMeta: charge.RailMeta,
	}
	late.Request = Request{
		Type: Payment, Amount: charge.Total, Asset: r.Asset, Lang: r.Lang, Method: entered.Method,
		CardBIN: entered.CardBIN, CardLast4: entered.CardLast4, MerchantMeta: []byte(`{"attempt_of":"` + r.ID.String() + `"}`),
	}
	late.clearPrice()
	d := Decision{Record: &late, MustRecord: true}
	d.Counters = late.reserve(c.Org, nil)
	d.move(SettleAttempt, late.suspenseEntry(ledger.Debit))
	d.end(charge.Failure)
	d.Due = c.fromNow(minRetryDelay)
	return d
}
