package simulator

import "mizan/actors"

var _ actors.LocalProvider = (*Simulator)(nil)

// IsLocal implements actors.LocalProvider. A call that opens a charge waits only for the log's sync, while any other
// call may have to search the whole log.
func (s *Simulator) IsLocal(operation actors.Operation) bool { return beginsCharge(operation) }
