package admission

import (
	"time"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Admission is one attempt to accept a transaction, with its progress and its findings. The caller carries out a Task and
// passes the result to a method of Admission, which returns the next Task. The zero value means that no admission is under
// way. An Admission contains no pointers to itself, so it may be copied.
type Admission struct {
	Search
	Terms      payment.Terms      // terms of the found terminal; if none was found, only Asset and Skipped are set
	Reason     payment.Failure    // reason of the rejection; zero: no objection
	Attempt    directory.Attempt  // data of the request that limits need
	CountedBy  []*directory.Limit // the velocity limits that count the attempt
	IsCounted  bool               // those limits have counted the attempt; a withdrawal must then uncount it
	PassedOver []payment.Attempt  // in failover: terminals passed over after the provider's refusal, with reasons
	Fault      error              // why the attempt could not be counted

	state State
}

// MaxAttempts bounds failover (the search for another terminal after a refusal). If the record lists so many tried terminals,
// no further terminal is tried. A new attempt of a hosted payment still adds at least one terminal.
const MaxAttempts = 32

// Start begins an admission at the instant s.At. missing is payment.AmountOutOfRange if the request is to be rejected for its
// amount, else empty. The request counts as an attempt in both cases.
func Start(s Search, missing payment.Code) (Admission, Task) {
	s.Request.Attempted = s.At
	a := Admission{Search: s, state: Routing}
	if missing == "" {
		return a, FindTerminal
	}
	a.Terms.Asset, a.Reason = s.Request.Asset, payment.Failure{Code: missing}
	return a, a.step(Objected)
}

// Refuse begins an admission that only rejects the request, because it lacks something that every terminal needs. missing
// is the code of the rejection. Such a request does not count as an attempt.
func Refuse(s Search, missing payment.Code) (Admission, Task) {
	a := Admission{Search: s, state: Routing, Reason: payment.Failure{Code: missing}}
	a.Terms.Asset = s.Request.Asset
	return a, a.step(Unacceptable)
}

// Failover begins the search for another terminal for a transaction that its provider has refused. s.Tried lists the record's
// earlier attempts and its present terminal.
func Failover(s Search, r *payment.Record) (Admission, Task) {
	s.Listed = r.ListedTerminals()
	a := Admission{Search: s, state: Admitted}
	return a, a.step(ProviderRefused)
}

// State returns the progress of the admission; empty if none is under way.
func (a *Admission) State() State { return a.state }

// Waits tells whether the admission waits for the result of the velocity limits, which are counted outside of this package.
func (a *Admission) Waits() bool { return a.state == Counting || a.state == Recounting }

// Velocity takes the result of the velocity limits (limits on the number of attempts). It is the first exceeded limit, nil if
// there is none, or an error. The error ledger.ClaimTaken means that the attempt repeats a stored one.
func (a *Admission) Velocity(exceeded *directory.Limit, err error) Task {
	isFirstCount := a.state == Counting // the state is Recounting in failover
	switch {
	case isFirstCount && ledger.IsRefusal(err, ledger.ClaimTaken):
		return a.step(Repeated)
	case err != nil:
		a.Fault = err
		return a.step(Uncountable)
	}
	a.IsCounted = isFirstCount
	if exceeded != nil {
		return a.onObjection(breachOf(exceeded))
	}
	return a.onObjection(payment.Failure{})
}

// GuardFunds is called instead of carrying out the task Begin, if only the account's funds bound the payout. The next task
// then asks the account for the funds.
func (a *Admission) GuardFunds() Task { return a.step(FundsGuarded) }

// Funds takes the result of the task AskAccount. covered tells whether the account's funds cover the payout.
func (a *Admission) Funds(covered bool) Task {
	if covered {
		return a.step(Cleared)
	}
	return a.Object(payment.Failure{Code: payment.InsufficientBalance})
}

// RuleOut is called in failover if the terms of the found terminal exclude the transaction. The record does not list this
// terminal among its attempts.
func (a *Admission) RuleOut() Task {
	a.Tried = append(a.Tried, payment.Attempt{Terminal: a.Terms.Terminal})
	return a.step(RuledOut)
}

// Object takes an objection to the transaction from the writer (package posting) or from the account.
func (a *Admission) Object(reason payment.Failure) Task {
	a.Reason = payment.Failure{}
	return a.onObjection(reason)
}

// OnWriterRefusal is called if the writer (package posting) refused for a reason that is not an objection to the transaction,
// such as a txid in use.
func (a *Admission) OnWriterRefusal() Task { return a.step(WriterRefused) }

// ConsideredTerminals returns the terminals that were considered for a rejected transaction, each with the reason why it did
// not take the transaction. now is the instant of the rejection.
func (a *Admission) ConsideredTerminals(terminals []*directory.Terminal, rails Rails, now time.Time) []payment.Attempt {
	switch {
	case a.Terms.Found():
		return a.Terms.AttemptsIfStopped(a.Reason, now)
	case a.Reason.Code != payment.NoTerminal:
		return nil // no search for a terminal was made
	default:
		return a.attemptsWithReasons(terminals, rails, a.Terms.Skipped)
	}
}

// onObjection takes the result of a check. Zero means that the check has no objection. The first objection to a transaction
// is the reason of its rejection. In failover an objection only excludes the terminal.
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

// passOver adds the terminal and the objection to PassedOver, and clears the objection.
func (a *Admission) passOver() {
	attempts := a.Terms.AttemptsIfStopped(a.Reason, a.At.Time())
	a.PassedOver = append(a.PassedOver, attempts...)
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

// step applies an event to the state, and returns the next task.
func (a *Admission) step(e Event) Task {
	step, ok := Machine.Next(a.state, e)
	if !ok { // checked first, because the arguments of the assertion are allocated
		assert.That(ok, "admission: %s on %s", a.state, e)
	}
	a.state = step.To
	return step.Do
}
