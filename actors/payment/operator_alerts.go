package payment

import (
	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// CanReachOperators tells whether any of the operators in a terminal's notification settings can be reached.
type CanReachOperators func(n *directory.Notification) bool

// alert returns the body of the notice to the terminal's operators about the event after which the transaction
// is as r says; nil if the event needs no notice. The body contains everything that a later attempt to send it
// needs.
func (s *Service) alert(org ledger.ID, r *payment.Record, e *ledger.Event) []byte {
	if s.canReachOperators == nil || !payment.IsFirstCharge(e) {
		return nil
	}
	t, found := s.directory.Terminal(org, r.Terminal)
	if !found || !s.canReachOperators(&t.Notification) {
		return nil
	}
	charge := alerts.Charge{
		ID: r.ID, Type: r.Type.String(), Amount: r.Settled(), Asset: r.Asset, Fee: r.Fee, Merchant: r.Merchant,
		ReversalOf: r.ReversalOf, At: ledger.MicrosOf(s.rt.Clock.Now()),
	}
	place := alerts.Terminal{ID: t.ID, Name: t.Name, Partner: t.Partner, Env: t.Env}
	m, notifies := charge.Alert(place, t.Notification.Large)
	if !notifies {
		return nil
	}
	return m.Append(nil)
}
