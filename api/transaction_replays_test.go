package api_test

import "testing"

// A request that is repeated with its idempotency key gets the first response, even if the transaction
// has changed since.
func TestIdempotencyKeyReplaysTheFirstResponse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := paymentBody(`"amount":"1250","currency":"USD","txid":"r-1"`)
	createCaller := f.partner().with("idempotency-key", "create")
	first := createCaller.post(transactions, body).want(201, "")
	refundCaller := f.partner().with("idempotency-key", "refund")
	refund := func(c caller) *response {
		return c.do("PUT", transactions+"/"+first.at("id"), `{"params":{"type":"refund","amount":"100"}}`)
	}
	firstRefund := refund(refundCaller).want(200, "").wantStatus("refunded", "")
	refund(f.partner()).want(200, "")
	if now := f.partner().get(transactions + "/" + first.at("id")); now.at("refunded_amount") != "200" {
		t.Fatalf("%s", now.body)
	}
	if r := createCaller.post(transactions, body).want(201, first.body); !r.isReplay() {
		t.Errorf("%v", r.header)
	}
	if r := refund(refundCaller).want(200, firstRefund.body); !r.isReplay() {
		t.Errorf("%v", r.header)
	}
	// Without the key, the txid identifies the repetition, which gets the transaction's current state.
	if r := f.partner().post(transactions, body).want(201, ""); r.at("status") != "refunded" || r.at("refunded_amount") != "200" {
		t.Errorf("%s", r.body)
	}
}

func TestCachedReplySurvivesARestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := paymentBody(`"amount":"1250","currency":"USD"`)
	keyed := f.partner().with("idempotency-key", "k")
	first := keyed.post(transactions, body).want(201, "")
	f.changeTransaction(first.at("id"), `"type":"refund"`).want(200, "")
	f.restart()
	f.partner().with("idempotency-key", "k").post(transactions, body).want(201, first.body)
}

func TestCardNumberInTheWrongFieldIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, body := range []string{
		`{"params":{"type":"payment","amount":"1","money_storage":{"type":"4242424242424242"}}}`,
		`{"params":{"type":"payment","amount":"1","currency":"4242 4242 4242 4242"}}`,
		`{"params":{"type":"payment","amount":"1","currency":4242424242424242}}`,
	} {
		r := f.partner().post(transactions, body).want(422, "")
		if want := "[redacted]"; r.at("errors.0.detail")[len(r.at("errors.0.detail"))-len(want):] != want {
			t.Errorf("%s: %s", body, r.body)
		}
	}
}

func TestCustomerFieldsMustBeStrings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.partner().post(transactions, `{"params":{"type":"payment","amount":"1","customer":{"email":5,"phone":[],"name":"N","x":1}}}`).want(422,
		`{"errors":[{"code":"invalid","detail":"email must be a string","field":"customer.email"},{"code":"invalid","detail":"phone must be a string","field":"customer.phone"}]}`)
}
