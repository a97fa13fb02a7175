package stripestub

import (
	"strings"
	"testing"
	"time"
)

func TestRefundsInParts(t *testing.T) {
	f := start(t, Options{})
	id := f.pay("pm_card_visa", "1000", "usd", "r1").id()
	const refunds = "/v1/refunds"
	f.post(refunds, "").expect(400, "error.code", "parameter_missing")
	f.post(refunds, "payment_intent=pi_none").expect(400, "error.code", "resource_missing", "error.param", "payment_intent")
	f.post(refunds, "payment_intent="+f.intentIn(requiresMethod)).expect(400)
	f.post(refunds, "amount=400&metadata[reference]=a&payment_intent="+id).expect(200, "status", "succeeded", "amount", 400, "payment_intent", id)
	f.post(refunds, "amount=601&payment_intent="+id).expect(400, "error.type", "invalid_request_error", "error.param", "amount")
	f.post(refunds, "amount=0&payment_intent="+id).expect(400)
	charge := f.get("/v1/payment_intents/"+id, "expand[]=latest_charge").expect(200, "status", "succeeded", "latest_charge.amount_refunded", 400, "latest_charge.refunded", false).text("latest_charge.id")
	f.post(refunds, "metadata[reference]=b&charge="+charge).expect(200, "amount", 600)
	f.get("/v1/charges/"+charge, "").expect(200, "amount_refunded", 1000, "refunded", true)
	f.post(refunds, "amount=1&payment_intent="+id).expect(400, "error.code", "charge_already_refunded")
	f.get(refunds, "payment_intent="+id+"&limit=1").expect(200, "has_more", true, "data.0.metadata.reference", "b")
	f.check()
}

// docs.stripe.com/testing, "Refunds": a refund that succeeds and fails later, and one that is pending first.
func TestRefundsThatEndLater(t *testing.T) {
	f := start(t, Options{})
	failing, pending := f.pay("pm_card_refundFail", "1000", "usd", "r1").id(), f.pay("pm_card_pendingRefund", "1000", "usd", "r2").id()
	f.Settle()
	before := f.Balances()["usd"]
	first := f.post("/v1/refunds", "payment_intent="+failing).expect(200, "status", "succeeded").id()
	second := f.post("/v1/refunds", "payment_intent="+pending).expect(200, "status", "pending", "pending_reason", "processing").id()
	f.advance(DefaultAsyncDelay - time.Second)
	f.get("/v1/refunds/"+first, "").expect(200, "status", "succeeded")
	f.advance(time.Second)
	f.get("/v1/refunds/"+first, "expand[]=failure_balance_transaction").expect(200, "status", "failed", "failure_reason", "expired_or_canceled_card", "failure_balance_transaction.amount", 1000)
	f.get("/v1/refunds/"+second, "").expect(200, "status", "succeeded")
	if after := f.Balances()["usd"]; after.Available+after.Pending != before.Available+before.Pending-1000 {
		t.Errorf("balance %+v, before %+v", after, before)
	}
	if got := f.Movements("r1").Refunded; len(got) != 0 {
		t.Errorf("refunded %v", got)
	}
	f.post("/v1/refunds", "payment_intent="+failing).expect(200) // the money is there again
}

