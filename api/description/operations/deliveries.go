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
			spec.InQuery("transaction_id", spec.UUID(), "Only deliveries about this transaction."), spec.InQuery("terminal_id", spec.UUID(), "Only deliveries to this terminal."),
			spec.InQuery("state", deliveryStates(), "Only deliveries in this state."),
			spec.InQuery("from", spec.Instant(), "Only deliveries of events that were booked at this time or later."), spec.InQuery("to", spec.Instant(), "Only deliveries of events that were booked at this time or earlier."),
			limitParameter(50, web.ListMax), cursorParameter,
		},
		Answers: ok(spec.Page(spec.Ref("ListedDelivery"), "event_id")),
		Examples: []spec.Example{{Query: "transaction_id=$notified", Setup: []spec.Request{
			{As: "admin", Method: "PATCH", Path: v1 + "/partners/1", Body: `{"notify_url":"http://127.0.0.1:9/hook","secret":"whsec-example"}`},
			{As: "partner", Method: "POST", Path: transactions, Body: cardPayment("order-1050", "1000"), Keep: map[string]string{"notified": "id"}},
			{As: "admin", Method: "GET", Path: deliveries + "?transaction_id=$notified",
				Keep: map[string]string{"event": "data.0.event_id", "hook": "data.0.terminal_id"}},
		}}},
	}, {
		ID: "replayParked", Method: "POST", Path: deliveries + "/replay", Tag: tagDeliveries, Summary: "Replay a terminal's parked deliveries",
		Body: spec.Record(spec.OpenObject(
			spec.Required("terminal_id", spec.UUID(), "the terminal, or the UUID that stands for a partner without a terminal"),
			spec.Optional("from", spec.Nullable(spec.Instant()), "only deliveries of events that were booked at this time or later"),
			spec.Optional("to", spec.Nullable(spec.Instant()), "only deliveries of events that were booked at this time or earlier"),
		)),
		Answers:  ok(spec.Data(spec.Object(spec.Required("replayed", spec.Integer(0), "number of deliveries that are tried again")))),
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
		Answers: ok(spec.Data(spec.Object(append([]spec.Member{spec.Required("event_id", spec.UUID(), "id of the event"),
			spec.Required("delivered", spec.Bool(), "whether the receiver acknowledged the notification")}, outcome()...)...))),
		Refusals: []spec.Refusal{unknown, {Code: ledger.Invalid, When: "neither the terminal nor its partner has a `notify_url`, and no stream of notifications is open"},
			{Code: ledger.Unavailable, When: "16 test notifications are under way"}},
		Examples: []spec.Example{{Path: map[string]string{"id": "$hook"}}},
	}, streamOperation()}
}

// streamOperation returns the operation with which a caller receives notifications as a stream.
func streamOperation() spec.Operation {
	return spec.Operation{
		ID: "streamNotifications", Method: "GET", Path: v1 + "/notifications/stream", Tag: tagDeliveries, Summary: "Receive notifications as they happen",
		Parameters: []spec.Parameter{spec.InQuery("stream_id", spec.UUID(), "The `stream_id` of a stream that broke off. The new stream continues it, with the same secret.")},
		Answers:    []spec.Answer{{Status: 200, Media: "text/event-stream", Text: "Server-sent events, until the stream ends."}},
		Refusals: []spec.Refusal{
			{Code: ledger.Unavailable, When: "the organization has 8 open streams, or the server has 64"},
			{Code: web.VersionNotSupported, When: "the request came over HTTP/1.0, which cannot transfer a response in chunks"},
		},
	}
}

func deliverySchemas() []spec.Component {
	attempt := spec.Object(append([]spec.Member{spec.Required("at", spec.Instant(), "when the attempt's envelope (the body that was sent) was built")},
		outcome()...)...)
	return []spec.Component{
		{Name: "ListedDelivery", Schema: delivery(spec.Required("attempts", spec.Integer(0), "number of attempts"))},
		{Name: "Delivery", Schema: delivery(spec.Required("attempts", spec.List(attempt), "the attempts; the last 48 are kept"))},
	}
}

// outcome returns the members that say how an attempt to deliver a notification ended.
func outcome() []spec.Member {
	return []spec.Member{
		spec.Required("status", spec.Nullable(spec.Type("integer")), "the status of the receiver's response; null if there was no response"),
		spec.Required("error", spec.Nullable(spec.Text()), "why the attempt was not acknowledged; null if it was acknowledged"),
		spec.Required("duration_ms", spec.Integer(0), "how long the attempt took"),
	}
}

func delivery(attempts spec.Member) *spec.Schema {
	return spec.Object(
		spec.Required("event_id", spec.UUID(), "id of the event as it was sent, which is the same in each attempt"),
		spec.Required("transaction_id", spec.Nullable(spec.UUID()), "the transaction that the delivery is about; null if it is about no transaction"),
		spec.Optional("subscription_id", spec.UUID(), "the subscription, if the delivery is about one"),
		spec.Required("terminal_id", spec.UUID(), "the terminal whose address or recipients get the delivery; for a receipt, the terminal of the transaction; for a partner without a terminal, a UUID that stands for the partner"),
		spec.Required("channel", channels(), "`webhook`: a signed notification to a merchant; `stream`: a notification of the subscription stream to a merchant; `operators`: a message to operators about a transaction, by Telegram and e-mail; `receipt`: a receipt to a payer, by e-mail; `bulletin`: a message to operators that is about no transaction, by Telegram and e-mail"),
		spec.Required("type", spec.Nullable(spec.Text()), "the type as it was sent: to merchants, for example `transaction.charged` or `subscription.renewed`; to operators, `large_transaction`, `negative_revenue`, `large_transaction+negative_revenue` (both at once), `failed_transactions` or `daily_summary`; to payers, `receipt`"),
		spec.Required("state", deliveryStates(), "`pending`: an attempt follows or is under way; `delivered`: an attempt was acknowledged; `parked`: the server has given up"),
		attempts,
		spec.Required("next_at", spec.Nullable(spec.Instant()), "when the next attempt takes place; null unless the delivery is pending"),
		spec.Required("booked_at", spec.Nullable(spec.Instant()), "when the reported event happened"),
	)
}

func deliveryStates() *spec.Schema {
	return spec.Words(notifier.Pending.String(), notifier.Delivered.String(), notifier.Parked.String())
}

func channels() *spec.Schema {
	return spec.Words(posting.Webhook.String(), posting.Stream.String(), posting.OperatorAlert.String(), posting.PayerReceipt.String(), posting.OperatorBulletin.String())
}
