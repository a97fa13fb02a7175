package stripestub

import (
	"strings"
	"testing"
	"time"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// intentIn returns the id of an intent in a status.
func (f *fixture) intentIn(status string) string {
	f.t.Helper()
	const intents, base = "/v1/payment_intents", "amount=1000&currency=usd&payment_method_types[]=card"
	var r reply
	switch status {
	case requiresMethod:
		r = f.post(intents, base)
	case requiresConfirmation:
		r = f.post(intents, base+"&payment_method=pm_card_visa")
	case requiresAction:
		r = f.post(intents, base+"&confirm=true&return_url=https://shop.example/back&payment_method=pm_card_authenticationRequired")
	case processing:
		f.SlowProcessing(true)
		r = f.post(intents, base+"&confirm=true&payment_method=pm_card_visa")
		f.SlowProcessing(false)
	case requiresCapture:
		r = f.post(intents, base+"&confirm=true&capture_method=manual&payment_method=pm_card_visa")
	case succeeded:
		r = f.post(intents, base+"&confirm=true&payment_method=pm_card_visa")
	case canceled:
		r = f.post(intents+"/"+f.intentIn(requiresMethod)+"/cancel", "")
	}
	return r.expect(200, "status", status).id()
}

// The grid is that of docs.stripe.com/payments/paymentintents/lifecycle and of the error messages of Stripe's API. A call that a
// status does not allow is 400 payment_intent_unexpected_state and changes nothing.
func TestStatusesAllowCalls(t *testing.T) {
	f := start(t, Options{})
	for status, want := range map[string]struct{ confirm, capture, cancel string }{
		requiresMethod:       {succeeded, "", canceled},
		requiresConfirmation: {succeeded, "", canceled},
		requiresAction:       {succeeded, "", canceled},
		processing:           {"", "", ""},
		requiresCapture:      {"", succeeded, canceled},
		succeeded:            {"", "", ""},
		canceled:             {"", "", ""},
	} {
		for call, after := range map[string]string{"confirm": want.confirm, "capture": want.capture, "cancel": want.cancel} {
			id, form := f.intentIn(status), ""
			if call == "confirm" {
				form = "payment_method=pm_card_visa"
			}
			r := f.post("/v1/payment_intents/"+id+"/"+call, form)
			if after != "" {
				r.expect(200, "status", after)
				continue
			}
			r.expect(400, "error.type", "invalid_request_error", "error.code", "payment_intent_unexpected_state", "error.payment_intent.status", status)
			f.get("/v1/payment_intents/"+id, "").expect(200, "status", status)
		}
	}
}

func TestPartialCaptureReleasesTheRest(t *testing.T) {
	f := start(t, Options{})
	id := f.intentIn(requiresCapture)
	capture := "/v1/payment_intents/" + id + "/capture"
	f.get("/v1/payment_intents/"+id, "expand[]=latest_charge").expect(200, "amount_capturable", 1000, "amount_received", 0,
		"latest_charge.captured", false, "latest_charge.status", "succeeded", "latest_charge.balance_transaction", nil)
	f.post(capture, "amount_to_capture=1001").expect(400, "error.code", "amount_too_large", "error.param", "amount_to_capture")
	f.post(capture, "amount_to_capture=400&expand[]=latest_charge").expect(200, "amount", 1000, "amount_received", 400, "amount_capturable", 0,
		"latest_charge.amount_captured", 400, "latest_charge.amount_refunded", 600, "latest_charge.refunded", false)
	f.get("/v1/refunds", "payment_intent="+id).expect(200, "data.0.amount", 600, "data.0.balance_transaction", nil, "data.1", nil)
	if got := f.Movements("").Refunded; len(got) != 0 {
		t.Errorf("refunded %v, but no money has moved back", got)
	}
	f.post("/v1/refunds", "payment_intent="+id).expect(200, "amount", 400)
}

func TestCancellationReleasesTheHold(t *testing.T) {
	f := start(t, Options{})
	id := f.intentIn(requiresCapture)
	f.post("/v1/payment_intents/"+id+"/cancel", "cancellation_reason=duplicate&expand[]=latest_charge").expect(200, "status", "canceled",
		"cancellation_reason", "duplicate", "canceled_at", int(startTime.Unix()), "amount_capturable", 0, "latest_charge.refunded", true, "latest_charge.captured", false)
	if got := f.Balances(); len(got) != 0 {
		t.Errorf("balances %v", got)
	}
}

func TestAuthorizationExpires(t *testing.T) {
	f := start(t, Options{})
	id := f.intentIn(requiresCapture)
	f.Settle()
	f.advance(7*24*time.Hour - time.Microsecond)
	f.get("/v1/payment_intents/"+id, "").expect(200, "status", "requires_capture")
	f.advance(time.Microsecond)
	f.get("/v1/payment_intents/"+id, "expand[]=latest_charge").expect(200, "status", "canceled", "cancellation_reason", "automatic", "latest_charge.refunded", true)
	f.post("/v1/payment_intents/"+id+"/capture", "").expect(400, "error.code", "payment_intent_unexpected_state")
	f.get("/v1/events", "type=charge.expired").expect(200, "data.0.data.object.captured", false)
}

// A payment that is processed slowly succeeds or is declined later.
func TestSlowPaymentEndsLater(t *testing.T) {
	f := start(t, Options{})
	f.SlowProcessing(true)
	ends := make(map[string]string)
	for method, want := range map[string]string{"pm_card_visa": succeeded, "pm_card_visa_chargeDeclined": requiresMethod} {
		id := f.post("/v1/payment_intents", "amount=1000&currency=usd&payment_method_types[]=card&confirm=true&payment_method="+method).expect(200, "status", "processing").id()
		ends[id] = want
	}
	f.advance(DefaultAsyncDelay)
	for id, want := range ends {
		r := f.get("/v1/payment_intents/"+id, "").expect(200, "status", want)
		if want == requiresMethod {
			r.expect(200, "last_payment_error.decline_code", "generic_decline")
		}
	}
}

func TestUpdateChangesMetadataInAnyStatusButTheAmountOnlyBeforehand(t *testing.T) {
	f := start(t, Options{})
	id := f.post("/v1/payment_intents", "amount=1000&currency=usd&metadata[a]=1&metadata[b]=2").expect(200).id()
	f.post("/v1/payment_intents/"+id, "amount=2000&metadata[a]=&metadata[c]=3").expect(200, "amount", 2000, "metadata.a", nil, "metadata.b", "2", "metadata.c", "3")
	f.post("/v1/payment_intents/"+id+"/confirm", "payment_method=pm_card_visa&return_url=https://shop.example/back").expect(200, "status", "succeeded", "amount_received", 2000)
	f.post("/v1/payment_intents/"+id, "metadata=").expect(200, "metadata.b", nil)
	f.post("/v1/payment_intents/"+id, "amount=3000").expect(400, "error.code", "payment_intent_unexpected_state")
}

// Without payment_method_types an intent accepts what the account has switched on, so Stripe asks for a return_url.
func TestAutomaticMethodsNeedAReturnURL(t *testing.T) {
	f := start(t, Options{})
	const base = "amount=1000&currency=usd&confirm=true&payment_method=pm_card_visa"
	f.post("/v1/payment_intents", base).expect(400, "error.param", "return_url")
	f.post("/v1/payment_intents", base+"&return_url=https://shop.example/back").expect(200, "status", "succeeded", "automatic_payment_methods.allow_redirects", "always")
	f.post("/v1/payment_intents", base+"&automatic_payment_methods[enabled]=true&automatic_payment_methods[allow_redirects]=never").expect(200, "status", "succeeded")
	f.post("/v1/payment_intents", base+"&payment_method_types[]=card").expect(200, "status", "succeeded", "automatic_payment_methods", nil)
}

func TestStatementDescriptorOfCardsIsASuffix(t *testing.T) {
	f := start(t, Options{})
	const base = "amount=1000&currency=usd&payment_method_types[]=card&confirm=true&payment_method=pm_card_visa&"
	f.post("/v1/payment_intents", base+"statement_descriptor=SHOP").expect(400, "error.param", "statement_descriptor")
	f.post("/v1/payment_intents", base+"statement_descriptor_suffix="+strings.Repeat("x", 23)).expect(400, "error.param", "statement_descriptor_suffix")
	f.post("/v1/payment_intents", base+"statement_descriptor_suffix=ORDER 7&expand[]=latest_charge").expect(200, "latest_charge.calculated_statement_descriptor", "STRIPESTUB* ORDER 7")
}

// docs.stripe.com/currencies: minimum amounts, zero-decimal and three-decimal currencies, special cases.
func TestAmountsOfCurrencies(t *testing.T) {
	f := start(t, Options{})
	for form, wantCode := range map[string]any{
		"amount=49&currency=usd": "amount_too_small", "amount=50&currency=USD": nil, "amount=99999999&currency=usd": nil,
		"amount=100000000&currency=usd": "amount_too_large", "amount=0&currency=usd": "parameter_invalid_integer", "amount=-5&currency=usd": "parameter_invalid_integer",
		"amount=50&currency=jpy": nil, "amount=49&currency=jpy": "amount_too_small", "amount=5120&currency=kwd": nil, "amount=500&currency=isk": nil,
		"amount=510&currency=isk": "invalid_charge_amount_no_decimal_compatible", "amount=510&currency=ugx": "invalid_charge_amount_no_decimal_compatible",
		"amount=17510&currency=huf": nil, "amount=x&currency=usd": "parameter_invalid_integer", "amount=&currency=usd": "parameter_invalid_integer",
	} {
		want := 400
		if wantCode == nil {
			want = 200
		}
		f.post("/v1/payment_intents", form).expect(want, "error.code", wantCode)
	}
	f.post("/v1/payment_intents", "amount=5124&currency=kwd").expect(400, "error.param", "amount")
	f.post("/v1/payment_intents", "amount=1000&currency=xyz").expect(400, "error.param", "currency")
}
