package directory

import (
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// Limit is a limit on transactions.
type Limit struct {
	Setting
	ID       ledger.ID
	active   bool
	Kind     directory.LimitKind
	Scope    directory.Scope
	partner  int64
	terminal ledger.ID // zero: all of the partner's
	kindOf   string    // payment or payout; empty: it covers both
	asset    money.Asset
}

// Bounds tells whether the limit covers a transaction.
func (l *Limit) Bounds(p *payment.Record) bool {
	return l.partner == p.Partner && l.asset == p.Asset && (l.kindOf == "" || l.kindOf == p.Type.String()) &&
		(l.terminal == ledger.ID{} || l.terminal == p.Terminal)
}

// InForceFor tells whether the limit was certainly applied to a transaction: it was in force
// earlier, and the record has the subject for which the limit counts.
func (l *Limit) InForceFor(p *payment.Record) bool {
	known := l.Scope == directory.ScopePartner || l.Scope == directory.ScopeCard && p.CardFingerprint != "" || l.Scope == directory.ScopeIP && p.PayerIP.IsValid()
	return l.active && l.Kind.IsVolume() && known && p.Attempted >= l.Updated+scan.InFlight
}
