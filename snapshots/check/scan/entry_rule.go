package scan

import "mizan/ledger"

// EntryRule says which entry an event has (POSTINGS: "None is a decision too").
type EntryRule uint8

const (
	NoEntry     EntryRule = iota
	MayHold               // a hold: of a payout, as its record must say
	MustHold              // a hold
	MustCapture           // the capture of what is held
	MustVoid              // the void of what is held
	MustSettle            // the capture of what is held; where nothing is, a posted entry
	MustRelease           // the void of what is held; where nothing is, none
	MustPost              // a posted entry
	MayPost               // a posted entry, where there is anything to move
)

// Phase is the entry's, by whether the record holds anything; 0: there is none.
func (c EntryRule) Phase(held bool) ledger.Phase {
	switch c {
	case MayHold, MustHold:
		return ledger.Pending
	case MustCapture:
		return ledger.Capture
	case MustVoid:
		return ledger.Void
	case MustSettle:
		if held {
			return ledger.Capture
		}
		return ledger.Posted
	case MustRelease:
		if held {
			return ledger.Void
		}
	case MustPost, MayPost:
		return ledger.Posted
	}
	return 0
}
