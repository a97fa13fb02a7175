package payment

import (
	"slices"

	"mizan/ledger"
)

// This file decides on the attempts of a hosted payment. If a provider definitely refuses the card, the transaction
// returns to status created, and the payer may try again while attempts and time are left. Each attempt is a charge of
// its own, which the provider knows by its own reference.

// EndedAttempt is an attempt of a hosted payment that was refused, and after which the payer was allowed to try again.
type EndedAttempt struct {
	Reference   ledger.ID   // the id by which the providers know the attempt's charge
	Credentials Credentials // the credentials that the payer had entered
	Terminals   []Attempt   // terminals that were skipped or that refused, in order; the last refusal ended the attempt
	RailMeta    []byte      // JSON object with the last rail's own keys, at most maxEndedMeta bytes; nil if none
}

// maxEndedMeta is the largest size of an ended attempt's RailMeta. Longer metadata is not stored, and the rail then has to
// find the charge by its reference.
const maxEndedMeta = 1 << 10

// Last returns the terminal whose refusal ended the attempt, with the reason. If Terminals is empty, which does not
// happen, the result is zero.
func (e *EndedAttempt) Last() (last Attempt) {
	if n := len(e.Terminals); n > 0 {
		last = e.Terminals[n-1]
	}
	return last
}

// ChargeReference returns the id by which the provider knows the charge of the present attempt. For the first attempt
// this is the transaction's id; each later attempt has a new id. Before a terminal is chosen, the result is meaningless.
func (r *Record) ChargeReference() ledger.ID {
	if r.Reference == (ledger.ID{}) {
		return r.ID
	}
	return r.Reference
}

// RefusedCharge is a charge that a terminal has refused, after which the payment continued with another terminal or with
// another attempt of the payer.
type RefusedCharge struct {
	Attempt               // the terminal that refused, and its reason
	Reference   ledger.ID // the id by which the terminal's provider knows the charge
	Credentials Credentials
	RailMeta    []byte // the rail's own keys; nil for terminals before the last one of an attempt
}

// FindRefused returns the charge that the terminal has refused and that the provider knows by the reference. The charge
// belongs to an ended attempt, or to the present attempt if the payment was rerouted to another terminal. The result is
// nil if no such charge exists or if the transaction is a payout.
func (r *Record) FindRefused(terminal, reference ledger.ID) *RefusedCharge {
	if r.Type != Payment {
		return nil
	}
	for i := range r.EndedAttempts {
		e := &r.EndedAttempts[i]
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

// findRefused searches tried for the charge that was sent to the terminal. It returns nil if there is none.
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
func (r *Record) AttemptNumber() int { return len(r.EndedAttempts) + 1 }

// AttemptsLeft returns how many attempts the payer of a hosted payment has left, not counting the one that is under way.
// It returns 0 before the first attempt, because the allowed number is a setting of the terminal that the first attempt
// uses.
func (r *Record) AttemptsLeft() int {
	used := len(r.EndedAttempts)
	if r.Status != Created {
		used++
	}
	return max(int(r.HostedAttempts)-used, 0)
}

// ListedTerminals returns the number of terminals that the record lists as skipped or tried, over all attempts.
func (r *Record) ListedTerminals() int {
	n := len(r.Attempts)
	for i := range r.EndedAttempts {
		n += len(r.EndedAttempts[i].Terminals)
	}
	return n
}

// mayTryAgain tells whether the payer may try again after a refusal. The payer may if there are attempts and time left,
// and if nobody has requested to void the charge.
func (c DecisionContext) mayTryAgain(r *Record) bool {
	return r.AttemptsLeft() > 0 && !r.VoidRequested && ledger.MicrosOf(c.Now) < r.HostedUntil
}

// endAttempt returns a hosted payment to status created after an attempt that certainly moved no money. The failure stays
// in the record until the next attempt begins, so that the payer can read it. If the attempt has set the network, later
// attempts keep it: the amount's scale depends on the network, and the payer has already seen the amount.
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
		NotifiedChanges: r.NotifiedChanges, UnnotifiedChanges: r.UnnotifiedChanges, UnselectedChanges: r.UnselectedChanges, HostedAttempts: r.HostedAttempts, EndedAttempts: append(r.EndedAttempts[:len(r.EndedAttempts):len(r.EndedAttempts)], ended),
	}
	r.setCredentials(Credentials{})
	r.clearPrice()
	d.Due = r.HostedUntil
}

// credentials returns a copy of the record's fields that setCredentials has set.
func (r *Record) credentials() Credentials {
	return Credentials{
		Method: r.Method, CardBIN: r.CardBIN, CardLast4: r.CardLast4, CardFingerprint: r.CardFingerprint,
		Network: r.Asset.Network, AgreedTotal: r.AgreedTotal, PayerIP: r.PayerIP, AttemptedAt: r.AttemptedAt,
	}
}

// AddPassedOver adds to the record the terminals that were skipped in the search for another terminal after the last
// refusal.
func (d *Decision) AddPassedOver(terminals []Attempt) {
	r := d.Record
	if r.Status != Created {
		r.Attempts = slices.Concat(r.Attempts, terminals)
		return
	}
	r.EndedAttempts = slices.Clone(r.EndedAttempts)
	ended := &r.EndedAttempts[len(r.EndedAttempts)-1]
	last := len(ended.Terminals) - 1
	ended.Terminals = slices.Concat(ended.Terminals[:last], terminals, ended.Terminals[last:])
}

// CancelByPayer returns the decision on the payer's request to cancel. A hosted payment that waits for its payer ends at
// once. Any other payment is voided by Cancel, whose errors are returned. The payer cannot cancel a payout or held money;
// then the error is NotReversible. Held money is excluded because the payer has approved the hold and the merchant may
// rely on it.
func (c DecisionContext) CancelByPayer(r *Record, request ledger.ID) (Decision, error) {
	switch {
	case r.Type != Payment || r.Status.IsHeld():
		return Decision{}, ledger.Refuse("payment.CancelByPayer", ledger.NotReversible, "only the merchant can cancel it")
	case !r.AwaitsPayer():
		return c.Cancel(r, request)
	}
	d := newDecision(r)
	d.move(Abandon, nil)
	d.end(Failure{Code: CancelledByCaller})
	return d, nil
}

// SettleAttempt returns the decision on a rail's report that a refused charge of the transaction r has moved money after
// all. The status of r does not matter, and r does not change. The decision creates another transaction, with the given
// id and in status rejected, which books the money on the suspense account and will return it to the payer. route is the
// name of the terminal's rail.
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
