package operations

import (
	paymentactor "mizan/actors/payment"
	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/ledger"
)

// platformOperations returns the operations for backups, for the clock of the sandbox, for health checks, and for notifications
// from providers.
func platformOperations() []spec.Operation {
	clock := spec.Object(spec.Required("now", spec.Instant(), "the clock's time"))
	state := spec.Object(spec.Required("status", spec.Words("ok", "starting", "stopping", "cut_off", "low_space"), "`ok` if the server accepts commands; `cut_off`: a node of a cluster that leads no shard and has heard from no leader for 5 s"))
	health := spec.Object(
		spec.Required("core_status", spec.Words("ok", "starting", "stopping"), "`ok`: all due work is scheduled"),
		spec.Required("db_status", spec.Words("ok", "low_space"), "`low_space`: the disk is nearly full, and commands are refused"),
		spec.Required("appversion", spec.Text(), "version of the program"), spec.Required("env", spec.Words("sandbox", "production"), "a sandbox moves no money"),
		spec.Required("domain", spec.Text(), "host of the server's own address"),
	)
	retry := []spec.Header{{Name: "retry-after", Schema: spec.Integer(1), Text: "The number of seconds after which to ask again.", Required: true}}
	unready := func(s *spec.Schema, text string) []spec.Answer {
		return []spec.Answer{{Status: 200, Schema: s}, {Status: 503, Schema: s, Text: text, Headers: retry}}
	}
	return []spec.Operation{{
		ID: "takeBackup", Method: "POST", Path: v1 + "/backups", Tag: tagPlatform, Summary: "Take a backup", PlatformWide: true,
		Body: spec.JSON(spec.Object(spec.Optional("since", spec.Nullable(spec.OpenObject(
			spec.Required("id", spec.Text(), "id of the earlier backup"), spec.Required("group", spec.Integer(1), "number of the last group of rows that the earlier backup contains"),
			spec.Required("group_hash", spec.Text(), "hash of that group"),
			spec.Required("depth", spec.Integer(1), "number of backups that a restore of the earlier backup needs, including itself; 1 if it is a full backup"),
		)), "an earlier backup, with the values in its header; the new backup then has only the rows that were written since that backup"))),
		Answers: []spec.Answer{{Status: 200, Media: "application/octet-stream",
			Text:    "The encrypted backup, of unknown length. A backup without its end mark is incomplete.",
			Headers: []spec.Header{{Name: "x-estimated-bytes", Schema: spec.Integer(1), Text: "About how many bytes the backup will have."}}}},
		Refusals: []spec.Refusal{
			{Code: ledger.Invalid, When: "`since` names no earlier state of this store, or the body has another field"},
			{Code: ledger.Conflict, When: "another backup is being taken"},
			{Code: ledger.Unavailable, When: "the disk is nearly full, or the server is stopping"},
			{Code: web.VersionNotSupported, When: "the request came over HTTP/1.0, which cannot transfer a response in chunks"},
		},
	}, {
		ID: "getSystem", Method: "GET", Path: v1 + "/system", Tag: tagPlatform, Summary: "Read figures of the process and its store", PlatformWide: true,
		Answers: ok(spec.Data(systemSchema())), Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "the query has a parameter"}}, Examples: []spec.Example{{}},
	}, {
		ID: "listCircuits", Method: "GET", Path: v1 + "/circuits", Tag: tagTerminals, Summary: "List the circuit breakers of terminals",
		Answers: ok(spec.Data(spec.List(spec.Object(
			spec.Required("terminal_id", spec.UUID(), "the terminal"), spec.Required("name", spec.Text(), "name of the terminal"),
			spec.Required("partner_id", spec.Integer(1), "number of the partner"), spec.Required("provider", spec.Text(), "provider of the terminal"),
			spec.Required("state", spec.Words(paymentactor.CircuitStates...), "`closed`: the terminal gets charges; `open`: the terminal is skipped; `half_open`: the terminal's next charge tests whether the provider answers again"),
			spec.Required("failures", spec.Integer(0), "number of consecutive charges that the provider did not answer"),
		)))),
		Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "the query has a parameter"}}, Examples: []spec.Example{{}},
	}, {
		ID: "search", Method: "GET", Path: v1 + "/search", Tag: tagOrganizations, Summary: "Find records by what identifies them",
		Parameters: []spec.Parameter{spec.InQuery("q", &spec.Schema{Types: []string{"string"}, MinLength: 1, MaxLength: 200},
			"An id, a partner's number, a login, an e-mail address, a part of a name, the beginning of an API key, a txid, an rrn, a provider's reference or the last four digits of a card.").AsRequired()},
		Answers: ok(spec.Data(spec.Object(
			spec.Required("hits", spec.List(spec.Object(
				spec.Required("kind", spec.Words("partner", "terminal", "api_key", "user", "limit", "blocklist_entry", "rate", "settlement", "transaction",
					"subscription", "link", "product", "contract", "delivery"), "kind of the record"), spec.Required("id", spec.Text(), "id of the record; for a partner, the partner's number"),
				spec.Required("name", spec.Nullable(spec.Text()), "name, login or txid; null if the search does not read it"),
				spec.Required("partner_id", spec.Nullable(spec.Integer(1)), "number of the partner; null if the search does not read it, or if there is none"),
				spec.Required("field", spec.Text(), "the field in which the text was found"),
			)), "at most 50 records"),
			spec.Required("complete", spec.Bool(), "false if there may be more records: because the response is full, because the index of transactions is behind under heavy load, or because very many transactions would have to be compared"),
		))),
		Examples: []spec.Example{{Query: "q=tea-shop"}},
	}, {
		ID: "getClock", Method: "GET", Path: v1 + "/sandbox/clock", Tag: tagPlatform, Summary: "Read the sandbox's clock", PlatformWide: true,
		Answers: ok(clock), Examples: []spec.Example{{}},
	}, {
		ID: "moveClock", Method: "PUT", Path: v1 + "/sandbox/clock", Tag: tagPlatform, Summary: "Move the sandbox's clock", PlatformWide: true,
		Body: spec.JSON(spec.OpenObject(
			spec.Optional("now", spec.Nullable(spec.Instant()), "the new time; a request has either `now` or `advance_seconds`"),
			spec.Optional("advance_seconds", spec.Nullable(spec.Integer(0)), "by how many seconds the clock is advanced"),
		)),
		Answers: ok(clock), Refusals: []spec.Refusal{{Code: ledger.Invalid}, {Code: ledger.Conflict, When: "the new time is before the clock's present time: the clock never moves back"}},
		Examples: []spec.Example{{Body: `{"advance_seconds":60}`}},
	}, {
		ID: "receiveProviderNotification", Method: "POST", Path: v1 + "/terminal/{id}/notifications", Tag: tagTerminals,
		Summary: "Report a change at the provider",
		Parameters: []spec.Parameter{
			spec.InPath("id", spec.Text(), "The id of the terminal."),
			spec.InHeader("x-webhook-timestamp", spec.Text(), "The time in Unix seconds. It may differ from the server's time by at most five minutes.").AsRequired(),
			spec.InHeader("x-webhook-signature", spec.Text(),
				"HMAC-SHA256 over `<timestamp>.<body>` with the terminal's `webhook_secret`, in hexadecimal digits.").AsRequired(),
			spec.InHeader("x-webhook-event-id", spec.Text(), "The `event_id` of the body.").AsRequired(),
		},
		Body: spec.JSON(spec.OpenObject(
			spec.Required("event_id", spec.TextUpTo(255), "id of the event"), spec.Optional("data", spec.Anything(), "the transaction at the provider; its `txid` is the transaction's id on this server"),
		)),
		Answers: ok(spec.Data(spec.Object())), Refusals: []spec.Refusal{{Code: ledger.Unauthorized,
			When: "the signature or the terminal is wrong, or the time differs by more than five minutes"},
			{Code: ledger.Invalid, When: "the body has no `event_id`"}},
	}, {
		ID: "receiveStripeEvent", Method: "POST", Path: v1 + "/providers/stripe/{id}", Tag: tagTerminals,
		Summary: "Receive an event of Stripe (the webhook of a terminal of provider `stripe`)",
		Parameters: []spec.Parameter{
			spec.InPath("id", spec.Text(), "The id of the terminal."),
			spec.InHeader("Stripe-Signature", spec.Text(),
				"Stripe's signature `t=…,v1=…` with the terminal's `webhook_secret`. Its time may differ from the real time by at most five minutes.").AsRequired(),
		},
		Body: spec.JSON(spec.OpenObject(
			spec.Required("id", spec.Text(), "id of the event"), spec.Required("type", spec.Text(), "type of the event"),
			spec.Required("data", spec.Anything(), "the object that has changed; only its references are used"),
		)),
		Answers: ok(spec.Data(spec.Object())), Refusals: []spec.Refusal{{Code: web.BadRequest,
			When: "the signature or the terminal is wrong, the signature's time differs by more than five minutes, or the body is no event"},
			{Code: ledger.Unavailable, When: "Stripe was not asked what the event is about"}},
	}, {
		ID: "getHealth", Method: "GET", Path: v1 + "/health", Tag: tagChecks, Summary: "Check the service and its disk",
		Answers: unready(health, "The service is starting or stopping."), Examples: []spec.Example{{}},
	}, {
		ID: "getLiveness", Method: "GET", Path: "/livez", Tag: tagChecks, Summary: "Check that the process responds", Answers: ok(state),
		Examples: []spec.Example{{}},
	}, {
		ID: "getReadiness", Method: "GET", Path: "/readyz", Tag: tagChecks, Summary: "Check that commands are accepted",
		Answers: unready(state, "The service is starting or stopping, or it refuses commands because the disk is nearly full."), Examples: []spec.Example{{}},
	}}
}

