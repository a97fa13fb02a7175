package directory

import (
	"log/slog"
	"time"

	"mizan/ledger/columns"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// LimitKind is the name of a kind of limit. The zero value is invalid.
type LimitKind string

// Kinds of limits (specification, "Partner limits").
const (
	PerTransaction LimitKind = "per_transaction" // bounds the amount of one transaction
	DailyVolume    LimitKind = "daily_volume"    // bounds the sum of the amounts of a UTC day
	MonthlyVolume  LimitKind = "monthly_volume"  // bounds the sum of the amounts of a UTC calendar month
	Velocity       LimitKind = "velocity"        // bounds the number of attempts in a sliding window
)

// Measure is the quantity that a limit compares with its bound.
type Measure uint8

// The measures.
const (
	OneAmount    Measure = iota + 1 // the amount of one transaction
	SumOfAmounts                    // the amounts of a calendar period
	Attempts                        // the number of attempts in a sliding window
)

// limitKind defines a kind of limit. All kinds are in limitKinds.
type limitKind struct {
	name    LimitKind
	measure Measure

	// The calendar period of a SumOfAmounts. The field period is the part of a date's layout that identifies the period:
	// "2006-01-02", "2006-01" or "2006", as in ledger.WindowNumber. The length of the period is months plus days.
	period       string
	months, days int
}

var limitKinds = []limitKind{
	{name: PerTransaction, measure: OneAmount},
	{name: DailyVolume, measure: SumOfAmounts, period: "2006-01-02", days: 1},
	{name: MonthlyVolume, measure: SumOfAmounts, period: "2006-01", months: 1},
	{name: Velocity, measure: Attempts},
}

// definition returns the kind's definition; an empty one for an unknown kind.
func (k LimitKind) definition() *limitKind {
	for i := range limitKinds {
		if limitKinds[i].name == k {
			return &limitKinds[i]
		}
	}
	return &unknownKind
}

var unknownKind limitKind

// LimitKinds lists the names of all kinds.
func LimitKinds() (names []string) {
	for _, kind := range limitKinds {
		names = append(names, string(kind.name))
	}
	return names
}

// Valid tells whether k is one of the kinds.
func (k LimitKind) Valid() bool { return k.definition().measure != 0 }

// Measure returns the quantity that limits of the kind compare with their bound; 0 for an unknown kind.
func (k LimitKind) Measure() Measure { return k.definition().measure }

// IsVolume tells whether the limit bounds a sum of amounts.
func (k LimitKind) IsVolume() bool { return k.Measure() == SumOfAmounts }

// Period returns the layout (package time) of the names of a volume limit's calendar periods, such as "2006-01" for months;
// empty for other kinds.
func (k LimitKind) Period() string { return k.definition().period }

// PeriodEnd returns the first instant after the calendar period that contains now.
func (k LimitKind) PeriodEnd(now time.Time) time.Time {
	kind := k.definition()
	start, err := time.Parse(kind.period, now.UTC().Format(kind.period))
	assert.NoError(err)
	return start.AddDate(0, kind.months, kind.days)
}

// Scope says which transactions a limit counts together. The zero value is invalid.
type Scope string

// The scopes.
const (
	ScopePartner Scope = "partner" // all transactions of the partner
	ScopeCard    Scope = "card"    // the transactions of one card number, by its keyed fingerprint
	ScopeEmail   Scope = "email"   // the transactions of one customer's e-mail address
	ScopeIP      Scope = "ip"      // the transactions of one payer's IP address
)

// Limit bounds the amounts or the number of a partner's transactions. Only Active and the bound (MaxAmount or
// MaxCount) may change. Any other change needs a new limit.
type Limit struct {
	ID        ledger.ID
	Org       ledger.ID
	Partner   int64
	Terminal  ledger.ID // zero: all terminals of the partner
	Kind      LimitKind
	Type      TerminalType  // PaymentTerminal or PayoutTerminal; empty: both
	Asset     money.Asset   // for Velocity the currency may be empty: the limit is then on all assets of the environment
	MaxAmount money.Amount  // only for kinds with an amount: the largest amount, in minor units
	MaxCount  int64         // only for Velocity: the largest number of attempts
	Window    time.Duration // only for Velocity: the length of the sliding window, a minute or an hour
	Scope     Scope
	Active    bool
	Created   ledger.Micros
}

// Attempt has the data of a transaction, before it is routed, that limits need.
type Attempt struct {
	Type         TerminalType // PaymentTerminal or PayoutTerminal
	Asset        money.Asset
	Terminal     ledger.ID // zero: no terminal was found
	Payer        Payer
	IsRescreened bool // screened at another terminal before, where velocity limits on all terminals counted it
}

// AppliesTo tells whether the limit applies to the attempt. subject identifies the payer whose attempts the limit counts. It
// is empty if the limit has the scope partner. In another scope, the limit does not apply if the payer's card, e-mail or IP
// address is unknown.
func (l *Limit) AppliesTo(a *Attempt) (subject string, applies bool) {
	switch {
	case !l.Active, l.Asset.Env != a.Asset.Env, l.Type != "" && l.Type != a.Type:
		return "", false
	case l.Terminal != ledger.ID{} && l.Terminal != a.Terminal:
		return "", false
	case l.Terminal == ledger.ID{} && l.Kind.Measure() == Attempts && a.IsRescreened:
		return "", false
	case l.Asset.Currency != "" && !l.coversAsset(a.Asset):
		return "", false
	}
	return a.Payer.Subject(l.Scope)
}

// coversAsset tells whether the limit is on the asset's currency and network. If the asset's scale (number of decimals) is
// unknown, the amount cannot be compared with a bound, so every limit on the currency applies. Otherwise a request could
// evade the limits by naming no network, or a network that the currency does not have.
func (l *Limit) coversAsset(a money.Asset) bool {
	if l.Asset.Currency != a.Currency {
		return false
	}
	_, known := a.Scale()
	return l.Asset.Network == a.Network || !known
}

// CounterWindow returns the name of a volume limit's calendar period, as in the keys of its counters.
// day is the name of a day, from ledger.DayWindow.
func (l *Limit) CounterWindow(day string) string { return day[:len(l.Kind.Period())] }

// Bounds of limits.
const (
	MaxLimits = 100       // active limits of one partner: each creation of a transaction checks all of them
	MaxCount  = 1_000_000 // largest MaxCount of a velocity limit
)

// velocityWindows has the windows of velocity limits by name.
var velocityWindows = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}

