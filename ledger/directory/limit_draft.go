package directory

import (
	"log/slog"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Bounds of limits.
const (
	MaxLimits = 100       // active limits of one partner: each creation of a transaction checks all of them
	MaxCount  = 1_000_000 // of a velocity limit
)

// windows has the windows of velocity limits by name.
var windows = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}

// Valid tells whether k is one of the kinds.
func (k LimitKind) Valid() bool { return k == PerTransaction || k == Velocity || k.Volume() }

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

// LimitDraft is a request for a new limit, as sent. An empty Env means prod, an empty Scope the
// partner's. Nil means absent; an empty network means that the limit is for transactions whose
// network is unresolved.
type LimitDraft struct {
	Partner   int64
	Terminal  *ledger.ID
	Kind      LimitKind
	Type      TerminalType // empty: both
	Currency  string
	Network   *string
	Env       string
	MaxAmount *money.Amount
	MaxCount  *int64
	Window    string
	Scope     Scope
	Inactive  bool
}

// NewLimit decides the creation of a limit. terminal is the one that the draft names; nil if the
// draft names none, or one that the organization doesn't have. The error is Join's.
func NewLimit(id ledger.ID, owner *Partner, terminal *Terminal, d LimitDraft) (*Limit, ledger.Event, error) {
	const op = "directory.CreateLimit"
	l := &Limit{ID: id, Org: owner.Org, Partner: owner.Number, Kind: d.Kind, Type: d.Type, Scope: d.Scope, Active: !d.Inactive}
	if l.Scope == "" {
		l.Scope = ScopePartner
	}
	if err := Join(l.checkWords(op), l.fillAsset(op, &d), l.fillBound(op, &d), l.fillTerminal(op, d.Terminal, terminal)); err != nil {
		return nil, ledger.Event{}, err
	}
	return l, began(ledger.Limit, id, onOff(l.Active)), nil
}

func (l *Limit) checkWords(op string) error {
	return Join(
		check(l.Kind.Valid(), op, "kind", "must be per_transaction, daily_volume, monthly_volume or velocity"),
		check(l.anyType(), op, "type", "must be payment or payout"),
		check(l.Scope.Valid(), op, "scope", "must be partner, card, email or ip"),
		check(l.Kind != PerTransaction || l.Scope == ScopePartner, op, "scope", "must be partner: one transaction is nobody's sum"),
	)
}

// anyType tells whether the type is payment, payout or empty.
func (l *Limit) anyType() bool {
	return l.Type == "" || l.Type == PaymentTerminal || l.Type == PayoutTerminal
}

// fillAsset sets the asset that the limit bounds. A currency on several networks is several
// assets, and no sum is across them. Whether the currency is required depends on the kind, so an
// invalid kind requires none.
func (l *Limit) fillAsset(op string, d *LimitDraft) error {
	if d.Env == "" {
		d.Env = money.Prod.String()
	}
	env, known := money.ParseEnv(d.Env)
	l.Asset.Env = env
	wrong := check(known, op, "env", "must be prod or test")
	if d.Currency == "" {
		if !l.Kind.Valid() {
			return wrong
		}
		if l.Kind != Velocity {
			return Join(ledger.RefuseField(op, "currency", "is required"), wrong)
		}
		return Join(check(d.Network == nil || *d.Network == "", op, "network", "is of no use without currency"), wrong)
	}
	currency, accepted := money.Accepted(d.Currency)
	if wrong = Join(check(accepted, op, "currency", "unsupported currency"), wrong); wrong != nil {
		return wrong
	}
	l.Asset.Currency = currency
	return l.fillNetwork(op, d.Network)
}

func (l *Limit) fillNetwork(op string, named *string) error {
	bare := money.Asset{Currency: l.Asset.Currency, Env: l.Asset.Env}
	bare.Network = money.ResolveNetwork(bare.Currency, "")
	_, alone := bare.Scale()
	if named == nil || *named == "" {
		if !alone && named == nil {
			return ledger.RefuseField(op, "network", `is required: %s is on several networks ("" is for transactions whose network is unresolved)`, bare.Currency)
		}
		l.Asset.Network = bare.Network
		return nil
	}
	network, _ := money.ParseNetwork(*named)
	l.Asset.Network = network
	if _, known := l.Asset.Scale(); network == "" || !known {
		return ledger.RefuseField(op, "network", "is no network of %s", bare.Currency)
	}
	return nil
}

