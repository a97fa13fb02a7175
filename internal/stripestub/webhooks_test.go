package stripestub

import (
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"
)

// The receiver is Stripe's own code, which accepts signatures of the last five minutes.
func TestSignaturesOfEvents(t *testing.T) {
	f := start(t, Options{})
	address, types := receiver(t, "whsec_right")
	hook := f.AddWebhook(address, "whsec_right", nil, "payment_intent.succeeded")
	f.pay("pm_card_visa", "1000", "usd", "r1")
	events := hook.Pending()
	if len(events) != 1 || len(*types) != 0 {
		t.Fatalf("pending %v, delivered %v", events, *types)
	}
	now := time.Now()
	for name, c := range map[string]struct {
		signing Signing
		want    int
	}{
		"right":             {Signing{}, 200},
		"right, again":      {Signing{}, 200},
		"wrong secret":      {Signing{Secret: "whsec_wrong"}, 400},
		"four minutes old":  {Signing{At: now.Add(-4 * time.Minute)}, 200},
		"six minutes old":   {Signing{At: now.Add(-6 * time.Minute)}, 400},
		"none":              {Signing{Header: "-"}, 400},
		"malformed":         {Signing{Header: "t=1"}, 400},
		"of another body":   {Signing{Header: Sign([]byte("{}"), "whsec_right", now)}, 400},
		"second of several": {Signing{Header: "v0=ab,v1=cd," + Sign(events[0].Body, "whsec_right", now)}, 200},
	} {
		if d := hook.Send(events[0], c.signing); d.Status != c.want || d.Err != nil {
			t.Errorf("%s: %d %s %v, want %d", name, d.Status, d.Body, d.Err, c.want)
		}
	}
	if len(hook.Pending()) != 0 {
		t.Error("an accepted event is still pending")
	}
}

// An event that the receiver has not accepted stays pending; events can come late, doubled and in any order.
func TestDeliveryIsUpToTheTest(t *testing.T) {
	f := start(t, Options{})
	address, types := receiver(t, "whsec_1")
	hook := f.AddWebhook(address, "whsec_2", nil, "payment_intent.*")
	f.pay("pm_card_visa", "1000", "usd", "r1")
	for _, d := range hook.Deliver() {
		if d.Status != 400 {
			t.Errorf("%s: %d", d.Event.Type, d.Status)
		}
	}
	hook.Secret = "whsec_1"
	f.advance(72 * time.Hour)
	deliveries := hook.DeliverReversed()
	hook.Send(deliveries[0].Event, Signing{})
	if got := strings.Join(*types, " "); got != "payment_intent.succeeded payment_intent.created payment_intent.succeeded" {
		t.Errorf("delivered %s", got)
	}
	if _, err := webhook.ConstructEvent(deliveries[0].Event.Body, Sign(deliveries[0].Event.Body, "s", time.Now()), "s"); err != nil {
		t.Error(err)
	}
	unreachable := f.AddWebhook("http://127.0.0.1:1/", "whsec_1", nil)
	f.pay("pm_card_visa", "1000", "usd", "r2")
	if d := unreachable.Deliver()[0]; d.Err == nil || d.Status != 0 {
		t.Errorf("delivered %+v", d)
	}
}

// docs.stripe.com/api/events/types: what each change emits. An event has the object as it was then.
func TestEventsOfChanges(t *testing.T) {
	f := start(t, Options{})
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { f.pay("pm_card_visa", "1000", "usd", "r1") }, "payment_intent.created charge.succeeded payment_intent.succeeded"},
		{f.Settle, "charge.updated"},
		{func() { f.post(intentsPath, paymentForm+"pm_card_visa_chargeDeclined") }, "payment_intent.created charge.failed payment_intent.payment_failed"},
		{func() { f.intentIn(requiresAction) }, "payment_intent.created payment_intent.requires_action"},
		{func() { f.intentIn(requiresCapture) }, "payment_intent.created charge.succeeded payment_intent.amount_capturable_updated"},
		{func() { f.post(intentsPath+"/"+f.id("/v1/charges", "")+"/x", "") }, ""},
		{func() { f.intentIn(canceled) }, "payment_intent.created payment_intent.canceled"},
		{func() { f.pay("pm_card_refundFail", "1000", "usd", "r2") }, "payment_intent.created charge.succeeded payment_intent.succeeded"},
		{func() { f.post("/v1/refunds", "charge="+f.id("/v1/charges", "")) }, "refund.created charge.refunded"},
		{f.Settle, "charge.updated refund.failed refund.updated charge.refund.updated"},
		{func() { f.pay("pm_card_bypassPending", "9000", "usd", "r3"); f.Settle() }, "payment_intent.created charge.succeeded payment_intent.succeeded charge.updated"},
		{func() { f.post("/v1/payouts", "amount=100&currency=usd"); f.Settle() }, "payout.created payout.paid"},
		{func() {
			id := must[string](t)(f.OpenDispute(f.id("/v1/charges", ""), "fraudulent"))
			if err := f.CloseDispute(id, true); err != nil {
				t.Error(err)
			}
		}, "charge.dispute.created charge.dispute.funds_withdrawn charge.dispute.funds_reinstated charge.dispute.closed"},
	} {
		before := len(f.Events())
		c.do()
		var types []string
		for _, e := range f.Events()[before:] {
			types = append(types, e.Type)
		}
		if got := strings.Join(types, " "); got != c.want {
			t.Errorf("events %q, want %q", got, c.want)
		}
	}
	f.get("/v1/events", "type=charge.refunded").expect(200, "data.0.data.object.refunded", true, "data.1", nil)
	f.get("/v1/events", "types[]=payout.paid&types[]=payout.created&limit=1").expect(200, "data.0.type", "payout.paid", "has_more", true)
	created := f.get("/v1/events", "type=payment_intent.created&limit=100")
	if got := created.at("data.0.request.id"); got == nil {
		t.Error("the event does not name its request")
	}
}
