package directory

import (
	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

var _ actors.Addresses = (*Service)(nil)

// Recipient implements actors.Addresses.
func (s *Service) Recipient(id ledger.ID, partner int64, env money.Env, terminal ledger.ID) (to ledger.ID, set bool) {
	o, ok := s.org(id)
	if !ok {
		return to, false
	}
	if terminal == (ledger.ID{}) {
		for _, t := range o.terminalsOf(partner) {
			if t.Type == directory.MerchantTerminal && t.Active && t.Env == env {
				terminal = t.ID
				break
			}
		}
	}
	if terminal != (ledger.ID{}) {
		if c, ok := o.terminals.get(terminal); ok {
			_, set = o.address(c.record())
		}
		return terminal, set
	}
	p, ok := o.partner(partner)
	if !ok {
		return to, false
	}
	return p.record().ID, p.record().NotifyURL != ""
}

// Address implements actors.Addresses.
func (s *Service) Address(id, to ledger.ID) (actors.Address, bool) {
	o, ok := s.org(id)
	if !ok {
		return actors.Address{}, false
	}
	if t, ok := o.terminals.get(to); ok {
		return o.address(t.record())
	}
	if p, ok := o.partners.get(to); ok {
		return addressOf(p.record())
	}
	return actors.Address{}, false
}

// address returns the terminal's own notification address or, if it has none, its partner's. A
// secret is never used with the other's address.
func (o *org) address(t *directory.Terminal) (actors.Address, bool) {
	if n := &t.Notification; n.NotifyURL != "" {
		return actors.Address{URL: n.NotifyURL, Secret: n.Secret, Previous: n.SecretPrevious}, true
	}
	p, ok := o.partner(t.Partner)
	if !ok {
		return actors.Address{}, false
	}
	return addressOf(p.record())
}

func addressOf(p *directory.Partner) (actors.Address, bool) {
	return actors.Address{URL: p.NotifyURL, Secret: p.Secret}, p.NotifyURL != ""
}
