package operations

import (
	"slices"

	"mizan/actors/notifier"
	"mizan/api/description/spec"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
)

// webhooks returns the declarations of the requests that the service sends to merchants.
func webhooks() (hooks []spec.Webhook) {
	origin := []spec.Parameter{
		spec.InHeader("x-request-id", spec.UUID(),
			"The `x-request-id` of the response to the request that caused the event, for your logs. Absent if no request caused the event (for example, a renewal), and if the server was restarted since then."),
		spec.InHeader("traceparent", spec.Text(), "The trace (W3C Trace Context) of the request that caused the event, if that request had a valid `traceparent` or the service records traces."),
	}
	signed := slices.Concat([]spec.Parameter{
		spec.InHeader("x-webhook-event-id", spec.UUID(),
			"The event's id, for your logs. The signature does not cover it: recognize repetitions by the `event_id` in the body."+withoutSecret),
		spec.InHeader("x-webhook-timestamp", &spec.Schema{Types: []string{"string"}, Pattern: "^[0-9]+$"},
			"When the envelope (the body) of this attempt was built, in Unix seconds. Refuse an envelope whose time differs from yours by more than five minutes."+withoutSecret),
		spec.InHeader("x-webhook-signature", hexadecimal(), "The HMAC-SHA256 of `<timestamp>.<body>` with the secret as key."+withoutSecret),
		spec.InHeader("x-webhook-signature-previous", hexadecimal(), "The same signature, but with the previous secret as key; sent while the secret is being replaced."),
	}, origin)
	answers := []spec.Answer{
		{Status: 2, Text: "An acknowledgement, if it comes within 15 seconds. The body is ignored."},
		{Status: 0, Text: "A failed attempt, which is repeated after 30 s, 2 min, 10 min, 1 h and 6 h. Redirects are not followed, and no status stops the retries."},
	}
	for _, status := range payment.Machine.States() {
		if status == payment.Absent {
			continue
		}
		h := spec.Webhook{Name: "transaction." + string(status), Tag: tagWebhooks, Summary: notified[status], Headers: signed,
			Body: envelope("transaction."+string(status), spec.Words(status)), Answers: answers}
		if !payment.NotifiedByDefault(status) {
			h.Text = "Sent only if the terminal's `notify_statuses` selects this status."
		}
		if status == payment.Charged {
			h.Example = exampleEnvelope
		}
		hooks = append(hooks, h)
	}
	hooks = append(hooks, spec.Webhook{Name: notifier.TestType, Tag: tagWebhooks, Summary: "A test notification, which is about no transaction", Headers: signed, Answers: answers,
		Text: "Sent by `POST /api/v1/terminal/{id}/test-delivery`. It is signed like all others, and neither repeated nor stored.",
		Body: spec.OpenObject(append(envelopeMembers(notifier.TestType), spec.Required("data", spec.OpenObject(), ""))...)})
	return append(hooks, subscriptionHooks(origin, answers)...)
}

// withoutSecret ends the descriptions of headers that are sent only if the notification is signed.
const withoutSecret = " Absent if no secret is set."

// notified maps each status of a transaction to a summary of the notification about that status.
var notified = map[payment.Status]string{
	payment.ActionRequired:   "The payer has to act: 3-D Secure, a one-time password, a page to visit",
	payment.PaymentHeld:      "A payment is authorised and its money held, until you commit or cancel",
	payment.PayoutHeld:       "A payout is authorised and its money held, until you commit or cancel",
	payment.Charged:          "The transaction is settled",
	payment.Rejected:         "The transaction was refused",
	payment.Failed:           "The transaction failed, or was cancelled before it settled",
	payment.Reversed:         "The provider has taken settled money back",
	payment.Refunding:        "A refund is under way",
	payment.Refunded:         "A refund is complete",
	payment.Created:          "The transaction exists, and no money has moved",
	payment.New:              "A terminal was found for the transaction, or another terminal after a refusal",
	payment.Authorizing:      "The transaction's provider is being called",
	payment.Charging:         "The provider is processing it and has not reported the outcome",
	payment.PreAuthorized3DS: "A state that some providers pass through",
	payment.AuthRequired:     "A state that some providers pass through",
	payment.Unknown:          "A state that some providers pass through",
	payment.Cancelled:        "A state that some providers pass through",
}

func hexadecimal() *spec.Schema {
	return &spec.Schema{Types: []string{"string"}, Pattern: "^[0-9a-f]{64}$"}
}

