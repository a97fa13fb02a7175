package operations

import (
	"mime"
	"slices"
	"strings"

	"mizan/api/description/spec"
	"mizan/api/ledger/export"
	"mizan/api/web"
	"mizan/ledger"
)

const ledgerPath = v1 + "/ledger"

// Parameters and refusals that several operations on the ledger share.
var (
	pathParameter  = spec.InPath("path", spec.Text(), "The account, such as `L:partner:1:available`.")
	currencyFilter = spec.InQuery("currency", spec.Text(), "Only this currency.")
	networkFilter  = spec.InQuery("network", spec.Text(), "Only this network. An empty value selects assets without a network.").OrEmpty()
	atParameter    = spec.InQuery("at", instantOrDay(), "The time at which the balances are taken; with `by=effective`, it may also be a day. If absent, now.")
	byParameter    = spec.InQuery("by", spec.Words("booked", "effective").WithDefault("booked"),
		"The time of an entry that decides whether it is included: `booked` is when it was stored, `effective` is the day to which it belongs.")
	fromParameter    = spec.InQuery("from", spec.Instant(), "Only what was booked at this time or later.")
	toParameter      = spec.InQuery("to", spec.Instant(), "Only what was booked at this time or earlier.")
	ledgerPage       = []spec.Parameter{limitParameter(50, web.ListMax), cursorParameter}
	noParameters     = spec.Refusal{Code: ledger.Invalid, When: "the query has a parameter"}
	unknownOfAccount = spec.Refusal{Code: ledger.NotFound, When: "there is no such account, or the caller may not see it"}
)

// ledgerOperations returns the operations that read accounts and balances.
func ledgerOperations() []spec.Operation {
	rows := spec.Page(spec.Ref("AccountBalance"), "account")
	account := map[string]string{"path": "L:partner:1:available"}
	return []spec.Operation{{
		ID: "listAccounts", Method: "GET", Path: ledgerPath + "/accounts", Tag: tagLedger, Summary: "List accounts with their balances",
		Parameters: append([]spec.Parameter{spec.InQuery("prefix", spec.Text(), "Only accounts whose paths begin with this text."), currencyFilter, networkFilter,
			envParameter}, ledgerPage...),
		Answers: ok(rows), Examples: []spec.Example{{Query: "env=test&prefix=L:partner:1&currency=USD"}},
	}, {
		ID: "getAccount", Method: "GET", Path: ledgerPath + "/accounts/{path}", Tag: tagLedger, Summary: "Read an account's balances at any time",
		Parameters: append([]spec.Parameter{pathParameter, currencyFilter, networkFilter, envParameter, atParameter, byParameter}, ledgerPage...),
		Answers:    ok(rows), Refusals: []spec.Refusal{unknownOfAccount}, Examples: []spec.Example{{Path: account, Query: "env=test&currency=USD"}},
	}, {
		ID: "listPostings", Method: "GET", Path: ledgerPath + "/accounts/{path}/postings", Tag: tagLedger, Summary: "Read an account's statement",
		Parameters: append([]spec.Parameter{pathParameter, currencyFilter, networkFilter, envParameter, fromParameter, toParameter}, ledgerPage...),
		Answers:    ok(spec.Page(spec.Ref("StatementLine"), "seq")),
		Refusals: []spec.Refusal{unknownOfAccount, {Code: ledger.Invalid,
			When: "a parameter is wrong, or the account has several assets and `currency` and `network` do not select one of them"}},
		Examples: []spec.Example{{Path: account, Query: "env=test&currency=USD&limit=2"}},
	}, {
		ID: "getTrialBalance", Method: "GET", Path: ledgerPath + "/trial-balance", Tag: tagLedger, Summary: "Read the trial balance at any time",
		Parameters: append([]spec.Parameter{
			envParameter, currencyFilter, networkFilter, atParameter, byParameter,
			spec.InQuery("since", instantOrDay(), "An earlier time, not after `at`. Each row then also has the totals at this earlier time."),
			spec.InQuery("totals", spec.Words("false", "true").WithDefault("false"), "Whether the first page also has the sums over all accounts."),
		}, ledgerPage...),
		Answers: ok(rows.With(spec.Optional("totals", spec.List(spec.Ref("GroupBalance")),
			"only on the first page, with `totals=true`: the sums over all accounts in each asset, at the time that all pages have"))), Examples: []spec.Example{{Query: "env=test&currency=USD"}, {Name: "totals", As: "auditor", Query: "env=test&currency=USD&totals=true&since=2026-09-01T00:00:00Z&limit=1"}},
	}, {
		ID: "getTotals", Method: "GET", Path: ledgerPath + "/totals", Tag: tagLedger, Summary: "Read the totals of groups of accounts at any time",
		Parameters: append([]spec.Parameter{
			spec.InQuery("group", spec.Words("asset", "segment").WithDefault("asset"),
				"Which accounts form a group: with `asset`, all accounts; with `segment`, the accounts whose paths have the same next segment after `prefix`."),
			spec.InQuery("prefix", spec.Text(), "Only accounts whose paths begin with this text."),
			currencyFilter, networkFilter, envParameter, atParameter, byParameter,
		}, ledgerPage...),
		Answers:  ok(spec.Page(spec.Ref("GroupBalance"), "path")),
		Examples: []spec.Example{{As: "auditor", Query: "env=test&group=segment&prefix=L:&currency=USD"}},
	}}
}

