package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Tests of fields that the service adds to those of the specification's transaction: languages,
// codes, refunds, the payment method.

// languages are the languages that a create request accepts.
var languages = strings.Fields("en ru uk ar fa ur tr az kk uz id ms bn de fr es")

func TestUnsupportedLanguageIsRefused(t *testing.T) {
	merchant := newMerchant(t)
	partner := v1 + "/partners/" + merchant.number
	for _, lang := range languages {
		merchant.create(hosted("lang", lang))
		admin(t).patch(partner, params{"lang": lang}).want(200).has("data.lang", lang)
	}
	for _, lang := range []string{"", "zh", "EN", "en-GB", "english", "kaz", "e", "en ", "<b>"} {
		const detail = "must be one of en, ru, uk, ar, fa, ur, tr, az, kk, uz, id, ms, bn, de, fr, es"
		merchant.send(hosted("lang", lang)).refuses("lang", "lang "+detail)
		admin(t).patch(partner, params{"lang": lang}).refuses("lang", detail)
		admin(t).post(v1+"/partners", params{"name": "L", "login": "lang-" + merchant.number, "pass": "a temporary one", "lang": lang}).refuses("lang", detail)
	}
	admin(t).get(partner).want(200).has("data.lang", "es")
	admin(t).patch(partner, `{"lang":null}`).want(200).hasRaw("data.lang", "null")
}

// If the catalog has no text in a language, the text is English.
func TestLanguageWithoutTextsFallsBackToEnglish(t *testing.T) {
	m := newMerchant(t, "lang", "kk")
	m.create(payment(good)).has("error_description", "no terminal available", "error_code", "no_terminal", "merchant_meta.lang", "kk")
}

func TestEmptyTxidIsReturnedAsSent(t *testing.T) {
	merchant, h := newMerchantWithHook(t, `{}`)
	emptyTxID := merchant.create(payment(good, "txid", "")).hasRaw("txid", `""`)
	merchant.read(emptyTxID.at("id")).hasRaw("txid", `""`)
	merchant.get(transactions+"?env=test").want(200).hasRaw("data.0.txid", `""`)
	if data := h.wantNotified("charged of ")[0].object("data"); string(data["txid"]) != `""` {
		t.Errorf("notified as %s", data["txid"])
	}
	merchant.create(hosted("txid", "")).hasRaw("txid", `""`)
	merchant.create(payment(good)).hasRaw("txid", "null")
	merchant.create(payment(good, "txid", nil)).hasRaw("txid", "null")
	if again := merchant.create(payment(good, "txid", "")); again.at("id") == emptyTxID.at("id") {
		t.Error("a txid of nothing names a transaction")
	}
}

// errorCodes is the complete list of the values of error_code.
var errorCodes = strings.Fields(`unexpected_card return_urls_missing no_terminal insufficient_balance fee_exceeds_amount amount_out_of_range
	no_exchange_rate limit_exceeded anti_fraud card_declined insufficient_funds expired_card processing_error authentication_failed
	payer_action_expired interrupted forced_by_terminal hold_expired cancelled refund_refused`)

// wantFailure checks why a transaction did not succeed. An empty description allows any
// sentence that is not the code.
func (r *response) wantFailure(status, code, description string) *response {
	r.t.Helper()
	if !slices.Contains(errorCodes, code) {
		r.t.Fatalf("%s: %s is none of the error codes", r.called, code)
	}
	r.has("status", status, "error_code", code)
	got := r.at("error_description")
	if description != "" && got != description || strings.Contains(got, "_") && description == "" || !strings.Contains(got, " ") {
		r.t.Errorf("%s: error_description %q, want %q", r.called, got, description)
	}
	return r
}

