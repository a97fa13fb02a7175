package directory

import (
	"slices"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

const (
	providerParams = "provider_params"
	merchantParams = "merchant_params"
)

// Bounds of settings.
const (
	MaxPriority    = 1_000_000
	MaxListed      = 100 // entries of currencies, networks and methods
	MaxHoldTTL     = 366 * 24 * time.Hour
	MaxFeeBps      = 1_000_000 // a hundred times the amount
	MaxDescription = 2000      // characters, as in a transaction

	// DefaultHoldTTL is the time after which a hold expires: 7 days.
	DefaultHoldTTL = 604800 * time.Second
)

// Settings holds the keys of a terminal's provider_params that terminals of all providers have.
// Other keys belong to the provider.
type Settings struct {
	Priority   int  // lower first
	TwoPhase   bool // money is held until commit or cancel
	HoldTTL    time.Duration
	Currencies []money.Currency // empty: all
	Networks   []money.Network  // empty: all
	Methods    []string         // money_storage types; empty: all

	MinAmount *money.Amount // inclusive, in the transaction's minor units; nil: no bound
	MaxAmount *money.Amount

	FeeBps        money.BasisPoints
	FeeFixed      money.Amount
	FeeOnTop      bool // the payer pays the fee; else it is deducted from what the merchant receives
	FeeRefundable bool

	SettlementCurrency money.Currency // empty: the transaction's own
	SettlementNetwork  money.Network  // of SettlementCurrency; empty: its only one
	Description        string         // replaces the description that the payer sees; empty: does not
}

// ParseSettings reads provider_params, a JSON object that was strictly parsed before. Empty
// input and null give the defaults. The error is Join's; each wrong value has a field like
// "provider_params.fee_bps".
func ParseSettings(object []byte) (Settings, error) {
	return readParams("directory.ParseSettings", providerParams, object).settings()
}

// Unknown returns the sorted keys of the terminal's provider_params that neither this platform
// nor the provider's adapter reads. They may be typing errors or keys of the provider, so they
// are kept.
func (t *Terminal) Unknown() []string {
	r := readParams("directory.Unknown", providerParams, t.ProviderParams)
	_, _ = r.settings() // errors are reported where the parameters are checked
	for _, c := range t.provider().columns() {
		r.raw(c.Name)
	}
	return r.unread()
}

func (r *params) settings() (Settings, error) {
	s := Settings{
		Priority:           int(r.integer("priority", -MaxPriority, MaxPriority, 0)),
		TwoPhase:           r.boolean("two_phase"),
		HoldTTL:            time.Second * time.Duration(r.integer("hold_ttl_seconds", 1, int64(MaxHoldTTL/time.Second), int64(DefaultHoldTTL/time.Second))),
		Currencies:         r.currencies("currencies"),
		Networks:           r.networks("networks"),
		Methods:            r.methods("methods"),
		MinAmount:          r.amount("min_amount"),
		MaxAmount:          r.amount("max_amount"),
		FeeBps:             r.basisPoints("fee_bps", MaxFeeBps),
		FeeOnTop:           r.choice("fee_mode", "deduct", "on_top") == "on_top",
		FeeRefundable:      r.boolean("fee_refundable"),
		SettlementCurrency: r.currency("settlement_currency"),
		Description:        r.text("description", MaxDescription),
	}
	s.SettlementNetwork = r.network("settlement_network")
	if fixed := r.amount("fee_fixed"); fixed != nil {
		s.FeeFixed = *fixed
	}
	if s.MinAmount != nil && s.MaxAmount != nil && s.MaxAmount.Less(*s.MinAmount) {
		r.refuse("max_amount", "is less than min_amount")
	}
	if r.refused != nil {
		return Settings{}, r.refused
	}
	return s, nil
}

// Notification holds the keys of a terminal's merchant_params.
type Notification struct {
	NotifyURL      string        // empty: no notifications
	Secret         string        // empty: notifications are not signed
	SecretPrevious string        // previous secret, for a second signature during a rotation
	Telegram       []string      // chats, each once: numbers, or names that begin with '@'
	Emails         []string      // addresses, each once
	Large          *money.Amount // operators are notified of transactions of this amount or more; nil: of none

	Statuses    []string // statuses of which the merchant is notified; nil: the service's default
	AllStatuses bool     // notify of all statuses
}

// ParseNotification reads merchant_params in the way ParseSettings reads provider_params.
func ParseNotification(object []byte) (Notification, error) {
	r := readParams("directory.ParseNotification", merchantParams, object)
	n := Notification{
		NotifyURL:      r.text(keyNotifyURL, MaxURL),
		Secret:         r.text(keySecret, MaxSecret),
		SecretPrevious: r.text(keySecretPrevious, MaxSecret),
		Telegram:       distinct(r.identifiers(keyTelegram)),
		Emails:         distinct(r.strings(keyEmails)),
		Large:          r.amount("large_transaction_threshold"),
	}
	n.Statuses, n.AllStatuses = r.statuses(keyStatuses)
	r.keep(checkURL(r.op, r.field(keyNotifyURL), n.NotifyURL))
	for _, address := range n.Emails {
		if address == "" {
			r.refuse(keyEmails, "holds an empty address")
		}
		r.keep(checkEmail(r.op, r.field(keyEmails), address))
	}
	if r.refused != nil {
		return Notification{}, r.refused
	}
	return n, nil
}

// checkSettings refuses settings that are well-formed but could never serve a transaction. It is
// for requests only; stored settings are parsed without it (invariant 5).
func (t *Terminal) checkSettings(op string) error {
	r := readParams(op, providerParams, t.ProviderParams)
	if slices.ContainsFunc(r.networks("networks"), unknownNetwork) {
		r.refuse("networks", "names a network that no currency is on")
	}
	if most := r.amount("max_amount"); most != nil && most.IsZero() {
		r.refuse("max_amount", "must be greater than zero")
	}
	r.keep(t.checkSettlement(op))
	return r.refused
}

// checkSettlement refuses settlement settings that don't name exactly one asset: without the
// asset's scale no amount could be converted to it.
func (t *Terminal) checkSettlement(op string) error {
	const key = "settlement_network"
	r := readParams(op, providerParams, t.ProviderParams)
	asset := money.Asset{Currency: r.currency("settlement_currency"), Network: r.network(key), Env: t.Env}
	if r.refused != nil || !t.Env.Valid() {
		return r.refused
	}
	if asset.Currency == "" {
		return check(asset.Network == "", op, r.field(key), "is of no use without settlement_currency")
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

// unknownNetwork tells whether the network has none of the assets that transactions can name.
func unknownNetwork(n money.Network) bool {
	return !slices.ContainsFunc(money.AcceptedAssets(money.Prod), func(a money.Asset) bool { return a.Network == n })
}
