package jsonform

import (
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// AppendScreening appends a screening's fields: the result and, with given, the input.
func AppendScreening(e *schema.Encoder, s *contract.Screening, given bool) {
	e.ID("screening_id", s.ID)
	e.Word("decision", string(s.Decision))
	e.Enter("rules", '[')
	for _, finding := range s.Findings {
		e.Open('{')
		e.Text("code", finding.Code)
		e.Word("outcome", string(finding.Outcome))
		e.Text("detail", finding.Detail)
		e.Close('}')
	}
	e.Close(']')
	e.Integer("ruleset_version", int64(s.Ruleset))
	e.Instant("screened_at", s.At)
	if given {
		e.Enter("given", '{')
		appendScreened(e, &s.Given)
		e.Close('}')
	}
}

// appendScreened writes the input of a screening under the parameter names of the query.
func appendScreened(e *schema.Encoder, given *contract.Screened) {
	for _, field := range []struct{ name, value string }{
		{"subject", given.Subject}, {"region", given.Region}, {"asset_type", given.AssetType}, {"activity", given.Activity},
		{"description", given.Description}, {"currency", given.Currency},
		{"debt_percent", given.Debt}, {"impure_income_percent", given.Impure},
	} {
		if field.value != "" {
			e.Text(field.name, field.value)
		}
	}
	if given.HasAmount {
		e.Key("amount")
		e.Buf = schema.AppendSigned(e.Buf, money.Signed{Abs: given.Amount}, contract.Religious.Answers)
	}
}
