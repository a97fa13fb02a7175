package operations

import (
	"mizan/api/description/spec"
	"mizan/ledger"
	"mizan/ledger/subscription"
)

const subscriptions = v1 + "/subscriptions"

func subscriptionOperations() []spec.Operation {
	id := spec.InPath("id", spec.UUID(), "The id of the subscription.")
	shown := spec.Data(spec.Ref("Subscription"))
	change := func(operationID, name, summary, conflict string, examples ...spec.Example) spec.Operation {
		return spec.Operation{
			ID: operationID, Method: "POST", Path: subscriptions + "/{id}/" + name, Tag: tagSubscriptions, Summary: summary,
			Parameters: []spec.Parameter{id}, Body: spec.OptionalJSON(spec.OpenObject()), Answers: ok(shown),
			Refusals: []spec.Refusal{{Code: ledger.NotFound}, {Code: ledger.Conflict, When: conflict}}, Examples: examples,
		}
	}
	of := map[string]string{"id": "$subscription"}
	return []spec.Operation{{
		ID: "createSubscription", Method: "POST", Path: subscriptions, Tag: tagSubscriptions, Summary: "Create a subscription",
		Body: spec.JSON(spec.OpenObject(spec.Required("params", spec.OpenObject(
			spec.Required("initial_payment_id", spec.UUID(), "a payment of yours that was made by card, is `charged`, and left a token with which the card can be charged again"),
			spec.Required("amount", spec.Positive(), "amount of each renewal in minor units, in the currency, network and env of the initial payment"),
			spec.Required("period_days", spec.IntegerUpTo(1, subscription.MaxPeriodDays), "days of 24 hours between renewals"),
			spec.Optional("metadata", spec.Nullable(spec.OpenObject()), "an object of yours of at most 8192 bytes"),
		), ""))),
		Answers:  created(shown, locationHeader),
		Refusals: []spec.Refusal{{Code: ledger.Invalid}},
		Examples: []spec.Example{{Body: `{"params":{"initial_payment_id":"$initial","amount":"999","period_days":30,"metadata":{"plan":"gold"}}}`,
			Keep: map[string]string{"subscription": "data.id"},
			Setup: []spec.Request{{As: "partner", Method: "POST", Path: transactions, Body: cardPayment("plan-7", "999"),
				Keep: map[string]string{"initial": "id"}}}}},
	}, {
		ID: "listSubscriptions", Method: "GET", Path: subscriptions, Tag: tagSubscriptions, Summary: "List subscriptions",
		Parameters: []spec.Parameter{envParameter, spec.InQuery("status", spec.Words(subscription.Statuses()...), "Only this status."),
			limitParameter(20, 100), cursorParameter},
		Answers:  ok(spec.Page(spec.Ref("Subscription"), "created_at")),
		Examples: []spec.Example{{Query: "env=test"}},
	}, {
		ID: "getSubscription", Method: "GET", Path: subscriptions + "/{id}", Tag: tagSubscriptions, Summary: "Read a subscription",
		Parameters: []spec.Parameter{id}, Answers: ok(shown), Refusals: []spec.Refusal{{Code: ledger.NotFound}}, Examples: []spec.Example{{Path: of}},
	},
		change("pauseSubscription", "pause", "Pause a subscription", "the subscription is already paused, or it is cancelled", spec.Example{Path: of}),
		change("resumeSubscription", "resume", "Resume a subscription", "the subscription is not paused, or its renewal was tried 255 times", spec.Example{Path: of}),
		change("cancelSubscription", "cancel", "Cancel a subscription", "the subscription is already cancelled", spec.Example{Path: of}),
	}
}

func subscriptionSchemas() []spec.Component {
	return []spec.Component{{Name: "Subscription", Schema: spec.Object(
		spec.Required("id", spec.UUID(), "id of the subscription"),
		spec.Required("status", spec.Words(subscription.Statuses()...),
			"`active`; `past_due`: the last renewal was not paid and is tried again; `paused`; `cancelled`"),
		spec.Required("initial_payment_id", spec.UUID(), "the payment that you named when you created the subscription; it never changes"),
		spec.Required("amount", spec.Positive(), "amount of each renewal in minor units; it never changes"),
		spec.Required("currency", spec.Text(), "currency of the initial payment"),
		spec.Required("network", spec.Text(), "network of the initial payment; empty if it has none"),
		spec.Required("env", envName(), "environment of the initial payment"),
		spec.Required("period_days", spec.IntegerUpTo(1, subscription.MaxPeriodDays), "days of 24 hours between renewals; it never changes"),
		spec.Required("next_renewal_at", spec.Nullable(spec.Instant()),
			"when the next charge is due. After that time the charge waits until the partner and the organization are active. Null while the subscription is paused or cancelled, and while a renewal is under way"),
		spec.Required("renewals", spec.Integer(0), "number of paid renewals"),
		spec.Required("failed_attempts", spec.Integer(0), "number of consecutive failed attempts at the renewal that is due"),
		spec.Required("last_transaction_id", spec.Nullable(spec.UUID()), "the transaction of the renewal that was started last; null before the first"),
		spec.Required("metadata", spec.OpenObject(), "the object that you sent"),
		spec.Required("created_at", spec.Instant(), "when it was created"),
	)}}
}