// Valid tells whether s is one of the scopes.
func (s Scope) Valid() bool {
	switch s {
	case ScopePartner, ScopeCard, ScopeEmail, ScopeIP:
		return true
	}
	return false
}

// WindowName returns "minute" or "hour" for a velocity limit, and an empty text for other kinds.
func (l *Limit) WindowName() string {
	for name, window := range velocityWindows {
		if window == l.Window {
			return name
		}
	}
	return ""
}

// LogValue implements slog.LogValuer.
func (l *Limit) LogValue() slog.Value { return slog.StringValue(l.ID.String()) }

// Limits are the columns of limits (specification, "Partner limits").
var Limits = schema.NewType[Limit]("limit",
	columns.IDColumn(func(l *Limit) *ledger.ID { return &l.ID }),
	columns.PartnerColumn(1, func(l *Limit) *int64 { return &l.Partner }, schema.Required, schema.Fixed),
	schema.Field(schema.ID(2, "terminal_id", schema.Fixed, schema.Flag("terminal"),
		schema.Help("bounds only the transactions of this terminal")), func(l *Limit) *ledger.ID { return &l.Terminal }),
	schema.TextField(schema.Word(3, "kind", LimitKinds(), schema.Required, schema.Fixed,
		schema.Help("kind of bound")), func(l *Limit) *LimitKind { return &l.Kind }),
	schema.TextField(schema.Word(4, "type", []string{string(PaymentTerminal), string(PayoutTerminal)}, schema.Fixed,
		schema.Help("bounds only payments, or only payouts")), func(l *Limit) *TerminalType { return &l.Type }),
	columns.CurrencyColumn(5, func(l *Limit) *money.Asset { return &l.Asset }, schema.Fixed),
	columns.NetworkColumn(6, func(l *Limit) *money.Asset { return &l.Asset }, schema.Fixed),
	columns.AssetEnvColumn(7, func(l *Limit) *money.Asset { return &l.Asset }, schema.Fixed),
	schema.Field(schema.Amount(8, "max_amount", schema.Settable,
		schema.Help("largest amount in minor units, for every kind except velocity")), func(l *Limit) *money.Amount { return &l.MaxAmount }),
	schema.Field(schema.Integer(9, "max_count", 1, MaxCount, schema.Settable,
		schema.Help("largest number of attempts in a window, for velocity")), func(l *Limit) *int64 { return &l.MaxCount }),
	schema.Bound(schema.Word(10, "window", []string{"minute", "hour"}, schema.Fixed,
		schema.Help("length of the sliding window, for velocity")), (*Limit).WindowName, func(l *Limit, name string) { l.Window = velocityWindows[name] }),
	schema.TextField(schema.Word(11, "scope", []string{string(ScopePartner), string(ScopeCard), string(ScopeEmail), string(ScopeIP)},
		schema.Required, schema.Fixed, schema.DefaultTo(string(ScopePartner)),
		schema.Help("transactions that are counted together")), func(l *Limit) *Scope { return &l.Scope }),
	schema.Field(schema.Bool(12, "active", schema.NotNull, schema.DefaultTo(true),
		schema.Help("whether the limit is in force")), func(l *Limit) *bool { return &l.Active }),
	columns.CreatedColumn(func(l *Limit) *ledger.Micros { return &l.Created }),
).OnCreate(requireLimitNetwork).CrossCheck(crossCheckLimit).Invariant(limitProblem).
	WithEnvelope(func(l *Limit, envelope schema.Envelope) {
		l.Org, l.ID, l.Created = envelope.Org, envelope.ID, envelope.Created
	})

