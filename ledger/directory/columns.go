package directory

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// This file has the columns that several record types share. It also has functions that convert between the errors of package
// schema (Faults, and rules that return a text) and those of package ledger (Refusal).

// passwordColumn returns the column with the password of a partner or a user.
func passwordColumn() *schema.Column {
	return schema.ForInput(schema.Text(0, "pass", schema.Required, schema.Help("password, which is never shown")))
}

// noSpaces refuses white space in a login: people type logins, and logins are compared exactly.
func noSpaces(value any) string {
	if strings.ContainsFunc(value.(string), unicode.IsSpace) {
		return "must not hold white space"
	}
	return ""
}

// textRule returns a column's rule that applies a check. The rule returns the detail of the check's refusal.
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

// FaultsAsRefusals converts the faults of a record's fields to refusals, and joins them to one error; nil if there is
// no fault.
func FaultsAsRefusals(op string, f *schema.Faults) error {
	errs := make([]error, len(f.List))
	for i, fault := range f.List {
		errs[i] = ledger.RefuseField(op, fault.Field, "%s", fault.Message)
	}
	return Join(slices.Clip(errs)...)
}

// secretRule refuses a signing secret that is too long or not UTF-8. It also refuses Mask, which is public.
func secretRule(value any) string {
	const field = keySecret
	secret := value.(string)
	return problemOf(Join(checkSecret("", field, secret), checkUnmasked("", field, secret)))
}

// timesProblem returns what is wrong with the instants of a stored record: one is before 1970. The text is empty if none is.
func timesProblem(times ...ledger.Micros) string {
	if slices.Min(times) < 0 {
		return "has a time before 1970"
	}
	return ""
}

// partnerNumberProblem returns what is wrong with the partner number of a stored record: it is below 1. The text is empty if
// it is not.
func partnerNumberProblem(number int64) string {
	if number < 1 {
		return "has a partner number below 1"
	}
	return ""
}

// partnerRoleProblem returns what is wrong with a stored user or session: it has PartnerRole without a partner, or a partner
// without that role. The text is empty if neither is so.
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
