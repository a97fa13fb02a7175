package stripestub

import "testing"

// declines is docs.stripe.com/testing, "Declined payments": the error code and decline code of each number.
var declines = map[string][2]any{
	"4000000000000002": {"card_declined", "generic_decline"},
	"4000000000009995": {"card_declined", "insufficient_funds"},
	"4000000000009987": {"card_declined", "lost_card"},
	"4000000000009979": {"card_declined", "stolen_card"},
	"4000000000000069": {"expired_card", "expired_card"},
	"4000000000000127": {"incorrect_cvc", "incorrect_cvc"},
	"4000000000000119": {"processing_error", "processing_error"},
	"4000000000006975": {"card_declined", "card_velocity_exceeded"},
	"4100000000000019": {"card_declined", "fraudulent"},
	"4111111111111111": {"card_declined", "test_mode_live_card"}, // not a test card of Stripe's
}

func cardForm(number string) string {
	return "type=card&card[number]=" + number + "&card[exp_month]=12&card[exp_year]=2030&card[cvc]=123"
}

func TestDeclinedCards(t *testing.T) {
	f := start(t, Options{RawCards: true})
	for number, want := range declines {
		method := f.post("/v1/payment_methods", cardForm(number)).expect(200).id()
		id := f.post("/v1/payment_intents", "amount=1000&currency=usd&payment_method_types[]=card&metadata[reference]=r"+number).id()
		r := f.post("/v1/payment_intents/"+id+"/confirm", "payment_method="+method)
		r.expect(402, "error.type", "card_error", "error.code", want[0], "error.decline_code", want[1], "error.payment_intent.status", "requires_payment_method",
			"error.payment_intent.last_payment_error.decline_code", want[1], "error.payment_intent.payment_method", nil, "error.payment_method.id", method)
		f.get("/v1/charges/"+r.text("error.charge"), "").expect(200, "status", "failed", "paid", false, "captured", false, "failure_code", want[0])
		// The payer may try another card.
		f.post("/v1/payment_intents/"+id+"/confirm", "payment_method=pm_card_mastercard").expect(200, "status", "succeeded", "last_payment_error", nil)
		f.get("/v1/charges", "payment_intent="+id).expect(200, "data.0.status", "succeeded", "data.1.status", "failed", "data.2", nil)
	}
	f.check()
}

// docs.stripe.com/testing, "Cards by brand".
func TestBrandsOfCards(t *testing.T) {
	f := start(t, Options{RawCards: true})
	for number, brand := range map[string]string{
		"4242424242424242": "visa", "5555555555554444": "mastercard", "378282246310005": "amex", "6011111111111117": "discover",
		"3056930009020004": "diners", "3566002020360505": "jcb", "6200000000000005": "unionpay",
	} {
		method := f.post("/v1/payment_methods", cardForm(number)).expect(200, "card.brand", brand, "card.last4", number[len(number)-4:], "card.exp_year", 2030).id()
		f.pay(method, "1000", "eur", number)
	}
	f.post("/v1/payment_methods", "type=card&card[token]=tok_mastercard").expect(200, "card.brand", "mastercard")
	f.post("/v1/payment_methods", "type=card&card[token]=tok_none").expect(400, "error.code", "resource_missing")
}

func TestImpossibleCards(t *testing.T) {
	f := start(t, Options{RawCards: true})
	for form, want := range map[string][2]string{
		cardForm("4242424242424241"): {"incorrect_number", "number"},
		cardForm("1234"):             {"invalid_number", "number"},
		"type=card&card[number]=4242424242424242&card[exp_month]=13&card[exp_year]=2030":              {"invalid_expiry_month", "exp_month"},
		"type=card&card[number]=4242424242424242&card[exp_month]=8&card[exp_year]=2026":               {"invalid_expiry_month", "exp_month"}, // last month
		"type=card&card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2025":              {"invalid_expiry_year", "exp_year"},
		"type=card&card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2030&card[cvc]=12": {"invalid_cvc", "cvc"},
	} {
		f.post("/v1/payment_methods", form).expect(402, "error.type", "card_error", "error.code", want[0], "error.param", want[1])
	}
	f.post("/v1/payment_methods", "type=card&card[number]=4242424242424242&card[exp_month]=9&card[exp_year]=26").expect(200, "card.exp_year", 2026)
}