// limitProblem returns what is wrong with a stored limit that NewLimit would not have made; empty if nothing is wrong. It
// does not check the currency, because other currencies may have been accepted when the limit was made.
func limitProblem(l *Limit) string {
	f := new(schema.Faults)
	crossCheckBound(l, f)
	switch {
	case !f.Empty():
		return "bounds nothing: " + f.Error()
	case l.Asset.Currency == "" && l.Kind.Measure() != Attempts:
		return "bounds no currency"
	}
	return partnerNumberProblem(l.Partner)
}

// requireLimitNetwork refuses a request without a network if the currency is on several networks.
func requireLimitNetwork(input schema.Input, l *Limit, f *schema.Faults) {
	if l.Asset.Currency == "" {
		return
	}
	raw, isSent := input["network"]
	if isSent = isSent && string(raw) != "null"; !isSent && columns.OnSeveralNetworks(l.Asset.Currency) {
		f.Add("network", `is required: %s is on several networks ("" is for transactions whose network is unresolved)`, l.Asset.Currency)
	}
}

// crossCheckLimit checks that the fields fit the kind of limit. For a new limit, it also checks the asset. If the kind is
// unknown, it checks only the asset.
func crossCheckLimit(old, l *Limit, f *schema.Faults) {
	if old == nil && l.Kind.Valid() {
		crossCheckScope(l, f)
	}
	if old == nil {
		columns.CrossCheckAsset(&l.Asset, f)
	}
	if l.Kind.Valid() {
		crossCheckBound(l, f)
	}
}

// crossCheckBound requires the field with the bound of the limit's kind, and refuses the bounds of other kinds.
func crossCheckBound(l *Limit, f *schema.Faults) {
	countsAttempts := l.Kind.Measure() == Attempts
	addIf := func(field string, isWrong bool, problem string) {
		if isWrong && !f.Has(field) {
			f.Add(field, "%s", problem)
		}
	}
	addIf("max_amount", countsAttempts && !l.MaxAmount.IsZero(), "is for the other kinds: velocity takes max_count")
	addIf("max_amount", !countsAttempts && l.MaxAmount.IsZero(), "is required")
	addIf("max_count", !countsAttempts && l.MaxCount != 0, "is for velocity only")
	addIf("max_count", countsAttempts && l.MaxCount == 0, "is required")
	addIf("window", !countsAttempts && l.Window != 0, "is for velocity only")
	addIf("window", countsAttempts && l.Window == 0, "must be minute or hour")
}

