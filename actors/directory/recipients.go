package directory

import (
	"cmp"
	"slices"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// This file finds the addresses and contacts to which notifications are sent: the addresses of merchants, and the contacts for
// alerts.
var _ actors.Addresses = (*Service)(nil)

// Destination implements actors.Addresses.
func (s *Service) Destination(org ledger.ID, partner int64, env money.Env, terminal ledger.ID) (destination ledger.ID, hasAddress bool) {
	o, ok := s.org(org)
	if !ok {
		return destination, false
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
			_, hasAddress = o.address(c.record())
		}
		return terminal, hasAddress
	}
	p, ok := o.partner(partner)
	if !ok {
		return destination, false
	}
	return p.record().ID, p.record().NotifyURL != ""
}

// Address implements actors.Addresses.
func (s *Service) Address(org, recipient ledger.ID) (actors.Address, bool) {
	o, ok := s.org(org)
	if !ok {
		return actors.Address{}, false
	}
	if t, ok := o.terminals.get(recipient); ok {
		return o.address(t.record())
	}
	if p, ok := o.partners.get(recipient); ok {
		return addressOf(p.record())
	}
	return actors.Address{}, false
}

// address returns the terminal's own notification address or, if the terminal has none, the address of the terminal's partner.
// A terminal's secret is used only with the terminal's address, and a partner's secret only with the partner's address. If
// neither has an address, the terminal's secret takes precedence over the partner's secret.
func (o *organization) address(t *directory.Terminal) (a actors.Address, hasAddress bool) {
	n := &t.Notification
	own := actors.Address{URL: n.NotifyURL, Secret: n.Secret, PreviousSecret: n.SecretPrevious}
	if n.NotifyURL != "" {
		return own, true
	}
	if p, ok := o.partner(t.Partner); ok {
		a, hasAddress = addressOf(p.record())
	}
	if !hasAddress && own.Secret != "" {
		a = own
	}
	return a, hasAddress
}

func addressOf(p *directory.Partner) (actors.Address, bool) {
	return actors.Address{URL: p.NotifyURL, Secret: p.Secret}, p.NotifyURL != ""
}

// hasAlertContacts tells whether the terminal has contacts for alerts, which are messages to its operators.
func hasAlertContacts(t *directory.Terminal) bool {
	return len(t.Notification.Telegram) > 0 || len(t.Notification.Emails) > 0
}

// AlertTerminal returns the terminal whose operators are notified of a transaction at the given terminal. If the transaction
// has no terminal (the zero id), it returns the partner's active notification-only terminal in the environment. If the terminal
// has no contacts, the result is false.
func (s *Service) AlertTerminal(org ledger.ID, partner int64, env money.Env, terminal ledger.ID) (*directory.Terminal, bool) {
	o, ok := s.org(org)
	if !ok {
		return nil, false
	}
	if terminal == (ledger.ID{}) {
		for _, t := range o.terminalsOf(partner) {
			if t.Type == directory.MerchantTerminal && t.Active && t.Env == env {
				return t, hasAlertContacts(t)
			}
		}
		return nil, false
	}
	c, ok := o.terminals.get(terminal)
	if !ok {
		return nil, false
	}
	t := c.record()
	return t, hasAlertContacts(t)
}

// AlertTerminals calls fn once per organization with the terminals that have contacts for alerts, including terminals that are
// switched off. The terminals are grouped by partner. AlertTerminals skips organizations without such terminals.
func (s *Service) AlertTerminals(fn func(org ledger.ID, terminals []*directory.Terminal) error) error {
	for _, orgCreation := range s.inCreationOrder() {
		o, ok := s.org(orgCreation.id)
		if !ok {
			continue
		}
		var terminals []*directory.Terminal
		for _, creation := range o.terminals.inCreationOrder() {
			if c, ok := o.terminals.get(creation.id); ok && hasAlertContacts(c.record()) {
				terminals = append(terminals, c.record())
			}
		}
		if len(terminals) == 0 {
			continue
		}
		slices.SortStableFunc(terminals, func(a, b *directory.Terminal) int { return cmp.Compare(a.Partner, b.Partner) })
		if err := fn(orgCreation.id, terminals); err != nil {
			return err
		}
	}
	return nil
}

// PartnerOfRecipient returns a partner's number. The recipient is the id of this partner, or of a terminal of this partner. If
// the organization has no such partner or terminal, the result is false.
func (s *Service) PartnerOfRecipient(org, recipient ledger.ID) (number int64, ok bool) {
	o, ok := s.org(org)
	if !ok {
		return 0, false
	}
	if c, ok := o.terminals.get(recipient); ok {
		return c.record().Partner, true
	}
	if c, ok := o.partners.get(recipient); ok {
		return c.record().Number, true
	}
	return 0, false
}
