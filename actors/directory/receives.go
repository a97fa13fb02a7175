package directory

import "mizan/ledger"

// Receives tells whether an organization has a terminal with the id, or a partner,
// so that something may have been told to it: Told names no others.
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