// journalOperations returns the operations that read entries, events and proofs.
func journalOperations() []spec.Operation {
	size := func(name, text string) spec.Parameter { return spec.InQuery(name, spec.Integer(1), text) }
	return []spec.Operation{{
		ID: "listEntries", Method: "GET", Path: ledgerPath + "/entries", Tag: tagJournal, Summary: "List the events that moved money",
		Parameters: append([]spec.Parameter{
			spec.InQuery("source", spec.Text(), "Only events of the record with this id."), spec.InQuery("account", spec.Text(), "Only entries with a posting on this account."),
			spec.InQuery("event", spec.Text(), "Only events with this name, such as `settle`."),
			envParameter, fromParameter, toParameter,
		}, ledgerPage...),
		Answers: ok(spec.Page(spec.Ref("Entry"), "seq")), Examples: []spec.Example{{As: "auditor", Query: "env=test&source=$payment",
			Keep: map[string]string{"seq": "data.0.seq"}}},
	}, {
		ID: "getEntry", Method: "GET", Path: ledgerPath + "/entries/{seq}", Tag: tagJournal, Summary: "Read an entry",
		Parameters: []spec.Parameter{spec.InPath("seq", spec.Text(), "The number of the event.")}, Answers: ok(spec.Data(spec.Ref("Entry"))),
		Refusals: []spec.Refusal{{Code: ledger.NotFound}},
		Examples: []spec.Example{{As: "auditor", Path: map[string]string{"seq": "$seq"}}},
	}, {
		ID: "listEvents", Method: "GET", Path: ledgerPath + "/events", Tag: tagJournal, Summary: "List all events",
		Parameters: append([]spec.Parameter{
			spec.InQuery("source", spec.Text(), "Only events of the record with this id."),
			spec.InQuery("author", spec.Words(authorWords()...), "Only events that an author of this kind caused."),
			spec.InQuery("kind", spec.Words("administration"),
				"Only changes that somebody requested to records of the administration, which are "+administrationWords()+"."),
		}, ledgerPage...),
		Answers: ok(spec.Page(spec.Ref("Event"), "seq")), Examples: []spec.Example{{As: "auditor", Query: "source=$payment"}},
	}, {
		ID: "getEvent", Method: "GET", Path: ledgerPath + "/events/{seq}", Tag: tagJournal, Summary: "Read an event",
		Parameters: []spec.Parameter{spec.InPath("seq", spec.Text(), "The number of the event.")}, Answers: ok(spec.Data(spec.Ref("Event"))),
		Refusals: []spec.Refusal{{Code: ledger.NotFound}},
		Examples: []spec.Example{{As: "auditor", Path: map[string]string{"seq": "$seq"}}},
	}, {
		ID: "getHead", Method: "GET", Path: ledgerPath + "/head", Tag: tagJournal, Summary: "Read the signed head of the journal",
		Answers: ok(spec.Data(spec.Object(
			spec.Required("tree_size", spec.Integer(0), "number of events"),
			spec.Required("root", spec.Bytes(), "root of the hash tree over all events (RFC 6962)"),
			spec.Required("signature", spec.Bytes(), "the signed note, which names the organization"),
		))), Refusals: []spec.Refusal{noParameters}, Examples: []spec.Example{{}},
	}, {
		ID: "getHeadKey", Method: "GET", Path: ledgerPath + "/key", Tag: tagJournal, Summary: "Read the public key of heads",
		Answers:  ok(spec.Data(spec.Object(spec.Required("key", spec.Text(), "the key that verifies the signed notes, in the form of golang.org/x/mod/sumdb/note")))),
		Refusals: []spec.Refusal{noParameters}, Examples: []spec.Example{{}},
	}, {
		ID: "proveInclusion", Method: "GET", Path: ledgerPath + "/proofs/inclusion", Tag: tagJournal, Summary: "Prove that an event is in the journal",
		Parameters: []spec.Parameter{size("seq", "The number of the event.").AsRequired(),
			size("size", "The size of the tree, which contains this number of events from the first one on. If absent, all events.")},
		Answers: ok(spec.Data(spec.Object(
			spec.Required("seq", spec.Integer(1), "number of the event, which is the leaf with the index `seq` − 1"),
			spec.Required("size", spec.Integer(1), "number of events in the tree"), spec.Required("leaf", spec.Bytes(), "the event's canonical bytes"),
			spec.Required("root", spec.Bytes(), "the root of the tree"), spec.Required("proof", spec.List(spec.Bytes()), "the hashes that lead from the leaf to the root"),
		))), Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "a parameter is missing or wrong, or names an event or a size that the journal does not have"}},
		Examples: []spec.Example{{Query: "seq=1&size=4"}},
	}, {
		ID: "proveConsistency", Method: "GET", Path: ledgerPath + "/proofs/consistency", Tag: tagJournal, Summary: "Prove that the journal only grew",
		Parameters: []spec.Parameter{size("from", "The number of events in the earlier tree.").AsRequired(), size("to", "The number of events in the later tree. If absent, all events.")},
		Answers: ok(spec.Data(spec.Object(
			spec.Required("from", spec.Integer(1), "number of events in the earlier tree"), spec.Required("to", spec.Integer(1), "number of events in the later tree"),
			spec.Required("from_root", spec.Bytes(), "the root of the earlier tree"), spec.Required("to_root", spec.Bytes(), "the root of the later tree"),
			spec.Required("proof", spec.List(spec.Bytes()), "the hashes that prove that the later tree begins with the earlier one"),
		))), Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "a parameter is missing or wrong, or names a size that the journal does not have"}},
		Examples: []spec.Example{{Query: "from=2&to=4"}},
	}}
}

