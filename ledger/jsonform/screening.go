package jsonform

import (
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// AppendScreening appends the fields of a screening (a check whether an asset or a transaction may be financed): the
// result and, if withInput is set, the input.
func AppendScreening(out *schema.Encoder, screening *contract.Screening, withInput bool) {
	out.ID("screening_id", screening.ID)
	out.Word("decision", string(screening.Decision))
	out.OpenField("rules", '[')
	for _, finding := range screening.Findings {
		out.Open('{')
		out.Text("code", finding.Code)
		out.Word("outcome", string(finding.Outcome))
		out.Text("detail", finding.Detail)
		out.Close('}')
	}
	out.Close(']')
	out.Integer("ruleset_version", int64(screening.Ruleset))
	out.Instant("screened_at", screening.At)
	if withInput {
		out.OpenField("given", '{')
		appendScreeningInput(out, &screening.Input)
		out.Close('}')
	}
}

// appendScreeningInput writes the input of a screening. The field names are those of the request's query parameters.
func appendScreeningInput(out *schema.Encoder, input *contract.ScreeningInput) {
	for _, field := range []struct{ name, value string }{
		{"subject", input.Subject}, {"region", input.Region}, {"asset_type", input.AssetType}, {"activity", input.Activity},
		{"description", input.Description}, {"currency", input.Currency},
		{"debt_percent", input.Debt}, {"impure_income_percent", input.Impure},
	} {
		if field.value != "" {
			out.Text(field.name, field.value)
		}
	}
	if input.HasAmount {
		out.Key("amount")
		out.Buf = schema.AppendSigned(out.Buf, money.Signed{Abs: input.Amount}, contract.Religious.ResponseStyle)
	}
}
