package check

import (
	"bytes"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// limit is what the checker knows of a limit that bounds transactions.
type limit struct {
	setting
	id       ledger.ID
	active   bool
	kind     words.LimitKind
	scope    words.Scope
	partner  int64
	terminal []byte
	kindOf   string // payment or payout; empty: both
	asset    money.Asset
}

// bounds tells whether the limit is about transactions like this one.
func (l *limit) bounds(p *payment.Record) bool {
	return l.partner == p.Partner && l.asset == p.Asset && (l.kindOf == "" || l.kindOf == p.Type.String()) &&
		(len(l.terminal) == 0 || bytes.Equal(l.terminal, p.Terminal[:]))
}

// inForceFor tells whether a transaction was surely judged by the limit: it has
// been in force since before, and whose it is is in the record.
func (l *limit) inForceFor(p *payment.Record) bool {
	known := l.scope == words.ScopePartner || l.scope == words.ScopeCard && p.CardPrint != "" || l.scope == words.ScopeIP && p.PayerIP.IsValid()
	return l.active && l.kind.Volume() && known && p.Attempted >= l.updated+inFlight
}
