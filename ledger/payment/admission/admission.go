package admission

import (
	"time"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Admission is one attempt to accept a transaction: its progress and its findings. It contains no pointers to
// itself, so it may be copied. In the zero value no admission is under way. A caller carries out a Task and hands the
// result to a method, which returns the next Task.
type Admission struct {
	Search
	Terms      payment.Terms      // terms of the found terminal; if none was found, only Asset and Skipped are set
	Reason     payment.Failure    // reason of the rejection; zero: no objection
	Attempt    directory.Attempt  // the request as limits see it
	CountedBy  []*directory.Limit // the velocity limits that count the attempt
	IsCounted  bool               // whether those limits have counted the attempt; a withdrawal must then uncount it
	PassedOver []payment.Attempt  // failover: terminals passed over since the provider's refusal, with reasons
	Fault      error              // why the attempt could not be counted

	state State
}

// MaxAttempts bounds failover: it tries no further terminal once the record lists this many tried terminals. A new
// attempt of a hosted payment still adds at least one terminal.
const MaxAttempts = 32

// Start begins an admission at s.At. missing is empty or payment.AmountOutOfRange. The request counts as an attempt in
// either case.
func Start(s Search, missing payment.Code) (Admission, Task) {
	s.Request.Attempted = s.At
	a := Admission{Search: s, state: Routing}
	if missing == "" {
		return a, FindTerminal
	}
	a.Terms.Asset, a.Reason = s.Request.Asset, payment.Failure{Code: missing}
	return a, a.step(Objected)
}

// Refuse begins an admission that only rejects: the request lacks something that every terminal needs. missing tells
// what it lacks. Such a request does not count as an attempt.
func Refuse(s Search, missing payment.Code) (Admission, Task) {
	a := Admission{Search: s, state: Routing, Reason: payment.Failure{Code: missing}}
	a.Terms.Asset = s.Request.Asset
	return a, a.step(Unacceptable)
}

// Failover begins the search for another terminal for a record whose provider has refused. s.Tried lists the
// record's earlier attempts and its present terminal.
func Failover(s Search, r *payment.Record) (Admission, Task) {
	s.Listed = r.ListedTerminals()
	a := Admission{Search: s, state: Admitted}
	return a, a.step(ProviderRefused)
}

// State returns the progress of the admission; empty if none is under way.
func (a *Admission) State() State { return a.state }

// Waits tells whether the admission waits for the velocity limits.
func (a *Admission) Waits() bool { return a.state == Counting || a.state == Recounting }

// Call Velocity with the result of the velocity limits: the first exceeded limit (nil: none), or an error. The
// error ledger.ClaimTaken means that the attempt repeats a stored one.
func (a *Admission) Velocity(exceeded *directory.Limit, err error) Task {
	isFirstCount := a.state == Counting // not in failover
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

// Call GuardFunds if the account's funds are the only bound on the payout; then the account is asked for them first.
func (a *Admission) GuardFunds() Task { return a.step(FundsGuarded) }

// Call Funds with the result of AskAccount: whether the account's funds cover the payout.
func (a *Admission) Funds(covered bool) Task {
	if covered {
		return a.step(Cleared)
	}
	return a.Object(payment.Failure{Code: payment.InsufficientBalance})
}

// Call RuleOut if the terminal's terms exclude the transaction. Such a terminal is not among the attempts that the
// record lists.
func (a *Admission) RuleOut() Task {
	a.Tried = append(a.Tried, payment.Attempt{Terminal: a.Terms.Terminal})
	return a.step(RuledOut)
}

// Call Object with an objection of the writer (posting) or of the account.
func (a *Admission) Object(reason payment.Failure) Task {
	a.Reason = payment.Failure{}
	return a.onObjection(reason)
}

// Call OnWriterRefusal if the writer refused for a reason that is not an objection to the payment, such as a txid in use.
func (a *Admission) OnWriterRefusal() Task { return a.step(WriterRefused) }

// ConsideredTerminals returns the terminals that were considered for a rejected transaction, and why each did not take
// it. now is the instant of the rejection.
func (a *Admission) ConsideredTerminals(terminals []*directory.Terminal, rails Rails, now time.Time) []payment.Attempt {
	switch {
	case a.Terms.Found():
		return a.Terms.AttemptsIfStopped(a.Reason, now)
	case a.Reason.Code != payment.NoTerminal:
		return nil // no terminal was searched for
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
	if !ok { // only then, because the call allocates its arguments
		assert.That(ok, "admission: %s on %s", a.state, e)
	}
	a.state = step.To
	return step.Do
}