// envelopeMembers returns the members that every signed notification has, except data.
func envelopeMembers(kind string) []spec.Member {
	return []spec.Member{
		spec.Required("event_id", spec.UUID(), "the same in every attempt and unique to the event: use it to recognize repetitions"),
		spec.Required("timestamp", spec.Integer(0), "when the envelope (the body) of this attempt was built, in Unix seconds"), spec.Required("type", spec.Words(kind), "what happened"),
	}
}

// envelope returns the schema for the body of a notification about a transaction.
func envelope(kind string, status *spec.Schema) *spec.Schema {
	return spec.OpenObject(append(envelopeMembers(kind), spec.Required("data", spec.OpenObject(
		spec.Required("type", transactionType(), "`payment` or `payout`"), spec.Required("txid", spec.Nullable(spec.Text()), "your own id; null if it has none"),
		spec.Required("id", spec.UUID(), "id of the transaction"),
		spec.Required("amount", spec.Positive(), "minor units"), spec.Required("amount_dest", spec.Amount(), "the amount after deducted fees and a conversion"),
		spec.Required("amount_with_fee", spec.Amount(), "the amount with fees that are charged on top"),
		spec.Required("status", status, "the status"), spec.Required("error_description", spec.Text(), "why the transaction did not succeed; empty on success"),
		spec.Required("error_code", failureCode(), "why the transaction did not succeed, as a code; null on success"),
		spec.Required("merchant_meta", spec.OpenObject(), "the object that you sent, and keys of the provider"),
	), "the transaction as it was at the event"))...)
}

const exampleEnvelope = `{"event_id":"01a066c4-364b-41c8-b2d4-5e6f708192a3","timestamp":1788430530,"type":"transaction.charged","data":{"type":"payment","txid":"order-1042","id":"f0b6ac47-fb98-4496-b1aa-601a0f5d967b","amount":"1000","amount_dest":"1000","amount_with_fee":"1000","status":"charged","error_description":"","error_code":null,"merchant_meta":{"basket":"A-17","buyer":"Zoë"}}}`

// subscriptionHooks returns the webhooks that notify merchants about subscriptions. These notifications are not signed.
func subscriptionHooks(headers []spec.Parameter, answers []spec.Answer) (hooks []spec.Webhook) {
	summaries := map[subscription.Event]string{
		subscription.Renewed: "A renewal is paid", subscription.Unpaid: "An attempt at a renewal was not paid",
		subscription.Pause:  "The subscription is paused, by you or after the last attempt",
		subscription.Resume: "The subscription is resumed", subscription.Cancel: "The subscription is cancelled",
	}
	for _, event := range subscription.Machine.Events() {
		name, isNotified := event.NotificationName()
		if !isNotified {
			continue
		}
		hooks = append(hooks, spec.Webhook{
			Name: name, Tag: tagWebhooks, Summary: summaries[event], Headers: headers, Answers: answers,
			Text: "Sent to the same address, without a signature: treat it as a hint, and read the subscription with your API key before you change anything.",
			Body: spec.OpenObject(
				spec.Required("event", spec.Words(name), "what happened"), spec.Required("timestamp", spec.Instant(), "when the event happened, the same in every attempt"),
				spec.Required("subscription", spec.OpenObject(
					spec.Required("id", spec.UUID(), "id of the subscription"), spec.Required("status", spec.Words(subscription.Statuses()...), "the status"),
					spec.Required("amount", spec.AmountAsNumber(), "minor units, a JSON number here"), spec.Required("currency", spec.Text(), "currency code"),
					spec.Required("network", spec.Text(), "network of the currency; empty if the currency has none"),
					spec.Required("env", envName(), "environment"), spec.Required("period_days", spec.Integer(1), "days between renewals"),
					spec.Required("next_renewal_at", spec.Nullable(spec.Instant()), "when the next renewal is due; null if no renewal follows by itself"),
					spec.Required("renewals", spec.Integer(0), "number of paid renewals"),
					spec.Required("last_transaction_id", spec.Nullable(spec.UUID()), "the transaction of the last renewal"),
				), "the subscription as it was at the event"),
				spec.Required("partner_id", spec.Integer(1), "number of the partner"), spec.Required("initial_payment_id", spec.UUID(), "id of the initial payment"),
				spec.Required("metadata", spec.OpenObject(), "the object that you sent"),
			),
		})
	}
	return hooks
}