// A server may send card numbers only if Stripe has allowed it. A payer's browser, with the publishable key, always may, but it
// may do nothing else.
func TestRawCardsNeedPermission(t *testing.T) {
	f := start(t, Options{})
	r := f.post("/v1/payment_methods", cardForm("4242424242424242")).expect(402, "error.type", "invalid_request_error", "error.code", nil)
	if got := r.text("error.message"); got != rawCardText {
		t.Errorf("message %q", got)
	}
	browser := "Authorization: Bearer " + DefaultPublishableKey
	method := f.post("/v1/payment_methods", cardForm("4242424242424242"), browser).expect(200).id()
	f.pay(method, "1000", "usd", "r1")
	f.post("/v1/payment_intents", "amount=1000&currency=usd", browser).expect(401, "error.code", "secret_key_required")
	for _, q := range f.Requests() {
		if got := q.Params.Get("card[number]"); got != "" && got != "************4242" || q.Params.Get("card[cvc]") == "123" {
			t.Errorf("a card is kept: %v", q.Params)
		}
	}
}

func TestMethodWithoutCustomerIsUsedOnce(t *testing.T) {
	f := start(t, Options{})
	method := f.post("/v1/payment_methods", "type=card&card[token]=tok_visa").id()
	f.pay(method, "1000", "usd", "r1")
	f.post("/v1/payment_intents", "amount=1000&currency=usd&payment_method_types[]=card&confirm=true&payment_method="+method).expect(400, "error.type", "invalid_request_error")
	customer := f.post("/v1/customers", "").id()
	f.post("/v1/payment_methods/"+method+"/attach", "customer="+customer).expect(400)
	// A customer in the intent alone does not attach the card.
	const base = "amount=1000&currency=usd&payment_method_types[]=card&confirm=true&customer="
	method = f.post("/v1/payment_methods", "type=card&card[token]=tok_visa").id()
	f.post("/v1/payment_intents", base+customer+"&payment_method="+method).expect(200)
	f.post("/v1/payment_intents", base+customer+"&payment_method="+method).expect(400)
	method = f.post("/v1/payment_methods", "type=card&card[token]=tok_visa").id()
	f.post("/v1/payment_intents", base+customer+"&setup_future_usage=on_session&payment_method="+method).expect(200)
	f.post("/v1/payment_intents", base+customer+"&payment_method="+method).expect(200)
}

// A card that is declined cannot be attached; the card "decline after attaching" can, and its charges are declined.
func TestAttachingChecksTheCard(t *testing.T) {
	f := start(t, Options{})
	customer, other := f.post("/v1/customers", "").id(), f.post("/v1/customers", "").id()
	f.post("/v1/payment_methods/pm_card_visa_chargeDeclined/attach", "customer="+customer).expect(402, "error.code", "card_declined")
	saved := f.post("/v1/payment_methods/pm_card_chargeCustomerFail/attach", "customer="+customer).expect(200, "customer", customer).id()
	const base = "amount=1000&currency=usd&payment_method_types[]=card&confirm=true&off_session=true&payment_method="
	f.post("/v1/payment_intents", base+saved+"&customer="+customer).expect(402, "error.code", "card_declined")
	f.post("/v1/payment_intents", base+saved+"&customer="+other).expect(400, "error.param", "payment_method")
	f.post("/v1/payment_intents", base+saved).expect(400, "error.param", "payment_method")
	f.post("/v1/payment_methods/"+saved+"/attach", "customer="+other).expect(400)
	f.post("/v1/payment_methods/pm_none/attach", "customer="+customer).expect(404, "error.code", "resource_missing")
}
