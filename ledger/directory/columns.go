package directory

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// This file contains columns and rules that several record types share. It also converts between two forms of errors: the
// Faults of package schema, whose rules return texts, and the Refusals of package ledger.

// passwordColumn returns the column with the password of a partner or a user.
func passwordColumn() *schema.Column {
	return schema.InputField(schema.Text(0, "pass", schema.Required, schema.Help("password, which is never shown")))
}

// noSpaces refuses white space in a login, because people type logins and logins are compared exactly.
func noSpaces(value any) string {
	if strings.ContainsFunc(value.(string), unicode.IsSpace) {
		return "must not hold white space"
	}
	return ""
}

// textRule converts a check to a rule for a column. If the check refuses the value, the rule returns the refusal's detail.
func textRule(check func(op, field, text string) error) func(any) string {
	return func(value any) string { return problemOf(check("", "", value.(string))) }
}

// problemOf returns the detail of a refusal, or an empty text if err is nil or not a refusal.
func problemOf(err error) string {
	var refusal *ledger.Refusal
	if errors.As(err, &refusal) {
		return refusal.Detail
	}
	return ""
}

// FaultsAsRefusals converts the faults of a record's fields to refusals, and joins the refusals to one error. If there is
// no fault, the error is nil.
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

// timesProblem returns a problem if a stored record contains a time before 1970. Otherwise it returns an empty text.
func timesProblem(times ...ledger.Micros) string {
	if slices.Min(times) < 0 {
		return "has a time before 1970"
	}
	return ""
}

// partnerNumberProblem returns a problem if the partner number of a stored record is below 1. Otherwise it returns an empty
// text.
func partnerNumberProblem(number int64) string {
	if number < 1 {
		return "has a partner number below 1"
	}
	return ""
}

// partnerRoleProblem returns a problem if a stored user or session has PartnerRole but no partner, or a partner but not
// that role. Otherwise it returns an empty text.
func partnerRoleProblem(roles Roles, partner int64) string {
	if partner < 0 || roles.Has(PartnerRole) != (partner > 0) {
		return "is of role partner or has a partner, and not both"
	}
	return ""
}

// Types maps each kind of directory record, as the journal names it, to the record type that declares its columns.
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
