package admission

import (
	"cmp"
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
	Listed  int               // how many tried terminals the transaction's record lists already
	At      ledger.Micros     // the instant of the search
}

// Rails tells what routing needs to know about rails, which are also called providers.
type Rails interface {
	// Accepts tells whether this build includes the provider and the provider takes the method for payments or payouts.
	Accepts(provider string, direction payment.Type, method string) bool
	// CircuitOpen tells whether the terminal's circuit breaker is open: the terminal counts as down.
	CircuitOpen(terminal ledger.ID) bool
	// Rate returns an organization's exchange rate; false if it has none.
	Rate(org ledger.ID, from, to money.Currency) (money.Rate, bool)
}

// ReasonCircuitOpen is the stored reason of a terminal that was skipped because of its circuit.
const ReasonCircuitOpen = "the terminal's circuit is open"

// Find chooses the terminal for the request: the first of the partner's terminals, which are ordered by priority
// and id, that serves the request, was not tried yet and has a closed circuit. Terms.Skipped lists the terminals
// with an open circuit, even if no terminal is found.
func (a *Admission) Find(terminals []*directory.Terminal, rails Rails) Task {
	if a.failingOver() && a.Listed+len(a.PassedOver) >= MaxAttempts {
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
	for _, terminal := range terminals {
		if s.wasTried(terminal) || s.exclusionReason(terminal, rails) != "" {
			continue
		}
		if rails.CircuitOpen(terminal.ID) {
			if len(terms.Skipped)+s.Listed < MaxAttempts {
				terms.Skipped = append(terms.Skipped, s.newAttempt(terminal, payment.AttemptSkipped, ReasonCircuitOpen))
			}
			continue
		}
		skipped := terms.Skipped
		terms = s.termsOf(terminal, rails)
		terms.Skipped = skipped
		return terms
	}
	return terms
}

// Offers tells whether one of the terminals serves the request, even if its circuit is open.
func (s *Search) Offers(terminals []*directory.Terminal, rails Rails) bool {
	return slices.ContainsFunc(terminals, func(terminal *directory.Terminal) bool { return s.exclusionReason(terminal, rails) == "" })
}

// CostsMore tells whether a terminal takes the request, but for more than the payer has agreed to pay. It assumes that no
// terminal takes the request for the agreed total or less.
func (s *Search) CostsMore(terminals []*directory.Terminal, rails Rails) bool {
	if s.Request.AgreedTotal.IsZero() {
		return false
	}
	search := s.withoutAgreedTotal()
	terms := search.findTerms(terminals, rails)
	return terms.Found()
}

// withoutAgreedTotal returns a search for the same request of a payer who has agreed to any total.
func (s *Search) withoutAgreedTotal() Search {
	request, search := *s.Request, *s
	request.AgreedTotal = money.Amount{}
	search.Request = &request
	return search
}

// terminalType returns the type of terminal that the request needs.
func (s *Search) terminalType() directory.TerminalType {
	if s.Request.Type == payment.Payout {
		return directory.PayoutTerminal
	}
	return directory.PaymentTerminal
}

// exclusionReason returns why the terminal's own settings exclude the request; empty if they do not.
func (s *Search) exclusionReason(terminal *directory.Terminal, rails Rails) string {
	if s.Route != "" && s.Route != terminal.Provider {
		return "the payer chose another rail"
	}
	r := s.Request
	method := r.Method
	if r.Renewal != nil {
		if terminal.ID != r.Renewal.Terminal {
			return "the stored credential is another terminal's"
		}
		method = payment.BankCard // a card's stored credential is charged at a terminal for cards
	}
	if reason := terminal.UnsuitableReason(s.terminalType(), r.Asset, method, r.Amount); reason != "" {
		return reason
	}
	if !rails.Accepts(terminal.Provider, r.Type, r.Method) {
		return "its provider does not take the method"
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
func (s *Search) termsOf(terminal *directory.Terminal, rails Rails) payment.Terms {
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

func (s *Search) wasTried(terminal *directory.Terminal) bool {
	return slices.ContainsFunc(s.Tried, func(a payment.Attempt) bool { return a.Terminal == terminal.ID })
}

func (s *Search) newAttempt(terminal *directory.Terminal, outcome, reason string) payment.Attempt {
	return payment.Attempt{Terminal: terminal.ID, Outcome: outcome, Failure: payment.Failure{Detail: reason}, Priority: terminal.Settings.Priority, At: s.At}
}

// attemptsWithReasons lists the partner's terminals of the right type and environment that did not take the request, each
// with the reason. skipped has the reasons of those with an open circuit.
func (s *Search) attemptsWithReasons(terminals []*directory.Terminal, rails Rails, skipped []payment.Attempt) []payment.Attempt {
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