// With capture_method automatic_async, the default, a charge gets its balance transaction later; with automatic at once. It is
// available after two days.
func TestBalanceTransactions(t *testing.T) {
	f := start(t, Options{})
	id := f.pay("pm_card_visa", "10000", "usd", "r1").id()
	get := func() reply { return f.get("/v1/payment_intents/"+id, "expand[]=latest_charge.balance_transaction") }
	get().expect(200, "capture_method", "automatic_async", "latest_charge.balance_transaction", nil)
	f.advance(DefaultAsyncDelay)
	get().expect(200, "latest_charge.balance_transaction.amount", 10000, "latest_charge.balance_transaction.fee", 320, "latest_charge.balance_transaction.net", 9680,
		"latest_charge.balance_transaction.type", "charge", "latest_charge.balance_transaction.status", "pending")
	f.post("/v1/payment_intents", "amount=10000&currency=jpy&capture_method=automatic&payment_method_types[]=card&confirm=true&payment_method=pm_card_visa&expand[]=latest_charge.balance_transaction").
		expect(200, "latest_charge.balance_transaction.currency", "jpy")
	f.post("/v1/refunds", "amount=500&payment_intent="+id).expect(200)
	f.get("/v1/balance_transactions", "type=refund").expect(200, "data.0.amount", -500, "data.0.fee", 0, "data.0.net", -500, "data.1", nil)
	if got, want := f.Balances()["usd"], (Balance{Available: -500, Pending: 9680}); got != want {
		t.Errorf("balance %+v, want %+v", got, want)
	}
	f.advance(48 * time.Hour)
	if got, want := f.Balances()["usd"], (Balance{Available: 9180}); got != want {
		t.Errorf("balance %+v, want %+v", got, want)
	}
}

func TestPayouts(t *testing.T) {
	f := start(t, Options{})
	const payouts = "/v1/payouts"
	f.post(payouts, "amount=100&currency=usd").expect(400, "error.code", "balance_insufficient")
	f.pay("pm_card_bypassPending", "100000", "usd", "r1")
	f.pay("pm_card_visa", "100000", "usd", "r2")
	f.Settle()
	f.post(payouts, "amount=97071&currency=usd").expect(400, "error.code", "balance_insufficient") // of the second charge nothing is available
	f.post(payouts, "amount=10&currency=usd&destination=acct_x").expect(400, "error.code", "resource_missing")
	id := f.post(payouts, "amount=50000&currency=usd&metadata[reference]=p1").expect(200, "status", "pending", "arrival_date", int(startTime.Add(48*time.Hour).Unix())).id()
	f.post(payouts+"/"+id+"/cancel", "").expect(200, "status", "canceled")
	f.post(payouts+"/"+id+"/cancel", "").expect(400)
	id = f.post(payouts, "amount=97070&currency=usd&metadata[reference]=p1").expect(200).id()
	if err := f.FailPayout(id, "account_closed"); err != nil {
		t.Fatal(err)
	}
	f.get(payouts+"/"+id, "expand[]=failure_balance_transaction").expect(200, "status", "failed", "failure_code", "account_closed", "failure_balance_transaction.type", "payout_failure")
	id = f.post(payouts, "amount=97070&currency=usd&metadata[reference]=p1").expect(200).id()
	f.advance(48 * time.Hour)
	f.get(payouts+"/"+id, "").expect(200, "status", "paid")
	if err := f.FailPayout(f.id(payouts, "status=failed"), "account_closed"); err == nil {
		t.Error("a payout failed twice")
	}
	if got := f.Movements("p1").PaidOut; len(got) != 1 || got[0].ID != id || got[0].Amount != 97070 {
		t.Errorf("paid out %v", got)
	}
	f.check()
	f.ForbidPayouts(true)
	f.post(payouts, "amount=100&currency=usd").expect(400, "error.code", "payouts_not_allowed")
}

// id returns the id of the first row of a list.
func (f *fixture) id(list, query string) string { return f.get(list, query).text("data.0.id") }

