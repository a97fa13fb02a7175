package directory

import (
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// Limit holds the facts about a limit on transactions that other rules use.
type Limit struct {
	LastWrite
	ID              ledger.ID
	active          bool
	Kind            directory.LimitKind
	Scope           directory.Scope
	partner         int64
	terminal        ledger.ID // zero if the limit covers all terminals of the partner
	transactionType string    // payment or payout; empty if the limit covers both
	asset           money.Asset
}

// Covers tells whether the limit covers a transaction.
func (l *Limit) Covers(p *payment.Record) bool {
	return l.partner == p.Partner && l.asset == p.Asset && (l.transactionType == "" || l.transactionType == p.Type.String()) &&
		(l.terminal == ledger.ID{} || l.terminal == p.Terminal)
}

// InForceFor tells whether the limit was certainly applied to a transaction. This is certain if the limit was in force
// before the transaction, and the transaction's record has the subject (partner, card or IP address) by which the limit
// counts.
func (l *Limit) InForceFor(p *payment.Record) bool {
	hasSubject := l.Scope == directory.ScopePartner || l.Scope == directory.ScopeCard && p.CardFingerprint != "" || l.Scope == directory.ScopeIP && p.PayerIP.IsValid()
	return l.active && l.Kind.IsVolume() && hasSubject && p.AttemptedAt >= l.UpdatedAt+scan.MaxDecisionTime
}