// fillBound requires the bound of the kind, and refuses the others.
func (l *Limit) fillBound(op string, d *LimitDraft) error {
	if !l.Kind.Valid() {
		return nil
	}
	wrong := l.checkBound(op, d.MaxAmount, d.MaxCount)
	if l.Kind != Velocity {
		assign(&l.MaxAmount, d.MaxAmount)
		return Join(check(d.MaxAmount != nil, op, "max_amount", "is required"), wrong, check(d.Window == "", op, "window", "is for velocity only"))
	}
	window, known := windows[d.Window]
	assign(&l.MaxCount, d.MaxCount)
	l.Window = window
	return Join(check(d.MaxCount != nil, op, "max_count", "is required"), wrong, check(known, op, "window", "must be minute or hour"))
}

// checkBound checks the amount and the count, if sent. Zero is accepted for the bound that the
// kind does not have, because a patch with null arrives as zero.
func (l *Limit) checkBound(op string, amount *money.Amount, count *int64) error {
	var wrong error
	switch velocity := l.Kind == Velocity; {
	case amount == nil, velocity && amount.IsZero():
	case velocity:
		wrong = ledger.RefuseField(op, "max_amount", "is for the other kinds: velocity takes max_count")
	case amount.IsZero() || ledger.MaxAmount.Less(*amount):
		wrong = ledger.RefuseField(op, "max_amount", "must be from 1 to 10^72 minor units")
	}
	switch velocity := l.Kind == Velocity; {
	case count == nil, !velocity && *count == 0:
	case !velocity:
		wrong = Join(wrong, ledger.RefuseField(op, "max_count", "is for velocity only"))
	case *count < 1 || *count > MaxCount:
		wrong = Join(wrong, ledger.RefuseField(op, "max_count", "must be an integer from 1 to %d", MaxCount))
	}
	return wrong
}

// fillTerminal restricts the limit to a terminal, if the request names one. Fields that have a
// refusal of their own are not compared with the terminal.
func (l *Limit) fillTerminal(op string, named *ledger.ID, t *Terminal) error {
	const field = "terminal_id"
	switch {
	case named == nil:
		return nil
	case t == nil || t.Partner != l.Partner:
		return ledger.RefuseField(op, field, "no such terminal of the partner")
	case l.Asset.Env.Valid() && t.Env != l.Asset.Env:
		return ledger.RefuseField(op, field, "is of the other env")
	case t.Type == MerchantTerminal || l.Type != "" && l.anyType() && t.Type != l.Type:
		return ledger.RefuseField(op, field, "serves no transaction of the limit's type")
	}
	l.Terminal = t.ID
	return nil
}

// LimitPatch is a request to change a limit. Nil leaves a field unchanged. Only MaxAmount,
// MaxCount and Active may change; the other fields may be sent unchanged.
type LimitPatch struct {
	MaxAmount *money.Amount
	MaxCount  *int64
	Active    *bool

	Partner  *int64
	Terminal *ledger.ID
	Kind     *LimitKind
	Type     *TerminalType
	Currency *string
	Network  *string
	Env      *string
	Window   *string
	Scope    *Scope
}

// Patch decides a change. The error is Join's.
func (l *Limit) Patch(p LimitPatch) (*Limit, ledger.Event, error) {
	const op = "directory.PatchLimit"
	var wrong error
	for _, fixed := range []struct {
		field string
		same  bool
	}{
		{"partner_id", said(p.Partner, l.Partner)},
		{"terminal_id", said(p.Terminal, l.Terminal)},
		{"kind", said(p.Kind, l.Kind)},
		{"type", said(p.Type, l.Type)},
		{"currency", said(p.Currency, string(l.Asset.Currency))},
		{"network", said(p.Network, string(l.Asset.Network))},
		{"env", said(p.Env, l.Asset.Env.String())},
		{"window", said(p.Window, l.WindowName())},
		{"scope", said(p.Scope, l.Scope)},
	} {
		wrong = Join(wrong, check(fixed.same, op, fixed.field, "never changes: make another limit"))
	}
	if err := Join(wrong, l.checkBound(op, p.MaxAmount, p.MaxCount)); err != nil {
		return nil, ledger.Event{}, err
	}
	next := *l
	assign(&next.MaxAmount, p.MaxAmount)
	assign(&next.MaxCount, p.MaxCount)
	assign(&next.Active, p.Active)
	if next == *l {
		return l, ledger.Event{}, nil
	}
	action := switching(l.Active, next.Active)
	return &next, moved(ledger.Limit, l.ID, action, onOff(l.Active), onOff(next.Active)), nil
}

// said tells whether a field that may not change is absent or unchanged.
func said[T comparable](sent *T, is T) bool { return sent == nil || *sent == is }
