package directory

import (
	"maps"
	"slices"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// The names of the two JSON objects that contain a terminal's parameters.
const (
	providerParams = "provider_params"
	merchantParams = "merchant_params"
)

// Bounds of a terminal's settings.
const (
	MaxPriority    = 1_000_000
	MaxListed      = 100 // largest number of entries of a list, such as currencies, methods or chats
	MaxHoldTTL     = 366 * 24 * time.Hour
	MaxDescription = 2000 // in characters, like the bound on a transaction's description

	// DefaultHoldTTL is the time after which a hold expires, unless the terminal sets another time. It is 7 days.
	DefaultHoldTTL = 604800 * time.Second

	// MaxHostedAttempts is the largest number of attempts that a terminal may give the payer of a hosted payment. If the
	// terminal sets no number, it is DefaultHostedAttempts.
	MaxHostedAttempts     = 10
	DefaultHostedAttempts = 3
)

// Settings contains those parameters of a terminal's provider_params that have the same meaning for all providers. Other
// parameters belong to one provider.
type Settings struct {
	Priority   int  // terminals with a lower priority are tried first
	TwoPhase   bool // a charge first only holds the money; a capture takes it and a cancellation releases it
	HoldTTL    time.Duration
	Currencies []money.Currency // empty: all
	Networks   []money.Network  // empty: all
	Methods    []string         // money_storage types; empty: all

	MinAmount *money.Amount // inclusive, in the transaction's minor units; nil: no bound
	MaxAmount *money.Amount

	FeeBps        money.BasisPoints
	FeeFixed      money.Amount
	FeeOnTop      bool // the payer pays the fee; if false, the fee is deducted from the merchant's part
	FeeRefundable bool

	SettlementCurrency money.Currency // currency in which the terminal settles; empty: the currency of the transaction
	SettlementNetwork  money.Network  // network of SettlementCurrency; may be empty if the currency has only one
	Description        string         // shown to the payer instead of the transaction's description, unless empty
}

// SettingsColumns are the columns of Settings.
var SettingsColumns = schema.NewType[Settings]("settings of a terminal",
	schema.NumberField(schema.Integer(0, "priority", -MaxPriority, MaxPriority, parameterOptions("terminals with lower values are tried first; among terminals with equal values, the one with the lower id is first")...),
		func(s *Settings) *int { return &s.Priority }),
	schema.Field(schema.Bool(0, "two_phase", parameterOptions("whether the money is held until the transaction is committed or cancelled")...), func(s *Settings) *bool { return &s.TwoPhase }),
	schema.BoundField(schema.Integer(0, "hold_ttl_seconds", 1, int64(MaxHoldTTL/time.Second), parameterOptions("number of seconds after which held money is released",
		schema.DefaultTo(int64(DefaultHoldTTL/time.Second)))...),
		func(s *Settings) int64 { return int64(s.HoldTTL / time.Second) },
		func(s *Settings, seconds int64) { s.HoldTTL = time.Duration(seconds) * time.Second }),
	listParameter("currencies", "currencies that the terminal accepts; an empty list means all", currencyList, func(s *Settings) *[]money.Currency { return &s.Currencies }),
	listParameter("networks", "networks that the terminal accepts; an empty list means all. The list does not matter for a currency that has no networks", networkList,
		func(s *Settings) *[]money.Network { return &s.Networks }),
	listParameter("methods", "types of `money_storage` that the terminal accepts; an empty list means all", methodList, func(s *Settings) *[]string { return &s.Methods }),
	amountParameter("min_amount", "smallest amount that the terminal accepts, in minor units", func(s *Settings) **money.Amount { return &s.MinAmount }),
	amountParameter("max_amount", "greatest amount that the terminal accepts, in minor units; must be above zero", func(s *Settings) **money.Amount { return &s.MaxAmount }),
	schema.Field(schema.NewTypedColumn[money.BasisPoints](0, "fee_bps", basisPointsKind{schema.KindText}, parameterOptions("fee in proportion to the amount, in basis points (hundredths of a percent)")),
		func(s *Settings) *money.BasisPoints { return &s.FeeBps }),
	schema.Field(schema.Amount(0, "fee_fixed", parameterOptions("fixed fee, in minor units", schema.OrZero)...), func(s *Settings) *money.Amount { return &s.FeeFixed }),
	schema.BoundField(schema.Word(0, "fee_mode", []string{feeDeducted, feeOnTop}, parameterOptions("`deduct` (the default): the fee is deducted from what the merchant receives; `on_top`: the payer pays the fee")...),
		func(s *Settings) string {
			if s.FeeOnTop {
				return feeOnTop
			}
			return feeDeducted
		},
		func(s *Settings, mode string) { s.FeeOnTop = mode == feeOnTop }),
	schema.Field(schema.Bool(0, "fee_refundable", parameterOptions("whether a refund returns the fee too")...), func(s *Settings) *bool { return &s.FeeRefundable }),
	schema.BoundField(schema.Text(0, "settlement_currency", parameterOptions("currency to which transactions in other currencies are converted, at the organization's rate",
		schema.Rule(currencyRule))...),
		func(s *Settings) string { return string(s.SettlementCurrency) },
		func(s *Settings, code string) { s.SettlementCurrency, _ = money.AcceptedCurrency(code) }),
	schema.BoundField(schema.Text(0, "settlement_network", parameterOptions("network of settlement_currency; required if that currency is on several networks",
		schema.Rule(networkRule))...),
		func(s *Settings) string { return string(s.SettlementNetwork) },
		func(s *Settings, name string) { s.SettlementNetwork, _ = money.ParseNetwork(name) }),
	schema.Field(schema.Text(0, "description", parameterOptions("description that the payer sees in place of the transaction's own", schema.AtMost(MaxDescription))...),
		func(s *Settings) *string { return &s.Description }),
)

// Values of fee_mode.
const (
	feeDeducted = "deduct"
	feeOnTop    = "on_top"
)

// ParseSettings reads provider_params. The caller has already checked the syntax of the JSON object. If it is empty or
// null, the result is the default settings. If parameters are wrong, the error names all of them, such as
// "provider_params.fee_bps".
func ParseSettings(object []byte) (Settings, error) {
	faults := new(schema.Faults)
	s := readParameters(SettingsColumns, providerParams, object, faults)
	if s.MinAmount != nil && s.MaxAmount != nil && s.MaxAmount.Less(*s.MinAmount) {
		faults.Add(providerParams+".max_amount", "is less than min_amount")
	}
	if !faults.IsEmpty() {
		return Settings{}, FaultsAsRefusals("directory.ParseSettings", faults)
	}
	return *s, nil
}

// UnknownParams returns the sorted keys of the terminal's provider_params that neither this service nor the provider's
// adapter reads. Such keys may be typing errors, but they are stored, because they may also be keys that only the provider
// knows.
func (t *Terminal) UnknownParams() []string {
	params, _ := parseMembers(t.ProviderParams)
	for _, c := range slices.Concat(SettingsColumns.Columns, t.provider().columns()) {
		delete(params, c.Name)
	}
	return slices.Sorted(maps.Keys(params))
}

// Notification contains the parameters of a terminal's merchant_params.
type Notification struct {
	NotifyURL      string        // empty: no notifications
	Secret         string        // empty: notifications are not signed
	SecretPrevious string        // previous secret; makes a second signature until it is removed
	Telegram       []string      // Telegram chats, each once: a number, or a name that begins with '@'
	Emails         []string      // e-mail addresses, each once
	LargeAmount    *money.Amount // operators get an alert for a transaction of at least this amount; nil: no such alerts

	Statuses    []string // statuses of which the merchant is notified; nil: the service's default statuses
	AllStatuses bool     // the merchant is notified of all statuses

	HostedAttempts int // number of attempts that the payer has in a hosted payment
}

// NotificationColumns are the columns of Notification.
var NotificationColumns = schema.NewType[Notification]("notification settings of a terminal",
	schema.Field(schema.Text(0, keyNotifyURL, parameterOptions("address to which notifications are sent", schema.AtMost(MaxURL), schema.Rule(textRule(checkURL)))...),
		func(n *Notification) *string { return &n.NotifyURL }),
	schema.Field(schema.Text(0, keySecret, parameterOptions("secret with which notifications are signed", schema.Secret, schema.AtMost(MaxSecret))...),
		func(n *Notification) *string { return &n.Secret }),
	schema.Field(schema.Text(0, keySecretPrevious, parameterOptions("the previous secret, with which a second signature is made while the secret is being replaced", schema.Secret, schema.AtMost(MaxSecret))...),
		func(n *Notification) *string { return &n.SecretPrevious }),
	listParameter(keyTelegram, "Telegram chats to which alerts are sent", chatList, func(n *Notification) *[]string { return &n.Telegram }),
	listParameter(keyEmails, "e-mail addresses to which alerts are sent", emailList, func(n *Notification) *[]string { return &n.Emails }),
	amountParameter("large_transaction_threshold", "an alert is sent for each transaction of at least this amount, in minor units",
		func(n *Notification) **money.Amount { return &n.LargeAmount }),
	schema.BoundField(schema.NewTypedColumn[statusSelection](0, keyStatuses, statusesKind{schema.KindTexts}, parameterOptions(`statuses about which the merchant is notified: a list, or "all"`)),
		func(n *Notification) statusSelection { return statusSelection{n.Statuses, n.AllStatuses} },
		func(n *Notification, selected statusSelection) {
			n.Statuses, n.AllStatuses = selected.statuses, selected.includesAll
		}),
	schema.NumberField(schema.Integer(0, "hosted_attempts", 1, MaxHostedAttempts, parameterOptions("number of attempts that the payer of a hosted payment has; after each refusal except the last, the payer may try another card",
		schema.DefaultTo(int64(DefaultHostedAttempts)))...),
		func(n *Notification) *int { return &n.HostedAttempts }),
)

// ParseNotification reads merchant_params. If parameters are wrong, the error names all of them. A secret that could not be
// decrypted has been replaced by Mask. Such a secret counts as absent, because Mask is public and must not sign anything.
func ParseNotification(object []byte) (Notification, error) {
	faults := new(schema.Faults)
	n := readParameters(NotificationColumns, merchantParams, object, faults)
	faults.List = slices.DeleteFunc(faults.List, func(f schema.Fault) bool { return f.Message == schema.UnknownSecret })
	if !faults.IsEmpty() {
		return Notification{}, FaultsAsRefusals("directory.ParseNotification", faults)
	}
	return *n, nil
}

// checkSettings refuses settings that are well-formed but with which the terminal could never serve a transaction. It is
// called only for settings from requests. Stored settings are parsed without this check (doc.go, invariant 5).
func (t *Terminal) checkSettings(op string) error {
	s := readParameters(SettingsColumns, providerParams, t.ProviderParams, new(schema.Faults)) // t.Settings is empty if any setting is malformed
	return Join(
		check(!slices.ContainsFunc(s.Networks, isUnknownNetwork), op, providerParams+".networks", "names a network that no currency is on"),
		check(s.MaxAmount == nil || !s.MaxAmount.IsZero(), op, providerParams+".max_amount", "must be greater than zero"),
		t.checkSettlement(op),
	)
}

// checkSettlement refuses settlement settings that do not name exactly one asset. Without the asset's scale (number of
// decimals), no amount could be converted to the asset.
func (t *Terminal) checkSettlement(op string) error {
	const field = providerParams + ".settlement_network"
	asset := money.Asset{Currency: t.Settings.SettlementCurrency, Network: t.Settings.SettlementNetwork, Env: t.Env}
	if !t.Env.IsValid() {
		return nil
	}
	if asset.Currency == "" {
		return check(asset.Network == "", op, field, "is of no use without settlement_currency")
	}
	hasNetwork := asset.Network != ""
	asset.Network = money.ResolveNetwork(asset.Currency, asset.Network)
	if _, known := asset.Scale(); known {
		return nil
	}
	if hasNetwork {
		return ledger.RefuseField(op, field, "is no network of %s", asset.Currency)
	}
	return ledger.RefuseField(op, field, "is required: %s is on several networks", asset.Currency)
}

// isUnknownNetwork tells whether no accepted asset is on the network.
func isUnknownNetwork(n money.Network) bool {
	return !slices.ContainsFunc(money.AcceptedAssets(money.Prod), func(a money.Asset) bool { return a.Network == n })
}
