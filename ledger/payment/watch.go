package payment

import "mizan/ledger"

// IsFirstCharge tells whether an event makes a transaction charged for the first time. The return to charged after a
// refused refund does not count.
func IsFirstCharge(e *ledger.Event) bool {
	return Status(e.To) == Charged && Status(e.From) != Charged && Status(e.From) != Refunding
}

// Outcome tells whether the change from the given status to the record's present status is the transaction's outcome (ok),
// and whether that outcome is a failure. A transaction has only one outcome, so later changes are none. A transaction that
// returns the money of another transaction, or of an ended attempt, has no outcome.
func (r *Record) Outcome(from Status) (failed, ok bool) {
	if from.Final() || from == Refunding || from == Refunded || r.ReversalOf != (ledger.ID{}) || r.AttemptOf != (ledger.ID{}) {
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