// periodOperations returns the operations for closed months, checks of the store, and exports.
func periodOperations() []spec.Operation {
	return []spec.Operation{{
		ID: "listPeriods", Method: "GET", Path: ledgerPath + "/periods", Tag: tagPeriods, Summary: "List the closed months",
		Parameters: ledgerPage, Answers: ok(spec.Page(spec.Ref("Period"), "month")), Examples: []spec.Example{{}},
	}, {
		ID: "closePeriod", Method: "POST", Path: ledgerPath + "/periods/{month}/close", Tag: tagPeriods, Summary: "Close a month permanently",
		Parameters: []spec.Parameter{spec.InPath("month", spec.Text(), "The month, `yyyy-mm`.")}, Body: spec.OptionalJSON(spec.OpenObject()),
		Answers: ok(spec.Data(spec.Ref("Period"))),
		Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "`month` is no month, or is before the books began"},
			{Code: ledger.Conflict, When: "the month is already closed, has not ended, or follows a month that is open; or work that was due in the month is not done. The message says which"},
			{Code: ledger.Unavailable, When: "the month is not closed yet: repeat the request"}},
	}, {
		ID: "getLastCheck", Method: "GET", Path: ledgerPath + "/check", Tag: tagPeriods, Summary: "Read the result of the last check of the store",
		Answers: ok(spec.Data(spec.Nullable(checkResult()))), Refusals: []spec.Refusal{noParameters}, Examples: []spec.Example{{As: "auditor"}},
	}, {
		ID: "exportLedger", Method: "GET", Path: ledgerPath + "/export", Tag: tagPeriods, Summary: "Export the entries",
		Parameters: []spec.Parameter{
			spec.InQuery("format", spec.Words(export.Names()...), "The format.").AsRequired(), envParameter,
			spec.InQuery("from", instantOrDay(), "Only entries that were booked at this time, or on this day, or later."),
			spec.InQuery("to", instantOrDay(), "Only entries that were booked at this time, or on this day, or earlier. The time must not be after now."),
			spec.InQuery("prefix", spec.Text(), "Only entries with an account whose path begins with this text."),
		},
		Answers: []spec.Answer{exported()},
		Refusals: []spec.Refusal{{Code: ledger.Invalid}, {Code: ledger.Unavailable, When: "two exports of the organization, or four in all, are under way"},
			{Code: web.VersionNotSupported, When: "the request came over HTTP/1.0, which cannot transfer a response in chunks"}},
	}}
}

