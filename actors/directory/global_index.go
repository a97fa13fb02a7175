package directory

import (
	"mizan/ledger"
	"mizan/ledger/directory"
)

// place records which cell holds a terminal. The cell is a new one after the organization was
// reloaded. Notifications from other platforms name only a terminal, so this table spans all
// organizations.
func (e *globalIndex) place(where *recordSlot[directory.Terminal]) {
	t := where.record()
	e.terminals.put(t.ID, where)
	if t.Connection != nil {
		e.connected.Store(t.ID, where)
	}
}

// FindTerminal finds a terminal of any organization with one lookup, whether it exists or not.
func (s *Service) FindTerminal(id ledger.ID) (*directory.Terminal, bool) {
	where, found := s.everyone.terminals.get(id)
	if !found {
		return nil, false
	}
	return where.record(), true
}

// Connected returns the terminals of all organizations that are connected to another platform
// (directory.UTP), in no order. It includes those that are switched off, because their charges may
// still be reversed.
func (s *Service) Connected() (terminals []*directory.Terminal) {
	s.everyone.connected.Range(func(_, where any) bool {
		terminals = append(terminals, where.(*recordSlot[directory.Terminal]).record())
		return true
	})
	return terminals
}

// checkPlain refuses an address without TLS unless this store is a sandbox.
func (s *Service) checkPlain(t *directory.Terminal) error {
	if t.Connection == nil || !t.Connection.Plain() {
		return nil
	}
	if _, sandbox := s.Sandbox(); sandbox {
		return nil
	}
	return ledger.RefuseField("directory.checkPlain", "provider_params.base_url", "must be an https address")
}