func TestRefusalHasACodeAndADescription(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	merchant.create(payment(good)).has("status", "charged", "error_description", "").hasRaw("error_code", "null")
	merchant.create(payment(delayed)).has("status", "charging").hasRaw("error_code", "null")
	merchant.create(payment(good, "money_storage", absent)).wantFailure("rejected", "unexpected_card", "unexpected card")
	merchant.create(payment(good, "failUrl", absent)).wantFailure("rejected", "return_urls_missing", "return_url/fail_url params not specified")
	merchant.create(payment(good, "env", "prod")).wantFailure("rejected", "no_terminal", "no terminal available")
	merchant.create(payout(good, "amount", "99999999")).wantFailure("rejected", "insufficient_balance", "insufficient balance")
	merchant.create(payment(good, "amount", "1"+strings.Repeat("0", 73))).wantFailure("rejected", "amount_out_of_range", "amount out of range")
	merchant.create(payment(declined)).wantFailure("rejected", "card_declined", "")
	merchant.create(payment(noFunds)).wantFailure("rejected", "insufficient_funds", "")
	merchant.create(payment(expired)).wantFailure("rejected", "expired_card", "")
	merchant.create(payment(processing)).wantFailure("failed", "processing_error", "")
	refused := merchant.create(payment(password)).hasRaw("error_code", "null").at("id")
	merchant.submit(refused, params{"otp": "0"}).want(200).wantFailure("rejected", "authentication_failed", "")
	merchant.cancel(merchant.create(payment(delayed)).at("id")).want(200).wantFailure("failed", "cancelled", "")
	merchant.createLimit("per_transaction", "5000")
	merchant.create(payment(good, "amount", "5001")).wantFailure("rejected", "limit_exceeded", "limit exceeded: per_transaction")
	admin(t).post(v1+"/blocklist", params{"kind": "email", "value": "codes@example.com"}).want(201)
	merchant.create(payment(good, "customer", params{"email": "codes@example.com"})).wantFailure("rejected", "anti_fraud", "anti-fraud: email")

	costly := newMerchantWithTerminals(t, `{"fee_fixed":"100"}`)
	costly.create(payout(good, "amount", "10")).wantFailure("rejected", "fee_exceeds_amount", "fee exceeds amount")
	newMerchantWithTerminals(t, `{"settlement_currency":"IDR"}`).create(payment(good, "currency", "UAH")).wantFailure("rejected", "no_exchange_rate", "no exchange rate")
	newMerchantWithTerminals(t, `{"fail":"rejected"}`).create(payment(good)).wantFailure("rejected", "forced_by_terminal", "")
	newMerchantWithTerminals(t, `{"fail":"failed"}`).create(payment(good)).wantFailure("failed", "forced_by_terminal", "")
	twoPhase := newMerchantWithTerminals(t, `{"two_phase":true,"hold_ttl_seconds":60}`)
	lapsed, waiting := twoPhase.create(payment(good)).at("id"), merchant.create(payment(redirected)).at("id")
	advance(t, 1800)
	twoPhase.read(lapsed).wantFailure("failed", "hold_expired", "hold expired")
	merchant.read(waiting).wantFailure("rejected", "payer_action_expired", "payer action expired")
}

// The code is the same in every language, and the description is in the partner's language.
func TestErrorCodeIsTheSameInEveryLanguage(t *testing.T) {
	merchant := newMerchant(t, "lang", "ru")
	h := newHook(t)
	merchant.addTerminal("payment", `{}`)
	merchant.notify(0, h.merchantParams())
	merchant.create(payment(declined, "txid", "a")).has("error_code", "card_declined", "error_description", "Карта отклонена.")
	data := h.wantNotified("rejected of a")[0].object("data")
	if string(data["error_code"]) != `"card_declined"` || string(data["error_description"]) != `"Карта отклонена."` {
		t.Errorf("notified with %s and %s", data["error_code"], data["error_description"])
	}
	id := merchant.create(payment(refundRefused, "txid", "b")).at("id")
	if data = h.wantNotified("charged of b")[0].object("data"); string(data["error_code"]) != "null" {
		t.Errorf("a success is notified with the code %s", data["error_code"])
	}
	merchant.refund(id, "").want(200).has("refunds.0.error_code", "refund_refused", "refund_msg", "Провайдер отказал в возврате.")
}