// checkResult returns the schema for the result of a check of the store.
func checkResult() *spec.Schema {
	return spec.Object(spec.Required("at", spec.Instant(), "when the store was checked"),
		spec.Required("rules", spec.List(spec.Object(
			spec.Required("rule", spec.Integer(1), "number of the rule"),
			spec.Required("outcome", spec.Words("ok", "FAIL", "skipped"), "whether the store keeps the rule"),
			spec.Required("name", spec.Text(), "what the rule says"),
		)), "the rules"))
}

// exported returns the declaration of the response to an export. It has the media types of all formats of exports.
func exported() spec.Answer {
	a := spec.Answer{Status: 200, Text: "The export, of unknown length. An export that breaks off is incomplete: the connection ends without its last chunk.",
		Headers: []spec.Header{{Name: "content-disposition", Schema: spec.Text(), Text: "The name of the file.", Required: true},
			{Name: "x-estimated-bytes", Schema: spec.Integer(1), Text: "About how many bytes the export will have. Absent if the export is short, or has only a few entries among many."}}}
	for _, name := range export.Names() {
		format, _ := export.ParseFormat(name)
		media, _, _ := mime.ParseMediaType(format.MediaType())
		switch {
		case a.Media == "":
			a.Media = media
		case media != a.Media && !slices.Contains(a.OtherMedia, media):
			a.OtherMedia = append(a.OtherMedia, media)
		}
	}
	return a
}

