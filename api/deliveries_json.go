package api

import (
	"mizan/actors/notifier"
	paymentactor "mizan/actors/payment"
	subscriptionactor "mizan/actors/subscription"
	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/posting"
)

// appendDelivery writes a delivery as a row of a list, where attempts are a number.
func appendDelivery(e *encoder, org ledger.ID, d *notifier.Delivery) {
	appendDeliveryHead(e, org, d)
	e.integer("attempts", int64(len(d.Attempts)))
	appendDeliveryEnd(e, d)
}

// appendWholeDelivery writes a delivery with each of its attempts.
func appendWholeDelivery(e *encoder, org ledger.ID, d *notifier.Delivery) {
	appendDeliveryHead(e, org, d)
	e.enter("attempts", '[')
	for i := range d.Attempts {
		e.open('{')
		e.instant("at", d.Attempts[i].At)
		appendOutcome(e, &d.Attempts[i])
		e.close('}')
	}
	e.close(']')
	appendDeliveryEnd(e, d)
}

func appendDeliveryHead(e *encoder, org ledger.ID, d *notifier.Delivery) {
	e.id("event_id", notifier.EventID(org, d.ID))
	if d.Source.Kind == ledger.Transaction {
		e.id("transaction_id", d.Source.ID)
	} else {
		e.null("transaction_id")
	}
	if d.Source.Kind == ledger.Subscription {
		e.id("subscription_id", d.Source.ID)
	}
	e.id("terminal_id", d.To)
	e.word("channel", d.Channel.String())
	e.textOrNull("type", deliveredType(d))
	e.word("state", d.State.String())
}

func appendDeliveryEnd(e *encoder, d *notifier.Delivery) {
	if d.State == notifier.Pending {
		e.instant("next_at", d.Next)
	} else {
		e.null("next_at")
	}
	e.instant("booked_at", d.Booked)
}

// appendOutcome writes what became of an attempt: the status that was answered, or
// null, and why that is no acknowledgement, or null.
func appendOutcome(e *encoder, a *notifier.Attempt) {
	if a.Status == 0 {
		e.null("status")
	} else {
		e.integer("status", int64(a.Status))
	}
	e.textOrNull("error", a.Failure)
	e.integer("duration_ms", a.Took)
}

// deliveredType is what is sent as the notification's type, or is its event or its
// subject where it has none; empty if what is stored of it can't be read.
func deliveredType(d *notifier.Delivery) string {
	switch d.Channel {
	case posting.Webhook:
		if status, err := paymentactor.NoticeStatus(d.Body()); err == nil {
			return "transaction." + string(status)
		}
	case posting.Stream:
		if event, _, err := subscriptionactor.DecodeNotice(d.Body()); err == nil {
			name, _ := event.Told()
			return name
		}
	case posting.Operators, posting.Bulletin:
		if m, err := alerts.ReadMessage(d.Body()); err == nil {
			return string(m.Kind)
		}
	}
	return ""
}
