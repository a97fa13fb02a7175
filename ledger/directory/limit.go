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
	DailyVolume    LimitKind = "daily_volume"    // bounds the sum of all amounts of a UTC day
	MonthlyVolume  LimitKind = "monthly_volume"  // bounds the sum of all amounts of a calendar month (UTC)
	Velocity       LimitKind = "velocity"        // bounds the number of attempts in a sliding window
)

// Measure is the quantity that a limit compares with its bound.
type Measure uint8

// The measures.
const (
	OneAmount    Measure = iota + 1 // the amount of one transaction
	SumOfAmounts                    // the sum of all amounts of a calendar period
	Attempts                        // the number of attempts in a sliding window
)

// limitKind defines a kind of limit. The list limitKinds contains all kinds.
type limitKind struct {
	name    LimitKind
	measure Measure

	// The calendar period, if the measure is SumOfAmounts. period is the layout (package time) of the part of a date that
	// identifies the period: "2006-01-02", "2006-01" or "2006", as in ledger.WindowNumber. The period's length is the sum
	// of months and days.
	period       string
	months, days int
}

var limitKinds = []limitKind{
	{name: PerTransaction, measure: OneAmount},
	{name: DailyVolume, measure: SumOfAmounts, period: "2006-01-02", days: 1},
	{name: MonthlyVolume, measure: SumOfAmounts, period: "2006-01", months: 1},
	{name: Velocity, measure: Attempts},
}

// definition returns the kind's definition. If the kind is unknown, the definition is empty.
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

// IsValid tells whether k is one of the kinds.
func (k LimitKind) IsValid() bool { return k.definition().measure != 0 }

// Measure returns the quantity that limits of this kind compare with their bound. If the kind is unknown, it returns 0.
func (k LimitKind) Measure() Measure { return k.definition().measure }

// IsVolume tells whether limits of this kind bound a sum of amounts.
func (k LimitKind) IsVolume() bool { return k.Measure() == SumOfAmounts }

// Period returns the layout (package time) of the names of calendar periods, such as "2006-01" for months. If the kind does
// not bound a sum of amounts, the layout is empty.
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

// Limit bounds the amounts or the number of a partner's transactions. Only Active and the bound (MaxAmount or MaxCount) may
// change. For any other change, a new limit must be created.
type Limit struct {
	ID        ledger.ID
	Org       ledger.ID
	Partner   int64
	Terminal  ledger.ID // zero: all terminals of the partner
	Kind      LimitKind
	Type      TerminalType  // PaymentTerminal or PayoutTerminal; empty: both
	Asset     money.Asset   // for Velocity the currency may be empty: then the limit applies to all assets of the environment
	MaxAmount money.Amount  // the largest amount, in minor units; not for Velocity
	MaxCount  int64         // the largest number of attempts; only for Velocity
	Window    time.Duration // the length of the sliding window, a minute or an hour; only for Velocity
	Scope     Scope
	Active    bool
	CreatedAt ledger.Micros
}

// Attempt is what limits need to know about a transaction that is not routed yet.
type Attempt struct {
	Type         TerminalType // PaymentTerminal or PayoutTerminal
	Asset        money.Asset
	Terminal     ledger.ID // zero if no terminal was found
	Payer        Payer
	IsRescreened bool // screened at another terminal before, so velocity limits on all terminals have counted it
}

// AppliesTo tells whether the limit applies to the attempt. If it does, subject identifies the payer whose attempts the
// limit counts. In the scope partner, subject is empty, because the limit counts all payers together. In any other scope,
// the limit does not apply if the payer's card, e-mail or IP address is unknown.
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

// coversAsset tells whether the limit applies to the asset's currency and network. If the asset's scale (number of
// decimals) is unknown, the amount cannot be compared with a bound, so every limit on the currency applies, whatever its
// network. Otherwise a request could evade the limits by naming no network, or a network that the currency does not have.
func (l *Limit) coversAsset(a money.Asset) bool {
	if l.Asset.Currency != a.Currency {
		return false
	}
	_, known := a.Scale()
	return l.Asset.Network == a.Network || !known
}

