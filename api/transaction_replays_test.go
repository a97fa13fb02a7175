package api_test

import "testing"

// A repetition with a key gets the first response, even if the transaction's state has changed.
func TestIdempotencyKeyReplaysTheFirstResponse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := paymentBody(`"amount":"1250","currency":"USD","txid":"r-1"`)
	keyed := f.partner().with("idempotency-key", "create")
	first := keyed.post(transactions, body).want(201, "")
	withKey := f.partner().with("idempotency-key", "refund")
	change := func(c caller) *response {
		return c.do("PUT", transactions+"/"+first.at("id"), `{"params":{"type":"refund","amount":"100"}}`)
	}
	part := change(withKey).want(200, "").wantStatus("refunded", "")
	change(f.partner()).want(200, "")
	if now := f.partner().get(transactions + "/" + first.at("id")); now.at("refunded_amount") != "200" {
		t.Fatalf("%s", now.body)
	}
	if r := keyed.post(transactions, body).want(201, first.body); !r.isReplay() {
		t.Errorf("%v", r.header)
	}
	if r := change(withKey).want(200, part.body); !r.isReplay() {
		t.Errorf("%v", r.header)
	}
	// A repetition with the txid gets the transaction's current state.
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

// A card number in the wrong member is not repeated in the response.
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
