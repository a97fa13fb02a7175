package jsonform

import (
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// AppendScreening appends a screening's fields: the result and, with given, the input.
func AppendScreening(e *schema.Encoder, s *contract.Screening, withInput bool) {
	e.ID("screening_id", s.ID)
	e.Word("decision", string(s.Decision))
	e.OpenField("rules", '[')
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
	if withInput {
		e.OpenField("given", '{')
		appendScreened(e, &s.Input)
		e.Close('}')
	}
}

// appendScreened writes the input of a screening under the parameter names of the query.
func appendScreened(e *schema.Encoder, screened *contract.ScreeningInput) {
	for _, field := range []struct{ name, value string }{
		{"subject", screened.Subject}, {"region", screened.Region}, {"asset_type", screened.AssetType}, {"activity", screened.Activity},
		{"description", screened.Description}, {"currency", screened.Currency},
		{"debt_percent", screened.Debt}, {"impure_income_percent", screened.Impure},
	} {
		if field.value != "" {
			e.Text(field.name, field.value)
		}
	}
	if screened.HasAmount {
		e.Key("amount")
		e.Buf = schema.AppendSigned(e.Buf, money.Signed{Abs: screened.Amount}, contract.Religious.Answers)
	}
}
