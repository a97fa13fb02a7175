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
	at      ledger.Micros
}

// terms chooses the terminal: the first of the partner's that serves the
// request, whose provider takes the method and whose circuit is closed. Those
// passed over for their circuit are in Skipped, also where none is found.
func (s *Service) terms(w *wanted) (terms payment.Terms) {
	kind, operation := w.kind()
	for _, t := range s.directory.Terminals(w.org, w.partner.Number) { // by priority, then id
		if w.passed(t) || s.excluded(t, w, kind, operation) != "" {
			continue
		}
		if s.circuits.open(t.ID) {
			if len(terms.Skipped) < maxAttempts {
				terms.Skipped = append(terms.Skipped, w.attempt(t, payment.AttemptSkipped, reasonOpen))
			}
			continue
		}
		skipped := terms.Skipped
		terms = s.termsOf(w, t)
		terms.Skipped = skipped
		return terms
	}
	return terms
}

// offers tells whether one of the partner's terminals serves the request, even if its
// circuit is open.
func (s *Service) offers(w *wanted) bool {
	kind, operation := w.kind()
	return slices.ContainsFunc(s.directory.Terminals(w.org, w.partner.Number), func(t *directory.Terminal) bool {
		return s.excluded(t, w, kind, operation) == ""
	})
}

// kind is what a terminal, and its provider, has to do.
func (w *wanted) kind() (directory.TerminalType, actors.Operation) {
	if w.request.Type == payment.Payout {
		return directory.PayoutTerminal, actors.PayOut
	}
	return directory.PaymentTerminal, actors.Pay
}

// termsOf are what the terminal brings to the request.
func (s *Service) termsOf(w *wanted, t *directory.Terminal) payment.Terms {
	set := &t.Settings
	asset := t.Resolve(w.request.Asset)
	terms := payment.Terms{
		Terminal: t.ID, Route: t.Provider, ShownText: set.Description, Priority: set.Priority,
		Fees:     payment.Fees{Bps: set.FeeBps, Fixed: set.FeeFixed, OnTop: set.FeeOnTop, Refundable: set.FeeRefundable},
		TwoPhase: set.TwoPhase, HoldTTL: set.HoldTTL, Overdraft: w.partner.OverdraftOf(asset), Asset: asset,
	}
	if settles, converts := t.SettlementAsset(asset); converts {
		terms.Converts, terms.Settles = true, settles
		terms.Rate, _ = s.directory.Rate(w.org, asset.Currency, settles.Currency)
	}
	return terms
}

// passed tells whether the terminal was tried.
func (w *wanted) passed(t *directory.Terminal) bool {
	return slices.ContainsFunc(w.tried, func(a payment.Attempt) bool { return a.Terminal == t.ID })
}

func (w *wanted) attempt(t *directory.Terminal, outcome, reason string) payment.Attempt {
	return payment.Attempt{Terminal: t.ID, Outcome: outcome, Failure: payment.Failure{Detail: reason}, Priority: t.Settings.Priority, At: w.at}
}

// explained says why none of the partner's terminals of the right kind and
// environment took the request, with those that were skipped.
func (s *Service) explained(w *wanted, skipped []payment.Attempt) []payment.Attempt {
	kind, operation := w.kind()
	var all []payment.Attempt
	for _, t := range s.directory.Terminals(w.org, w.partner.Number) {
		if t.Type != kind || t.Env != w.request.Asset.Env || len(all) == maxAttempts {
			continue
		}
		if why := s.excluded(t, w, kind, operation); why != "" {
			all = append(all, w.attempt(t, payment.AttemptExcluded, why))
		} else if i := slices.IndexFunc(skipped, func(a payment.Attempt) bool { return a.Terminal == t.ID }); i >= 0 {
			all = append(all, skipped[i])
		}
	}
	return all
}