// CounterWindow returns the name of the calendar period that contains a day. Keys of a volume limit's counters contain this
// name. day is the day's name, as ledger.DayWindow returns it.
func (l *Limit) CounterWindow(day string) string { return day[:len(l.Kind.Period())] }

// Bounds of limits.
const (
	MaxLimits = 100       // active limits of one partner; creating a transaction checks all of them
	MaxCount  = 1_000_000 // largest MaxCount of a velocity limit
)

// velocityWindows maps the names of sliding windows to their lengths.
var velocityWindows = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}

// IsValid tells whether s is one of the scopes.
func (s Scope) IsValid() bool {
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
		schema.Help("if set, the limit applies only to the transactions of this terminal")), func(l *Limit) *ledger.ID { return &l.Terminal }),
	schema.TextField(schema.Word(3, "kind", LimitKinds(), schema.Required, schema.Fixed,
		schema.Help("kind of the limit")), func(l *Limit) *LimitKind { return &l.Kind }),
	schema.TextField(schema.Word(4, "type", []string{string(PaymentTerminal), string(PayoutTerminal)}, schema.Fixed,
		schema.Help("if set, the limit applies only to payments, or only to payouts")), func(l *Limit) *TerminalType { return &l.Type }),
	columns.CurrencyColumn(5, func(l *Limit) *money.Asset { return &l.Asset }, schema.Fixed),
	columns.NetworkColumn(6, func(l *Limit) *money.Asset { return &l.Asset }, schema.Fixed),
	columns.AssetEnvColumn(7, func(l *Limit) *money.Asset { return &l.Asset }, schema.Fixed),
	schema.Field(schema.Amount(8, "max_amount", schema.Settable,
		schema.Help("greatest amount in minor units; for every kind of limit except velocity")), func(l *Limit) *money.Amount { return &l.MaxAmount }),
	schema.Field(schema.Integer(9, "max_count", 1, MaxCount, schema.Settable,
		schema.Help("greatest number of attempts in a window; only for the kind velocity")), func(l *Limit) *int64 { return &l.MaxCount }),
	schema.BoundField(schema.Word(10, "window", []string{"minute", "hour"}, schema.Fixed,
		schema.Help("length of the sliding window, only for the kind velocity")), (*Limit).WindowName, func(l *Limit, name string) { l.Window = velocityWindows[name] }),
	schema.TextField(schema.Word(11, "scope", []string{string(ScopePartner), string(ScopeCard), string(ScopeEmail), string(ScopeIP)},
		schema.Required, schema.Fixed, schema.DefaultTo(string(ScopePartner)),
		schema.Help("whose transactions are counted together")), func(l *Limit) *Scope { return &l.Scope }),
	schema.Field(schema.Bool(12, "active", schema.NotNull, schema.DefaultTo(true),
		schema.Help("whether the limit is in force")), func(l *Limit) *bool { return &l.Active }),
	columns.CreatedColumn(func(l *Limit) *ledger.Micros { return &l.CreatedAt }),
).OnCreate(requireLimitNetwork).CrossCheck(crossCheckLimit).Invariant(limitProblem).
	WithRowMetadata(func(l *Limit, metadata schema.RowMetadata) {
		l.Org, l.ID, l.CreatedAt = metadata.Org, metadata.ID, metadata.CreatedAt
	})

// limitProblem returns a problem if NewLimit cannot have made a stored limit. Otherwise it returns an empty text. It does
// not check whether the currency is accepted now, because other currencies may have been accepted when the limit was made.
func limitProblem(l *Limit) string {
	f := new(schema.Faults)
	crossCheckBound(l, f)
	switch {
	case !f.IsEmpty():
		return "bounds nothing: " + f.Error()
	case l.Asset.Currency == "" && l.Kind.Measure() != Attempts:
		return "bounds no currency"
	}
	return partnerNumberProblem(l.Partner)
}

