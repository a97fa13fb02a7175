package scan

import "mizan/ledger"

// EntryRule says which kind of entry an event must have, or that it must have no entry. A hold is an entry that
// reserves money; a capture uses this money, and a void releases it.
type EntryRule uint8

// The rules.
const (
	NoEntry     EntryRule = iota
	MayHold               // a hold if the transaction is a payout; no entry if it is a payment
	MustHold              // a hold
	MustCapture           // the capture of the hold
	MustVoid              // the void of the hold
	MustSettle            // the capture of the hold, or a posted entry if there is no hold
	MustRelease           // the void of the hold, or no entry if there is no hold
	MustPost              // a posted entry
	MayPost               // a posted entry, if there is anything to move
)

// Phase returns the phase that the required entry must have, which may depend on whether the record has a hold. If the event
// must have no entry, Phase returns 0.
func (r EntryRule) Phase(hasHold bool) ledger.Phase {
	switch r {
	case MayHold, MustHold:
		return ledger.Pending
	case MustCapture:
		return ledger.Capture
	case MustVoid:
		return ledger.Void
	case MustSettle:
		if hasHold {
			return ledger.Capture
		}
		return ledger.Posted
	case MustRelease:
		if hasHold {
			return ledger.Void
		}
	case MustPost, MayPost:
		return ledger.Posted
	}
	return 0
}
