package directory

import (
	"bytes"
	"log/slog"
	"reflect"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// TerminalType is the kind of transactions that a terminal serves. The zero value is invalid.
type TerminalType string

// The types of terminals.
const (
	PaymentTerminal  TerminalType = "payment"
	PayoutTerminal   TerminalType = "payout"
	MerchantTerminal TerminalType = "merchant" // sends notifications only; never routed to
)

// Valid tells whether t is one of the types.
func (t TerminalType) Valid() bool {
	return t == PaymentTerminal || t == PayoutTerminal || t == MerchantTerminal
}

// Simulator is the provider of the sandbox.
const Simulator = "simulator"

// providers lists the adapters of this build (actors/provider).
var providers = []string{Simulator, UTP}

// Bounds of terminals.
const (
	MaxParams    = 16 << 10 // bytes of provider_params and of merchant_params
	MaxTerminals = 1000     // of one partner: routing checks each
)

// Terminal is a partner's configured connection to one provider, in one environment. Settings
// and Notification are parsed from the two objects of parameters; the objects are stored as
// sent.
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
	Connection      *Connection // of a terminal of UTP; nil for all others
	Created         ledger.Micros
}

// String returns the record's identity. It shows no field, because fields are secret.
func (t *Terminal) String() string { return "terminal " + t.ID.String() }

// LogValue implements slog.LogValuer.
func (t *Terminal) LogValue() slog.Value { return slog.StringValue(t.String()) }

// TerminalDraft is a request for a new terminal. An empty Env means prod, as for transactions.
// The two objects are strictly parsed JSON that does not alias a network buffer.
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
	PrivateHooks    bool // notify_url may name an address that is not on the internet
}

// NewTerminal decides the creation of a terminal. The error is Join's.
func NewTerminal(id ledger.ID, owner *Partner, d TerminalDraft) (*Terminal, ledger.Event, error) {
	const op = "directory.CreateTerminal"
	if d.Env == "" {
		d.Env = money.Prod.String()
	}
	env, _ := money.ParseEnv(d.Env)
	t := &Terminal{
		ID: id, Org: owner.Org, Partner: owner.Number, Name: d.Name, Provider: d.Provider, Type: d.Type,
		Active: !d.Inactive, Env: env, ProviderParams: parameters(d.ProviderParams), MerchantParams: parameters(d.MerchantParams),
		MerchantAdapter: d.MerchantAdapter,
	}
	wrong := Join(t.checkWords(op), t.fill(op, true, true), t.checkNotifyURL(op, "", d.PrivateHooks), t.checkEmptied(op), t.checkChats(op, nil))
	if wrong != nil {
		return nil, ledger.Event{}, wrong
	}
	return t, began(ledger.Terminal, id, onOff(t.Active)), nil
}

// TerminalPatch is a request to change a terminal. Nil leaves a field unchanged; an object of
// parameters is replaced as a whole, except that a Mask keeps the stored secret. Partner,
// provider, type and environment never change, because pending charges refer to them.
type TerminalPatch struct {
	Name            *string
	Active          *bool
	ProviderParams  *[]byte
	MerchantParams  *[]byte
	MerchantAdapter *string
	PrivateHooks    bool // as in TerminalDraft; a stored address may stay
}

// Patch decides a change. The error is Join's.
func (t *Terminal) Patch(p TerminalPatch) (*Terminal, ledger.Event, error) {
	const op = "directory.PatchTerminal"
	next := *t
	assign(&next.Name, p.Name)
	assign(&next.Active, p.Active)
	assign(&next.MerchantAdapter, p.MerchantAdapter)
	var elsewhere error
	if p.ProviderParams != nil {
		elsewhere = t.checkMoved(op, parameters(*p.ProviderParams))
		next.ProviderParams = unmasked(parameters(*p.ProviderParams), t.ProviderParams)
	}
	if p.MerchantParams != nil {
		next.MerchantParams = unmasked(parameters(*p.MerchantParams), t.MerchantParams)
	}
	wrong := Join(next.checkWords(op), next.fill(op, p.ProviderParams != nil, p.MerchantParams != nil), elsewhere)
	if p.MerchantParams != nil {
		wrong = Join(wrong, next.checkNotifyURL(op, t.Notification.NotifyURL, p.PrivateHooks), next.checkEmptied(op),
			next.checkChats(op, t.Notification.Telegram))
	}
	if wrong != nil {
		return nil, ledger.Event{}, wrong
	}
	if reflect.DeepEqual(&next, t) {
		return t, ledger.Event{}, nil
	}
	action := switching(t.Active, next.Active)
	return &next, moved(ledger.Terminal, t.ID, action, onOff(t.Active), onOff(next.Active)), nil
}

// checkWords checks all fields except the parameters.
func (t *Terminal) checkWords(op string) error {
	known := slices.Contains(providers, t.Provider) || t.Type == MerchantTerminal && t.Provider == ""
	var adapter error
	if t.MerchantAdapter != "" {
		adapter = checkText(op, "merchant_adapter", t.MerchantAdapter)
	}
	return Join(
		checkText(op, "name", t.Name),
		check(known, op, "provider", "is not a provider of this platform"),
		check(t.Type.Valid(), op, "type", "must be payment, payout or merchant"),
		check(t.Env.Valid(), op, "env", "must be prod or test"),
		adapter,
	)
}

// fill parses the parameters. Parameters in the request are checked more strictly than stored
// ones (invariant 5).
func (t *Terminal) fill(op string, askedProvider, askedMerchant bool) error {
	wrong := Join(
		check(len(t.ProviderParams) <= MaxParams, op, providerParams, "is larger than %d bytes", MaxParams),
		check(len(t.MerchantParams) <= MaxParams, op, merchantParams, "is larger than %d bytes", MaxParams),
	)
	if wrong != nil {
		return wrong
	}
	wrong = t.Reparse()
	if askedProvider {
		wrong = Join(wrong, t.checkSettings(op), t.checkConnection(), checkMasks(op, providerParams, t.ProviderParams, t.checkedSecrets()...))
	}
	if askedMerchant {
		wrong = Join(wrong, checkMasks(op, merchantParams, t.MerchantParams))
	}
	return wrong
}

// Reparse fills Settings, Notification and Connection from the stored objects. The error is
// Join's.
func (t *Terminal) Reparse() error {
	var unset, unheard error
	t.Settings, unset = ParseSettings(t.ProviderParams)
	t.connect()
	t.Notification, unheard = ParseNotification(t.MerchantParams)
	t.Notification.forgetMasks()
	return Join(unset, unheard)
}

// parameters returns an object of parameters in its stored form: an empty object becomes nil, as
// if none had been sent.
func parameters(text []byte) []byte {
	if text = object(text); string(text) == "{}" {
		return nil
	}
	return text
}

// object returns the JSON without white space around it; nil for null.
func object(text []byte) []byte {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	return text
}
