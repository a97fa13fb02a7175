package admin

import (
	"mizan/actors/notifier"
	paymentactor "mizan/actors/payment"
	subscriptionactor "mizan/actors/subscription"
	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/ledger/schema"
	"mizan/posting"
)

// appendDelivery writes a delivery as a row of a list, with the number of its attempts.
func appendDelivery(e *schema.Encoder, org ledger.ID, d *notifier.Delivery) {
	appendDeliveryHead(e, org, d)
	e.Integer("attempts", int64(len(d.Attempts)))
	appendDeliveryEnd(e, d)
}

// appendWholeDelivery writes a delivery with each of its attempts.
func appendWholeDelivery(e *schema.Encoder, org ledger.ID, d *notifier.Delivery) {
	appendDeliveryHead(e, org, d)
	e.OpenField("attempts", '[')
	for i := range d.Attempts {
		e.Open('{')
		e.Instant("at", d.Attempts[i].At)
		appendOutcome(e, &d.Attempts[i])
		e.Close('}')
	}
	e.Close(']')
	appendDeliveryEnd(e, d)
}

func appendDeliveryHead(e *schema.Encoder, org ledger.ID, d *notifier.Delivery) {
	e.ID("event_id", notifier.EventID(org, d.ID))
	if d.Source.Kind == ledger.Transaction {
		e.ID("transaction_id", d.Source.ID)
	} else {
		e.Null("transaction_id")
	}
	if d.Source.Kind == ledger.Subscription {
		e.ID("subscription_id", d.Source.ID)
	}
	e.ID("terminal_id", d.To)
	e.Word("channel", d.Channel.String())
	e.TextOrNull("type", deliveredType(d))
	e.Word("state", d.State.String())
}

func appendDeliveryEnd(e *schema.Encoder, d *notifier.Delivery) {
	if d.State == notifier.Pending {
		e.Instant("next_at", d.Next)
	} else {
		e.Null("next_at")
	}
	e.Instant("booked_at", d.Booked)
}

// appendOutcome writes the outcome of an attempt: the HTTP status or null, and the reason why
// the notification was not acknowledged, or null.
func appendOutcome(e *schema.Encoder, a *notifier.Attempt) {
	if a.Status == 0 {
		e.Null("status")
	} else {
		e.Integer("status", int64(a.Status))
	}
	e.TextOrNull("error", a.Failure)
	e.Integer("duration_ms", a.Took)
}

// deliveredType returns the notification's type, or its event or subject if it has no type;
// empty if the stored notification can't be read.
func deliveredType(d *notifier.Delivery) string {
	switch d.Channel {
	case posting.Webhook:
		if status, err := paymentactor.NoticeStatus(d.Body()); err == nil {
			return "transaction." + string(status)
		}
	case posting.Stream:
		if event, _, err := subscriptionactor.DecodeNotice(d.Body()); err == nil {
			name, _ := event.NotificationName()
			return name
		}
	case posting.Operators, posting.Bulletin:
		if m, err := alerts.ReadMessage(d.Body()); err == nil {
			return string(m.Kind)
		}
	}
	return ""
}
