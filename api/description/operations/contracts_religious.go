package operations

import (
	"mizan/api/description/spec"
	"mizan/ledger"
	"mizan/ledger/contract"
)

// religiousOperations returns the operations that belong to the whole religious reading, not to one product.
func religiousOperations() []spec.Operation {
	base := v1 + contract.Religious.Path
	anything := []spec.Parameter{
		spec.InQuery("subject", spec.Words("asset", "transaction"), "What is screened.").AsRequired(),
		spec.InQuery("region", spec.Text(), "The region; a blank parameter counts as absent."), spec.InQuery("asset_type", spec.Text(), ""),
		spec.InQuery("activity", spec.Text(), ""), spec.InQuery("description", spec.Text(), ""),
		spec.InQuery("amount", spec.Positive(), "The amount in minor units."), spec.InQuery("currency", spec.Text(), ""),
		spec.InQuery("debt_percent", percent(), ""), spec.InQuery("impure_income_percent", percent(), ""),
	}
	stats := contractStats("getContractStats", base, contract.Religious)
	return withModule([]spec.Operation{stats, {
		ID: "listRegions", Method: "GET", Path: base + "/regions", Summary: "List the regions", Refusals: []spec.Refusal{noParameters},
		Answers: ok(spec.Data(spec.Object(
			spec.Required("regions", spec.List(spec.Object(spec.Required("code", regionCode(), "the code"), spec.Required("name", spec.Text(), "the name"),
				spec.Required("currencies", spec.List(spec.Text()), "the currencies in which contracts can be made"),
				spec.Required("product_types", spec.List(productTypes()), "the products that are offered in the region"),
				spec.Required("chart_version", spec.Integer(1), "number of the chart of accounts"))), "the regions in which the organization works"),
			spec.Required("dual_banking", spec.List(spec.Text()), "the regions that have secular and religious banks"),
		))), Examples: []spec.Example{{As: "session"}},
	}, {
		ID: "listCharity", Method: "GET", Path: base + "/charity", Summary: "List what went to charity",
		Parameters: []spec.Parameter{spec.InQuery("from", instantOrDay(), "Only what was booked at this time, or on this day, or later."),
			spec.InQuery("to", instantOrDay(), "Only what was booked at this time, or on this day, or earlier."), envFilter, limitParameter(50, 200), cursorParameter},
		Answers: ok(spec.Page(spec.Ref("CharityPosting"), "seq").With(spec.Required("meta", spec.Object(spec.Required("totals", spec.List(spec.Object(
			spec.Required("asset", spec.Ref("Asset"), ""), spec.Required("amount", spec.Type("integer"), "minor units"),
			spec.Required("postings", spec.Integer(1), "number of postings"),
		)), "the totals over all pages, with a row for each asset")), ""))),
		Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "a parameter is wrong, or the report would have to read more than 5,000 events (the error then names `from`)"}},
		Examples: []spec.Example{{As: "session", Query: "env=test"}},
	}, {
		ID: "listReviews", Method: "GET", Path: base + "/reviews", Summary: "List the contracts that wait for a review",
		Parameters: []spec.Parameter{envFilter, limitParameter(50, 200), cursorParameter},
		Answers:    ok(spec.Page(spec.Ref("WaitingContract"), "inserted_at")), Examples: []spec.Example{{As: "session", Query: "env=test"}},
	}, {
		ID: "screen", Method: "GET", Path: base + "/screen", Summary: "Screen an asset or a transaction", Parameters: anything,
		Answers: ok(spec.Data(spec.Ref("Screening"))),
		Examples: []spec.Example{{As: "session", Query: "subject=asset&region=AE&asset_type=vehicle&debt_percent=20",
			Keep: map[string]string{"screening": "data.screening_id"}}},
	}, {
		ID: "getScreening", Method: "GET", Path: base + "/screen/{id}", Summary: "Read a screening",
		Parameters: []spec.Parameter{spec.InPath("id", spec.UUID(), "The `screening_id`.")},
		Answers:    ok(spec.Data(spec.Ref("StoredScreening"))), Refusals: []spec.Refusal{{Code: ledger.NotFound}},
		Examples: []spec.Example{{As: "session", Path: map[string]string{"id": "$screening"}}},
	}})
}

// contractStats returns the operation that counts the contracts of a reading.
func contractStats(id, base string, reading *contract.Reading) spec.Operation {
	return spec.Operation{
		ID: id, Method: "GET", Path: base + "/stats", Summary: "Count the contracts", Parameters: []spec.Parameter{envFilter},
		Answers: ok(spec.Data(spec.Object(spec.Required("products", spec.List(spec.Object(spec.Required("product_type", productNames(reading), "the product"),
			spec.Required("count", spec.Integer(0), "number of contracts"))), "the products"), spec.Required("total", spec.Integer(0), "the sum")))),
		Examples: []spec.Example{{As: "session"}},
	}
}

func percent() *spec.Schema {
	return &spec.Schema{Types: []string{"string"}, Pattern: `^([0-9]+(\.[0-9]+)?)?$`}
}

func productTypes() *spec.Schema { return productNames(contract.Religious) }

