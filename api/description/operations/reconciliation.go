package operations

import (
	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/reconciliation"
	"mizan/ledger/schema"
)

// reconciliationOperations returns the operations that compare settlement reports with the ledger.
func reconciliationOperations() []spec.Operation {
	const root = v1 + "/reconciliation"
	report, difference, day := spec.Data(spec.Ref("SettlementReport")), spec.Data(spec.Ref("Difference")), spec.Data(spec.Ref("ReconciledDay"))
	terminalFilter := spec.InQuery("terminal_id", spec.UUID(), "Only of this terminal.")
	terminal := spec.InPath("id", spec.UUID(), "The id of the terminal.")
	page := []spec.Parameter{limitParameter(50, web.ListMax), cursorParameter}
	unknown := spec.Refusal{Code: ledger.NotFound}
	file := &spec.Schema{Types: []string{"string"}, Format: "binary"}
	return []spec.Operation{{
		ID: "importReport", Method: "POST", Path: root + "/reports", Tag: tagReconciliation, Summary: "Import a settlement report",
		Body: &spec.Body{Media: "multipart/form-data", Schema: spec.OpenObject(
			spec.Required("terminal_id", spec.UUID(), "the terminal whose provider reports"),
			spec.Required("format", spec.Words(reconciliation.Formats...), "format of the report"),
			spec.Optional("mapping", spec.Text(), "for `csv`: a JSON object with the names of the columns"),
			spec.Optional("file", file, "the report, at most 32 MiB and 200,000 lines; absent for `stripe`"),
		)},
		Answers: created(report, spec.Header{Name: "x-idempotent-replay", Schema: spec.Words("true"), Text: "Sent if the same report was imported before."}),
		Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "a part is missing or wrong; for a wrong line of the file, `detail` names the line. Nothing was stored"},
			{Code: ledger.Conflict, When: "the organization is archived"},
			{Code: ledger.Unavailable, When: "another report is being imported, or the provider does not answer; the same upload continues an import that was cut off"}},
	}, {
		ID: "listReports", Method: "GET", Path: root + "/reports", Tag: tagReconciliation, Summary: "List settlement reports",
		Parameters: append([]spec.Parameter{terminalFilter}, page...), Answers: ok(spec.Page(spec.Ref("SettlementReport"), "created_at")),
		Examples: []spec.Example{{Query: "limit=1"}},
	}, {
		ID: "getReport", Method: "GET", Path: root + "/reports/{id}", Tag: tagReconciliation, Summary: "Read a settlement report",
		Parameters: []spec.Parameter{idParameter}, Answers: ok(report), Refusals: []spec.Refusal{unknown},
	}, {
		ID: "listDifferences", Method: "GET", Path: root + "/differences", Tag: tagReconciliation, Summary: "List differences",
		Parameters: append([]spec.Parameter{
			terminalFilter,
			spec.InQuery("kind", spec.Words(reconciliation.DifferenceKindWords()...), "Only differences of this kind."),
			spec.InQuery("state", spec.Words(string(reconciliation.Open), string(reconciliation.Settled)), "Only open or only settled differences."),
		}, page...),
		Answers:  ok(spec.Page(spec.Ref("Difference"), "created_at")),
		Examples: []spec.Example{{Query: "state=open&limit=1"}},
	}, {
		ID: "getDifference", Method: "GET", Path: root + "/differences/{id}", Tag: tagReconciliation, Summary: "Read a difference",
		Parameters: []spec.Parameter{idParameter}, Answers: ok(difference), Refusals: []spec.Refusal{unknown},
	}, {
		ID: "settleDifference", Method: "POST", Path: root + "/differences/{id}/settle", Tag: tagReconciliation, Summary: "Decide on a difference",
		Parameters: []spec.Parameter{idParameter},
		Body: spec.Record(spec.Object(
			spec.Required("decision", spec.Words(reconciliation.Decisions...), "what is done about it"),
			spec.Optional("entry_seq", spec.Nullable(spec.Integer(0)), "for `link`: the number of the entry that explains the difference"),
			spec.Required("note", &spec.Schema{Types: []string{"string"}, MinLength: 1, MaxLength: reconciliation.MaxNote}, "the reason, for auditors"),
		)),
		Answers: ok(difference),
		Refusals: []spec.Refusal{unknown, {Code: ledger.Invalid, When: "a field is wrong, or the decision does not fit the difference"},
			{Code: ledger.Conflict, When: "the difference was settled already, the entry is explained already, or a settlement may have booked the fee"}},
	}, {
		ID: "getReconciliationSummary", Method: "GET", Path: root + "/summary", Tag: tagReconciliation, Summary: "Compare the provider's balance with the books",
		Parameters: []spec.Parameter{
			spec.InQuery("terminal_id", spec.UUID(), "The terminal.").AsRequired(), spec.InQuery("currency", spec.Text(), "The currency.").AsRequired(),
			networkFilter, envParameter, spec.InQuery("at", spec.Instant(), "The time at which the balances are taken. If absent, now."),
		},
		Answers: ok(spec.Data(spec.Ref("ReconciliationSummary"))), Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "`terminal_id` names no terminal with a provider"}},
	}, {
		ID: "listReconciledDays", Method: "GET", Path: root + "/days/{id}", Tag: tagReconciliation, Summary: "List a terminal's closed days",
		Parameters: append([]spec.Parameter{terminal}, page...), Answers: ok(spec.Page(spec.Ref("ReconciledDay"), "closed_at")), Refusals: []spec.Refusal{unknown},
		Examples: []spec.Example{{Path: map[string]string{"id": "$exampleTerminal"}}},
	}, {
		ID: "closeReconciledDay", Method: "POST", Path: root + "/days/{id}/{date}/close", Tag: tagReconciliation, Summary: "Close a terminal's day",
		Parameters: []spec.Parameter{terminal, spec.InPath("date", spec.Day(), "The day.")},
		Answers:    ok(day),
		Refusals: []spec.Refusal{unknown, {Code: ledger.Invalid, When: "the day is malformed, or the body is no object"},
			{Code: ledger.Conflict, When: "a difference of the day is open, an import is unfinished, an entry of the day is in no report, or the day is closed already or has not begun"}},
	}}
}

