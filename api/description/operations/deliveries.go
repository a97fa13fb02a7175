package operations

import (
	"mizan/actors/notifier"
	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/posting"
)

const deliveries = v1 + "/deliveries"

func deliveryOperations() []spec.Operation {
	eventID := spec.InPath("id", spec.UUID(), "The `event_id` of the delivery.")
	terminal := spec.InPath("id", spec.UUID(), "The id of the terminal.")
	whole := spec.Data(spec.Ref("Delivery"))
	unknown := spec.Refusal{Code: ledger.NotFound}
	anyBody := spec.OptionalJSON(spec.OpenObject())
	return []spec.Operation{{
		ID: "listDeliveries", Method: "GET", Path: deliveries, Tag: tagDeliveries, Summary: "List deliveries",
		Parameters: []spec.Parameter{
			spec.InQuery("transaction_id", spec.UUID(), "About this transaction."), spec.InQuery("terminal_id", spec.UUID(), "To this terminal."),
			spec.InQuery("state", deliveryStates(), "Only this state."),
			spec.InQuery("from", spec.Instant(), "Booked at this time or later."), spec.InQuery("to", spec.Instant(), "Booked at this time or before."),
			limitParameter(50, web.ListMax), cursorParameter,
		},
		Answers: ok(spec.Page(spec.Ref("ListedDelivery"), "event_id")),
		Examples: []spec.Example{{Query: "transaction_id=$notified", Before: []spec.Request{
			{As: "admin", Method: "PATCH", Path: v1 + "/partners/1", Body: `{"notify_url":"http://127.0.0.1:9/hook","secret":"whsec-example"}`},
			{As: "partner", Method: "POST", Path: transactions, Body: cardPayment("order-1050", "1000"), Keep: map[string]string{"notified": "id"}},
			{As: "admin", Method: "GET", Path: deliveries + "?transaction_id=$notified",
				Keep: map[string]string{"event": "data.0.event_id", "hook": "data.0.terminal_id"}},
		}}},
	}, {
		ID: "replayParked", Method: "POST", Path: deliveries + "/replay", Tag: tagDeliveries, Summary: "Replay a terminal's parked deliveries",
		Body: spec.Record(spec.OpenObject(
			spec.M("terminal_id", spec.UUID(), "the terminal, or the UUID that stands for a partner without one"),
			spec.Optional("from", spec.Nullable(spec.Instant()), "only what was booked at this time or later"),
			spec.Optional("to", spec.Nullable(spec.Instant()), "only what was booked at this time or before"),
		)),
		Answers:  ok(spec.Data(spec.Object(spec.M("replayed", spec.Integer(0), "number of deliveries")))),
		Refusals: []spec.Refusal{unknown, {Code: ledger.Invalid}}, Examples: []spec.Example{{Body: `{"terminal_id":"$hook"}`}},
	}, {
		ID: "getDelivery", Method: "GET", Path: deliveries + "/{id}", Tag: tagDeliveries, Summary: "Read a delivery with its attempts",
		Parameters: []spec.Parameter{eventID}, Answers: ok(whole), Refusals: []spec.Refusal{unknown},
		Examples: []spec.Example{{Path: map[string]string{"id": "$event"}}},
	}, {
		ID: "replayDelivery", Method: "POST", Path: deliveries + "/{id}/replay", Tag: tagDeliveries, Summary: "Try a delivery once more, now",
		Parameters: []spec.Parameter{eventID}, Body: anyBody, Answers: ok(whole), Refusals: []spec.Refusal{unknown, {Code: ledger.Conflict}},
		Examples: []spec.Example{{Path: map[string]string{"id": "$event"}}},
	}, {
		ID: "testDelivery", Method: "POST", Path: v1 + "/terminal/{id}/test-delivery", Tag: tagDeliveries, Summary: "Send a test notification",
		Parameters: []spec.Parameter{terminal}, Body: anyBody,
		Answers: ok(spec.Data(spec.Object(append([]spec.Member{spec.M("event_id", spec.UUID(), "id of the event"),
			spec.M("delivered", spec.Bool(), "whether it was acknowledged")}, outcome()...)...))),
		Refusals: []spec.Refusal{unknown, {Code: ledger.Invalid, When: "`notify_url`: neither the terminal nor its partner has an address, and no stream of notifications is open"},
			{Code: ledger.Unavailable, When: "16 tests are under way"}},
		Examples: []spec.Example{{Path: map[string]string{"id": "$hook"}}},
	}, streamOperation()}
}

