package sepa

import (
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
)

// Name is the provider field of terminals that pay out by SEPA credit transfer.
const Name = "sepa"

// Lengths of the parameters.
const (
	maxName = 70
	maxIBAN = 34
	maxBIC  = 11
)

// Account contains the settings in a terminal's provider_params: the account that pays.
type Account struct {
	Name         string // of the account's holder
	IBAN         string
	BIC          string // empty: the bank derives it from the IBAN
	BatchBooking bool   // the bank books the payments of one file as one entry
}

// Parameters describes the fields of Account.
var Parameters = schema.NewType[Account]("parameters of a terminal of "+Name,
	schema.Field(schema.Text(0, "debtor_name", schema.Transient, schema.Required, schema.AtMost(maxName), schema.Rule(nameRule),
		schema.Help("name of the holder of the account that pays, in SEPA's characters")), func(a *Account) *string { return &a.Name }),
	schema.Field(schema.Text(0, "debtor_iban", schema.Transient, schema.Required, schema.AtMost(maxIBAN), schema.Rule(ibanRule),
		schema.Help("IBAN of the account that pays, in capitals and without spaces")), func(a *Account) *string { return &a.IBAN }),
	schema.Field(schema.Text(0, "debtor_bic", schema.Transient, schema.Settable, schema.AtMost(maxBIC), schema.Rule(bicRule),
		schema.Help("BIC of the account's bank; most banks don't need it")), func(a *Account) *string { return &a.BIC }),
	schema.Field(schema.Bool(0, "batch_booking", schema.Transient, schema.Settable,
		schema.Help("whether the bank books the payments of one file as one entry; it then has to list them in the entry's details")),
		func(a *Account) *bool { return &a.BatchBooking }),
)

func init() { directory.RegisterProvider(directory.Provider{Name: Name, Parameters: Parameters}) }

func nameRule(value any) string {
	if !payment.IsSEPAName([]byte(value.(string))) {
		return "must be at most 70 characters out of a-z, A-Z, 0-9, space and /-?:().,'+"
	}
	return ""
}

func ibanRule(value any) string {
	if !payment.IsSEPAIBAN([]byte(value.(string))) {
		return "must be an IBAN of a SEPA country, in capitals and without spaces"
	}
	return ""
}

// bicRule accepts a BIC of 8 or 11 characters (ISO 9362).
func bicRule(value any) string {
	bic := value.(string)
	if bic == "" {
		return ""
	}
	isValid := len(bic) == 8 || len(bic) == 11
	for i, c := range []byte(bic) {
		isLetter := c >= 'A' && c <= 'Z'
		isValid = isValid && (isLetter || c >= '0' && c <= '9' && (i < 4 || i > 5))
	}
	if !isValid {
		return "must be a BIC of 8 or 11 capitals and digits"
	}
	return ""
}

// accountOf returns the account of a terminal; false if the terminal belongs to another provider.
func accountOf(t *directory.Terminal) (*Account, bool) {
	a, ok := t.Parameters.(*Account)
	return a, ok
}
