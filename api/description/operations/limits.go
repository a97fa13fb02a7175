package operations

import (
	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// limitOperations returns the operations that read the usage of limits, and the operations on the blocklist. The operations
// that create, read and change limits come from recordTypes.
func limitOperations() []spec.Operation {
	entry := spec.Data(spec.Ref("BlocklistEntry"))
	unknown := spec.Refusal{Code: ledger.NotFound}
	return []spec.Operation{{
		ID: "getLimitUsage", Method: "GET", Path: v1 + "/limits/{id}/usage", Tag: tagLimits, Summary: "Read how much of a limit is used",
		Parameters: []spec.Parameter{
			idParameter,
			spec.InQuery("email", spec.Text(), "The payer, for a limit with the scope `email`."),
			spec.InQuery("ip", spec.Text(), "The payer, for a limit with the scope `ip`."),
			spec.InQuery("card", &spec.Schema{Types: []string{"string"}, Pattern: "^[0-9a-f]{32}$"},
				"The payer, for a limit with the scope `card`: the card's fingerprint."),
			spec.InQuery("transaction_id", spec.UUID(), "The payer, for a limit with the scope `card`: a transaction of the partner that was paid with the card."),
		},
		Answers: ok(spec.Data(spec.AnyOf(usage(spec.Amount(), "minor units"), usage(spec.Integer(0), "attempts, for `velocity`")))),
		Refusals: []spec.Refusal{unknown, {Code: ledger.Invalid,
			When: "the payer is missing for a limit with a scope, is named by another parameter, or is not known"}},
		Examples: []spec.Example{{Path: map[string]string{"id": "$exampleLimit"}}},
	}, {
		ID: "createBlocklistEntry", Method: "POST", Path: v1 + "/blocklist", Tag: tagBlocklist, Summary: "Block a payer",
		Body: spec.Record(spec.OpenObject(
			spec.M("kind", blockKinds(), "what the value is"),
			spec.M("value", &spec.Schema{Types: []string{"string"}, MinLength: 1},
				"`bin`: 6 to 8 digits; `card`: a card number; `email`; `phone`: 5 to 15 digits; `ip`: an address or a CIDR prefix; `country`: two letters (ISO 3166-1)"),
		)),
		Answers: created(entry), Refusals: []spec.Refusal{{Code: ledger.Invalid},
			{Code: ledger.Conflict, When: "the value is listed already, or the blocklist is full"}},
		Examples: []spec.Example{{Body: `{"kind":"email","value":"Mallory@Example.com"}`, Keep: map[string]string{"exampleBlock": "data.id"}}},
	}, {
		ID: "listBlocklist", Method: "GET", Path: v1 + "/blocklist", Tag: tagBlocklist, Summary: "List the entries in force",
		Parameters: []spec.Parameter{spec.InQuery("kind", blockKinds(), "Only this kind."), limitParameter(50, web.ListMax), cursorParameter},
		Answers:    ok(spec.Page(spec.Ref("BlocklistEntry"), "created_at")), Examples: []spec.Example{{}},
	}, {
		ID: "getBlocklistEntry", Method: "GET", Path: v1 + "/blocklist/{id}", Tag: tagBlocklist, Summary: "Read an entry",
		Parameters: []spec.Parameter{idParameter}, Answers: ok(entry), Refusals: []spec.Refusal{unknown},
		Examples: []spec.Example{{Path: map[string]string{"id": "$exampleBlock"}}},
	}, {
		ID: "deleteBlocklistEntry", Method: "DELETE", Path: v1 + "/blocklist/{id}", Tag: tagBlocklist, Summary: "End an entry",
		Parameters: []spec.Parameter{idParameter}, Answers: ok(entry), Refusals: []spec.Refusal{unknown},
		Examples: []spec.Example{{Path: map[string]string{"id": "$exampleBlock"}}},
	}}
}

func usage(number *spec.Schema, unit string) *spec.Schema {
	return spec.Object(
		spec.M("used", number, "settled in the window: "+unit), spec.M("reserved", number, "under way or held"),
		spec.M("remaining", number, "what the limit still allows"),
		spec.M("resets_at", spec.Nullable(spec.Instant()), "when the window ends; null for `per_transaction`"),
	)
}

// blockKinds returns the schema for the kind of an entry in the blocklist.
func blockKinds() *spec.Schema {
	return spec.Words(directory.Blocks.ByName("kind").Words...)
}
