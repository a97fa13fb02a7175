package directory

import "mizan/ledger"

// unavailable lists what a terminal could be told that no payment obeys yet:
// taken and ignored, money would move otherwise than configured.
var unavailable = []struct {
	key  string
	asks func(*Settings) bool
	what string
}{
	{"two_phase", func(s *Settings) bool { return s.TwoPhase }, "two-phase terminals are not available yet"},
	{"settlement_currency", func(s *Settings) bool { return s.SettlementCurrency != "" }, "settlement in another currency is not available yet"},
}

// refuseUnavailable is for new settings only: stored ones are parsed without it
// (invariant 5).
func (s *Settings) refuseUnavailable(op string) error {
	for _, u := range unavailable {
		if u.asks(s) {
			return ledger.RefuseField(op, providerParams+"."+u.key, "%s", u.what)
		}
	}
	return nil
}