// productNames returns the schema of a product's name in URL paths. It allows the products of the given reading.
func productNames(reading *contract.Reading) *spec.Schema {
	s := spec.Text()
	for _, k := range contractKinds() {
		if k.reading == reading {
			s.Words = append(s.Words, k.name())
		}
	}
	return s
}

// requester returns the schema of the user who requested a contract. If the user was deleted, the login and the name are
// missing.
func requester() *spec.Schema {
	return spec.Object(spec.Required("id", spec.UUID(), "id of the user"), spec.Optional("login", spec.Text(), "login of the user"), spec.Optional("name", spec.Text(), "name of the user"))
}

func religiousSchemas() []spec.Component {
	outcome := spec.Words("pass", "fail", "review")
	screened := []spec.Member{
		spec.Required("screening_id", spec.UUID(), "id of the screening"), spec.Required("decision", outcome, "the worst outcome of the rules"),
		spec.Required("rules", spec.List(spec.Object(spec.Required("code", spec.Text(), "the code"), spec.Required("outcome", outcome, "the outcome"),
			spec.Required("detail", spec.Text(), "what was found"))), "the outcome of each rule"),
		spec.Required("ruleset_version", spec.Integer(1), "number of the set of rules"), spec.Required("screened_at", spec.Instant(), "when the screening was made"),
	}
	given := spec.Object()
	for _, name := range []string{"subject", "region", "asset_type", "activity", "description", "currency", "debt_percent", "impure_income_percent"} {
		given.Members = append(given.Members, spec.Optional(name, spec.Text(), ""))
	}
	given.Members = append(given.Members, spec.Optional("amount", spec.AmountAsNumber(), ""))
	return []spec.Component{
		{Name: "Screening", Schema: spec.Object(screened...)},
		{Name: "StoredScreening", Schema: spec.Object(append(screened, spec.Required("given", given, "the parameters of the request"))...)},
		{Name: "Review", Schema: spec.Object(
			spec.Required("id", spec.UUID(), "id of the contract"), spec.Required("contract_number", spec.Text(), "number of the contract"),
			spec.Required("product_type", productTypes(), "the product"), spec.Required("status", spec.Text(), "state of the contract"),
			spec.Optional("requested_by", requester(), "the user who has created the contract"),
			spec.Required("conclusion", spec.Nullable(spec.Words("approved", "rejected")), "conclusion of the review; null while there is none"),
			spec.Optional("approved_by", spec.Text(), "who approved the contract"), spec.Optional("signed_at", spec.Text(), "date or time of the signature"),
			spec.Optional("document_ref", spec.Text(), "reference of the document"), spec.Optional("note", spec.Text(), "a remark"),
			spec.Optional("fatwa_reference", spec.Text(), "reference of the fatwa"), spec.Optional("board_id", spec.Text(), "id of the board"),
			spec.Optional("reason", spec.Text(), "why the contract was refused"), spec.Optional("reviewed_at", spec.Instant(), "when the review was recorded"),
			spec.Optional("screening", spec.Object(spec.Required("screening_id", spec.UUID(), "id of the screening"),
				spec.Required("decision", outcome, "the worst outcome of the rules"),
				spec.Required("ruleset_version", spec.Integer(1), "number of the set of rules"), spec.Required("screened_at", spec.Instant(), "when the screening was made")),
				"the screening on which the contract is based"),
		)},
		{Name: "WaitingContract", Schema: spec.OpenObject(
			spec.Required("id", spec.UUID(), "id of the contract"), spec.Required("product_type", productTypes(), "the product"),
			spec.Required("contract_number", spec.Text(), "number of the contract"), spec.Required("status", spec.Text(), "state of the contract"),
			spec.Required("env", envName(), "environment"), spec.Optional("region", spec.Text(), "code of the region"), spec.Optional("currency", spec.Text(), "currency code"),
			spec.Optional("requested_by", requester(), "the user who has created the contract"),
			spec.Required("refusal", refusalOfAction(), "if the caller may not approve the contract: the body of the response that an approval would get; otherwise null"), spec.Required("inserted_at", spec.Instant(), "when it was created"),
		).WithText("the contract as the list of its product shows it, and the user who requested it")},
		{Name: "CharityPosting", Schema: spec.Object(
			spec.Required("seq", spec.Integer(1), "number of the event"), spec.Required("source", spec.UUID(), "id of the contract"),
			spec.Required("product_type", productTypes(), "the product"), spec.Required("contract_number", spec.Text(), "number of the contract"),
			spec.Required("event", spec.Text(), "name of the event"),
			spec.Required("date", spec.Day(), "the entry's effective date"), spec.Required("booked_at", spec.Instant(), "when the event was stored"),
			spec.Required("side", spec.Words(ledger.Debit.String(), ledger.Credit.String()), "whether the charity account is debited or credited"),
			spec.Required("amount", spec.Integer(1), "minor units"), spec.Required("asset", spec.Ref("Asset"), ""),
			spec.Required("from", spec.List(spec.Text()), "the accounts that the money came from"),
		)},
	}
}
