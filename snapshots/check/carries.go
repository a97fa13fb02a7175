package check

import "mizan/ledger"

// carries says which entry an event has (POSTINGS: "None is a decision too").
type carries uint8

const (
	none     carries = iota
	mayHold          // a hold: of a payout, as its record must say
	holds            // a hold
	captures         // the capture of what is held
	voids            // the void of what is held
	settles          // the capture of what is held; where nothing is, a posted entry
	releases         // the void of what is held; where nothing is, none
	posts            // a posted entry
	mayPost          // a posted entry, where there is anything to move
)

// phase is the entry's, by whether the record holds anything; 0: there is none.
func (c carries) phase(held bool) ledger.Phase {
	switch c {
	case mayHold, holds:
		return ledger.Pending
	case captures:
		return ledger.Capture
	case voids:
		return ledger.Void
	case settles:
		if held {
			return ledger.Capture
		}
		return ledger.Posted
	case releases:
		if held {
			return ledger.Void
		}
	case posts, mayPost:
		return ledger.Posted
	}
	return 0
}