// docs.stripe.com/testing, "Disputes", and docs.stripe.com/disputes: the amount and a fee are withdrawn, and the amount returns
// if the dispute is won.
func TestDisputes(t *testing.T) {
	for _, c := range []struct{ method, evidence, status string }{
		{"pm_card_createDispute", "winning_evidence", disputeWon},
		{"pm_card_createDisputeProductNotReceived", "losing_evidence", disputeLost},
		{"pm_card_createDisputeInquiry", "winning_evidence", warningClosed},
	} {
		f := start(t, Options{})
		id := f.pay(c.method, "10000", "usd", "r1").id()
		f.get("/v1/disputes", "payment_intent="+id).expect(200, "data.0", nil)
		f.Settle()
		isInquiry := c.status == warningClosed
		open := f.get("/v1/disputes", "payment_intent="+id).expect(200, "data.0.amount", 10000, "data.1", nil)
		taken := len(f.Movements("r1").Disputed)
		if isInquiry != (taken == 0) || isInquiry != (open.text("data.0.status") == warningNeedsResponse) {
			t.Errorf("%s: %d disputed, %s", c.method, taken, open.body)
		}
		if !isInquiry {
			open.expect(200, "data.0.balance_transactions.0.net", -11500, "data.0.balance_transactions.0.type", "adjustment")
			f.post("/v1/refunds", "payment_intent="+id).expect(400, "error.code", "charge_disputed")
		}
		dispute := open.text("data.0.id")
		f.post("/v1/disputes/"+dispute, "submit=true&evidence[uncategorized_text]="+c.evidence).expect(200, "evidence_details.submission_count", 1)
		f.advance(DefaultAsyncDelay)
		f.get("/v1/disputes/"+dispute, "").expect(200, "status", c.status)
		if err := f.CloseDispute(dispute, true); err == nil {
			t.Error("a dispute was closed twice")
		}
		wantBalance := map[string]int64{disputeWon: 10000 - 320 - 1500, disputeLost: -320 - 1500, warningClosed: 10000 - 320}[c.status]
		if b := f.Balances()["usd"]; b.Available+b.Pending != wantBalance {
			t.Errorf("%s: balance %+v, want %d in all", c.status, b, wantBalance)
		}
		lost := len(f.Movements("r1").Disputed)
		if (c.status == disputeLost) != (lost == 1) {
			t.Errorf("%s: %d disputed", c.status, lost)
		}
		f.check()
	}
}

// Check finds what an adapter must never do: the same reference twice.
func TestDoubleMovementsAreFound(t *testing.T) {
	const manual = "amount=1000&currency=usd&payment_method_types[]=card&confirm=true&capture_method=manual&payment_method=pm_card_visa&metadata[reference]=r1"
	for want, double := range map[string]func(f *fixture){
		"": func(f *fixture) {
			id := f.pay("pm_card_visa", "1000", "usd", "r1").id()
			f.post("/v1/refunds", "amount=100&payment_intent="+id)
			f.post("/v1/refunds", "amount=100&payment_intent="+id) // two refunds without a reference of their own
			f.pay("pm_card_visa", "1000", "usd", "")
			f.pay("pm_card_visa", "1000", "usd", "")
		},
		"r1: charged or authorized 2 times": func(f *fixture) {
			f.pay("pm_card_visa", "1000", "usd", "r1")
			f.post("/v1/payment_intents", manual).expect(200)
		},
		"a: refunded 2 times": func(f *fixture) {
			id := f.pay("pm_card_visa", "1000", "usd", "r1").id()
			f.post("/v1/refunds", "amount=100&metadata[reference]=a&payment_intent="+id)
			f.post("/v1/refunds", "amount=100&metadata[reference]=a&payment_intent="+id)
		},
		"p1: paid out 2 times": func(f *fixture) {
			f.pay("pm_card_bypassPending", "10000", "usd", "r1")
			f.Settle()
			f.post("/v1/payouts", "amount=10&currency=usd&metadata[reference]=p1")
			f.post("/v1/payouts", "amount=10&currency=usd&metadata[reference]=p1")
		},
		"but 2000 went back": func(f *fixture) {
			id := f.pay("pm_card_createDisputeInquiry", "1000", "usd", "r1").id()
			f.Settle()
			f.post("/v1/refunds", "payment_intent="+id).expect(200)
			dispute, ok := f.objects[f.id("/v1/disputes", "")].(*dispute) // no call of the API leads to this state
			if !ok {
				t.Fatal("no dispute")
			}
			f.moveDisputed(dispute, -1000, 0, "dispute")
		},
	} {
		f := start(t, Options{})
		double(f)
		switch err := f.Check(); {
		case want == "" && err != nil:
			t.Errorf("sound: %v", err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("found %v, want %q", err, want)
		}
	}
}