// streamOperation returns the operation with which a caller receives notifications as a stream.
func streamOperation() spec.Operation {
	return spec.Operation{
		ID: "streamNotifications", Method: "GET", Path: v1 + "/notifications/stream", Tag: tagDeliveries, Summary: "Receive notifications as they happen",
		Parameters: []spec.Parameter{spec.InQuery("stream_id", spec.UUID(), "The `stream_id` of a stream that broke off: this one continues it, with the same secret.")},
		Answers:    []spec.Answer{{Status: 200, Media: "text/event-stream", Text: "Server-sent events, until the stream ends."}},
		Refusals: []spec.Refusal{
			{Code: ledger.Unavailable, When: "the organization has 8 streams, or the server 64"},
			{Code: web.VersionNotSupported, When: "the request came over HTTP/1.0, which has no chunks"},
		},
	}
}

func deliverySchemas() []spec.Component {
	attempt := spec.Object(append([]spec.Member{spec.M("at", spec.Instant(), "when the attempt's envelope (the body that was sent) was built")},
		outcome()...)...)
	return []spec.Component{
		{Name: "ListedDelivery", Schema: delivery(spec.M("attempts", spec.Integer(0), "number of attempts"))},
		{Name: "Delivery", Schema: delivery(spec.M("attempts", spec.List(attempt), "the attempts; the last 48 are kept"))},
	}
}

// outcome returns the members that say how an attempt to deliver a notification ended.
func outcome() []spec.Member {
	return []spec.Member{
		spec.M("status", spec.Nullable(spec.Type("integer")), "the status of the response; null without a response"),
		spec.M("error", spec.Nullable(spec.Text()), "why it was not acknowledged; null if it was"),
		spec.M("duration_ms", spec.Integer(0), "how long the attempt took"),
	}
}

func delivery(attempts spec.Member) *spec.Schema {
	return spec.Object(
		spec.M("event_id", spec.UUID(), "as sent, the same at each attempt"),
		spec.M("transaction_id", spec.Nullable(spec.UUID()), "the transaction that the delivery is about; null if it is about none"),
		spec.Optional("subscription_id", spec.UUID(), "of a delivery about a subscription"),
		spec.M("terminal_id", spec.UUID(), "the terminal whose address or recipients get it; for a receipt the transaction's terminal; for a partner without a terminal a UUID that stands for the partner"),
		spec.M("channel", channels(), "`webhook`: signed, to a merchant; `stream`: the subscription stream; `operators`: by Telegram and e-mail, about a transaction; `receipt`: by e-mail, to a payer; `bulletin`: by Telegram and e-mail, about no transaction"),
		spec.M("type", spec.Nullable(spec.Text()), "as sent: `transaction.charged`, `subscription.renewed`; to operators `large_transaction`, `negative_revenue`, `large_transaction+negative_revenue` (both at once), `failed_transactions`, `daily_summary`; to payers `receipt`"),
		spec.M("state", deliveryStates(), "`pending`: an attempt follows, or is under way; `delivered`; `parked`: given up"),
		attempts,
		spec.M("next_at", spec.Nullable(spec.Instant()), "when the next attempt takes place; null unless the delivery is pending"),
		spec.M("booked_at", spec.Nullable(spec.Instant()), "when the reported event happened"),
	)
}

func deliveryStates() *spec.Schema {
	return spec.Words(notifier.Pending.String(), notifier.Delivered.String(), notifier.Parked.String())
}

func channels() *spec.Schema {
	return spec.Words(posting.Webhook.String(), posting.Stream.String(), posting.Operators.String(), posting.PayerReceipt.String(), posting.Bulletin.String())
}
