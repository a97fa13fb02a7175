package directory

import (
	"bytes"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// Limit is what the checker knows of a limit that bounds transactions.
type Limit struct {
	setting
	ID       ledger.ID
	active   bool
	Kind     words.LimitKind
	Scope    words.Scope
	partner  int64
	terminal []byte
	kindOf   string // payment or payout; empty: both
	asset    money.Asset
}

// Bounds tells whether the limit is about transactions like this one.
func (l *Limit) Bounds(p *payment.Record) bool {
	return l.partner == p.Partner && l.asset == p.Asset && (l.kindOf == "" || l.kindOf == p.Type.String()) &&
		(len(l.terminal) == 0 || bytes.Equal(l.terminal, p.Terminal[:]))
}

// InForceFor tells whether a transaction was surely judged by the limit: it has
// been in force since before, and whose it is is in the record.
func (l *Limit) InForceFor(p *payment.Record) bool {
	known := l.Scope == words.ScopePartner || l.Scope == words.ScopeCard && p.CardPrint != "" || l.Scope == words.ScopeIP && p.PayerIP.IsValid()
	return l.active && l.Kind.Volume() && known && p.Attempted >= l.Updated+scan.InFlight
}
