package admin

import (
	"mizan/actors/notifier"
	paymentactor "mizan/actors/payment"
	subscriptionactor "mizan/actors/subscription"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/posting"
)

// deliveryJSON is a delivery (a notification with the attempts to send it) in a response. Attempts is only the
// number of attempts if the delivery is in a list, and otherwise an array of all attempts.
type deliveryJSON[A int | []attemptJSON] struct {
	Event        ledger.ID    `json:"event_id"`
	Transaction  *ledger.ID   `json:"transaction_id"`
	Subscription *ledger.ID   `json:"subscription_id,omitempty"`
	Terminal     ledger.ID    `json:"terminal_id"`
	Channel      string       `json:"channel"`
	Type         *string      `json:"type"`
	State        string       `json:"state"`
	Attempts     A            `json:"attempts"`
	Next         *web.Instant `json:"next_at"`
	Booked       web.Instant  `json:"booked_at"`
}

type attemptJSON struct {
	At web.Instant `json:"at"`
	outcomeJSON
}

// outcomeJSON is the outcome of an attempt. Status is the receiver's HTTP status, or null if there was no response. Error is
// the reason why the attempt failed, or null if it succeeded.
type outcomeJSON struct {
	Status   *int    `json:"status"`
	Error    *string `json:"error"`
	Duration int64   `json:"duration_ms"`
}

func newDeliveryJSON[A int | []attemptJSON](org ledger.ID, d *notifier.Delivery, attempts A) deliveryJSON[A] {
	r := deliveryJSON[A]{
		Event: notifier.EventID(org, d.ID), Terminal: d.To, Channel: d.Channel.String(), Type: web.NilIfEmpty(deliveredType(d)),
		State: d.State.String(), Attempts: attempts, Booked: web.Instant(d.Booked),
	}
	switch d.Source.Kind {
	case ledger.Transaction:
		r.Transaction = &d.Source.ID
	case ledger.Subscription:
		r.Subscription = &d.Source.ID
	}
	if d.State == notifier.Pending {
		r.Next = (*web.Instant)(&d.Next)
	}
	return r
}

// deliveryWithAttempts returns the response with a delivery and all its attempts.
func deliveryWithAttempts(org ledger.ID, d *notifier.Delivery) deliveryJSON[[]attemptJSON] {
	attempts := make([]attemptJSON, len(d.Attempts))
	for i := range d.Attempts {
		attempts[i] = attemptJSON{web.Instant(d.Attempts[i].At), outcomeOf(&d.Attempts[i])}
	}
	return newDeliveryJSON(org, d, attempts)
}

func outcomeOf(a *notifier.Attempt) outcomeJSON {
	r := outcomeJSON{Error: web.NilIfEmpty(a.Failure), Duration: a.Took}
	if a.Status != 0 {
		r.Status = &a.Status
	}
	return r
}

// deliveredType returns the name of what a notification is about: a transaction's new status, a subscription's event,
// the kind of a message to operators, or a receipt. If the stored notification can't be read, the name is empty.
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
	case posting.OperatorAlert, posting.OperatorBulletin:
		if m, err := alerts.ReadMessage(d.Body()); err == nil {
			return string(m.Kind)
		}
	case posting.PayerReceipt:
		return "receipt"
	}
	return ""
}