// systemSchema returns the schema for the response to GET /system.
func systemSchema() *spec.Schema {
	figure := func(name, text string) spec.Member { return spec.Required(name, spec.Integer(0), text) }
	mayBeUnknown := func(name, text string) spec.Member { return spec.Required(name, spec.Nullable(spec.Integer(0)), text) }
	return spec.Object(
		spec.Required("version", spec.Text(), "version of the program"), spec.Required("env", spec.Words("sandbox", "production"), "a sandbox moves no money"),
		spec.Required("status", spec.Words("ok", "starting", "stopping", "cut_off", "low_space"), "`ok` if the server accepts commands; `cut_off`: a node of a cluster that leads no shard and has heard from no leader for 5 s"),
		spec.Required("started_at", spec.Instant(), "when the process started, in real time"),
		spec.Required("store", spec.Object(
			figure("bytes", "size of the store"), figure("unverified_bytes", "bytes of long values that were not compared with their checksums since the start"),
			figure("lag_groups", "groups that a start would replay from the log"), figure("lag_bytes", "bytes of these groups"),
			figure("compactions_waiting", "compactions that wait for disk space or file handles"),
		), "the store"),
		spec.Required("log", spec.Object(figure("bytes", "size of the log"), figure("segments", "segments of the log that have groups")), "the log of groups"),
		spec.Required("queue", spec.Object(
			figure("depth", "changes that wait for the writer"), figure("groups", "groups made durable since the start"), figure("changes", "changes answered since the start"),
			figure("refused", "commands that were refused since the start because the queue was full or the disk nearly full"), figure("provider_calls", "calls of providers in progress"),
		), "the writer and its queue"),
		spec.Required("backups", spec.Object(
			mayBeUnknown("every_seconds", "how often the server takes a backup; null if it takes none by itself"),
			spec.Required("last_success_at", spec.Nullable(spec.Instant()), "when the newest backup of the schedule was complete; null if there is none"),
			mayBeUnknown("last_bytes", "size of that backup; null if an earlier process took it"), mayBeUnknown("last_seconds", "how long that backup took; null if an earlier process took it"),
			figure("succeeded", "backups of the schedule since the start"), figure("failed", "backups of the schedule that failed since the start"),
		), "the backups"),
		spec.Required("deliveries", spec.List(spec.Object(
			spec.Required("receivers", spec.Words("merchants", "operators", "payers"), "who receives the deliveries"), spec.Required("state", spec.Words("pending", "parked"), "`pending`: waiting for another attempt; `parked`: given up"),
			figure("count", "number of deliveries"), figure("oldest_seconds", "age of the oldest event among these deliveries"),
		)), "deliveries that failed or were postponed"),
	)
}

