package operations

import (
	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// settlementOperations returns the operations on settlements and on rates.
func settlementOperations() []spec.Operation {
	shown, page := spec.Data(spec.Ref("Settlement")), spec.Page(spec.Ref("Settlement"), "created_at")
	terminal := spec.InPath("id", spec.UUID(), "The id of the terminal.")
	unknown := spec.Refusal{Code: ledger.NotFound}
	taken := spec.Refusal{Code: ledger.Conflict, When: "a different settlement has this reference"}
	repeated := spec.Header{Name: "x-idempotent-replay", Schema: spec.Words("true"),
		Text: "Sent if an earlier request with the same reference or Idempotency-Key has already made the settlement."}
	parameters := []spec.Parameter{envParameter, limitParameter(50, web.ListMax), cursorParameter}
	return []spec.Operation{{
		ID: "settlePartner", Method: "POST", Path: v1 + "/partners/{id}/settlements", Tag: tagSettlements, Summary: "Settle with a partner's bank",
		Parameters: []spec.Parameter{numberParameter},
		Body: spec.Record(spec.OpenObject(append([]spec.Member{
			spec.Required("direction", spec.Words(directory.Inward, directory.Outward), "`in`: the money came from the partner's bank; `out`: it went to that bank"),
			spec.Required("amount", spec.Positive(), "the amount in minor units; for `out`, at most the available amount plus the overdraft"),
		}, settledAsset()...)...)),
		Answers: created(shown, repeated),
		Refusals: []spec.Refusal{unknown, {Code: ledger.Invalid, When: "a field is wrong, or `amount` is more than is available"},
			{Code: ledger.InsufficientFunds, When: "another operation has used the money in the meantime"}, taken},
		Examples: []spec.Example{{Path: map[string]string{"id": "1"},
			Body: `{"direction":"out","amount":"25000","currency":"USD","env":"test","reference":"bank-2026-09-03-17"}`,
			Keep: map[string]string{"settlement": "data.id"}}},
	}, {
		ID: "listPartnerSettlements", Method: "GET", Path: v1 + "/partners/{id}/settlements", Tag: tagSettlements, Summary: "List a partner's settlements",
		Parameters: append([]spec.Parameter{numberParameter}, parameters...), Answers: ok(page), Refusals: []spec.Refusal{unknown},
		Examples: []spec.Example{{Path: map[string]string{"id": "1"}, Query: "env=test&limit=1"}},
	}, {
		ID: "settleProvider", Method: "POST", Path: v1 + "/terminal/{id}/settlements", Tag: tagSettlements, Summary: "Settle with a terminal's provider",
		Parameters: []spec.Parameter{terminal},
		Body: spec.Record(spec.OpenObject(append([]spec.Member{
			spec.Required("gross", spec.Positive(), "the amount that the provider settled, including its fee"),
			spec.Required("fee", spec.Amount(), "the fee that the provider kept, at most `gross`; may be `\"0\"`"),
		}, settledAsset()...)...)),
		Answers: created(shown, repeated),
		Refusals: []spec.Refusal{unknown, {Code: ledger.Invalid},
			{Code: ledger.Conflict, When: "a different settlement has this reference, or the terminal has no provider"}},
		Examples: []spec.Example{{Path: map[string]string{"id": "$exampleTerminal"},
			Body: `{"gross":"100000","fee":"1500","currency":"EUR","env":"test","reference":"provider-2026-09-03"}`}},
	}, {
		ID: "listTerminalSettlements", Method: "GET", Path: v1 + "/terminal/{id}/settlements", Tag: tagSettlements,
		Summary:    "List the settlements of a terminal's provider",
		Parameters: append([]spec.Parameter{terminal}, parameters...), Answers: ok(page), Refusals: []spec.Refusal{unknown},
		Examples: []spec.Example{{Path: map[string]string{"id": "$exampleTerminal"}, Query: "env=test"}},
	}, {
		ID: "getSettlement", Method: "GET", Path: v1 + "/settlements/{id}", Tag: tagSettlements, Summary: "Read a settlement",
		Parameters: []spec.Parameter{idParameter}, Answers: ok(shown), Refusals: []spec.Refusal{unknown},
		Examples: []spec.Example{{Path: map[string]string{"id": "$settlement"}}},
	}, {
		ID: "putRate", Method: "PUT", Path: v1 + "/rates", Tag: tagRates, Summary: "Set an exchange rate",
		Body: spec.Record(spec.Ref("RatePut")), Answers: ok(spec.Data(spec.Ref("Rate"))), Refusals: []spec.Refusal{{Code: ledger.Invalid}},
		Examples: []spec.Example{{Body: `{"from":"USD","to":"EUR","rate":"0.92"}`, Keep: map[string]string{"rate": "data.id"}}},
	}, {
		ID: "listRates", Method: "GET", Path: v1 + "/rates", Tag: tagRates, Summary: "List exchange rates",
		Parameters: []spec.Parameter{limitParameter(50, web.ListMax), cursorParameter}, Answers: ok(spec.Page(spec.Ref("Rate"), "created_at")),
		Examples: []spec.Example{{}},
	}, {
		ID: "getRate", Method: "GET", Path: v1 + "/rates/{id}", Tag: tagRates, Summary: "Read an exchange rate",
		Parameters: []spec.Parameter{idParameter}, Answers: ok(spec.Data(spec.Ref("Rate"))), Refusals: []spec.Refusal{{Code: ledger.NotFound}},
		Examples: []spec.Example{{Path: map[string]string{"id": "$rate"}}},
	}}
}

// settledAsset returns the members that name the asset and the reference of a settlement.
func settledAsset() []spec.Member {
	return []spec.Member{
		spec.Required("currency", currency(), "currency code"),
		spec.Optional("network", spec.Nullable(networkName()),
			"network of the currency; required if the currency is on several networks. An empty text stands for money whose network was never known. Ignored for a national currency"),
		spec.Optional("env", spec.Nullable(envName().WithDefault("prod")), "environment; for a settlement with a provider, it must be the terminal's"),
		spec.Required("reference", &spec.Schema{Types: []string{"string"}, MinLength: 1, MaxLength: 255},
			"the bank's or the provider's reference, unique for the partner or the terminal"),
	}
}
