package directory

import (
	"log/slog"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Bounds of limits.
const (
	MaxLimits = 100       // active limits of one partner: each creation of a transaction checks all of them
	MaxCount  = 1_000_000 // of a velocity limit
)

// windows has the windows of velocity limits by name.
var windows = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}

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
	for name, window := range windows {
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
	idColumn(func(l *Limit) *ledger.ID { return &l.ID }),
	partnerColumn(1, func(l *Limit) *int64 { return &l.Partner }, schema.Required, schema.Fixed),
	schema.Field(schema.ID(2, "terminal_id", schema.Fixed, schema.Flag("terminal"),
		schema.Help("bounds only the transactions of this terminal")), func(l *Limit) *ledger.ID { return &l.Terminal }),
	schema.TextField(schema.Word(3, "kind", LimitKinds(), schema.Required, schema.Fixed,
		schema.Help("what it bounds")), func(l *Limit) *LimitKind { return &l.Kind }),
	schema.TextField(schema.Word(4, "type", []string{string(PaymentTerminal), string(PayoutTerminal)}, schema.Fixed,
		schema.Help("bounds only payments, or only payouts")), func(l *Limit) *TerminalType { return &l.Type }),
	currencyColumn(5, func(l *Limit) *money.Asset { return &l.Asset }, schema.Fixed),
	networkColumn(6, func(l *Limit) *money.Asset { return &l.Asset }, schema.Fixed),
	envColumn(7, func(l *Limit) *money.Asset { return &l.Asset }, schema.Fixed),
	schema.Field(schema.Amount(8, "max_amount", schema.Asked,
		schema.Help("most minor units, for every kind but velocity")), func(l *Limit) *money.Amount { return &l.MaxAmount }),
	schema.Field(schema.Integer(9, "max_count", 1, MaxCount, schema.Asked,
		schema.Help("most attempts in a window, for velocity")), func(l *Limit) *int64 { return &l.MaxCount }),
	schema.Bound(schema.Word(10, "window", []string{"minute", "hour"}, schema.Fixed,
		schema.Help("length of the sliding window, for velocity")), (*Limit).WindowName, func(l *Limit, name string) { l.Window = windows[name] }),
	schema.TextField(schema.Word(11, "scope", []string{string(ScopePartner), string(ScopeCard), string(ScopeEmail), string(ScopeIP)},
		schema.Required, schema.Fixed, schema.DefaultTo(string(ScopePartner)),
		schema.Help("the transactions that it counts together")), func(l *Limit) *Scope { return &l.Scope }),
	schema.Field(schema.Bool(12, "active", schema.Always, schema.DefaultTo(true),
		schema.Help("whether it is in force")), func(l *Limit) *bool { return &l.Active }),
	createdColumn(func(l *Limit) *ledger.Micros { return &l.Created }),
).Completing(completeLimit).Relating(relateLimit).Sound(soundLimit).
	Enveloped(func(l *Limit, at schema.Envelope) { l.Org, l.ID, l.Created = at.Org, at.ID, at.Created })

// soundLimit says what keeps a stored limit from being one that NewLimit made, whatever the currencies were then.
func soundLimit(l *Limit) string {
	f := new(schema.Faults)
	relateBound(l, f)
	switch {
	case !f.None():
		return "bounds nothing: " + f.Error()
	case l.Asset.Currency == "" && l.Kind.Measure() != Attempts:
		return "bounds no currency"
	}
	return notPositive(l.Partner)
}

// completeLimit requires a network if the currency is on several, as for an overdraft.
func completeLimit(input schema.Input, l *Limit, f *schema.Faults) {
	if l.Asset.Currency == "" {
		return
	}
	raw, sent := input["network"]
	if sent = sent && string(raw) != "null"; !sent && onSeveral(l.Asset.Currency) {
		f.Add("network", `is required: %s is on several networks ("" is for transactions whose network is unresolved)`, l.Asset.Currency)
	}
}

// relateLimit checks the fields that depend on the kind. Of an unknown kind it requires nothing.
func relateLimit(old, l *Limit, f *schema.Faults) {
	if old == nil && l.Kind.Valid() {
		relateScope(l, f)
	}
	if old == nil {
		relateAsset(&l.Asset, f)
	}
	if l.Kind.Valid() {
		relateBound(l, f)
	}
}

// relateBound requires the bound of the limit's kind, and refuses the others.
func relateBound(l *Limit, f *schema.Faults) {
	attempts := l.Kind.Measure() == Attempts
	note := func(field string, wrong bool, problem string) {
		if wrong && !f.Has(field) {
			f.Add(field, "%s", problem)
		}
	}
	note("max_amount", attempts && !l.MaxAmount.IsZero(), "is for the other kinds: velocity takes max_count")
	note("max_amount", !attempts && l.MaxAmount.IsZero(), "is required")
	note("max_count", !attempts && l.MaxCount != 0, "is for velocity only")
	note("max_count", attempts && l.MaxCount == 0, "is required")
	note("window", !attempts && l.Window != 0, "is for velocity only")
	note("window", attempts && l.Window == 0, "must be minute or hour")
}

func relateScope(l *Limit, f *schema.Faults) {
	attempts := l.Kind.Measure() == Attempts
	switch {
	case l.Asset.Currency == "" && !attempts && !f.Has("currency"):
		f.Add("currency", "is required")
	case l.Asset.Currency == "" && l.Asset.Network != "" && !f.Has("currency"):
		f.Add("network", "is of no use without currency")
	}
	if l.Kind.Measure() == OneAmount && l.Scope.Valid() && l.Scope != ScopePartner {
		f.Add("scope", "must be partner: one transaction is nobody's sum")
	}
}

// NewLimit decides the creation of a limit, whose fields the caller has set. terminal is the one that it names; nil if
// it names none, or one that the organization doesn't have. The error is Join's.
func NewLimit(draft Limit, terminal *Terminal) (*Limit, ledger.Event, error) {
	l, faults := &draft, new(schema.Faults)
	l.Asset = resolved(l.Asset)
	Limits.Check(nil, l, faults)
	l.relateTerminal(terminal, faults)
	if err := refusals("directory.CreateLimit", faults); err != nil {
		return nil, ledger.Event{}, err
	}
	return l, began(ledger.Limit, l.ID, onOff(l.Active)), nil
}

// relateTerminal checks the terminal that the limit names. Fields that are refused are not compared with it.
func (l *Limit) relateTerminal(t *Terminal, f *schema.Faults) {
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

// Patch decides a change. Only MaxAmount, MaxCount and Active change. The error is Join's.
func (l *Limit) Patch(change schema.Change[Limit]) (*Limit, ledger.Event, error) {
	next, faults := *l, new(schema.Faults)
	change(&next, faults)
	Limits.Check(l, &next, faults)
	if err := refusals("directory.PatchLimit", faults); err != nil {
		return nil, ledger.Event{}, err
	}
	if next == *l {
		return l, ledger.Event{}, nil
	}
	action := switching(l.Active, next.Active)
	return &next, moved(ledger.Limit, l.ID, action, onOff(l.Active), onOff(next.Active)), nil
}