// crossCheckScope checks that the limit's asset and scope fit its kind.
func crossCheckScope(l *Limit, f *schema.Faults) {
	countsAttempts := l.Kind.Measure() == Attempts
	switch {
	case l.Asset.Currency == "" && !countsAttempts && !f.Has("currency"):
		f.Add("currency", "is required")
	case l.Asset.Currency == "" && l.Asset.Network != "" && !f.Has("currency"):
		f.Add("network", "is of no use without currency")
	}
	if l.Kind.Measure() == OneAmount && l.Scope.Valid() && l.Scope != ScopePartner {
		f.Add("scope", "must be partner: one transaction is nobody's sum")
	}
}

// NewLimit returns a new limit with the fields of the draft, and the event of its creation. terminal is the terminal that the
// draft names. It is nil if the draft names none, or a terminal that the organization doesn't have. The error names all wrong
// fields.
func NewLimit(draft Limit, terminal *Terminal) (*Limit, ledger.Event, error) {
	l, faults := &draft, new(schema.Faults)
	l.Asset = columns.ResolveNetwork(l.Asset)
	Limits.Check(nil, l, faults)
	l.checkTerminal(terminal, faults)
	if err := FaultsAsRefusals("directory.CreateLimit", faults); err != nil {
		return nil, ledger.Event{}, err
	}
	return l, createdEvent(ledger.Limit, l.ID, stateOf(l.Active)), nil
}

// checkTerminal checks the terminal that the limit names. It does not compare the terminal with fields that have a fault.
func (l *Limit) checkTerminal(t *Terminal, f *schema.Faults) {
	const field = "terminal_id"
	switch {
	case l.Terminal == ledger.ID{}:
	case t == nil || t.Partner != l.Partner:
		f.Add(field, "no such terminal of the partner")
	case l.Asset.Env.Valid() && t.Env != l.Asset.Env:
		f.Add(field, "is of the other env")
	case t.Type == MerchantTerminal || l.Type != "" && !f.Has("type") && t.Type != l.Type:
		f.Add(field, "serves no transaction of the limit's type")
	}
}

// Patch returns the limit with a change, and the event of this change. Only MaxAmount, MaxCount and Active can change. The
// error names all wrong fields.
func (l *Limit) Patch(change schema.Change[Limit]) (*Limit, ledger.Event, error) {
	next, faults := *l, new(schema.Faults)
	change(&next, faults)
	Limits.Check(l, &next, faults)
	if err := FaultsAsRefusals("directory.PatchLimit", faults); err != nil {
		return nil, ledger.Event{}, err
	}
	if next == *l {
		return l, ledger.Event{}, nil
	}
	action := switchAction(l.Active, next.Active)
	return &next, movedEvent(ledger.Limit, l.ID, action, stateOf(l.Active), stateOf(next.Active)), nil
}

// Usage is how much of a limit is used in its window, by the partner or, in another scope, by one payer.
type Usage struct {
	Used     money.Amount  // amounts settled in the window, in minor units
	Reserved money.Amount  // amounts pending or held in the window, in minor units; they count towards the limit too
	Count    int64         // attempts in the window, for a velocity limit
	Resets   ledger.Micros // when the period ends, or when all counted attempts have left the sliding window
}

// Remaining returns how much the limit still allows: minor units, or attempts for a velocity limit. It is zero if the use
// exceeds the limit, for example because the limit was lowered.
func (u *Usage) Remaining(l *Limit) money.Amount {
	if l.Kind.Measure() == Attempts {
		return money.FromUint64(uint64(max(0, l.MaxCount-u.Count)))
	}
	remaining := l.MaxAmount
	for _, used := range []money.Amount{u.Used, u.Reserved} {
		rest, err := remaining.Sub(used)
		if err != nil {
			return money.Amount{}
		}
		remaining = rest
	}
	return remaining
}
