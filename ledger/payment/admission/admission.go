package admission

import (
	"time"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Admission is one attempt to accept a transaction: its progress and its findings. It contains no pointers to
// itself, so it may be copied. In the zero value no admission is under way. Its methods take the result of a Task
// and return the next Task.
type Admission struct {
	Search
	Terms     payment.Terms      // terms of the found terminal; if none was found, only Asset and Skipped are set
	Reason    payment.Failure    // reason of the rejection; zero: no objection
	Attempt   directory.Attempt  // the request as limits see it
	CountedBy []*directory.Limit // the velocity limits that count the attempt
	Counted   bool               // whether they have counted it; a withdrawal must then uncount it
	Stopped   []payment.Attempt  // failover: terminals passed over since the provider's refusal, with reasons
	Fault     error              // why the attempt could not be counted

	state    State
	recorded int // failover: number of attempts in the record
}

// MaxAttempts is the largest number of tried terminals that a record lists.
const MaxAttempts = 32

// Start begins an admission at s.At. missing is the code of what the request lacks (payment.Unacceptable); empty if
// it lacks nothing. The request counts as an attempt even if its amount is out of range.
func Start(s Search, missing payment.Code) (Admission, Task) {
	s.Request.Attempted = s.At
	a := Admission{Search: s, state: Routing}
	if missing == "" {
		return a, FindTerminal
	}
	a.Terms.Asset, a.Reason = s.Request.Asset, payment.Failure{Code: missing}
	return a, a.step(Objected)
}

// Refuse begins an admission of a request that lacks something that every terminal needs.
func Refuse(s Search, missing payment.Code) (Admission, Task) {
	a := Admission{Search: s, state: Routing, Reason: payment.Failure{Code: missing}}
	a.Terms.Asset = s.Request.Asset
	return a, a.step(Unacceptable)
}

// Failover begins the search for another terminal for a record whose provider has refused. s.Tried lists the
// record's earlier attempts and its present terminal.
func Failover(s Search, r *payment.Record) (Admission, Task) {
	a := Admission{Search: s, state: Admitted, recorded: len(r.Attempts)}
	return a, a.step(ProviderRefused)
}

// State returns the progress of the admission; empty if none is under way.
func (a *Admission) State() State { return a.state }

// Waits tells whether the admission waits for the velocity limits.
func (a *Admission) Waits() bool { return a.state == Counting || a.state == Recounting }

// Velocity takes the velocity limits' result: the first exceeded limit (nil: none), or an error. The error
// ledger.ClaimTaken means that the attempt repeats a stored one.
func (a *Admission) Velocity(exceeded *directory.Limit, err error) Task {
	first := a.state == Counting
	switch {
	case first && ledger.IsRefusal(err, ledger.ClaimTaken):
		return a.step(Repeated)
	case err != nil:
		a.Fault = err
		return a.step(Uncountable)
	}
	a.Counted = first
	if exceeded != nil {
		return a.onObjection(breachOf(exceeded))
	}
	return a.onObjection(payment.Failure{})
}

// GuardFunds reports that only the account's funds bound the payout.
func (a *Admission) GuardFunds() Task { return a.step(FundsGuarded) }

// Funds takes the result of AskAccount: whether the account's funds cover the payout.
func (a *Admission) Funds(covered bool) Task {
	if covered {
		return a.step(Cleared)
	}
	return a.Object(payment.Failure{Code: payment.InsufficientBalance})
}

// RuleOut reports that the terminal's terms exclude the transaction. The record does not list the terminal among
// its attempts then.
func (a *Admission) RuleOut() Task {
	a.Tried = append(a.Tried, payment.Attempt{Terminal: a.Terms.Terminal})
	return a.step(RuledOut)
}

// Object takes an objection that the writer or the account raised later.
func (a *Admission) Object(reason payment.Failure) Task {
	a.Reason = payment.Failure{}
	return a.onObjection(reason)
}

// Lose reports that the writer refused for a reason that is not an objection to the payment.
func (a *Admission) Lose() Task { return a.step(Lost) }

// LookedAt returns the terminals that were considered for a transaction that is rejected at the given instant.
func (a *Admission) LookedAt(terminals []*directory.Terminal, rails Rails, now time.Time) []payment.Attempt {
	switch {
	case a.Terms.Found():
		return a.Terms.Stopped(a.Reason, now)
	case a.Reason.Code != payment.NoTerminal:
		return nil // no terminal was searched
	default:
		return a.attemptsWithReasons(terminals, rails, a.Terms.Skipped)
	}
}

// onObjection takes an objection; its zero value means that there is none. The first objection to a transaction is the
// reason of its rejection. In failover an objection only rules out the terminal.
func (a *Admission) onObjection(objection payment.Failure) Task {
	if a.Reason.IsZero() {
		a.Reason = objection
	}
	if a.Reason.IsZero() {
		return a.step(Cleared)
	}
	if a.failingOver() {
		a.passOver()
	}
	return a.step(Objected)
}

// passOver adds the terminal with its objection to Stopped, and clears the objection.
func (a *Admission) passOver() {
	attempts := a.Terms.Stopped(a.Reason, a.At.Time())
	a.Stopped = append(a.Stopped, attempts...)
	a.Tried = append(a.Tried, attempts...)
	a.Reason = payment.Failure{}
}

func (a *Admission) failingOver() bool {
	switch a.state {
	case Searching, Rescreening, Recounting, Rerouted, Exhausted:
		return true
	}
	return false
}

// step makes a step of the machine.
func (a *Admission) step(e Event) Task {
	step, ok := Machine.Next(a.state, e)
	if !ok { // passing the arguments to an assertion that holds would allocate them
		assert.That(ok, "admission: %s on %s", a.state, e)
	}
	a.state = step.To
	return step.Do
}
