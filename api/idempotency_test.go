package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// keyed returns the caller with an Idempotency-Key in its requests.
func (c caller) keyed(key string) caller { return c.with("idempotency-key", key) }

// isReplay tells whether a response repeats an earlier one.
func (r *response) isReplay() bool { return r.header.Get("x-idempotent-replay") == "true" }

const keyConflict = `{"error":"conflict","message":"the idempotency key was used for another request"}`

func TestKeyMakesACreateIdempotent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := paymentBody(`"amount":"100","currency":"USD"`)
	first := f.partner().keyed("k-1").post(transactions, body).want(201, "")
	again := f.partner().keyed("k-1").post(transactions, body).want(201, first.body)
	if first.isReplay() || !again.isReplay() || again.header.Get("location") != transactions+"/"+first.at("id") || again.header.Get("x-idempotent-mismatch") != "" {
		t.Errorf("%v\n%v", first.header, again.header)
	}
	if other := f.partner().keyed("k-2").post(transactions, body).want(201, ""); other.isReplay() || other.at("id") == first.at("id") {
		t.Errorf("another key is another create: %s", other.body)
	}
	if other := f.partner().keyed("K-1").post(transactions, body).want(201, ""); other.isReplay() {
		t.Error("keys are case-sensitive")
	}
}

// A repeated create request of a hosted payment gets the transaction's current state, in the form of the response to a create
// request.
func TestHostedCreateReplayShowsTheCurrentState(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const body = `{"params":{"env":"test","type":"payment","amount":"1250","currency":"USD","hosted":true}}`
	first := f.partner().keyed("k").post(transactions, body).want(201, "")
	if again := f.partner().keyed("k").post(transactions, body).want(201, withoutAddress(first)); !again.isReplay() {
		t.Error("no replay")
	}
}

func TestKeyBelongsToOneRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.partner().keyed("k").post(transactions, paymentBody(`"amount":"100","currency":"USD"`)).want(201, "")
	for _, body := range []string{
		paymentBody(`"amount":"101","currency":"USD"`), paymentBody(`"amount":"100", "currency":"USD"`), paymentBody(`"amount":"100","currency":"USD","txid":"t"`),
	} {
		f.partner().keyed("k").post(transactions, body).want(409, keyConflict)
	}
	// The key is refused for a request with another method and path, too.
	f.partner().keyed("k").put(transactions+"/"+transaction.at("id"), `{"params":{"type":"refund"}}`).want(409, keyConflict)
	f.transaction(transaction.at("id")).want(200, transaction.body)
}

// Partners do not share idempotency keys, even within an organization.
func TestKeyBelongsToOnePartner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	otherPartner := f.otherPartner()
	ids := map[string]bool{}
	for _, c := range []caller{f.partner(), otherPartner, f.second()} {
		transaction := c.keyed("k").post(transactions, paymentBody(`"amount":"100","currency":"USD"`)).want(201, "")
		if transaction.isReplay() {
			t.Errorf("a replay: %s", transaction.body)
		}
		ids[transaction.at("id")] = true
	}
	if len(ids) != 3 {
		t.Errorf("%d transactions", len(ids))
	}
	// A different request by another partner is no conflict either.
	otherPartner.keyed("k2").post(transactions, paymentBody(`"amount":"1","currency":"USD"`)).want(201, "")
	f.partner().keyed("k2").post(transactions, paymentBody(`"amount":"2","currency":"USD"`)).want(201, "")
}

// A refused request has created nothing, so its key can be used for another request.
func TestRefusedRequestLeavesItsKeyFree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.partner().keyed("k").post(transactions, paymentBody(`"amount":"0","currency":"USD"`)).want(422, "")
	transaction := f.partner().keyed("k").post(transactions, paymentBody(`"amount":"1250","currency":"USD"`)).want(201, "")
	path := transactions + "/" + transaction.at("id")
	f.partner().keyed("r").put(path, `{"params":{"type":"refund","amount":"1251"}}`).want(422, "")
	f.partner().keyed("r").put(path, `{"params":{"type":"refund","amount":"1250"}}`).want(200, "").wantStatus("refunded", "")
}

func TestEveryOperationTakesAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	charged, charging := f.charge(good), f.charge("4000000000000077")
	unconfirmed, hosted := f.charge("4000002500003155"), f.createHosted("")
	payout := f.payout1250(`{"type":"sepa"}`)
	f.setTerminalParams("payment", `{"two_phase":true}`)
	heldPayment := f.charge(good)
	for name, c := range map[string]struct{ method, path, body string }{
		"refund":   {"PUT", transactions + "/" + charged.at("id"), `{"params":{"type":"refund","amount":"400"}}`},
		"cancel":   {"PUT", transactions + "/" + charging.at("id"), `{"params":{"type":"cancel"}}`},
		"commit":   {"POST", operation("commit", heldPayment.at("id")), `{"params":{"amount":"400"}}`},
		"continue": {"POST", operation("continue", hosted.at("id")), `{` + goodCard + `}`},
		"complete": {"POST", operation("additional_params_for_auth", unconfirmed.at("id")), `{"params":{"otp":"123456"}}`},
		"choose":   {"POST", operation("choose_target_destination", payout.at("id")), `{"target_bank_id":"` + payout.at("availble_destinations.0.target_bank_id") + `"}`},
	} {
		first := f.partner().keyed(name).do(c.method, c.path, c.body).want(200, "")
		again := f.partner().keyed(name).do(c.method, c.path, c.body).want(200, first.body)
		if first.isReplay() || !again.isReplay() {
			t.Errorf("%s: %v\n%v", name, first.header, again.header)
		}
		f.partner().keyed(name).do(c.method, c.path, " "+c.body).want(409, keyConflict)
		f.partner().keyed(strings.Repeat("k", 256)).do(c.method, c.path, c.body).want(422, "")
	}
	if got := f.transaction(charged.at("id")).at("refunded_amount"); got != "400" {
		t.Errorf("refunded %s, want 400 once", got)
	}
}

func TestIdempotencyKeyHasABoundedLength(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const refusal = `{"errors":[{"code":"invalid","detail":"Idempotency-Key must be sent once, with 1 to 255 printable characters","field":"Idempotency-Key"}]}`
	body := paymentBody(`"amount":"100","currency":"USD"`)
	before := f.auditor().get("/api/v1/ledger/head").at("data.tree_size")
	for _, bad := range []string{strings.Repeat("k", 256), strings.Repeat("ж", 256), "a\u00adb", "a\u200bb", "\xff", "a\xc3"} {
		f.partner().keyed(bad).post(transactions, body).want(422, refusal)
	}
	for _, headers := range []string{"Idempotency-Key:\r\n", "Idempotency-Key: a\r\nIdempotency-Key: a\r\n", "Idempotency-Key: a\r\nidempotency-key: b\r\n"} {
		c := f.partner().headers
		request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nX-Api-Key: %s\r\nX-Organization-Id: %s\r\n%sContent-Length: %d\r\n\r\n%s",
			transactions, c["x-api-key"], c["x-organization-id"], headers, len(body), body)
		responses, _ := f.raw(request, 1)
		responses[0].want(422, refusal)
	}
	if after := f.auditor().get("/api/v1/ledger/head").at("data.tree_size"); after != before {
		t.Errorf("something was stored: %s events, were %s", after, before)
	}
	for _, key := range []string{"k", strings.Repeat("k", 255), strings.Repeat("ж", 255), "two words / ~!{}"} {
		first := f.partner().keyed(key).post(transactions, body).want(201, "")
		if again := f.partner().keyed(key).post(transactions, body).want(201, first.body); !again.isReplay() {
			t.Errorf("%q: no replay", key)
		}
	}
}

func TestConcurrentRequestsWithOneKeyMakeOneTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sendConcurrently := func(send func() *response) {
		t.Helper()
		responses := make([]*response, 16)
		var wg sync.WaitGroup
		for i := range responses {
			wg.Go(func() { responses[i] = send() })
		}
		wg.Wait()
		executions := 0
		for _, r := range responses {
			if r.want(responses[0].status, responses[0].body); !r.isReplay() {
				executions++
			}
		}
		if executions != 1 {
			t.Errorf("%d responses are no replays, want 1", executions)
		}
	}
	sendConcurrently(func() *response {
		return f.partner().keyed("create").post(transactions, paymentBody(`"amount":"100","currency":"USD"`))
	})
	transaction := f.charge(good)
	sendConcurrently(func() *response {
		return f.partner().keyed("refund").put(transactions+"/"+transaction.at("id"), `{"params":{"type":"refund","amount":"100"}}`)
	})
	if got := f.transaction(transaction.at("id")).at("refunded_amount"); got != "100" {
		t.Errorf("refunded %s, want 100 once", got)
	}
}

// A repeated create request finds its transaction by the idempotency key or by the txid.
func TestTxidAndKeyBothFindTheTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := paymentBody(`"amount":"100","currency":"USD","txid":"t-1"`)
	first := f.partner().keyed("k").post(transactions, body).want(201, "")
	if again := f.partner().keyed("k").post(transactions, body).want(201, first.body); !again.isReplay() {
		t.Error("by the key: no replay")
	}
	if again := f.partner().post(transactions, body).want(201, first.body); !again.isReplay() {
		t.Error("by the txid: no replay")
	}
	if again := f.partner().keyed("k-2").post(transactions, body).want(201, first.body); !again.isReplay() {
		t.Error("another key, the same txid: no replay")
	}
}
