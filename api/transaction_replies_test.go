package api_test

import "testing"

// A repetition with a key gets the first answer, whatever the transaction's current state.
func TestIdempotencyKeyReplaysTheFirstResponse(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	body := paymentBody(`"amount":"1250","currency":"USD","txid":"r-1"`)
	keyed := h.partner().with("idempotency-key", "create")
	first := keyed.post(transactions, body).want(201, "")
	again := h.partner().with("idempotency-key", "refund")
	change := func(c caller) *answer {
		return c.do("PUT", transactions+"/"+first.at("id"), `{"params":{"type":"refund","amount":"100"}}`)
	}
	part := change(again).want(200, "").wantStatus("refunded", "")
	change(h.partner()).want(200, "")
	if now := h.partner().get(transactions + "/" + first.at("id")); now.at("refunded_amount") != "200" {
		t.Fatalf("%s", now.body)
	}
	if a := keyed.post(transactions, body).want(201, first.body); !a.isReplay() {
		t.Errorf("%v", a.header)
	}
	if a := change(again).want(200, part.body); !a.isReplay() {
		t.Errorf("%v", a.header)
	}
	// A repetition with the txid gets the transaction's current state.
	if a := h.partner().post(transactions, body).want(201, ""); a.at("status") != "refunded" || a.at("refunded_amount") != "200" {
		t.Errorf("%s", a.body)
	}
}

func TestCachedReplySurvivesARestart(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	body := paymentBody(`"amount":"1250","currency":"USD"`)
	keyed := h.partner().with("idempotency-key", "k")
	first := keyed.post(transactions, body).want(201, "")
	h.change(first.at("id"), `"type":"refund"`).want(200, "")
	h.restart()
	h.partner().with("idempotency-key", "k").post(transactions, body).want(201, first.body)
}

// A card number in the wrong member is not repeated in the answer.
func TestCardNumberInTheWrongFieldIsNotRepeated(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, body := range []string{
		`{"params":{"type":"payment","amount":"1","money_storage":{"type":"4242424242424242"}}}`,
		`{"params":{"type":"payment","amount":"1","currency":"4242 4242 4242 4242"}}`,
		`{"params":{"type":"payment","amount":"1","currency":4242424242424242}}`,
	} {
		a := h.partner().post(transactions, body).want(422, "")
		if want := "[redacted]"; a.at("errors.0.detail")[len(a.at("errors.0.detail"))-len(want):] != want {
			t.Errorf("%s: %s", body, a.body)
		}
	}
}

func TestCustomerFieldsMustBeStrings(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.partner().post(transactions, `{"params":{"type":"payment","amount":"1","customer":{"email":5,"phone":[],"name":"N","x":1}}}`).want(422,
		`{"errors":[{"code":"invalid","detail":"email must be a string","field":"customer.email"},{"code":"invalid","detail":"phone must be a string","field":"customer.phone"}]}`)
}
