package directory

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// This file has the columns that several record types share, and converts between the rules of package schema and
// ledger.Refusal.

// idColumn is the record's id, which is part of its key in the store.
func idColumn[R any](fieldOf func(*R) *ledger.ID, options ...schema.Option) *schema.Column {
	return schema.Field(schema.ID(0, "id", append(options, schema.NotNull, schema.Transient, schema.Constant, schema.Help("id of the record"))...), fieldOf)
}

// createdColumn is the booked time of the record's first event. It is in the store's row around the record (its
// schema.Envelope).
func createdColumn[R any](fieldOf func(*R) *ledger.Micros) *schema.Column {
	return schema.Field(schema.Instant(0, "created_at", schema.NotNull, schema.Transient, schema.Constant, schema.Help("when it was created")), fieldOf)
}

// updatedColumn is the booked time of the record's last event.
func updatedColumn[R any](fieldOf func(*R) *ledger.Micros) *schema.Column {
	return schema.Field(schema.Instant(0, "updated_at", schema.NotNull, schema.Transient, schema.Help("when it was last changed")), fieldOf)
}

// partnerColumn is the number of the partner that owns the record.
func partnerColumn[R any](key uint8, fieldOf func(*R) *int64, options ...schema.Option) *schema.Column {
	return schema.Field(schema.Integer(key, "partner_id", 1, math.MaxInt64, append(options, schema.Flag("partner"), schema.Help("number of the partner"))...), fieldOf)
}

// passColumn is the password of a partner or a user.
func passColumn() *schema.Column {
	return schema.ForInput(schema.Text(0, "pass", schema.Required, schema.Help("password, which is never shown")))
}

// durationColumn is a length of time, stored in microseconds.
func durationColumn[R any](key uint8, name string, fieldOf func(*R) *time.Duration) *schema.Column {
	return schema.Bound(schema.Derived(key, name, schema.NotShown),
		func(r *R) int64 { return fieldOf(r).Microseconds() },
		func(r *R, n int64) { *fieldOf(r) = time.Duration(n) * time.Microsecond })
}

// currencyColumn is the currency of an asset.
func currencyColumn[R any](key uint8, fieldOf func(*R) *money.Asset, options ...schema.Option) *schema.Column {
	return schema.TextField(schema.NewCell[string](key, "currency", currencyKind{schema.KindText}, append(options, schema.Settable, schema.Help("currency code"))),
		func(r *R) *money.Currency { return &fieldOf(r).Currency })
}

// networkColumn is the network of an asset. It is empty if the network of the money is not known.
func networkColumn[R any](key uint8, fieldOf func(*R) *money.Asset, options ...schema.Option) *schema.Column {
	return schema.TextField(schema.Text(key, "network", append(options, schema.Settable, schema.NotNull,
		schema.Help("network of the currency; required if it is on several, empty if the network is not known"))...),
		func(r *R) *money.Network { return &fieldOf(r).Network })
}

const envRule = "must be prod or test"

// envColumn is the environment of an asset.
func envColumn[R any](key uint8, fieldOf func(*R) *money.Asset, options ...schema.Option) *schema.Column {
	return envFieldColumn(key, func(r *R) *money.Env { return &fieldOf(r).Env }, options...)
}

func envFieldColumn[R any](key uint8, fieldOf func(*R) *money.Env, options ...schema.Option) *schema.Column {
	words := []string{money.Prod.String(), money.Test.String()}
	return schema.Bound(schema.Word(key, "env", words, append(options, schema.Required, schema.DefaultTo(words[0]), schema.Help("environment"))...),
		func(r *R) string {
			if env := *fieldOf(r); env.Valid() {
				return env.String()
			}
			return ""
		},
		func(r *R, word string) { *fieldOf(r), _ = money.ParseEnv(word) })
}

// withAsset adds checks to a record type that has the columns of an asset: the asset must exist.
func withAsset[R any](t *schema.Type[R], fieldOf func(*R) *money.Asset) *schema.Type[R] {
	return t.
		OnCreate(func(input schema.Input, r *R, f *schema.Faults) { requireNetwork(input, fieldOf(r), f) }).
		CrossCheck(func(_, r *R, f *schema.Faults) { crossCheckAsset(fieldOf(r), f) })
}

// requireNetwork refuses a request without a network if the currency is on several networks.
func requireNetwork(input schema.Input, a *money.Asset, f *schema.Faults) {
	raw, isSent := input["network"]
	if isSent = isSent && string(raw) != "null"; !isSent && onSeveralNetworks(a.Currency) && !f.Has("network") {
		f.Add("network", "network is required: %s is on several networks", a.Currency)
	}
}

