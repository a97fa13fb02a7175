package directory

import (
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// LimitKind is what a limit bounds. The zero value is invalid.
type LimitKind string

// The kinds of limits (specification, "Partner limits").
const (
	PerTransaction LimitKind = "per_transaction" // the amount of one transaction
	DailyVolume    LimitKind = "daily_volume"    // the amounts of a UTC day
	MonthlyVolume  LimitKind = "monthly_volume"  // the amounts of a UTC calendar month
	Velocity       LimitKind = "velocity"        // how many are tried in a sliding window
)

// Volume tells whether the limit bounds a sum of amounts.
func (k LimitKind) Volume() bool { return k == DailyVolume || k == MonthlyVolume }

// Scope is whose transactions a limit takes together. The zero value is invalid.
type Scope string

// The scopes.
const (
	ScopePartner Scope = "partner" // all of the partner's
	ScopeCard    Scope = "card"    // those of one card number, by its keyed fingerprint
	ScopeEmail   Scope = "email"   // those of one customer's e-mail
	ScopeIP      Scope = "ip"      // those of one payer's address
)

// Limit bounds what a partner moves, or how often. Only MaxAmount or MaxCount
// and Active ever change: another bound on something else is another limit.
type Limit struct {
	ID        ledger.ID
	Org       ledger.ID
	Partner   int64
	Terminal  ledger.ID // zero: all of the partner's
	Kind      LimitKind
	Type      TerminalType  // PaymentTerminal or PayoutTerminal; empty: both
	Asset     money.Asset   // for Velocity its currency may be empty: all of the environment
	MaxAmount money.Amount  // inclusive, in minor units; for every kind but Velocity
	MaxCount  int64         // inclusive; for Velocity
	Window    time.Duration // for Velocity: a minute or an hour
	Scope     Scope
	Active    bool
	Created   ledger.Micros
}

// Attempt is what limits judge: a transaction that is about to be routed.
type Attempt struct {
	Type     TerminalType // PaymentTerminal or PayoutTerminal
	Asset    money.Asset
	Terminal ledger.ID // zero: none was found
	Payer    Payer
	Again    bool // it was judged at another terminal: only the velocity limits of this one count it
}

// Bounds tells whether the limit bounds the attempt, and as whose. The subject
// is empty for the partner's own scope; an attempt of which nothing is known in
// the limit's scope is not bounded by it.
func (l *Limit) Bounds(a *Attempt) (subject string, bounds bool) {
	switch {
	case !l.Active, l.Asset.Env != a.Asset.Env, l.Type != "" && l.Type != a.Type:
		return "", false
	case l.Terminal != ledger.ID{} && l.Terminal != a.Terminal:
		return "", false
	case l.Terminal == ledger.ID{} && l.Kind == Velocity && a.Again:
		return "", false
	case l.Asset.Currency != "" && !l.takes(a.Asset):
		return "", false
	}
	return a.Payer.Subject(l.Scope)
}

// takes tells whether the limit is on the asset's currency and network. Of an
// amount whose scale nobody knows it can't be said how much it is, so every limit
// on its currency bounds it: nobody gets round one by naming no network, or one
// that the currency does not have.
func (l *Limit) takes(a money.Asset) bool {
	if l.Asset.Currency != a.Currency {
		return false
	}
	_, known := a.Scale()
	return l.Asset.Network == a.Network || !known
}

// CounterWindow names the window of a volume limit's counters on the day that
// ledger.DayWindow names.
func (l *Limit) CounterWindow(day string) string {
	if l.Kind == MonthlyVolume {
		return ledger.MonthWindow(day)
	}
	return day
}