// requireLimitNetwork refuses a request for a limit that names no network although the currency is on several networks.
func requireLimitNetwork(input schema.Input, l *Limit, f *schema.Faults) {
	if l.Asset.Currency == "" {
		return
	}
	raw, isSent := input["network"]
	if isSent = isSent && string(raw) != "null"; !isSent && columns.OnSeveralNetworks(l.Asset.Currency) {
		f.Add("network", `is required: %s is on several networks ("" is for transactions whose network is unresolved)`, l.Asset.Currency)
	}
}

// crossCheckLimit checks that the limit's fields fit its kind, unless the kind is unknown. For a new limit, it also checks
// the asset.
func crossCheckLimit(old, l *Limit, f *schema.Faults) {
	if old == nil && l.Kind.IsValid() {
		crossCheckScope(l, f)
	}
	if old == nil {
		columns.CrossCheckAsset(&l.Asset, f)
	}
	if l.Kind.IsValid() {
		crossCheckBound(l, f)
	}
}

// crossCheckBound checks that the fields with the bound of the limit's kind are set, and that the bounds of other kinds are
// not set.
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
	if l.Kind.Measure() == OneAmount && l.Scope.IsValid() && l.Scope != ScopePartner {
		f.Add("scope", "must be partner: one transaction is nobody's sum")
	}
}

// NewLimit returns a new limit with the fields of the draft, and the event of its creation. terminal is the terminal that
// the draft names, or nil if the draft names no terminal of the organization. If the draft is invalid, the error names all
// wrong fields.
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

// checkTerminal checks the terminal that the limit names. Fields of the limit that have a fault are not compared with the
// terminal.
func (l *Limit) checkTerminal(t *Terminal, f *schema.Faults) {
	const field = "terminal_id"
	switch {
	case l.Terminal == ledger.ID{}:
	case t == nil || t.Partner != l.Partner:
		f.Add(field, "no such terminal of the partner")
	case l.Asset.Env.IsValid() && t.Env != l.Asset.Env:
		f.Add(field, "is of the other env")
	case t.Type == MerchantTerminal || l.Type != "" && !f.Has("type") && t.Type != l.Type:
		f.Add(field, "serves no transaction of the limit's type")
	}
}

// Patch returns a changed copy of the limit, and the event of this change. Only MaxAmount, MaxCount and Active can change.
// If the change is invalid, the error names all wrong fields.
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
	return &next, laterEvent(ledger.Limit, l.ID, action, stateOf(l.Active), stateOf(next.Active)), nil
}

// Usage tells how much of a limit is used in the current window. If the limit's scope is not partner, it is the usage of
// one payer.
type Usage struct {
	SettledAmount  money.Amount  // sum of the amounts settled in the window, in minor units
	ReservedAmount money.Amount  // sum of the amounts pending or held in the window, in minor units; it counts towards the limit
	Count          int64         // for a velocity limit: number of attempts in the window
	ResetsAt       ledger.Micros // when the period ends, or when all counted attempts have left the sliding window
}

// Remaining returns how much the limit still allows, in minor units or, for a velocity limit, in attempts. If the usage
// exceeds the limit, for example because the limit was lowered, it returns zero.
func (u *Usage) Remaining(l *Limit) money.Amount {
	if l.Kind.Measure() == Attempts {
		return money.FromUint64(uint64(max(0, l.MaxCount-u.Count)))
	}
	remaining := l.MaxAmount
	for _, used := range []money.Amount{u.SettledAmount, u.ReservedAmount} {
		rest, err := remaining.Sub(used)
		if err != nil {
			return money.Amount{}
		}
		remaining = rest
	}
	return remaining
}