// reconciliationSchemas returns the schemas of reports, differences, summaries and closed days.
func reconciliationSchemas() []spec.Component {
	return []spec.Component{
		{Name: "SettlementReport", Tag: tagReconciliation, Schema: spec.Shown(reconciliation.Reports.ShownColumns(), schema.Style{})},
		{Name: "Difference", Tag: tagReconciliation, Schema: spec.Shown(reconciliation.Differences.ShownColumns(), schema.Style{})},
		{Name: "ReconciledDay", Tag: tagReconciliation, Schema: spec.Shown(reconciliation.Days.ShownColumns(), schema.Style{})},
		{Name: "ReconciliationSummary", Tag: tagReconciliation, Schema: spec.Object(
			spec.Required("terminal_id", spec.UUID(), "the terminal"), spec.Required("currency", spec.Text(), "currency code"),
			spec.Required("network", spec.Text(), "network of the currency; empty if it has none"), spec.Required("env", spec.Words("prod", "test"), "environment"),
			spec.Required("at", spec.Instant(), "the time of the balances"),
			spec.Required("provider", spec.Signed(), "what the provider owes by its own reports, fees deducted"),
			spec.Required("ledger", spec.Signed(), "what the provider owes by the ledger"),
			spec.Required("in_transit", spec.Signed(), "what the provider has paid out and the bank has not received"),
			spec.Required("bank", spec.Signed(), "the balance of the bank account"),
			spec.Required("difference", spec.Signed(), "`provider` minus `ledger`"),
			spec.Required("reported_to", spec.Nullable(spec.Day()), "the last day of the reports"),
		)},
	}
}
