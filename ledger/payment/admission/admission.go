package admission

import (
	"time"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Admission is one attempt to take a transaction on: how far it has come and what was found out.
// It is a value without references to itself and may be copied. The zero value is no admission.
// Its methods take what a Task has found out and return the next Task.
type Admission struct {
	Search
	Terms     payment.Terms      // of the terminal that was found; if none was, only its Asset and Skipped
	Reason    payment.Failure    // why it is rejected; zero: nothing objects
	Attempt   directory.Attempt  // the request as limits see it
	CountedBy []*directory.Limit // the velocity limits that count it
	Counted   bool               // they have, and would have to take it back
	Stopped   []payment.Attempt  // failover: the terminals that were passed over since the refusal, and why
	Fault     error              // why it could not be counted

	state    State
	recorded int // failover: the attempts that the record holds
}

// MaxAttempts bounds the terminals that a record holds as tried.
const MaxAttempts = 32

// Start begins an admission at s.At. Lacks is what the request lacks (payment.Unacceptable);
// empty: nothing. Whatever its amount is, it is an attempt.
func Start(s Search, lacks payment.Code) (Admission, Task) {
	s.Request.Attempted = s.At
	a := Admission{Search: s, state: Routing}
	if lacks == "" {
		return a, FindTerminal
	}
	a.Terms.Asset, a.Reason = s.Request.Asset, payment.Failure{Code: lacks}
	return a, a.take(Objected)
}

// Refuse begins an admission of a request that lacks what any terminal needs.
func Refuse(s Search, lacks payment.Code) (Admission, Task) {
	a := Admission{Search: s, state: Routing, Reason: payment.Failure{Code: lacks}}
	a.Terms.Asset = s.Request.Asset
	return a, a.take(Unacceptable)
}

// Failover begins the search for another terminal for a record whose provider has refused.
// s.Tried is what the record holds and its terminal.
func Failover(s Search, r *payment.Record) (Admission, Task) {
	a := Admission{Search: s, state: Admitted, recorded: len(r.Attempts)}
	return a, a.take(ProviderRefused)
}

// State is how far the admission has come; empty: none is under way.
func (a *Admission) State() State { return a.state }

// Waits tells whether the velocity limits are being asked.
func (a *Admission) Waits() bool { return a.state == Counting || a.state == Recounting }

// Velocity takes what the velocity limits say: the first that is exceeded (nil: none is), or an
// error, which is ledger.ClaimTaken for an attempt that repeats a stored one.
func (a *Admission) Velocity(exceeded *directory.Limit, err error) Task {
	first := a.state == Counting
	switch {
	case first && ledger.IsRefusal(err, ledger.ClaimTaken):
		return a.take(Repeated)
	case err != nil:
		a.Fault = err
		return a.take(Uncountable)
	}
	a.Counted = first
	if exceeded != nil {
		return a.found(breachOf(exceeded))
	}
	return a.found(payment.Failure{})
}

// GuardFunds says that only the account's funds bound the payout.
func (a *Admission) GuardFunds() Task { return a.take(FundsGuarded) }

// Funds takes the account's answer.
func (a *Admission) Funds(covered bool) Task {
	if covered {
		return a.take(Cleared)
	}
	return a.Object(payment.Failure{Code: payment.InsufficientBalance})
}

// RuleOut says that the terms of the terminal rule the transaction out. The record does not hold
// that: nothing but its terms spoke against it.
func (a *Admission) RuleOut() Task {
	a.Tried = append(a.Tried, payment.Attempt{Terminal: a.Terms.Terminal})
	return a.take(RuledOut)
}

// Object takes an objection that was found later: the writer's, or the account's.
func (a *Admission) Object(reason payment.Failure) Task {
	a.Reason = payment.Failure{}
	return a.found(reason)
}

// Lose says that the writer refused for a reason that is no objection to the payment.
func (a *Admission) Lose() Task { return a.take(Lost) }

// LookedAt are the terminals that were looked at for a transaction that is rejected at an instant.
func (a *Admission) LookedAt(terminals []*directory.Terminal, rails Rails, now time.Time) []payment.Attempt {
	switch {
	case a.Terms.Found():
		return a.Terms.Stopped(a.Reason, now)
	case a.Reason.Code != payment.NoTerminal:
		return nil // none was looked for
	default:
		return a.explained(terminals, rails, a.Terms.Skipped)
	}
}

// found takes an objection, or that there is none. The first objection to a transaction is the
// reason for its rejection. In failover it is only an objection to the terminal.
func (a *Admission) found(objection payment.Failure) Task {
	if a.Reason.IsZero() {
		a.Reason = objection
	}
	if a.Reason.IsZero() {
		return a.take(Cleared)
	}
	if a.failingOver() {
		a.passOver()
	}
	return a.take(Objected)
}

// passOver notes that something objected to the terminal, and forgets the objection.
func (a *Admission) passOver() {
	passed := a.Terms.Stopped(a.Reason, a.At.Time())
	a.Stopped = append(a.Stopped, passed...)
	a.Tried = append(a.Tried, passed...)
	a.Reason = payment.Failure{}
}

func (a *Admission) failingOver() bool {
	switch a.state {
	case Searching, Rescreening, Recounting, Rerouted, Exhausted:
		return true
	}
	return false
}

// take makes the step of the machine.
func (a *Admission) take(e Event) Task {
	step, ok := Machine.Next(a.state, e)
	if !ok { // the arguments of an assertion that holds would be allocated
		assert.That(ok, "admission: %s on %s", a.state, e)
	}
	a.state = step.To
	return step.Do
}
