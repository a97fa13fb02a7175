package payment

import (
	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// CanReachOperators reports whether a message can reach at least one of the operators in a terminal's
// notification settings.
type CanReachOperators func(n *directory.Notification) bool

// newOperatorAlert returns the body of a notice about the event to the terminal's operators. If the event
// needs no notice, newOperatorAlert returns nil. r is the transaction's record after the event. The body
// contains everything that a later delivery attempt needs.
func (s *Service) newOperatorAlert(org ledger.ID, r *payment.Record, e *ledger.Event) []byte {
	if s.canReachOperators == nil || !payment.IsFirstCharge(e) {
		return nil
	}
	t, found := s.directory.Terminal(org, r.Terminal)
	if !found || !s.canReachOperators(&t.Notification) {
		return nil
	}
	charge := alerts.Charge{
		ID: r.ID, Type: r.Type.String(), Amount: r.SettledAmount(), Asset: r.Asset, Fee: r.Fee, Merchant: r.MerchantAmount,
		ReversalOf: r.ReversalOf, At: ledger.MicrosOf(s.rt.Clock.Now()),
	}
	terminal := alerts.Terminal{ID: t.ID, Name: t.Name, Partner: t.Partner, Env: t.Env}
	alert, isNeeded := charge.Alert(terminal, t.Notification.LargeAmount)
	if !isNeeded {
		return nil
	}
	return alert.Append(nil)
}
