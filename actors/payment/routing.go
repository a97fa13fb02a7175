package payment

import (
	"slices"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// wanted is what a terminal is sought for.
type wanted struct {
	org     ledger.ID
	partner *directory.Partner
	request *payment.Request
	route   string            // the rail that the payer chose; empty: any
	tried   []payment.Attempt // terminals that have refused, or whose terms rule it out
}

// terms chooses the terminal: the first of the partner's that serves the
// request and whose provider takes the method.
func (s *Service) terms(w *wanted) (payment.Terms, bool) {
	r := w.request
	kind, operation := directory.PaymentTerminal, actors.Pay
	if r.Type == payment.Payout {
		kind, operation = directory.PayoutTerminal, actors.PayOut
	}
	var chosen *directory.Terminal
	for _, t := range s.directory.Terminals(w.org, w.partner.Number) {
		if p := s.providers[t.Provider]; p == nil || !p.Accepts(operation, r.Method) || w.passed(t) {
			continue
		}
		if t.Serves(kind, r.Asset, r.Method, r.Amount) && (chosen == nil || directory.ByPriority(t, chosen) < 0) {
			chosen = t
		}
	}
	if chosen == nil {
		return payment.Terms{}, false
	}
	set := &chosen.Settings
	asset := chosen.Resolve(r.Asset)
	terms := payment.Terms{
		Terminal: chosen.ID, Route: chosen.Provider, ShownText: set.Description,
		Fees:     payment.Fees{Bps: set.FeeBps, Fixed: set.FeeFixed, OnTop: set.FeeOnTop, Refundable: set.FeeRefundable},
		TwoPhase: set.TwoPhase, HoldTTL: set.HoldTTL, Overdraft: w.partner.OverdraftOf(asset), Asset: asset,
	}
	if settles, converts := chosen.SettlementAsset(asset); converts {
		terms.Converts, terms.Settles = true, settles
		terms.Rate, _ = s.directory.Rate(w.org, asset.Currency, settles.Currency)
	}
	return terms, true
}

// passed tells whether the terminal is none that may be chosen.
func (w *wanted) passed(t *directory.Terminal) bool {
	return w.route != "" && w.route != t.Provider ||
		slices.ContainsFunc(w.tried, func(a payment.Attempt) bool { return a.Terminal == t.ID })
}
