package admin

import (
	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/internal/jsonwalk"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// settlement reads the fields that all settlements share. amountField is the name of the field with the amount.
func (f form) settlement(amountField string) directory.SettlementDraft {
	return directory.SettlementDraft{
		Amount: f.amount(amountField, false), Currency: f.currency("currency"), Network: records.TextAs[money.Network](f.Text("network")),
		Env: f.env("env"), Reference: f.requiredText("reference"),
	}
}

// isOutward reads the field with a settlement's direction. It returns true if the money goes from the institution to the
// partner.
func (f form) isOutward(name string) bool {
	switch text := f.Text(name); {
	case text != nil && (*text == directory.Inward || *text == directory.Outward):
		return *text == directory.Outward
	case text == nil && web.Member(f.Object, name) != nil:
		// The value is not a string. f.Text has already reported that.
	default:
		f.Problems.Add(name, name+" must be "+directory.Inward+" or "+directory.Outward)
	}
	return false
}

// amount reads a required field: an amount as a string of minor units. Amounts above ledger.MaxAmount are refused later, when
// the draft of the settlement is checked.
func (f form) amount(name string, allowZero bool) money.Amount {
	value := web.Member(f.Object, name)
	if value == nil {
		f.Problems.Add(name, name+" is required")
		return money.Amount{}
	}
	text, isText := jsonwalk.Text(value)
	if !isText {
		f.Problems.Add(name, name+" must be a string of minor units")
		return money.Amount{}
	}
	amount, err := money.ParseBytes(text)
	switch {
	case err == money.ErrTooLong || err == money.ErrOverflow:
		f.Problems.Add(name, name+" is above 2^256 - 1")
	case err != nil:
		f.Problems.Add(name, name+" must be a string of digits without leading zeros")
	case amount.IsZero() && !allowZero:
		f.Problems.Add(name, name+" must be greater than zero")
	}
	return amount
}

// env reads a field that names an environment. If the field is absent, env returns prod.
func (f form) env(name string) money.Env {
	text := f.Text(name)
	if text == nil {
		return money.Prod
	}
	env, known := money.ParseEnv(*text)
	if !known {
		f.Problems.Add(name, name+" must be prod or test")
	}
	return env
}

// requiredText reads a required string field.
func (f form) requiredText(name string) string {
	if web.Member(f.Object, name) == nil {
		f.Problems.Add(name, name+" is required")
		return ""
	}
	return f.TextOrEmpty(name)
}