// onSeveralNetworks tells whether a currency is on several networks.
func onSeveralNetworks(c money.Currency) bool {
	asset := resolveNetwork(money.Asset{Currency: c, Env: money.Prod})
	_, resolved := asset.Scale()
	return c != "" && !resolved
}

// resolveNetwork returns the asset with the network of a currency that has only one.
func resolveNetwork(a money.Asset) money.Asset {
	a.Network = money.ResolveNetwork(a.Currency, a.Network)
	return a
}

// crossCheckAsset refuses a network on which the currency does not exist.
func crossCheckAsset(a *money.Asset, f *schema.Faults) {
	asset := resolveNetwork(*a)
	if _, known := asset.Scale(); asset.Network != "" && asset.Currency != "" && asset.Env.Valid() && !known && !f.Has("network") && !f.Has("currency") {
		f.Add("network", "is no network of %s", a.Currency)
	}
}

// currencyKind is the kind of columns for currencies that transactions accept. Its values are strings.
type currencyKind struct{ schema.Kind }

func (currencyKind) String() string { return "currency" }

// ParseParts implements schema.MultiPart. The refusal has the specification's words. A value that is not a string is
// quoted as it was sent.
func (currencyKind) ParseParts(c *schema.Column, raw []byte, f *schema.Faults) any {
	value, problem := schema.KindText.Parse(c, raw, schema.Reader{})
	if problem != "" {
		value = string(raw)
	}
	if value == nil && !c.Required {
		return nil
	}
	code, _ := value.(string)
	if currency, accepted := money.Accepted(code); accepted {
		return string(currency)
	}
	f.Add(c.Name, "%s", money.Unsupported([]byte(code)))
	return nil
}

// CheckParts implements schema.MultiPart.
func (currencyKind) CheckParts(c *schema.Column, value any, f *schema.Faults) {
	if _, accepted := money.Accepted(value.(string)); !accepted {
		f.Add(c.Name, "%s", money.Unsupported([]byte(value.(string))))
	}
}

// noSpaces refuses white space in a login: people type logins, and logins are compared exactly.
func noSpaces(value any) string {
	if strings.ContainsFunc(value.(string), unicode.IsSpace) {
		return "must not hold white space"
	}
	return ""
}

// textRule makes a column's rule from a function that returns a refusal.
func textRule(check func(op, field, text string) error) func(any) string {
	return func(value any) string { return problemOf(check("", "", value.(string))) }
}

// problemOf returns the detail of a check's refusal, or an empty text if the check refused nothing.
func problemOf(err error) string {
	var refusal *ledger.Refusal
	if errors.As(err, &refusal) {
		return refusal.Detail
	}
	return ""
}

// refusals converts the faults of a record's fields to an error, as Join makes it.
func refusals(op string, f *schema.Faults) error {
	errs := make([]error, len(f.List))
	for i, fault := range f.List {
		errs[i] = ledger.RefuseField(op, fault.Field, "%s", fault.Message)
	}
	return Join(slices.Clip(errs)...)
}

// secretRule refuses a text that is too long or not UTF-8, and the mask, which is public.
func secretRule(value any) string {
	const field = keySecret
	secret := value.(string)
	return problemOf(Join(checkSecret("", field, secret), checkUnmasked("", field, secret)))
}

// timesProblem returns what is wrong with the instants in a stored record if one is before 1970.
func timesProblem(times ...ledger.Micros) string {
	if slices.Min(times) < 0 {
		return "has a time before 1970"
	}
	return ""
}

// partnerNumberProblem returns what is wrong with a stored partner number below 1.
func partnerNumberProblem(number int64) string {
	if number < 1 {
		return "has a partner number below 1"
	}
	return ""
}

// partnerRoleProblem returns what is wrong with a stored user or session that has PartnerRole without a partner, or a
// partner without the role.
func partnerRoleProblem(roles Roles, partner int64) string {
	if partner < 0 || roles.Has(PartnerRole) != (partner > 0) {
		return "is of role partner or has a partner, and not both"
	}
	return ""
}

// Types maps the kinds of the directory's records in the journal to their record types.
var Types = map[ledger.Kind]schema.AnyType{
	ledger.Organization: Organizations,
	ledger.Partner:      Partners,
	ledger.Terminal:     Terminals,
	ledger.APIKey:       APIKeys,
	ledger.User:         Users,
	ledger.Session:      Sessions,
	ledger.Limit:        Limits,
	ledger.Block:        Blocks,
	ledger.Rate:         Rates,
	ledger.Settlement:   Settlements,
	ledger.Platform:     Platforms,
}
