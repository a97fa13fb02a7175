package payment

import "mizan/ledger"

// IsFirstCharge tells whether an event makes a transaction charged for the first time. An event that returns
// it to charged because a refund was refused does not count.
func IsFirstCharge(e *ledger.Event) bool {
	return Status(e.To) == Charged && Status(e.From) != Charged && Status(e.From) != Refunding
}

// Outcome tells whether the change from a status to the record's current status is the
// transaction's outcome (ok), and whether that outcome is a failure. Later changes by the rail
// are not an outcome, and a return transaction has no outcome of its own.
func (r *Record) Outcome(from Status) (failed, ok bool) {
	if from.Final() || from == Refunding || from == Refunded || r.ReversalOf != (ledger.ID{}) {
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

// Moved tells whether money has moved in the status: the transaction has a settled amount and a
// fee.
func (s Status) Moved() bool { return s == Charged || s == Refunding || s == Refunded || s == Reversed }
