package admission

import (
	"cmp"
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// TerminalSearch is the input of a search for a terminal.
type TerminalSearch struct {
	Org             ledger.ID
	Partner         *directory.Partner
	Request         *payment.Request
	Route           string            // the rail that the payer chose; empty if any
	WithoutCard     bool              // the payer will give the card to the provider, so the provider must ask for it
	TriedTerminals  []payment.Attempt // terminals that must not be tried again
	ListedTerminals int               // number of terminals that the record already lists as skipped or tried
	At              ledger.Micros     // the instant of the search
}

// Rails provides the data that routing needs about rails (providers).
type Rails interface {
	// Accepts tells whether this build includes the provider, and whether the provider accepts the method in the
	// direction (payment or payout).
	Accepts(provider string, direction payment.Type, method string) bool
	// CollectsCards tells whether the terminal's provider asks payers for their cards itself.
	CollectsCards(t *directory.Terminal) bool
	// CircuitOpen tells whether the terminal's circuit breaker is open, so that the terminal is considered down.
	CircuitOpen(terminal ledger.ID) bool
	// Rate returns the exchange rate of an organization. It returns false if the organization has no rate for the
	// currencies.
	Rate(org ledger.ID, from, to money.Currency) (money.Rate, bool)
}

// ReasonCircuitOpen is stored as the reason for skipping a terminal whose circuit breaker is open.
const ReasonCircuitOpen = "the terminal's circuit is open"

// Find chooses the terminal for the request. The partner's terminals are ordered by priority and id; the first one wins
// that serves the request, was not tried yet and has a closed circuit breaker. Terms.Skipped lists the terminals that
// were skipped because their circuit breaker is open, even if no terminal is found.
func (a *Admission) Find(terminals []*directory.Terminal, rails Rails) Task {
	if a.isFailover() && a.ListedTerminals+len(a.SkippedTerminals) >= MaxAttempts {
		return a.step(NoTerminal)
	}
	a.Terms = a.findTerms(terminals, rails, MaxAttempts-a.ListedTerminals-len(a.SkippedTerminals))
	if a.Terms.Found() {
		return a.step(TerminalFound)
	}
	if !a.isFailover() {
		a.Terms.Asset, a.Reason = a.Request.Asset, payment.Failure{Code: payment.NoTerminal}
	}
	return a.step(NoTerminal)
}

// findTerms chooses the terminal as described at Find, and returns its terms. Terms.Skipped lists at most maxSkipped
// terminals.
func (s *TerminalSearch) findTerms(terminals []*directory.Terminal, rails Rails, maxSkipped int) (terms payment.Terms) {
	for _, terminal := range terminals {
		if s.wasTried(terminal) || s.exclusionReason(terminal, rails) != "" {
			continue
		}
		if rails.CircuitOpen(terminal.ID) {
			if len(terms.SkippedTerminals) < maxSkipped {
				terms.SkippedTerminals = append(terms.SkippedTerminals, s.newAttempt(terminal, payment.AttemptSkipped, ReasonCircuitOpen))
			}
			continue
		}
		skipped := terms.SkippedTerminals
		terms = s.termsOf(terminal, rails)
		terms.SkippedTerminals = skipped
		return terms
	}
	return terms
}

// HasTerminal tells whether at least one terminal serves the request. Circuit breakers are ignored.
func (s *TerminalSearch) HasTerminal(terminals []*directory.Terminal, rails Rails) bool {
	return slices.ContainsFunc(terminals, func(terminal *directory.Terminal) bool { return s.exclusionReason(terminal, rails) == "" })
}

// WouldServeAtHigherTotal tells whether a terminal would serve the request if the payer agreed to a higher total. It is
// called after the search has found no terminal for the agreed total.
func (s *TerminalSearch) WouldServeAtHigherTotal(terminals []*directory.Terminal, rails Rails) bool {
	if s.Request.AgreedTotal.IsZero() {
		return false
	}
	search := s.withoutAgreedTotal()
	terms := search.findTerms(terminals, rails, MaxAttempts)
	return terms.Found()
}

// withoutAgreedTotal returns a copy of the search without the payer's agreed total, so that no terminal is too expensive.
func (s *TerminalSearch) withoutAgreedTotal() TerminalSearch {
	request, search := *s.Request, *s
	request.AgreedTotal = money.Amount{}
	search.Request = &request
	return search
}

// terminalType returns the type of terminal that the request needs.
func (s *TerminalSearch) terminalType() directory.TerminalType {
	if s.Request.Type == payment.Payout {
		return directory.PayoutTerminal
	}
	return directory.PaymentTerminal
}

// exclusionReason returns the reason why the terminal does not serve the request, or "" if it does.
func (s *TerminalSearch) exclusionReason(terminal *directory.Terminal, rails Rails) string {
	if s.Route != "" && s.Route != terminal.Provider {
		return "the payer chose another rail"
	}
	r := s.Request
	method := r.Method
	if r.Renewal != nil {
		if terminal.ID != r.Renewal.Terminal {
			return "the stored credential is another terminal's"
		}
		method = payment.BankCard // the stored credential belongs to a card, so the terminal must accept cards
	}
	if reason := terminal.UnsuitableReason(s.terminalType(), r.Asset, method, r.Amount); reason != "" {
		return reason
	}
	if !rails.Accepts(terminal.Provider, r.Type, r.Method) {
		return "its provider does not take the method"
	}
	if s.WithoutCard && !rails.CollectsCards(terminal) {
		return "its provider does not ask for the card"
	}
	if !r.AgreedTotal.IsZero() {
		terms := s.termsOf(terminal, rails)
		if total, _, ok := terms.Total(r.Type, r.Amount); ok && r.AgreedTotal.Less(total) {
			return "it would charge more than the payer has agreed to"
		}
	}
	return ""
}

// termsOf returns the terminal's terms for the request.
func (s *TerminalSearch) termsOf(terminal *directory.Terminal, rails Rails) payment.Terms {
	settings := &terminal.Settings
	asset := terminal.Resolve(s.Request.Asset)
	terms := payment.Terms{
		Terminal: terminal.ID, Route: terminal.Provider, TerminalText: settings.Description, Priority: settings.Priority,
		Fees:     payment.Fees{Bps: settings.FeeBps, Fixed: settings.FeeFixed, OnTop: settings.FeeOnTop, Refundable: settings.FeeRefundable},
		TwoPhase: settings.TwoPhase, HoldTTL: settings.HoldTTL, Overdraft: s.Partner.OverdraftOf(asset), Asset: asset,
		HostedAttempts: uint8(cmp.Or(terminal.Notification.HostedAttempts, directory.DefaultHostedAttempts)),
	}
	if settlement, converts := terminal.SettlementAsset(asset); converts {
		terms.Converts, terms.SettlementAsset = true, settlement
		terms.Rate, _ = rails.Rate(s.Org, asset.Currency, settlement.Currency)
	}
	return terms
}

func (s *TerminalSearch) wasTried(terminal *directory.Terminal) bool {
	return slices.ContainsFunc(s.TriedTerminals, func(a payment.Attempt) bool { return a.Terminal == terminal.ID })
}

func (s *TerminalSearch) newAttempt(terminal *directory.Terminal, outcome, reason string) payment.Attempt {
	return payment.Attempt{Terminal: terminal.ID, Outcome: outcome, Failure: payment.Failure{Detail: reason}, Priority: terminal.Settings.Priority, At: s.At}
}

// attemptsWithReasons lists the partner's terminals of the right type and environment, each with the reason why it was
// not used. skipped lists the terminals with an open circuit breaker and their reasons.
func (s *TerminalSearch) attemptsWithReasons(terminals []*directory.Terminal, rails Rails, skipped []payment.Attempt) []payment.Attempt {
	wantType := s.terminalType()
	var attempts []payment.Attempt
	for _, terminal := range terminals {
		if terminal.Type != wantType || terminal.Env != s.Request.Asset.Env || len(attempts) == MaxAttempts {
			continue
		}
		if reason := s.exclusionReason(terminal, rails); reason != "" {
			attempts = append(attempts, s.newAttempt(terminal, payment.AttemptExcluded, reason))
		} else if i := slices.IndexFunc(skipped, func(a payment.Attempt) bool { return a.Terminal == terminal.ID }); i >= 0 {
			attempts = append(attempts, skipped[i])
		}
	}
	return attempts
}
