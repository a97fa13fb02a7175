package directory

import (
	"bytes"
	"log/slog"
	"reflect"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// TerminalType is what a terminal serves. The zero value is invalid.
type TerminalType string

// The types of terminals.
const (
	PaymentTerminal  TerminalType = "payment"
	PayoutTerminal   TerminalType = "payout"
	MerchantTerminal TerminalType = "merchant" // notification only: never routed to
)

// Valid tells whether t is one of the types.
func (t TerminalType) Valid() bool {
	return t == PaymentTerminal || t == PayoutTerminal || t == MerchantTerminal
}

// Simulator is the provider of the sandbox.
const Simulator = "simulator"

// providers are the adapters that this build has (actors/provider).
var providers = []string{Simulator}

// Bounds of terminals.
const (
	MaxParams    = 16 << 10 // bytes of provider_params and of merchant_params
	MaxTerminals = 1000     // of one partner: routing looks at each
)

// Terminal is a partner's configured connection to one provider, in one
// environment. Settings and Notification are what the two objects of parameters
// say; the objects are kept as they were sent.
type Terminal struct {
	ID              ledger.ID
	Org             ledger.ID
	Partner         int64
	Name            string
	Provider        string // may be empty for MerchantTerminal
	Type            TerminalType
	Active          bool
	Env             money.Env
	ProviderParams  []byte // JSON object; nil: none were sent
	MerchantParams  []byte // JSON object; nil: none were sent
	MerchantAdapter string
	Settings        Settings
	Notification    Notification
	Created         ledger.Micros
}

// String names the record and shows nothing of it: it holds what must not be printed.
func (t *Terminal) String() string { return "terminal " + t.ID.String() }

// LogValue implements slog.LogValuer.
func (t *Terminal) LogValue() slog.Value { return slog.StringValue(t.String()) }

// TerminalDraft is what a new terminal was asked to be. An empty Env is prod,
// as it is for transactions. The two objects are JSON that was strictly parsed
// and aliases no network buffer.
type TerminalDraft struct {
	Partner         int64
	Name            string
	Provider        string
	Type            TerminalType
	Inactive        bool
	Env             string
	ProviderParams  []byte
	MerchantParams  []byte
	MerchantAdapter string
}

// NewTerminal decides a creation. The error is a *ledger.Refusal.
func NewTerminal(id ledger.ID, owner *Partner, d TerminalDraft) (*Terminal, ledger.Event, error) {
	const op = "directory.CreateTerminal"
	if d.Env == "" {
		d.Env = money.Prod.String()
	}
	env, _ := money.ParseEnv(d.Env)
	t := &Terminal{
		ID: id, Org: owner.Org, Partner: owner.Number, Name: d.Name, Provider: d.Provider, Type: d.Type,
		Active: !d.Inactive, Env: env, ProviderParams: object(d.ProviderParams), MerchantParams: object(d.MerchantParams),
		MerchantAdapter: d.MerchantAdapter,
	}
	if err := t.fill(op); err != nil {
		return nil, ledger.Event{}, err
	}
	if err := t.checkSettlement(op); err != nil {
		return nil, ledger.Event{}, err
	}
	return t, began(ledger.Terminal, id, onOff(t.Active)), nil
}

// TerminalPatch is what a terminal was asked to become; nil leaves a field as
// it is, an object of parameters is replaced as a whole. Partner, provider,
// type and environment never change: charges under way are known by them.
type TerminalPatch struct {
	Name            *string
	Active          *bool
	ProviderParams  *[]byte
	MerchantParams  *[]byte
	MerchantAdapter *string
}

// Patch decides a change. The error is a *ledger.Refusal.
func (t *Terminal) Patch(p TerminalPatch) (*Terminal, ledger.Event, error) {
	const op = "directory.PatchTerminal"
	next := *t
	assign(&next.Name, p.Name)
	assign(&next.Active, p.Active)
	assign(&next.MerchantAdapter, p.MerchantAdapter)
	if p.ProviderParams != nil {
		next.ProviderParams = object(*p.ProviderParams)
	}
	if p.MerchantParams != nil {
		next.MerchantParams = object(*p.MerchantParams)
	}
	if err := next.fill(op); err != nil {
		return nil, ledger.Event{}, err
	}
	if p.ProviderParams != nil {
		if err := next.checkSettlement(op); err != nil {
			return nil, ledger.Event{}, err
		}
	}
	if reflect.DeepEqual(&next, t) {
		return t, ledger.Event{}, nil
	}
	action := switching(t.Active, next.Active)
	return &next, moved(ledger.Terminal, t.ID, action, onOff(t.Active), onOff(next.Active)), nil
}

// fill checks the fields and parses the parameters.
func (t *Terminal) fill(op string) error {
	if err := checkText(op, "name", t.Name); err != nil {
		return err
	}
	if !t.Type.Valid() {
		return ledger.RefuseField(op, "type", "must be payment, payout or merchant")
	}
	if known := slices.Contains(providers, t.Provider); !known && (t.Type != MerchantTerminal || t.Provider != "") {
		return ledger.RefuseField(op, "provider", "is not a provider of this platform")
	}
	if !t.Env.Valid() {
		return ledger.RefuseField(op, "env", "must be prod or test")
	}
	if t.MerchantAdapter != "" {
		if err := checkText(op, "merchant_adapter", t.MerchantAdapter); err != nil {
			return err
		}
	}
	if len(t.ProviderParams) > MaxParams {
		return ledger.RefuseField(op, providerParams, "is larger than %d bytes", MaxParams)
	}
	if len(t.MerchantParams) > MaxParams {
		return ledger.RefuseField(op, merchantParams, "is larger than %d bytes", MaxParams)
	}
	return t.Reparse()
}

// checkSettlement refuses settlement settings that don't name exactly one asset:
// without its scale nothing could be converted to it. It is for settings that are
// asked for: what is stored is parsed without it (invariant 5).
func (t *Terminal) checkSettlement(op string) error {
	const key = "settlement_network"
	r := readParams(op, providerParams, t.ProviderParams)
	asset := money.Asset{Currency: t.Settings.SettlementCurrency, Network: r.network(key), Env: t.Env}
	if r.refusal != nil {
		return r.refusal
	}
	if asset.Currency == "" {
		if asset.Network != "" {
			return ledger.RefuseField(op, r.field(key), "is of no use without settlement_currency")
		}
		return nil
	}
	named := asset.Network != ""
	asset.Network = money.ResolveNetwork(asset.Currency, asset.Network)
	if _, known := asset.Scale(); known {
		return nil
	}
	if named {
		return ledger.RefuseField(op, r.field(key), "is no network of %s", asset.Currency)
	}
	return ledger.RefuseField(op, r.field(key), "is required: %s is on several networks", asset.Currency)
}

// Reparse fills Settings and Notification from the stored objects. The error
// is a *ledger.Refusal.
func (t *Terminal) Reparse() (err error) {
	if t.Settings, err = ParseSettings(t.ProviderParams); err != nil {
		return err
	}
	t.Notification, err = ParseNotification(t.MerchantParams)
	return err
}

// object is the JSON without white space around it; null is nothing.
func object(text []byte) []byte {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	return text
}
