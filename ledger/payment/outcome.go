package payment

import "mizan/ledger"

// IsFirstCharge tells whether an event sets a transaction to charged for the first time. The event by which it returns to
// charged after a refused refund does not count.
func IsFirstCharge(e *ledger.Event) bool {
	return Status(e.To) == Charged && Status(e.From) != Charged && Status(e.From) != Refunding
}

// Outcome examines the change from the status from to the record's present status. ok tells whether this change decided
// the outcome of the transaction, and failed whether the outcome is a failure. A transaction has at most one outcome:
// later changes are not outcomes. If a transaction only returns the money of another transaction or of an ended attempt,
// it has no outcome.
func (r *Record) Outcome(from Status) (failed, ok bool) {
	if from.IsFinal() || from == Refunding || from == Refunded || r.ReversalOf != (ledger.ID{}) || r.AttemptOf != (ledger.ID{}) {
		return false, false
	}
	switch r.Status {
	case Charged:
		return false, true
	case Rejected, Failed:
		return true, true
	}
	return false, false
}

// HasMovedMoney tells whether money has moved in this status, so that the transaction has a settled amount and
// a fee.
func (s Status) HasMovedMoney() bool {
	return s == Charged || s == Refunding || s == Refunded || s == Reversed
}