func ledgerSchemas() []spec.Component {
	side := spec.Words(ledger.Debit.String(), ledger.Credit.String())
	phase := spec.Words(ledger.Posted.String(), ledger.Pending.String(), ledger.Capture.String(), ledger.Void.String())
	posting := spec.Object(spec.Required("account", spec.Text(), "path of the account"), spec.Required("side", side, "whether the account is debited or credited"),
		spec.Required("amount", spec.Positive(), "minor units"), spec.Required("asset", spec.Ref("Asset"), ""),
		spec.Required("balance", spec.Signed(), "the account's posted balance after the entry"))
	moved := []spec.Member{
		spec.Required("effective_date", spec.Day(), "the day to which the entry belongs in the accounts"),
		spec.Required("reverses", spec.Nullable(spec.Integer(1)), "number of the event whose entry this entry reverses; null if it reverses none"),
		spec.Optional("closes", spec.Integer(1), "number of the event whose pending entry this entry captures or voids"),
		spec.Required("postings", spec.List(posting), "the postings that the caller may see; all postings of the entry together balance for each asset"),
	}
	seq := spec.Required("seq", spec.Integer(1), "number of the event in the organization's journal")
	kind := spec.Required("kind", spec.Words(kindWords(ledger.Kinds())...), "kind of the record")
	source, event := spec.Required("source", spec.Text(), "id of the record"), spec.Required("event", spec.Text(), "name of the event")
	booked := spec.Required("booked_at", spec.Instant(), "when the event was stored")
	totals := []spec.Member{
		spec.Required("asset", spec.Ref("Asset"), ""),
		spec.Required("debits_posted", spec.Amount(), "sum of the posted debits"), spec.Required("credits_posted", spec.Amount(), "sum of the posted credits"),
		spec.Required("debits_pending", spec.Amount(), "sum of the held debits"), spec.Required("credits_pending", spec.Amount(), "sum of the held credits"),
	}
	since := spec.Optional("since", spec.Object(append(slices.Clone(totals[1:]), spec.Required("balance", spec.Signed(), "the posted balance"))...),
		"in a trial balance with `since`: the same totals at that earlier time")
	return []spec.Component{
		{Name: "Asset", Schema: spec.Object(spec.Required("currency", spec.Text(), "currency code"),
			spec.Required("network", spec.Text(), "network of the currency; empty if the currency has none, or if the network is not known"), spec.Required("env", envName(), "environment"))},
		{Name: "AccountBalance", Schema: spec.Object(slices.Concat([]spec.Member{spec.Required("account", spec.Text(), "path of the account")}, totals,
			[]spec.Member{spec.Required("balance", spec.Signed(), "the posted balance, positive on the account's normal side"), since})...)},
		{Name: "GroupBalance", Schema: spec.Object(slices.Concat([]spec.Member{
			spec.Required("path", spec.Text(), "the text with which the paths of the group's accounts begin; if it does not end with a colon, it is the path of a single account, or the value of the parameter `prefix`")}, totals,
			[]spec.Member{spec.Required("balance", spec.Signed(), "the posted balance, positive on the normal side of `path`; on the debit side if `path` is empty"), since})...)},
		{Name: "StatementLine", Schema: spec.Object(seq, kind, source, event, booked, spec.Required("side", side, "whether the account is debited or credited"),
			spec.Required("amount", spec.Positive(), "minor units"),
			spec.Required("phase", phase, "what the entry does: `pending` holds money, `capture` and `void` end a hold"),
			spec.Required("balance", spec.Signed(), "the account's posted balance after the line"))},
		{Name: "Entry", Schema: spec.Object(append([]spec.Member{seq, kind, source, event,
			spec.Required("phase", phase, "what the entry does: `pending` holds money, `capture` and `void` end a hold"), booked}, moved...)...)},
		{Name: "Author", Schema: spec.Object(
			spec.Required("kind", spec.Words(authorWords()...), "`admin_token`: an operator; `api_key`: a partner's server; `session`: a person who has logged in; `payer`: the payer's page; "+
				"`provider`: a provider's answer or report; `system`: the service itself, such as a timer"),
			spec.Optional("id", spec.Text(), "id of the key or user, or number of the partner, as far as the caller may see it"),
			spec.Optional("name", spec.Text(), "name or login of the author at the time of the response"))},
		{Name: "Event", Schema: spec.Object(seq, spec.Required("author", spec.Ref("Author"), "who or what caused the event"),
			kind, source, spec.Required("version", spec.Integer(1), "the record's version after the event"), event,
			spec.Required("from", spec.Nullable(spec.Text()), "the record's state before the event"),
			spec.Required("to", spec.Nullable(spec.Text()), "the record's state after the event"), booked,
			spec.Optional("entry", spec.Object(append([]spec.Member{spec.Required("phase", phase,
				"what the entry does: `pending` holds money, `capture` and `void` end a hold")}, moved...)...), "the entry, if the event moved money"))},
		{Name: "Period", Schema: spec.Object(
			spec.Required("month", &spec.Schema{Types: []string{"string"}, Pattern: "^[0-9]{4}-[0-9]{2}$"}, "the closed month, which begins and ends at midnight UTC"),
			spec.Required("closed_at", spec.Instant(), "when the month was closed"),
			spec.Required("closed_by", spec.Object(spec.Required("session_id", spec.UUID(), "the session"),
				spec.Required("user_id", spec.Nullable(spec.UUID()), "id of the user; null for the session of `sandbox.json`"),
				spec.Required("login", spec.Nullable(spec.Text()), "login of the user")), "who closed the month"),
			spec.Required("seq", spec.Integer(1), "number of the event that records the closing"),
			spec.Required("hash", &spec.Schema{Types: []string{"string"}, Pattern: "^[0-9a-f]{64}$"},
				"SHA-256 of the month's trial balance by effective date"), spec.Required("rows", spec.Integer(0), "number of rows of that trial balance"),
		)},
	}
}

// authorWords returns the API's words for the kinds of authors of events.
func authorWords() (words []string) {
	for _, kind := range ledger.AuthorKinds() {
		words = append(words, kind.String())
	}
	return words
}

func kindWords(kinds []ledger.Kind) (words []string) {
	for _, kind := range kinds {
		words = append(words, kind.Word())
	}
	return words
}

// administrationWords returns a list for use in a sentence, with the words for all kinds of records that belong to the
// administration.
func administrationWords() string {
	administration := slices.DeleteFunc(ledger.Kinds(), func(k ledger.Kind) bool { return !k.IsAdministration() })
	return "`" + strings.Join(kindWords(administration), "`, `") + "`"
}
