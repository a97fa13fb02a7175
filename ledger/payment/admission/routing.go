package admission

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Search is the input of the search for a terminal.
type Search struct {
	Org     ledger.ID
	Partner *directory.Partner
	Request *payment.Request
	Route   string            // the rail that the payer chose; empty: any
	Tried   []payment.Attempt // terminals that must not be tried again
	At      ledger.Micros
}

// Rails tells what routing needs to know about providers.
type Rails interface {
	// Accepts tells whether this build includes the provider and the provider takes the method in that direction.
	Accepts(provider string, direction payment.Type, method string) bool
	// CircuitOpen tells whether the terminal's circuit breaker is open: the terminal counts as down.
	CircuitOpen(terminal ledger.ID) bool
	// Rate returns an organization's rate; false if it has none.
	Rate(org ledger.ID, from, to money.Currency) (money.Rate, bool)
}

// ReasonCircuitOpen is the stored reason of a terminal that was skipped because of its circuit.
const ReasonCircuitOpen = "the terminal's circuit is open"

// Find chooses the terminal for the request: the first of the partner's terminals, which are ordered by priority
// and id, that serves the request, was not tried yet and has a closed circuit. Terms.Skipped lists the terminals
// with an open circuit, even if no terminal is found.
func (a *Admission) Find(terminals []*directory.Terminal, rails Rails) Task {
	if a.recorded+len(a.Stopped) >= MaxAttempts {
		return a.step(NoTerminal)
	}
	a.Terms = a.findTerms(terminals, rails)
	if a.Terms.Found() {
		return a.step(TerminalFound)
	}
	if !a.failingOver() {
		a.Terms.Asset, a.Reason = a.Request.Asset, payment.Failure{Code: payment.NoTerminal}
	}
	return a.step(NoTerminal)
}

func (s *Search) findTerms(terminals []*directory.Terminal, rails Rails) (terms payment.Terms) {
	for _, t := range terminals {
		if s.tried(t) || s.exclusionReason(t, rails) != "" {
			continue
		}
		if rails.CircuitOpen(t.ID) {
			if len(terms.Skipped) < MaxAttempts {
				terms.Skipped = append(terms.Skipped, s.attempt(t, payment.AttemptSkipped, ReasonCircuitOpen))
			}
			continue
		}
		skipped := terms.Skipped
		terms = s.termsOf(t, rails)
		terms.Skipped = skipped
		return terms
	}
	return terms
}

// Offers tells whether one of the terminals serves the request, even if its circuit is open.
func (s *Search) Offers(terminals []*directory.Terminal, rails Rails) bool {
	return slices.ContainsFunc(terminals, func(t *directory.Terminal) bool { return s.exclusionReason(t, rails) == "" })
}

// kind returns the type of terminal that the request needs.
func (s *Search) kind() directory.TerminalType {
	if s.Request.Type == payment.Payout {
		return directory.PayoutTerminal
	}
	return directory.PaymentTerminal
}

// exclusionReason returns why the terminal's own settings exclude the request; empty if they do not.
func (s *Search) exclusionReason(t *directory.Terminal, rails Rails) string {
	if s.Route != "" && s.Route != t.Provider {
		return "the payer chose another rail"
	}
	r := s.Request
	method := r.Method
	if r.Renewal != nil {
		if t.ID != r.Renewal.Terminal {
			return "the stored credential is another terminal's"
		}
		method = payment.BankCard // a card's stored credential is charged at a terminal for cards
	}
	if why := t.UnsuitableReason(s.kind(), r.Asset, method, r.Amount); why != "" {
		return why
	}
	if !rails.Accepts(t.Provider, r.Type, r.Method) {
		return "its provider does not take the method"
	}
	return ""
}

// termsOf returns the terminal's terms for the request.
func (s *Search) termsOf(t *directory.Terminal, rails Rails) payment.Terms {
	settings := &t.Settings
	asset := t.Resolve(s.Request.Asset)
	terms := payment.Terms{
		Terminal: t.ID, Route: t.Provider, ShownText: settings.Description, Priority: settings.Priority,
		Fees:     payment.Fees{Bps: settings.FeeBps, Fixed: settings.FeeFixed, OnTop: settings.FeeOnTop, Refundable: settings.FeeRefundable},
		TwoPhase: settings.TwoPhase, HoldTTL: settings.HoldTTL, Overdraft: s.Partner.OverdraftOf(asset), Asset: asset,
	}
	if settlement, converts := t.SettlementAsset(asset); converts {
		terms.Converts, terms.SettlementAsset = true, settlement
		terms.Rate, _ = rails.Rate(s.Org, asset.Currency, settlement.Currency)
	}
	return terms
}

func (s *Search) tried(t *directory.Terminal) bool {
	return slices.ContainsFunc(s.Tried, func(a payment.Attempt) bool { return a.Terminal == t.ID })
}

func (s *Search) attempt(t *directory.Terminal, outcome, reason string) payment.Attempt {
	return payment.Attempt{Terminal: t.ID, Outcome: outcome, Failure: payment.Failure{Detail: reason}, Priority: t.Settings.Priority, At: s.At}
}

// attemptsWithReasons returns, for each of the partner's terminals of the right kind and environment, why
// it did not take the request. It includes the skipped terminals.
func (s *Search) attemptsWithReasons(terminals []*directory.Terminal, rails Rails, skipped []payment.Attempt) []payment.Attempt {
	kind := s.kind()
	var attempts []payment.Attempt
	for _, t := range terminals {
		if t.Type != kind || t.Env != s.Request.Asset.Env || len(attempts) == MaxAttempts {
			continue
		}
		if why := s.exclusionReason(t, rails); why != "" {
			attempts = append(attempts, s.attempt(t, payment.AttemptExcluded, why))
		} else if i := slices.IndexFunc(skipped, func(a payment.Attempt) bool { return a.Terminal == t.ID }); i >= 0 {
			attempts = append(attempts, skipped[i])
		}
	}
	return attempts
}
