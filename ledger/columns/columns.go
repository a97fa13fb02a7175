package columns

import (
	"math"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// IDColumn returns the column of the record's id. The id is not stored in the record, because it is part of the record's key.
func IDColumn[R any](fieldOf func(*R) *ledger.ID, options ...schema.Option) *schema.Column {
	return schema.Field(schema.ID(0, "id", append(options, schema.NotNull, schema.Transient, schema.ReadOnlyFixed, schema.Help("id of the record"))...), fieldOf)
}

// CreatedColumn returns the column of the time at which the record's first event was booked. The time is not stored in the
// record, but in the row that contains the record (schema.RowMetadata).
func CreatedColumn[R any](fieldOf func(*R) *ledger.Micros) *schema.Column {
	return schema.Field(schema.Instant(0, "created_at", schema.NotNull, schema.Transient, schema.ReadOnlyFixed, schema.Help("when it was created")), fieldOf)
}

// UpdatedColumn returns the column of the time at which the record's last event was booked. The time is not stored in the
// record, but in the row that contains the record (schema.RowMetadata).
func UpdatedColumn[R any](fieldOf func(*R) *ledger.Micros) *schema.Column {
	return schema.Field(schema.Instant(0, "updated_at", schema.NotNull, schema.Transient, schema.Help("when it was last changed")), fieldOf)
}

// PartnerColumn returns the column of the number of the partner who owns the record.
func PartnerColumn[R any](key uint8, fieldOf func(*R) *int64, options ...schema.Option) *schema.Column {
	return schema.Field(schema.Integer(key, "partner_id", 1, math.MaxInt64, append(options, schema.Flag("partner"), schema.Help("number of the partner"))...), fieldOf)
}

// DurationColumn returns a column for a duration. The duration is stored in microseconds.
func DurationColumn[R any](key uint8, name string, fieldOf func(*R) *time.Duration) *schema.Column {
	return schema.BoundField(schema.DerivedInteger(key, name, schema.NotShown),
		func(r *R) int64 { return fieldOf(r).Microseconds() },
		func(r *R, n int64) { *fieldOf(r) = time.Duration(n) * time.Microsecond })
}

// CurrencyColumn returns the column of the currency of an asset.
func CurrencyColumn[R any](key uint8, fieldOf func(*R) *money.Asset, options ...schema.Option) *schema.Column {
	return schema.TextField(schema.NewTypedColumn[string](key, "currency", KindCurrency, append(options, schema.Settable, schema.Help("currency code"))),
		func(r *R) *money.Currency { return &fieldOf(r).Currency })
}

// NetworkColumn returns the column of the network of an asset. If the network is not known, the value is empty.
func NetworkColumn[R any](key uint8, fieldOf func(*R) *money.Asset, options ...schema.Option) *schema.Column {
	return schema.TextField(schema.Text(key, "network", append(options, schema.Settable, schema.NotNull,
		schema.Help("network of the currency; required if it is on several, empty if the network is not known"))...),
		func(r *R) *money.Network { return &fieldOf(r).Network })
}

// EnvRule is the error message for an unknown environment.
const EnvRule = "must be prod or test"

// AssetEnvColumn returns the column of the environment of an asset.
func AssetEnvColumn[R any](key uint8, fieldOf func(*R) *money.Asset, options ...schema.Option) *schema.Column {
	return EnvColumn(key, func(r *R) *money.Env { return &fieldOf(r).Env }, options...)
}

// EnvColumn returns the column of the environment of a record.
func EnvColumn[R any](key uint8, fieldOf func(*R) *money.Env, options ...schema.Option) *schema.Column {
	words := []string{money.Prod.String(), money.Test.String()}
	return schema.BoundField(schema.Word(key, "env", words, append(options, schema.Required, schema.DefaultTo(words[0]), schema.Help("environment"))...),
		func(r *R) string {
			if env := *fieldOf(r); env.IsValid() {
				return env.String()
			}
			return ""
		},
		func(r *R, word string) { *fieldOf(r), _ = money.ParseEnv(word) })
}

// WithAsset adds checks to a type of record that has the columns of an asset. The currency must exist on the network. If the
// currency exists on several networks, a request that creates a record must name the network.
func WithAsset[R any](t *schema.Type[R], fieldOf func(*R) *money.Asset) *schema.Type[R] {
	return t.
		OnCreate(func(input schema.Input, r *R, f *schema.Faults) { requireNetwork(input, fieldOf(r), f) }).
		CrossCheck(func(_, r *R, f *schema.Faults) { CrossCheckAsset(fieldOf(r), f) })
}

// requireNetwork refuses a request that names no network although the currency exists on several networks.
func requireNetwork(input schema.Input, a *money.Asset, f *schema.Faults) {
	raw, isSent := input["network"]
	if isSent = isSent && string(raw) != "null"; !isSent && OnSeveralNetworks(a.Currency) && !f.Has("network") {
		f.Add("network", "network is required: %s is on several networks", a.Currency)
	}
}

// OnSeveralNetworks tells whether a currency exists on several networks.
func OnSeveralNetworks(c money.Currency) bool {
	asset := ResolveNetwork(money.Asset{Currency: c, Env: money.Prod})
	_, resolved := asset.Scale()
	return c != "" && !resolved
}

// ResolveNetwork fills in the network of an asset: if the network is empty and the currency exists on only one network, the
// result has this network.
func ResolveNetwork(a money.Asset) money.Asset {
	a.Network = money.ResolveNetwork(a.Currency, a.Network)
	return a
}

// CrossCheckAsset adds a fault if the currency of the asset does not exist on its network.
func CrossCheckAsset(a *money.Asset, f *schema.Faults) {
	asset := ResolveNetwork(*a)
	if _, known := asset.Scale(); asset.Network != "" && asset.Currency != "" && asset.Env.IsValid() && !known && !f.Has("network") && !f.Has("currency") {
		f.Add("network", "is no network of %s", a.Currency)
	}
}

// KindCurrency is the kind of column for currencies. It allows only currencies that transactions accept. The values are
// strings.
var KindCurrency schema.Kind = currencyKind{schema.KindText}

type currencyKind struct{ schema.Kind }

func (currencyKind) String() string { return "currency" }

// Form implements schema.Kind.
func (currencyKind) Form(*schema.Column, schema.Use) schema.Form {
	return schema.Form{Type: "string", Words: AcceptedCurrencies()}
}

// AcceptedCurrencies returns the codes of the currencies that transactions accept.
func AcceptedCurrencies() (codes []string) {
	for _, currency := range money.AcceptedCurrencies() {
		codes = append(codes, string(currency))
	}
	return codes
}

// ParseParts implements schema.MultiPart. If the currency is not accepted, ParseParts adds a fault with the message of the
// specification, which quotes the value. If the value is not a string, the message quotes the JSON.
func (currencyKind) ParseParts(c *schema.Column, raw []byte, f *schema.Faults) any {
	value, problem := schema.KindText.Parse(c, raw, schema.ParseOptions{})
	if problem != "" {
		value = string(raw)
	}
	if value == nil && !c.Required {
		return nil
	}
	code, _ := value.(string)
	if currency, accepted := money.AcceptedCurrency(code); accepted {
		return string(currency)
	}
	f.Add(c.Name, "%s", money.UnsupportedCurrencyMessage([]byte(code)))
	return nil
}

// CheckParts implements schema.MultiPart.
func (currencyKind) CheckParts(c *schema.Column, value any, f *schema.Faults) {
	if _, accepted := money.AcceptedCurrency(value.(string)); !accepted {
		f.Add(c.Name, "%s", money.UnsupportedCurrencyMessage([]byte(value.(string))))
	}
}
