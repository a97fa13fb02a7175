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
			spec.InQuery("email", spec.Text(), "The payer's e-mail address, for a limit with the scope `email`."),
			spec.InQuery("ip", spec.Text(), "The payer's IP address, for a limit with the scope `ip`."),
			spec.InQuery("card", &spec.Schema{Types: []string{"string"}, Pattern: "^[0-9a-f]{32}$"},
				"The fingerprint of the payer's card, for a limit with the scope `card`."),
			spec.InQuery("transaction_id", spec.UUID(), "A transaction of the partner that was paid with the payer's card, for a limit with the scope `card`."),
		},
		Answers: ok(spec.Data(spec.AnyOf(usage(spec.Amount(), "the settled amount in minor units"), usage(spec.Integer(0), "the number of attempts, for the kind `velocity`")))),
		Refusals: []spec.Refusal{unknown, {Code: ledger.Invalid,
			When: "the limit counts for each payer (scope `card`, `email` or `ip`), and no parameter of that scope names a payer; or the parameter belongs to another scope, or names a payer who is not known"}},
		Examples: []spec.Example{{Path: map[string]string{"id": "$exampleLimit"}}},
	}, {
		ID: "createBlocklistEntry", Method: "POST", Path: v1 + "/blocklist", Tag: tagBlocklist, Summary: "Block a payer",
		Body: spec.Record(spec.OpenObject(
			spec.Required("kind", blockKinds(), "what the value is"),
			spec.Required("value", &spec.Schema{Types: []string{"string"}, MinLength: 1},
				"`bin`: 6 to 8 digits; `card`: a card number; `email`; `phone`: 5 to 15 digits; `ip`: an address or a CIDR prefix; `country`: two letters (ISO 3166-1)"),
		)),
		Answers: created(entry), Refusals: []spec.Refusal{{Code: ledger.Invalid},
			{Code: ledger.Conflict, When: "the value is already on the blocklist, or the blocklist is full"}},
		Examples: []spec.Example{{Body: `{"kind":"email","value":"Mallory@Example.com"}`, Keep: map[string]string{"exampleBlock": "data.id"}}},
	}, {
		ID: "listBlocklist", Method: "GET", Path: v1 + "/blocklist", Tag: tagBlocklist, Summary: "List the blocklist entries in force",
		Parameters: []spec.Parameter{spec.InQuery("kind", blockKinds(), "Only entries of this kind."), limitParameter(50, web.ListMax), cursorParameter},
		Answers:    ok(spec.Page(spec.Ref("BlocklistEntry"), "created_at")), Examples: []spec.Example{{}},
	}, {
		ID: "getBlocklistEntry", Method: "GET", Path: v1 + "/blocklist/{id}", Tag: tagBlocklist, Summary: "Read a blocklist entry",
		Parameters: []spec.Parameter{idParameter}, Answers: ok(entry), Refusals: []spec.Refusal{unknown},
		Examples: []spec.Example{{Path: map[string]string{"id": "$exampleBlock"}}},
	}, {
		ID: "deleteBlocklistEntry", Method: "DELETE", Path: v1 + "/blocklist/{id}", Tag: tagBlocklist, Summary: "End a blocklist entry",
		Parameters: []spec.Parameter{idParameter}, Answers: ok(entry), Refusals: []spec.Refusal{unknown},
		Examples: []spec.Example{{Path: map[string]string{"id": "$exampleBlock"}}},
	}}
}

func usage(number *spec.Schema, unit string) *spec.Schema {
	return spec.Object(
		spec.Required("used", number, "what is used in the window: "+unit), spec.Required("reserved", number, "what is under way or held in the window"),
		spec.Required("remaining", number, "what the limit still allows"),
		spec.Required("resets_at", spec.Nullable(spec.Instant()), "when the window ends; null for `per_transaction`"),
	)
}

// blockKinds returns the schema for the kind of an entry in the blocklist.
func blockKinds() *spec.Schema {
	return spec.Words(directory.Blocks.ByName("kind").Words...)
}
