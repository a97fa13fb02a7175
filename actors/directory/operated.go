package directory

import (
	"cmp"
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// operated tells whether the terminal has contacts for operator messages.
func operated(t *directory.Terminal) bool {
	return len(t.Notification.Telegram) > 0 || len(t.Notification.Emails) > 0
}

// Operated returns the terminal whose operators are notified of a transaction at the given
// terminal. For a transaction without a terminal (the zero id) that is the partner's active
// notification-only terminal of the environment. It returns false if the terminal has no contacts.
func (s *Service) Operated(id ledger.ID, partner int64, env money.Env, terminal ledger.ID) (*directory.Terminal, bool) {
	o, ok := s.org(id)
	if !ok {
		return nil, false
	}
	if terminal == (ledger.ID{}) {
		for _, t := range o.terminalsOf(partner) {
			if t.Type == directory.MerchantTerminal && t.Active && t.Env == env {
				return t, operated(t)
			}
		}
		return nil, false
	}
	c, ok := o.terminals.get(terminal)
	if !ok {
		return nil, false
	}
	t := c.record()
	return t, operated(t)
}

// AllOperated calls fn, for each organization, with the terminals that have contacts for operator
// messages, grouped by partner and including those that are switched off. It skips organizations
// without such terminals.
func (s *Service) AllOperated(fn func(org ledger.ID, terminals []*directory.Terminal) error) error {
	for _, place := range s.organizations.slots() {
		o, ok := s.org(place.id)
		if !ok {
			continue
		}
		var terminals []*directory.Terminal
		for _, slot := range o.terminals.slots() {
			if c, ok := o.terminals.get(slot.id); ok && operated(c.record()) {
				terminals = append(terminals, c.record())
			}
		}
		if len(terminals) == 0 {
			continue
		}
		slices.SortStableFunc(terminals, func(a, b *directory.Terminal) int { return cmp.Compare(a.Partner, b.Partner) })
		if err := fn(place.id, terminals); err != nil {
			return err
		}
	}
	return nil
}
