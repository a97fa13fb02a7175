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

// This file has the columns that several records share, and what connects the rules of package schema with refusals.

// idColumn is the record's id, which its key in the store holds.
func idColumn[R any](at func(*R) *ledger.ID, o ...schema.Option) *schema.Column {
	return schema.Field(schema.ID(0, "id", append(o, schema.NotNull, schema.Transient, schema.Constant, schema.Help("id of the record"))...), at)
}

// createdColumn is the booked time of the record's first event, which the store's envelope holds.
func createdColumn[R any](at func(*R) *ledger.Micros) *schema.Column {
	return schema.Field(schema.Instant(0, "created_at", schema.NotNull, schema.Transient, schema.Constant, schema.Help("when it was created")), at)
}

// updatedColumn is the booked time of the record's last event.
func updatedColumn[R any](at func(*R) *ledger.Micros) *schema.Column {
	return schema.Field(schema.Instant(0, "updated_at", schema.NotNull, schema.Transient, schema.Help("when it was last changed")), at)
}

// partnerColumn is the number of the partner that owns the record.
func partnerColumn[R any](key uint8, at func(*R) *int64, o ...schema.Option) *schema.Column {
	return schema.Field(schema.Integer(key, "partner_id", 1, math.MaxInt64, append(o, schema.Flag("partner"), schema.Help("number of the partner"))...), at)
}

// passColumn is the password of a partner or a user.
func passColumn() *schema.Column {
	return schema.ForInput(schema.Text(0, "pass", schema.Required, schema.Help("password, which is never shown")))
}

// durationColumn is a length of time, stored in microseconds.
func durationColumn[R any](key uint8, name string, at func(*R) *time.Duration) *schema.Column {
	return schema.Bound(schema.Derived(key, name, schema.NotShown),
		func(r *R) int64 { return at(r).Microseconds() },
		func(r *R, n int64) { *at(r) = time.Duration(n) * time.Microsecond })
}

// currencyColumn is the currency of an asset.
func currencyColumn[R any](key uint8, at func(*R) *money.Asset, o ...schema.Option) *schema.Column {
	return schema.TextField(schema.NewCell[string](key, "currency", currencyKind{schema.KindText}, append(o, schema.Settable, schema.Help("currency code"))),
		func(r *R) *money.Currency { return &at(r).Currency })
}

// networkColumn is the network of an asset. An empty one stands for money whose network is not known.
func networkColumn[R any](key uint8, at func(*R) *money.Asset, o ...schema.Option) *schema.Column {
	return schema.TextField(schema.Text(key, "network", append(o, schema.Settable, schema.NotNull,
		schema.Help("network of the currency; required if it is on several, empty if the network is not known"))...),
		func(r *R) *money.Network { return &at(r).Network })
}

const envRule = "must be prod or test"

// envColumn is the environment of an asset.
func envColumn[R any](key uint8, at func(*R) *money.Asset, o ...schema.Option) *schema.Column {
	return envOf(key, func(r *R) *money.Env { return &at(r).Env }, o...)
}

func envOf[R any](key uint8, at func(*R) *money.Env, o ...schema.Option) *schema.Column {
	words := []string{money.Prod.String(), money.Test.String()}
	return schema.Bound(schema.Word(key, "env", words, append(o, schema.Required, schema.DefaultTo(words[0]), schema.Help("environment"))...),
		func(r *R) string {
			if env := *at(r); env.Valid() {
				return env.String()
			}
			return ""
		},
		func(r *R, word string) { *at(r), _ = money.ParseEnv(word) })
}

// withAsset adds to a type with the columns of an asset that the asset has to exist.
func withAsset[R any](t *schema.Type[R], at func(*R) *money.Asset) *schema.Type[R] {
	return t.
		OnCreate(func(input schema.Input, r *R, f *schema.Faults) { completeAsset(input, at(r), f) }).
		CrossCheck(func(_, r *R, f *schema.Faults) { relateAsset(at(r), f) })
}

// completeAsset requires a network in a request if the currency is on several.
func completeAsset(input schema.Input, a *money.Asset, f *schema.Faults) {
	raw, sent := input["network"]
	if sent = sent && string(raw) != "null"; !sent && onSeveral(a.Currency) && !f.Has("network") {
		f.Add("network", "network is required: %s is on several networks", a.Currency)
	}
}

// onSeveral tells whether a currency is on several networks.
func onSeveral(c money.Currency) bool {
	bare := resolved(money.Asset{Currency: c, Env: money.Prod})
	_, alone := bare.Scale()
	return c != "" && !alone
}

// resolved returns the asset with the network of a currency that has only one.
func resolved(a money.Asset) money.Asset {
	a.Network = money.ResolveNetwork(a.Currency, a.Network)
	return a
}

// relateAsset requires that a network that is named is one of the currency.
func relateAsset(a *money.Asset, f *schema.Faults) {
	of := resolved(*a)
	if _, known := of.Scale(); of.Network != "" && of.Currency != "" && of.Env.Valid() && !known && !f.Has("network") && !f.Has("currency") {
		f.Add("network", "is no network of %s", a.Currency)
	}
}

// currencyKind is the kind of currencies that transactions accept: string.
type currencyKind struct{ schema.Kind }

func (currencyKind) String() string { return "currency" }

// ParseParts implements schema.MultiPart. The refusal has the specification's words; what is no string is quoted as sent.
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

// textRule makes a rule for a column of a check that refuses a field.
func textRule(check func(op, field, text string) error) func(any) string {
	return func(value any) string { return problemOf(check("", "", value.(string))) }
}

// problemOf returns what a check has found, empty if it has refused nothing.
func problemOf(err error) string {
	var refusal *ledger.Refusal
	if errors.As(err, &refusal) {
		return refusal.Detail
	}
	return ""
}

// refusals returns the faults of a record's fields as an error, which is Join's.
func refusals(op string, f *schema.Faults) error {
	errs := make([]error, len(f.List))
	for i, fault := range f.List {
		errs[i] = ledger.RefuseField(op, fault.Field, "%s", fault.Message)
	}
	return Join(slices.Clip(errs)...)
}

// secretRule refuses what is no text, and the mask, which is public.
func secretRule(value any) string {
	const field = keySecret
	secret := value.(string)
	return problemOf(Join(checkSecret("", field, secret), checkUnmasked("", field, secret)))
}

// negativeTimes refuses an instant before 1970 in a stored record.
func negativeTimes(times ...ledger.Micros) string {
	if slices.Min(times) < 0 {
		return "has a time before 1970"
	}
	return ""
}

// notPositive refuses a stored partner number below 1.
func notPositive(number int64) string {
	if number < 1 {
		return "has a partner number below 1"
	}
	return ""
}

// actsOddly refuses a stored user or session that has PartnerRole without a partner, or a partner without the role.
func actsOddly(roles Roles, partner int64) string {
	if partner < 0 || roles.Has(PartnerRole) != (partner > 0) {
		return "is of role partner or has a partner, and not both"
	}
	return ""
}

// Types has the record types of the directory by the kind of their records in the journal.
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
