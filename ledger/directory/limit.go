package directory

import (
	"time"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
)

// LimitKind is the name of a kind of limit. The zero value is invalid.
type LimitKind string

// Kinds of limits (specification, "Partner limits").
const (
	PerTransaction LimitKind = "per_transaction" // the amount of one transaction
	DailyVolume    LimitKind = "daily_volume"    // the amounts of a UTC day
	MonthlyVolume  LimitKind = "monthly_volume"  // the amounts of a UTC calendar month
	Velocity       LimitKind = "velocity"        // the number of attempts in a sliding window
)

// Measure is what a limit compares with its bound.
type Measure uint8

// The measures.
const (
	OneAmount    Measure = iota + 1 // the amount of the transaction itself
	SumOfAmounts                    // the amounts of a calendar period
	Attempts                        // the number of attempts in a sliding window
)

// limitKind says what the limits of a kind do. A kind is one value of limitKinds.
type limitKind struct {
	name    LimitKind
	measure Measure

	// The calendar period of a SumOfAmounts: as much of the layout of a date as names it ("2006-01-02", "2006-01" or
	// "2006": ledger.WindowNumber), and its length.
	period       string
	months, days int
}

var limitKinds = []limitKind{
	{name: PerTransaction, measure: OneAmount},
	{name: DailyVolume, measure: SumOfAmounts, period: "2006-01-02", days: 1},
	{name: MonthlyVolume, measure: SumOfAmounts, period: "2006-01", months: 1},
	{name: Velocity, measure: Attempts},
}

// row returns the kind's value; the zero value for an unknown kind.
func (k LimitKind) row() *limitKind {
	for i := range limitKinds {
		if limitKinds[i].name == k {
			return &limitKinds[i]
		}
	}
	return &noKind
}

var noKind limitKind

// LimitKinds lists the names of all kinds.
func LimitKinds() (names []string) {
	for _, row := range limitKinds {
		names = append(names, string(row.name))
	}
	return names
}

// Valid tells whether k is one of the kinds.
func (k LimitKind) Valid() bool { return k.row().measure != 0 }

// Measure returns what limits of the kind compare with their bound; 0 for an unknown kind.
func (k LimitKind) Measure() Measure { return k.row().measure }

// Volume tells whether the limit bounds a sum of amounts.
func (k LimitKind) Volume() bool { return k.Measure() == SumOfAmounts }

// Period returns the layout (package time) of the calendar period of a volume limit's counters; empty for other kinds.
func (k LimitKind) Period() string { return k.row().period }

// PeriodEnd returns the first instant after the period that holds the instant.
func (k LimitKind) PeriodEnd(now time.Time) time.Time {
	row := k.row()
	start, err := time.Parse(row.period, now.UTC().Format(row.period))
	assert.NoError(err)
	return start.AddDate(0, row.months, row.days)
}

// Scope selects the transactions that a limit counts together. The zero value is invalid.
type Scope string

// The scopes.
const (
	ScopePartner Scope = "partner" // all of the partner's
	ScopeCard    Scope = "card"    // those of one card number, by its keyed fingerprint
	ScopeEmail   Scope = "email"   // those of one customer's e-mail
	ScopeIP      Scope = "ip"      // those of one payer's address
)

// Limit bounds how much a partner moves, or how often. Only MaxAmount or MaxCount and Active may
// change; any other change needs another limit.
type Limit struct {
	ID        ledger.ID
	Org       ledger.ID
	Partner   int64
	Terminal  ledger.ID // zero: all of the partner's
	Kind      LimitKind
	Type      TerminalType  // PaymentTerminal or PayoutTerminal; empty: both
	Asset     money.Asset   // for Velocity the currency may be empty: all assets of the environment
	MaxAmount money.Amount  // inclusive, in minor units; for every kind but Velocity
	MaxCount  int64         // inclusive; for Velocity
	Window    time.Duration // for Velocity: a minute or an hour
	Scope     Scope
	Active    bool
	Created   ledger.Micros
}

// Attempt is a transaction that is about to be routed, as limits see it.
type Attempt struct {
	Type     TerminalType // PaymentTerminal or PayoutTerminal
	Asset    money.Asset
	Terminal ledger.ID // zero: no terminal was found
	Payer    Payer
	Again    bool // screened before at another terminal: only velocity limits of this terminal count it again
}

// Bounds tells whether the limit applies to the attempt, and returns the subject whose use it
// counts. The subject is empty in the partner scope. The limit does not apply if the payer's
// value in its scope is unknown.
func (l *Limit) Bounds(a *Attempt) (subject string, bounds bool) {
	switch {
	case !l.Active, l.Asset.Env != a.Asset.Env, l.Type != "" && l.Type != a.Type:
		return "", false
	case l.Terminal != ledger.ID{} && l.Terminal != a.Terminal:
		return "", false
	case l.Terminal == ledger.ID{} && l.Kind.Measure() == Attempts && a.Again:
		return "", false
	case l.Asset.Currency != "" && !l.takes(a.Asset):
		return "", false
	}
	return a.Payer.Subject(l.Scope)
}

// takes tells whether the limit is on the asset's currency and network. If the asset's scale is
// unknown, its amount cannot be compared, so every limit on the currency applies. Otherwise a
// request could evade a limit by naming no network, or one that the currency does not have.
func (l *Limit) takes(a money.Asset) bool {
	if l.Asset.Currency != a.Currency {
		return false
	}
	_, known := a.Scale()
	return l.Asset.Network == a.Network || !known
}

// CounterWindow returns the name of the window of a volume limit's counters. day is a name from
// ledger.DayWindow.
func (l *Limit) CounterWindow(day string) string { return day[:len(l.Kind.Period())] }
