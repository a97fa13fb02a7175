package admission

import (
	"time"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Admission is the state of one attempt to accept a transaction. The caller carries out a Task and passes the result to a
// method of Admission, which returns the next Task. The zero value means that no admission is under way. An Admission
// contains no pointers to itself, so it may be copied.
type Admission struct {
	TerminalSearch
	Terms            payment.Terms      // terms of the found terminal; if none was found, only Asset and Skipped are set
	Reason           payment.Failure    // reason of the rejection; zero if there is no objection
	Attempt          directory.Attempt  // the data by which limits decide whether they apply
	CountedBy        []*directory.Limit // the velocity limits that count the attempt
	IsCounted        bool               // whether CountedBy have counted the attempt; if it is withdrawn, it must then be uncounted
	SkippedTerminals []payment.Attempt  // in failover: terminals that were skipped after the provider's refusal, with reasons
	CountError       error              // why the attempt could not be counted

	state State
}

// MaxAttempts bounds the number of tried terminals that a record lists. Once a record lists so many, failover (the search
// for another terminal after a refusal) tries no further terminal. If the payer of a hosted payment starts a new attempt,
// one more terminal is tried even then.
const MaxAttempts = 32

// Start begins an admission at the instant s.At. missing is payment.AmountOutOfRange if the request must be rejected
// because of its amount, and otherwise empty. In both cases the request counts as an attempt.
func Start(s TerminalSearch, missing payment.Code) (Admission, Task) {
	s.Request.AttemptedAt = s.At
	a := Admission{TerminalSearch: s, state: Routing}
	if missing == "" {
		return a, FindTerminal
	}
	a.Terms.Asset, a.Reason = s.Request.Asset, payment.Failure{Code: missing}
	return a, a.step(Objected)
}

// Refuse begins an admission of a request that lacks something that every terminal needs. The request is rejected with
// the code missing, and does not count as an attempt.
func Refuse(s TerminalSearch, missing payment.Code) (Admission, Task) {
	a := Admission{TerminalSearch: s, state: Routing, Reason: payment.Failure{Code: missing}}
	a.Terms.Asset = s.Request.Asset
	return a, a.step(Unacceptable)
}

// Failover begins the search for another terminal after a provider has refused the transaction. s.TriedTerminals must
// list the earlier attempts in the record and its present terminal.
func Failover(s TerminalSearch, r *payment.Record) (Admission, Task) {
	s.ListedTerminals = r.ListedTerminals()
	a := Admission{TerminalSearch: s, state: Admitted}
	return a, a.step(ProviderRefused)
}

// State returns the progress of the admission. It is empty if no admission is under way.
func (a *Admission) State() State { return a.state }

// AwaitsVelocity tells whether the admission waits for a call of OnVelocity. The attempts are counted outside of this
// package.
func (a *Admission) AwaitsVelocity() bool { return a.state == Counting || a.state == Recounting }

// OnVelocity continues the admission once the velocity limits (limits on the number of attempts) have been checked.
// exceeded is the first limit that is exceeded, or nil. err is the error if the attempt could not be counted;
// ledger.ClaimTaken means that the request repeats a stored transaction.
func (a *Admission) OnVelocity(exceeded *directory.Limit, err error) Task {
	isFirstCount := a.state == Counting // in failover, the state is Recounting
	switch {
	case isFirstCount && ledger.IsRefusal(err, ledger.ClaimTaken):
		return a.step(Repeated)
	case err != nil:
		a.CountError = err
		return a.step(Uncountable)
	}
	a.IsCounted = isFirstCount
	if exceeded != nil {
		return a.handleObjection(breachOf(exceeded))
	}
	return a.handleObjection(payment.Failure{})
}

// CheckFunds is called if the task is Begin and the payout is limited by nothing but the account's funds. Then the caller
// does not carry out Begin. The next task asks whether the account has the funds.
func (a *Admission) CheckFunds() Task { return a.step(FundsGuarded) }

// OnFunds continues the admission after the task AskAccount. covered tells whether the account has the funds for the
// payout.
func (a *Admission) OnFunds(covered bool) Task {
	if covered {
		return a.step(Cleared)
	}
	return a.OnObjection(payment.Failure{Code: payment.InsufficientBalance})
}

// ExcludeTerminal is called in failover if the terms of the found terminal exclude the transaction. This terminal is not
// tried again and does not appear in the record's attempts.
func (a *Admission) ExcludeTerminal() Task {
	a.TriedTerminals = append(a.TriedTerminals, payment.Attempt{Terminal: a.Terms.Terminal})
	return a.step(RuledOut)
}

// OnObjection is called if the writer (package posting) or the account objects to the transaction.
func (a *Admission) OnObjection(reason payment.Failure) Task {
	a.Reason = payment.Failure{}
	return a.handleObjection(reason)
}

// OnWriterRefusal is called if the writer (package posting) refused the decision for a reason that is not an objection to
// the transaction. For example, the txid is in use.
func (a *Admission) OnWriterRefusal() Task { return a.step(WriterRefused) }

// ConsideredTerminals returns the terminals that were considered for a rejected transaction. Each has the reason why it
// was not used. now is the instant of the rejection.
func (a *Admission) ConsideredTerminals(terminals []*directory.Terminal, rails Rails, now time.Time) []payment.Attempt {
	switch {
	case a.Terms.Found():
		return a.Terms.AttemptsIfStopped(a.Reason, now)
	case a.Reason.Code != payment.NoTerminal:
		return nil // no search for a terminal was made
	default:
		return a.attemptsWithReasons(terminals, rails, a.Terms.SkippedTerminals)
	}
}

// handleObjection continues the admission after a check. objection is zero if the check found none. The first objection
// becomes the reason to reject the transaction. In failover, an objection only excludes the terminal.
func (a *Admission) handleObjection(objection payment.Failure) Task {
	if a.Reason.IsZero() {
		a.Reason = objection
	}
	if a.Reason.IsZero() {
		return a.step(Cleared)
	}
	if a.isFailover() {
		a.skipTerminal()
	}
	return a.step(Objected)
}

// skipTerminal moves the objection, together with the terminal, from Reason to SkippedTerminals.
func (a *Admission) skipTerminal() {
	attempts := a.Terms.AttemptsIfStopped(a.Reason, a.At.Time())
	a.SkippedTerminals = append(a.SkippedTerminals, attempts...)
	a.TriedTerminals = append(a.TriedTerminals, attempts...)
	a.Reason = payment.Failure{}
}

func (a *Admission) isFailover() bool {
	switch a.state {
	case Searching, Rescreening, Recounting, Rerouted, Exhausted:
		return true
	}
	return false
}

// step applies an event to the state, and returns the next task.
func (a *Admission) step(e Event) Task {
	step, ok := Machine.Next(a.state, e)
	if !ok { // assert.That is called only on failure, because passing the arguments to it allocates
		assert.That(ok, "admission: %s on %s", a.state, e)
	}
	a.state = step.To
	return step.Do
}