// descriptionOperations returns the operations that serve the OpenAPI document, the pages of the reference, and the start page.
func descriptionOperations() []spec.Operation {
	tag := spec.Header{Name: "etag", Schema: spec.Text(), Text: "A value that changes with the content.", Required: true}
	file := func(id, path, media, summary string) spec.Operation {
		return spec.Operation{ID: id, Method: "GET", Path: path, Tag: tagChecks, Summary: summary,
			Parameters: []spec.Parameter{spec.InHeader("if-none-match", spec.Text(), "An earlier `etag`.")},
			Answers: []spec.Answer{{Status: 200, Media: media, Headers: []spec.Header{tag}},
				{Status: 304, Text: "The content still has this `etag`.", Headers: []spec.Header{tag}}},
		}
	}
	page := file("getReferencePage", "/docs/{page}", spec.PageMedia, "Read a page of the reference")
	page.Parameters = append([]spec.Parameter{spec.InPath("page", spec.Text(), "The name of a group of operations, such as `transactions`, or `errors`.")},
		page.Parameters...)
	page.Answers = append(page.Answers, spec.Answer{Status: 404, Media: spec.PageMedia, Text: "There is no such page."})
	search := spec.Operation{ID: "searchReference", Method: "GET", Path: "/docs/search", Tag: tagChecks, Summary: "Search the reference",
		Parameters: []spec.Parameter{spec.InQuery("q", spec.Text(), "The words to look for.")},
		Answers:    []spec.Answer{{Status: 200, Media: spec.PageMedia}}}
	index, start := file("getReference", "/docs", spec.PageMedia, "Read the reference in a browser"), file("getStartPage", "/", spec.PageMedia,
		"Find the reference and the console")
	return []spec.Operation{
		file("getOpenAPI", "/openapi.json", "application/json", "Read this description as JSON"),
		file("getOpenAPIYAML", "/openapi.yaml", "application/yaml", "Read this description as YAML"), index, search, page, start,
	}
}
