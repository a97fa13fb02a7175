package directory

import (
	"mizan/ledger"
	"mizan/ledger/directory"
)

// place notes where a terminal is, which is elsewhere when its organization was
// read from the store again. Notifications of other platforms name only a terminal.
func (e *everyone) place(where *cell[directory.Terminal]) {
	t := where.record()
	e.terminals.put(t.ID, where)
	if t.Connection != nil {
		e.connected.Store(t.ID, where)
	}
}

// FindTerminal finds a terminal of whatever organization, in one look, whether it
// is there or not.
func (s *Service) FindTerminal(id ledger.ID) (*directory.Terminal, bool) {
	where, found := s.everyone.terminals.get(id)
	if !found {
		return nil, false
	}
	return where.record(), true
}

// Connected are the terminals that are connected to another platform
// (directory.UTP), of all organizations and in no order; also those that are
// switched off, whose charges may still be taken back.
func (s *Service) Connected() (terminals []*directory.Terminal) {
	s.everyone.connected.Range(func(_, where any) bool {
		terminals = append(terminals, where.(*cell[directory.Terminal]).record())
		return true
	})
	return terminals
}

// checkPlain refuses an address without TLS where this is no sandbox.
func (s *Service) checkPlain(t *directory.Terminal) error {
	if t.Connection == nil || !t.Connection.Plain() {
		return nil
	}
	if _, sandbox := s.Sandbox(); sandbox {
		return nil
	}
	return ledger.RefuseField("directory.checkPlain", "provider_params.base_url", "must be an https address")
}
