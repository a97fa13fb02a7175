package contract

import (
	"mizan/ledger"
)

// refuseState returns the error for an action that the state does not allow.
func refuseState(status Status, action string) error {
	return ledger.Refuse("contract", ledger.Conflict, "%s is not possible in status %s", action, status)
}