func TestRefundsAreListedOldestFirst(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{"fee_bps":"1000","fee_refundable":true}`)
	id := merchant.create(payment(good)).has("refunds", absent).at("id")
	merchant.refund(id, "300").want(200)
	a := merchant.refund(id, "").want(200).has("status", "refunded", "refunds.2", absent,
		"refunds.0.amount", "300", "refunds.0.fee_amount", "30", "refunds.0.status", "succeeded",
		"refunds.1.amount", "700", "refunds.1.fee_amount", "70", "refunds.1.status", "succeeded").
		matches("refunds.0.refund_id", uuid4).matches("refunds.0.created", instant).matches("refunds.1.finished", instant).hasRaw("refunds.0.error_code", "null")
	a.has("refund_id", a.at("refunds.1.refund_id"), "refund_msg", a.at("refunds.1.msg"))
	if names := a.memberNames("refunds.0"); len(names) != 8 {
		t.Errorf("a refund has %v", names)
	}
	merchant.read(id).hasRaw("refunds", a.rawAt("refunds"))
	merchant.get(transactions+"?env=test").want(200).hasRaw("data.0.refunds", a.rawAt("refunds"))

	id = merchant.create(payment(refundRefused)).at("id")
	merchant.refund(id, "").want(200)
	a = merchant.refund(id, "10").want(200).has("status", "charged", "refunded_amount", "0", "refunds.0.amount", "1000", "refunds.0.status", "failed",
		"refunds.0.error_code", "refund_refused", "refunds.0.fee_amount", "100", "refunds.1.amount", "10", "refunds.1.status", "failed").matches("refunds.1.finished", instant)
	a.has("refund_id", a.at("refunds.1.refund_id"), "refund_msg", a.at("refunds.1.msg"))
	if msg := a.at("refund_msg"); strings.Contains(msg, "_") || !strings.Contains(msg, " ") {
		t.Errorf("refund_msg %q", msg)
	}

	id = merchant.create(payment(refundSlow)).at("id")
	merchant.refund(id, "").want(200).has("status", "refunding", "refunds.0.status", "pending").hasRaw("refunds.0.finished", "null", "refunds.0.error_code", "null")
	advance(t, 5)
	merchant.read(id).has("status", "refunded", "refunds.0.status", "succeeded").matches("refunds.0.finished", instant)
}

// A transaction stores its refunds in its record, so their number is bounded. Failed refunds are
// dropped to make room, and the last place is reserved for a refund of the whole remainder.
func TestNumberOfRefundsIsBounded(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	id := merchant.create(payment(good)).at("id")
	for range 99 {
		merchant.refund(id, "1").want(200)
	}
	merchant.refund(id, "1").want(422).has("error", "invalid_refund_amount")
	merchant.refund(id, "").want(200).has("status", "refunded", "refunded_amount", "1000", "refunds.99.amount", "901", "refunds.100", absent)

	id = merchant.create(payment(refundRefused)).at("id")
	for range 101 {
		merchant.refund(id, "1").want(200)
	}
	merchant.read(id).has("refunds.98.status", "failed", "refunds.99", absent)
}

func TestTransactionShowsThePaymentMethodAndPayer(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	customer := params{"email": "jane@example.com", "name": "Jane", "age": 7}
	for number, brand := range map[string]string{
		good: "visa", anotherGood: "mastercard", "378282246310005": "amex", "6011111111111117": "discover", "30569309025904": "diners",
		"3530111333300000": "jcb", "2200000000000004": "mir", "6200000000000005": "unionpay", "6304000000000000": "maestro",
	} {
		id := merchant.create(payment(number, "customer", customer)).has("payment_method.type", "bank_card", "payment_method.brand", brand,
			"payment_method.bin", number[:6], "payment_method.last4", number[len(number)-4:],
			"customer.email", "jane@example.com", "customer.name", "Jane", "customer.age", "7").at("id")
		merchant.read(id).has("payment_method.last4", number[len(number)-4:], "customer.name", "Jane")
	}
	merchant.create(paymentWith(params{"type": "sbp"})).hasRaw("payment_method", `{"type":"sbp"}`, "customer", "null")
	merchant.create(payment(good, "money_storage", absent)).hasRaw("payment_method", "null")
	waiting := merchant.create(hosted("customer", customer)).has("payment_method", absent, "customer", absent).at("id")
	merchant.read(waiting).has("customer.name", "Jane").hasRaw("payment_method", "null")
	merchant.continueWith(waiting, params{"money_storage": card(anotherGood)}).want(200).has("payment_method.brand", "mastercard", "payment_method.last4", "4444")
}

func TestTerminalSelectsTheNotifiedStatuses(t *testing.T) {
	merchant, h := newMerchantWithHook(t, `{"two_phase":true}`)
	merchant.notify(0, h.merchantParams("notify_statuses", []string{"charged", "authorizing"}))
	id := merchant.create(payment(good, "txid", "a")).at("id")
	h.wantNotified("authorizing of a")
	merchant.commit(id, "").want(200)
	merchant.refund(id, "").want(200)
	h.wantNotified("charged of a")

	merchant.notify(0, h.merchantParams("notify_statuses", "all"))
	id = merchant.create(payment(delayed, "txid", "b")).at("id")
	h.wantNotified("created of b", "new of b", "authorizing of b", "charging of b")
	merchant.cancel(id).want(200)
	h.wantNotified("failed of b")

	merchant.notify(0, h.merchantParams("notify_statuses", []string{}))
	merchant.create(payment(declined, "txid", "c"))
	h.wantNotified()
	merchant.notify(0, h.merchantParams("notify_statuses", nil))
	merchant.create(payment(declined, "txid", "d"))
	h.wantNotified("rejected of d")

	for _, wrong := range []any{"none", "", 7, true, params{}, []any{"charged", "paid"}, []any{7}, []any{"ALL"}, []any{nil}, []any{"all"}} {
		r := admin(t).patch(v1+"/terminal/"+merchant.terminals[0], params{"merchant_params": h.merchantParams("notify_statuses", wrong)}).want(422)
		r.has("errors.0.field", "merchant_params.notify_statuses", "errors.1", absent)
	}
	admin(t).get(v1+"/terminal/"+merchant.terminals[0]).want(200).hasRaw("data.merchant_params.notify_statuses", "null")
}

func TestExpiredCardIsRejected(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	now := clock(t)
	at := func(months int) params {
		then := now.AddDate(0, months, 1-now.Day())
		return params{"exp_month": fmt.Sprint(int(then.Month())), "exp_year": fmt.Sprint(then.Year())}
	}
	for months, status := range map[int]string{-1: "rejected", 0: "charged", 1: "charged", -12: "rejected", -120: "rejected"} {
		expiry := at(months)
		year := expiry["exp_year"].(string)
		for _, storage := range []params{card(good).with("exp_month", expiry["exp_month"], "exp_year", year), card(good).with("exp_month", expiry["exp_month"], "exp_year", year[2:])} {
			r := merchant.create(paymentWith(storage)).has("status", status)
			if status == "rejected" {
				r.wantFailure("rejected", "expired_card", "")
			}
		}
	}
	expired := at(-1)
	merchant.create(payout(good, "amount", "1", "money_storage", params{"type": "bank_card", "cardnumber": good}.with("exp_month", expired["exp_month"], "exp_year", expired["exp_year"]))).
		wantFailure("rejected", "expired_card", "")
	merchant.create(payout(good, "amount", "1")).has("status", "charged")
	waiting := merchant.create(hosted()).at("id")
	merchant.continueWith(waiting, params{"money_storage": card(good).with("exp_month", expired["exp_month"], "exp_year", expired["exp_year"])}).want(200).
		has("error_code", "expired_card")
}
