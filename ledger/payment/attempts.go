package payment

import (
	"slices"

	"mizan/ledger"
)

// This file decides on the attempts of a hosted payment. If a provider definitely refuses the card, the transaction returns
// to status created, and the payer may try again while attempts and time are left. Each attempt has its own charge, with its
// own reference at the provider.

// EndedAttempt is a refused attempt of a hosted payment after which the payer was allowed to try again.
type EndedAttempt struct {
	Reference   ledger.ID   // the id by which the providers know the attempt's charge
	Credentials Credentials // the credentials that the payer had entered
	Terminals   []Attempt   // terminals that were passed over or refused, in order; the last one ended the attempt
	RailMeta    []byte      // JSON object of the last rail's own keys, at most maxEndedMeta bytes; nil: none
}

// maxEndedMeta is the largest size of an ended attempt's RailMeta. Longer metadata is not stored, and the rail then has to
// find the charge by its reference.
const maxEndedMeta = 1 << 10

// Last returns the terminal that ended the attempt, with the reason. It is zero if Terminals is empty, which does not happen.
func (e *EndedAttempt) Last() (last Attempt) {
	if n := len(e.Terminals); n > 0 {
		last = e.Terminals[n-1]
	}
	return last
}

// ChargeReference returns the id by which the provider knows the charge of the present attempt. For the first attempt it is
// the transaction's id. Each later attempt has an id of its own. The result has no meaning while the record has no terminal.
func (r *Record) ChargeReference() ledger.ID {
	if r.Reference == (ledger.ID{}) {
		return r.ID
	}
	return r.Reference
}

// RefusedCharge is a charge that a terminal has refused, after which the payment continued with another terminal or with
// another attempt of the payer.
type RefusedCharge struct {
	Attempt               // the terminal that refused, and why
	Reference   ledger.ID // the id by which the terminal's provider knows the charge
	Credentials Credentials
	RailMeta    []byte // the rail's own keys; nil for terminals before the last one of an attempt
}

// FindRefused returns the charge with this reference that the terminal has refused. The charge belongs to an ended attempt,
// or to the present attempt if the payment was rerouted to another terminal. The result is nil if there is no such charge,
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

// findRefused returns the refused charge at the terminal, which must be among the tried ones; nil if no charge was sent to
// it.
func findRefused(tried []Attempt, terminal ledger.ID) *RefusedCharge {
	for i := range tried {
		if a := &tried[i]; a.Terminal == terminal && a.WasRouted() {
			return &RefusedCharge{Attempt: *a}
		}
	}
	return nil
}

// AttemptNumber returns the number of the payer's present attempt, from 1. While the transaction waits for the payer to
// choose a method, it is the number of the next attempt.
func (r *Record) AttemptNumber() int { return len(r.Ended) + 1 }

// AttemptsLeft returns how many further attempts the payer of a hosted payment has, without the attempt that is under way. It
// is zero before the first attempt, because the terminal of that attempt sets the number.
func (r *Record) AttemptsLeft() int {
	used := len(r.Ended)
	if r.Status != Created {
		used++
	}
	return max(int(r.HostedAttempts)-used, 0)
}

// ListedTerminals returns the number of tried terminals in the record.
func (r *Record) ListedTerminals() int {
	n := len(r.Attempts)
	for i := range r.Ended {
		n += len(r.Ended[i].Terminals)
	}
	return n
}

// mayTryAgain tells whether the payer may try again after a refusal. Attempts and time must be left, and nobody must have
// requested to void the charge.
func (c DecisionContext) mayTryAgain(r *Record) bool {
	return r.AttemptsLeft() > 0 && !r.GivenUp && ledger.MicrosOf(c.Now) < r.HostedUntil
}

// endAttempt returns a hosted payment to status created after an attempt that certainly moved no money. The failure stays in
// the record until the next attempt begins, so that the payer can read it. A network that the attempt has set stays for later
// attempts, because the amount's scale depends on it, and the payer has seen the amount.
func (c DecisionContext) endAttempt(d *Decision, outcome string, why Failure) {
	r := d.Record
	d.Counters = r.unreserve(c.Org, c.counterSlice(d.Counters))
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

// credentials returns the payer's credentials in the record.
func (r *Record) credentials() Credentials {
	return Credentials{
		Method: r.Method, CardBIN: r.CardBIN, CardLast4: r.CardLast4, CardFingerprint: r.CardFingerprint,
		Network: r.Asset.Network, AgreedTotal: r.AgreedTotal, PayerIP: r.PayerIP, Attempted: r.Attempted,
	}
}

// AddPassedOver adds terminals that were passed over when another terminal was searched after the last refusal.
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

// CancelByPayer returns the decision on the payer's request to give up. A hosted payment that waits for its payer ends at
// once. Any other payment is voided as by Cancel, with the same errors. The error is also NotReversible for a payout, and for
// held money, because the payer has approved the hold and the merchant may rely on it.
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

// SettleAttempt returns the decision on a rail's report that a refused charge of the transaction r has moved money after all.
// The decision does not change r, which may be in any status. It creates another transaction, with the given id, in status
// rejected. That transaction holds the money on the suspense account and returns it. route is the name of the terminal's
// rail.
func (c DecisionContext) SettleAttempt(r *Record, charge *RefusedCharge, route string, id ledger.ID) Decision {
	entered := &charge.Credentials
	late := Record{
		ID: id, Partner: r.Partner, Status: Absent, AttemptOf: r.ID, Reference: charge.Reference, Route: route,
		Terminal: charge.Terminal, Priority: charge.Priority, LateSettlement: true, RailMeta: charge.RailMeta,
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
