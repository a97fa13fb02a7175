package stripe_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/stripestub"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// chargeID returns the id of the transaction's charge at Stripe.
func (f *fixture) chargeID(id ledger.ID) string {
	f.t.Helper()
	charged := f.stub.Movements(id.String()).Charged
	if len(charged) != 1 {
		f.t.Fatalf("charged %v", charged)
	}
	return charged[0].ID
}

// closeDispute opens a dispute of what is left of a charge, and closes it as lost or won.
func (f *fixture) closeDispute(id ledger.ID, isWon bool) {
	f.t.Helper()
	dispute, err := f.stub.OpenDispute(f.chargeID(id), "fraudulent")
	if err == nil {
		err = f.stub.CloseDispute(dispute, isWon)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestLostDisputeReversesTheCharge(t *testing.T) {
	f := open(t, nil)
	lost, won, partly := f.pay(goodCard, 1000), f.pay(goodCard, 1000), f.pay(goodCard, 1000)
	f.must(f.Refund(amountCommand(partly.ID, 300)))
	f.advance(time.Hour)
	f.closeDispute(lost.ID, false)
	f.closeDispute(won.ID, true)
	f.closeDispute(partly.ID, false) // of the 700 that are left
	f.advance(2 * time.Minute)
	f.want(lost.ID, payment.Reversed, payment.TakenBack)
	f.want(won.ID, payment.Charged, "")
	f.want(partly.ID, payment.Reversed, payment.TakenBack)
	f.wantAgreement()
	f.advance(time.Hour)
	f.wantAgreement()
}

func TestLostDisputeOfAPartialCaptureReversesTheCharge(t *testing.T) {
	f := hold(t)
	r := f.pay(goodCard, 1000)
	f.must(f.Commit(amountCommand(r.ID, 600)))
	f.closeDispute(r.ID, false)
	f.advance(2 * time.Minute)
	f.want(r.ID, payment.Reversed, payment.TakenBack)
	f.wantAgreement()
}

// A dispute that was lost while the service was not running is found after the start.
func TestDisputeIsFoundAfterARestart(t *testing.T) {
	f := open(t, nil)
	r := f.pay(goodCard, 1000)
	f.stop()
	f.closeDispute(r.ID, false)
	if err := f.Clock.Set(f.Clock.Now().Add(20 * 24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.Runtime.Quiesce()
	f.advance(2 * time.Minute)
	f.want(r.ID, payment.Reversed, payment.TakenBack)
}

// The ledger reverses a charge only as a whole.
func TestDisputeOfLessThanTheChargeIsLogged(t *testing.T) {
	f := open(t, nil)
	r := f.pay(goodCard, 1000)
	dispute, err := f.stub.OpenPartialDispute(f.chargeID(r.ID), 400, "fraudulent")
	if err == nil {
		err = f.stub.CloseDispute(dispute, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.advance(2 * time.Minute)
	f.want(r.ID, payment.Charged, "")
	if log := f.log.String(); !strings.Contains(log, "disputed_minor_units=400") || !strings.Contains(log, "charged_minor_units=1000") {
		t.Errorf("the log has not both amounts:\n%s", log)
	}
}

// A charge that ends at Stripe without us is found by the next poll.
func TestChangeAtStripeIsFoundByThePoll(t *testing.T) {
	f := open(t, nil)
	r := f.pay(challengeCard, 1000)
	f.advance(time.Hour / 4)
	f.authenticate(r, true)
	mark := len(f.sent())
	f.advance(time.Minute)
	f.want(r.ID, payment.Charged, "")
	f.advance(10 * time.Minute)
	if got := f.requests(mark); len(got) > 4 {
		t.Errorf("the same event has caused %q", got)
	}
}

// Our own requests cause events too, about which nothing is asked.
func TestOwnChangesAreNotInquired(t *testing.T) {
	f := open(t, nil)
	f.pay(goodCard, 1000)
	mark := len(f.sent())
	f.advance(10 * time.Minute)
	if got := f.requests(mark); len(got) != 0 {
		t.Errorf("requests %q", got)
	}
}

func TestEachAccountIsPolledInItsTime(t *testing.T) {
	f := open(t, params{"poll_seconds": 60})
	f.Runtime.Quiesce()
	polls := func() (n int) {
		for _, r := range f.stub.Requests() {
			if r.Path == "/v1/events" {
				n++
			}
		}
		return n
	}
	before := polls()
	for range 10 {
		f.advance(time.Minute)
	}
	if got := polls() - before; got != 20 { // two lists each time
		t.Errorf("%d requests in ten minutes", got)
	}
}

// A poll that fails is made up for.
func TestFailedPollIsRepeated(t *testing.T) {
	f := open(t, nil)
	r := f.pay(goodCard, 1000)
	f.advance(time.Hour)
	f.closeDispute(r.ID, false)
	f.stub.Disconnect()
	for range 3 {
		f.advance(time.Hour)
	}
	f.want(r.ID, payment.Charged, "")
	f.stub.Reconnect()
	f.advance(2 * time.Minute)
	f.advance(2 * time.Minute)
	f.want(r.ID, payment.Reversed, payment.TakenBack)
}

// More events than one page has.
func TestPollReadsEveryPage(t *testing.T) {
	f := open(t, params{"save_cards": false})
	for range 101 {
		f.closeDispute(f.pay(goodCard, 1000).ID, false)
	}
	f.advance(2 * time.Minute)
	for _, id := range f.created {
		f.want(id, payment.Reversed, payment.TakenBack)
	}
}

// A refund is sent only while its key is known at Stripe. After that the list decides, and an operator is told.
func TestRefundIsNotSentAgainAfterItsKeyIsForgotten(t *testing.T) {
	f := open(t, nil)
	r := f.pay(goodCard, 1000)
	call := &actors.Call{
		Org: org, Reference: r.ID, Operation: actors.Refund, Request: newID(), Terminal: f.terminals[0], Amount: money.FromUint64(400), Asset: usd, Method: payment.BankCard,
		ChargeState: actors.ChargeState{SubmittedSince: start, ChargedAmount: money.FromUint64(1000), Meta: r.RailMeta, RequestedAt: f.Clock.Now()},
	}
	count := func() (n int) {
		for _, request := range f.sent() {
			if request.Path == "/v1/refunds" && request.Method == "POST" {
				n++
			}
		}
		return n
	}
	f.advance(23*time.Hour - time.Second)
	f.stub.Plan(stripestub.Fault{Method: "POST", Path: "/v1/refunds", Effect: stripestub.Close})
	if o := f.submit(call); o.Verdict != payment.VerdictUnknown || count() != 1 {
		t.Fatalf("%v after %d requests", o.Verdict, count())
	}
	f.advance(time.Second)
	call.Repetition = 2
	if o := f.submit(call); o.Verdict != payment.VerdictUnknown || count() != 1 {
		t.Errorf("%v after %d requests", o.Verdict, count())
	}
	if log := f.log.String(); !strings.Contains(log, "an operator has to look at it") || !strings.Contains(log, call.Request.String()) {
		t.Errorf("the log says\n%s", log)
	}
}

// Before a refund is sent once more, the list is read.
func TestRefundIsNotMadeTwice(t *testing.T) {
	f := open(t, nil)
	r := f.pay(goodCard, 1000)
	f.stub.Plan(stripestub.Fault{Method: "POST", Path: "/v1/refunds", After: true, Effect: stripestub.Close})
	f.must(f.Refund(amountCommand(r.ID, 400)))
	f.settle()
	f.want(r.ID, payment.Refunded, "")
	if n := strings.Count(strings.Join(f.requests(0), "\n"), "POST /v1/refunds"); n != 1 {
		t.Errorf("%d requests", n)
	}
	f.wantAgreement()
}

// webhookEvent is an event that the stub delivers to the adapter directly.
func (f *fixture) deliver(e stripestub.Event, signature string, terminal *directory.Terminal) (actors.News, error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), providerDeadline)
	defer cancel()
	return f.provider.ReadNotification(ctx, terminal, &actors.Notification{Signature: signature, Body: e.Body})
}

// lastEvent returns the last event of a type.
func (f *fixture) lastEvent(kind string) stripestub.Event {
	f.t.Helper()
	events := f.stub.Events()
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Type == kind {
			return events[i]
		}
	}
	f.t.Fatalf("there is no event %s", kind)
	return stripestub.Event{}
}

func TestSignedEventNamesItsCharge(t *testing.T) {
	f := open(t, nil)
	r := f.pay(goodCard, 1000)
	f.must(f.Refund(amountCommand(r.ID, 400)))
	f.closeDispute(r.ID, false)
	for _, kind := range []string{"payment_intent.succeeded", "charge.succeeded", "charge.refunded", "refund.created", "charge.dispute.closed"} {
		e := f.lastEvent(kind)
		news, err := f.deliver(e, stripestub.Sign(e.Body, webhookSecret, time.Now()), f.terminals[0])
		if err != nil || news.ID != e.ID || len(news.References) != 1 || news.References[0] != r.ID {
			t.Errorf("%s: %+v %v", kind, news, err)
		}
	}
	e := f.lastEvent("customer.created")
	if news, err := f.deliver(e, stripestub.Sign(e.Body, webhookSecret, time.Now()), f.terminals[0]); err != nil || len(news.References) != 0 {
		t.Errorf("customer.created: %+v %v", news, err)
	}
	// Another terminal of the account has nothing to do with it.
	other := f.addTerminal(directory.PaymentTerminal, nil)
	e = f.lastEvent("charge.refunded")
	if news, err := f.deliver(e, stripestub.Sign(e.Body, webhookSecret, time.Now()), other); err != nil || len(news.References) != 0 {
		t.Errorf("another terminal: %+v %v", news, err)
	}
}

func TestEventIsRefusedUnlessStripeHasSignedItNow(t *testing.T) {
	f := open(t, nil)
	f.pay(goodCard, 1000)
	e := f.lastEvent("payment_intent.succeeded")
	right := stripestub.Sign(e.Body, webhookSecret, time.Now())
	seconds, hex, _ := strings.Cut(right, ",v1=")
	if _, err := f.deliver(e, seconds+",v1="+strings.Repeat("0", 64)+",v1="+hex+",v0=1", f.terminals[0]); err != nil {
		t.Errorf("a second signature: %v", err)
	}
	if _, err := f.deliver(e, stripestub.Sign(e.Body, webhookSecret, time.Now().Add(-5*time.Minute+5*time.Second)), f.terminals[0]); err != nil {
		t.Errorf("nearly five minutes old: %v", err)
	}
	withoutSecret := f.addTerminal(directory.PaymentTerminal, params{"webhook_secret": nil})
	changed := e
	changed.Body = append([]byte(" "), e.Body...)
	for name, refused := range map[string]struct {
		e         stripestub.Event
		signature string
		terminal  *directory.Terminal
	}{
		"no signature":         {e, "", f.terminals[0]},
		"no time":              {e, "v1=" + hex, f.terminals[0]},
		"another secret":       {e, stripestub.Sign(e.Body, "whsec_other", time.Now()), f.terminals[0]},
		"an empty secret":      {e, stripestub.Sign(e.Body, "", time.Now()), withoutSecret},
		"too old":              {e, stripestub.Sign(e.Body, webhookSecret, time.Now().Add(-5*time.Minute-5*time.Second)), f.terminals[0]},
		"too new":              {e, stripestub.Sign(e.Body, webhookSecret, time.Now().Add(5*time.Minute+5*time.Second)), f.terminals[0]},
		"another body":         {changed, right, f.terminals[0]},
		"only the old version": {e, seconds + ",v0=" + hex, f.terminals[0]},
		"a long header":        {e, right + strings.Repeat(",v1=0", 2000), f.terminals[0]},
	} {
		if _, err := f.deliver(refused.e, refused.signature, refused.terminal); !ledger.IsRefusal(err, ledger.Unauthorized) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, body := range []string{"", "{}", "[]", `{"id":7}`, `{"id":"evt_1`, `{"id":"x"}`} {
		broken := stripestub.Event{Body: []byte(body)}
		if _, err := f.deliver(broken, stripestub.Sign(broken.Body, webhookSecret, time.Now()), f.terminals[0]); !ledger.IsRefusal(err, ledger.Invalid) {
			t.Errorf("%s: %v", body, err)
		}
	}
	f.stub.Disconnect()
	e = f.lastEvent("charge.succeeded")
	if _, err := f.deliver(e, stripestub.Sign(e.Body, webhookSecret, time.Now()), f.terminals[0]); !ledger.IsRefusal(err, ledger.Unavailable) {
		t.Errorf("Stripe does not answer: %v", err)
	}
}

// A refund whose request was lost is sent once more, after the list was read; but not if the service was away for a day meanwhile. Then
// the list shows that it was not made, and it has failed.
func TestLostRefundIsSentAgainWithinADay(t *testing.T) {
	for away, want := range map[time.Duration]struct {
		requests int
		status   payment.RefundStatus
	}{time.Second: {2, payment.RefundSucceeded}, 24 * time.Hour: {1, payment.RefundFailed}} {
		f := open(t, nil)
		r := f.pay(goodCard, 1000)
		f.stub.Plan(stripestub.Fault{Method: "POST", Path: "/v1/refunds", Effect: stripestub.Close})
		f.must(f.Refund(amountCommand(r.ID, 400)))
		if err := f.Clock.Set(f.Clock.Now().Add(away)); err != nil {
			t.Fatal(err)
		}
		f.settle()
		if last := f.read(r.ID).LastRefund(); last.Status != want.status {
			t.Errorf("away for %v: the refund is %+v", away, last)
		}
		keys := make(map[string]int)
		for _, request := range f.sent() {
			if request.Path == "/v1/refunds" && request.Method == "POST" {
				keys[request.IdempotencyKey]++
			}
		}
		for key, n := range keys {
			if len(keys) != 1 || n != want.requests {
				t.Errorf("away for %v: %d keys, %s was sent %d times", away, len(keys), key, n)
			}
		}
		if isLogged := strings.Contains(f.log.String(), "an operator has to look at it"); isLogged != (want.requests == 1) {
			t.Errorf("away for %v: logged %v", away, isLogged)
		}
		f.wantAgreement()
	}
}
