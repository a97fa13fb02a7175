package directory

import "mizan/ledger"

// Receives tells whether the organization has a terminal or a partner with the id. Only those can
// have received notifications, because Told returns no others.
func (s *Service) Receives(id, to ledger.ID) bool {
	o, ok := s.org(id)
	if !ok {
		return false
	}
	if _, ok := o.terminals.get(to); ok {
		return true
	}
	_, ok = o.partners.get(to)
	return ok
}
