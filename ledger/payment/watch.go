package payment

import "mizan/ledger"

// Charges tells whether an event makes a transaction charged. One that comes back to
// it, because a refund was refused, does not.
func Charges(e *ledger.Event) bool {
	return Status(e.To) == Charged && Status(e.From) != Charged && Status(e.From) != Refunding
}

// Concludes tells whether a change from one status to that of the record is the
// outcome that it was made for, and whether that is a failure. What the rail does
// afterwards is none, and the return of another transaction has none of its own.
func (r *Record) Concludes(from Status) (failed, ok bool) {
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

// Moved tells whether money has moved by the record's status: it has an amount that
// settled, and a fee.
func (s Status) Moved() bool { return s == Charged || s == Refunding || s == Refunded || s == Reversed }
