package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Tests of fields that the service adds to those of the specification's transaction: languages,
// codes, refunds, the payment method.

// languages are the languages that a create accepts.
var languages = strings.Fields("en ru uk ar fa ur tr az kk uz id ms bn de fr es")

func TestUnsupportedLanguageIsRefused(t *testing.T) {
	m := newMerchant(t)
	partner := v1 + "/partners/" + m.number
	for _, lang := range languages {
		m.create(hosted("lang", lang))
		admin(t).patch(partner, params{"lang": lang}).want(200).has("data.lang", lang)
	}
	for _, lang := range []string{"", "zh", "EN", "en-GB", "english", "kaz", "e", "en ", "<b>"} {
		const detail = "must be one of en, ru, uk, ar, fa, ur, tr, az, kk, uz, id, ms, bn, de, fr, es"
		m.send(hosted("lang", lang)).refuses("lang", "lang "+detail)
		admin(t).patch(partner, params{"lang": lang}).refuses("lang", detail)
		admin(t).post(v1+"/partners", params{"name": "L", "login": "lang-" + m.number, "pass": "a temporary one", "lang": lang}).refuses("lang", detail)
	}
	admin(t).get(partner).want(200).has("data.lang", "es")
	admin(t).patch(partner, `{"lang":null}`).want(200).hasRaw("data.lang", "null")
}

// If the catalogue has no text in a language, the text is English.
func TestLanguageWithoutTextsFallsBackToEnglish(t *testing.T) {
	m := newMerchant(t, "lang", "kk")
	m.create(payment(good)).has("error_description", "no terminal available", "error_code", "no_terminal", "merchant_meta.lang", "kk")
}

func TestEmptyTxidIsReturnedAsSent(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	emptyTxID := m.create(payment(good, "txid", "")).hasRaw("txid", `""`)
	m.read(emptyTxID.at("id")).hasRaw("txid", `""`)
	m.get(transactions+"?env=test").want(200).hasRaw("data.0.txid", `""`)
	if data := h.wantNotified("charged of ")[0].object("data"); string(data["txid"]) != `""` {
		t.Errorf("notified as %s", data["txid"])
	}
	m.create(hosted("txid", "")).hasRaw("txid", `""`)
	m.create(payment(good)).hasRaw("txid", "null")
	m.create(payment(good, "txid", nil)).hasRaw("txid", "null")
	if again := m.create(payment(good, "txid", "")); again.at("id") == emptyTxID.at("id") {
		t.Error("a txid of nothing names a transaction")
	}
}

// errorCodes are the closed list of error_code.
var errorCodes = strings.Fields(`unexpected_card return_urls_missing no_terminal insufficient_balance fee_exceeds_amount amount_out_of_range
	no_exchange_rate limit_exceeded anti_fraud card_declined insufficient_funds expired_card processing_error authentication_failed
	payer_action_expired interrupted forced_by_terminal hold_expired cancelled refund_refused`)

// wantFailure checks why a transaction did not succeed. An empty description stands for any
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
	m := newMerchantWithTerminals(t, `{}`)
	m.create(payment(good)).has("status", "charged", "error_description", "").hasRaw("error_code", "null")
	m.create(payment(delayed)).has("status", "charging").hasRaw("error_code", "null")
	m.create(payment(good, "money_storage", absent)).wantFailure("rejected", "unexpected_card", "unexpected card")
	m.create(payment(good, "failUrl", absent)).wantFailure("rejected", "return_urls_missing", "return_url/fail_url params not specified")
	m.create(payment(good, "env", "prod")).wantFailure("rejected", "no_terminal", "no terminal available")
	m.create(payout(good, "amount", "99999999")).wantFailure("rejected", "insufficient_balance", "insufficient balance")
	m.create(payment(good, "amount", "1"+strings.Repeat("0", 73))).wantFailure("rejected", "amount_out_of_range", "amount out of range")
	m.create(payment(declined)).wantFailure("rejected", "card_declined", "")
	m.create(payment(noFunds)).wantFailure("rejected", "insufficient_funds", "")
	m.create(payment(expired)).wantFailure("rejected", "expired_card", "")
	m.create(payment(processing)).wantFailure("failed", "processing_error", "")
	refused := m.create(payment(password)).hasRaw("error_code", "null").at("id")
	m.submit(refused, params{"otp": "0"}).want(200).wantFailure("rejected", "authentication_failed", "")
	m.cancel(m.create(payment(delayed)).at("id")).want(200).wantFailure("failed", "cancelled", "")
	m.createLimit("per_transaction", "5000")
	m.create(payment(good, "amount", "5001")).wantFailure("rejected", "limit_exceeded", "limit exceeded: per_transaction")
	admin(t).post(v1+"/blocklist", params{"kind": "email", "value": "codes@example.com"}).want(201)
	m.create(payment(good, "customer", params{"email": "codes@example.com"})).wantFailure("rejected", "anti_fraud", "anti-fraud: email")

	costly := newMerchantWithTerminals(t, `{"fee_fixed":"100"}`)
	costly.create(payout(good, "amount", "10")).wantFailure("rejected", "fee_exceeds_amount", "fee exceeds amount")
	newMerchantWithTerminals(t, `{"settlement_currency":"IDR"}`).create(payment(good, "currency", "UAH")).wantFailure("rejected", "no_exchange_rate", "no exchange rate")
	newMerchantWithTerminals(t, `{"fail":"rejected"}`).create(payment(good)).wantFailure("rejected", "forced_by_terminal", "")
	newMerchantWithTerminals(t, `{"fail":"failed"}`).create(payment(good)).wantFailure("failed", "forced_by_terminal", "")
	twoPhase := newMerchantWithTerminals(t, `{"two_phase":true,"hold_ttl_seconds":60}`)
	lapsed, waiting := twoPhase.create(payment(good)).at("id"), m.create(payment(redirected)).at("id")
	advance(t, 1800)
	twoPhase.read(lapsed).wantFailure("failed", "hold_expired", "hold expired")
	m.read(waiting).wantFailure("rejected", "payer_action_expired", "payer action expired")
}

// The code is the same in every language, and the description is in the partner's language.
func TestErrorCodeIsTheSameInEveryLanguage(t *testing.T) {
	m := newMerchant(t, "lang", "ru")
	h := newHook(t)
	m.addTerminal("payment", `{}`)
	m.notify(0, h.merchantParams())
	m.create(payment(declined, "txid", "a")).has("error_code", "card_declined", "error_description", "Карта отклонена.")
	data := h.wantNotified("rejected of a")[0].object("data")
	if string(data["error_code"]) != `"card_declined"` || string(data["error_description"]) != `"Карта отклонена."` {
		t.Errorf("notified with %s and %s", data["error_code"], data["error_description"])
	}
	id := m.create(payment(refundRefused, "txid", "b")).at("id")
	if data = h.wantNotified("charged of b")[0].object("data"); string(data["error_code"]) != "null" {
		t.Errorf("a success is notified with the code %s", data["error_code"])
	}
	m.refund(id, "").want(200).has("refunds.0.error_code", "refund_refused", "refund_msg", "Провайдер отказал в возврате.")
}

func TestRefundsAreListedOldestFirst(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_bps":"1000","fee_refundable":true}`)
	id := m.create(payment(good)).has("refunds", absent).at("id")
	m.refund(id, "300").want(200)
	a := m.refund(id, "").want(200).has("status", "refunded", "refunds.2", absent,
		"refunds.0.amount", "300", "refunds.0.fee_amount", "30", "refunds.0.status", "succeeded",
		"refunds.1.amount", "700", "refunds.1.fee_amount", "70", "refunds.1.status", "succeeded").
		matches("refunds.0.refund_id", uuid4).matches("refunds.0.created", instant).matches("refunds.1.finished", instant).hasRaw("refunds.0.error_code", "null")
	a.has("refund_id", a.at("refunds.1.refund_id"), "refund_msg", a.at("refunds.1.msg"))
	if names := a.memberNames("refunds.0"); len(names) != 8 {
		t.Errorf("a refund has %v", names)
	}
	m.read(id).hasRaw("refunds", a.rawAt("refunds"))
	m.get(transactions+"?env=test").want(200).hasRaw("data.0.refunds", a.rawAt("refunds"))

	id = m.create(payment(refundRefused)).at("id")
	m.refund(id, "").want(200)
	a = m.refund(id, "10").want(200).has("status", "charged", "refunded_amount", "0", "refunds.0.amount", "1000", "refunds.0.status", "failed",
		"refunds.0.error_code", "refund_refused", "refunds.0.fee_amount", "100", "refunds.1.amount", "10", "refunds.1.status", "failed").matches("refunds.1.finished", instant)
	a.has("refund_id", a.at("refunds.1.refund_id"), "refund_msg", a.at("refunds.1.msg"))
	if msg := a.at("refund_msg"); strings.Contains(msg, "_") || !strings.Contains(msg, " ") {
		t.Errorf("refund_msg %q", msg)
	}

	id = m.create(payment(refundSlow)).at("id")
	m.refund(id, "").want(200).has("status", "refunding", "refunds.0.status", "pending").hasRaw("refunds.0.finished", "null", "refunds.0.error_code", "null")
	advance(t, 5)
	m.read(id).has("status", "refunded", "refunds.0.status", "succeeded").matches("refunds.0.finished", instant)
}

// A transaction keeps its refunds in its record, so their number is bounded. Failed refunds are
// dropped to make room, and the last place is reserved for a refund of everything that is left.
func TestNumberOfRefundsIsBounded(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(good)).at("id")
	for range 99 {
		m.refund(id, "1").want(200)
	}
	m.refund(id, "1").want(422).has("error", "invalid_refund_amount")
	m.refund(id, "").want(200).has("status", "refunded", "refunded_amount", "1000", "refunds.99.amount", "901", "refunds.100", absent)

	id = m.create(payment(refundRefused)).at("id")
	for range 101 {
		m.refund(id, "1").want(200)
	}
	m.read(id).has("refunds.98.status", "failed", "refunds.99", absent)
}

func TestTransactionShowsThePaymentMethodAndPayer(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	customer := params{"email": "jane@example.com", "name": "Jane", "age": 7}
	for number, brand := range map[string]string{
		good: "visa", anotherGood: "mastercard", "378282246310005": "amex", "6011111111111117": "discover", "30569309025904": "diners",
		"3530111333300000": "jcb", "2200000000000004": "mir", "6200000000000005": "unionpay", "6304000000000000": "maestro",
	} {
		id := m.create(payment(number, "customer", customer)).has("payment_method.type", "bank_card", "payment_method.brand", brand,
			"payment_method.bin", number[:6], "payment_method.last4", number[len(number)-4:],
			"customer.email", "jane@example.com", "customer.name", "Jane", "customer.age", "7").at("id")
		m.read(id).has("payment_method.last4", number[len(number)-4:], "customer.name", "Jane")
	}
	m.create(paymentWith(params{"type": "sbp"})).hasRaw("payment_method", `{"type":"sbp"}`, "customer", "null")
	m.create(payment(good, "money_storage", absent)).hasRaw("payment_method", "null")
	waiting := m.create(hosted("customer", customer)).has("payment_method", absent, "customer", absent).at("id")
	m.read(waiting).has("customer.name", "Jane").hasRaw("payment_method", "null")
	m.continueWith(waiting, params{"money_storage": card(anotherGood)}).want(200).has("payment_method.brand", "mastercard", "payment_method.last4", "4444")
}

func TestTerminalSelectsTheNotifiedStatuses(t *testing.T) {
	m, h := newMerchantWithHook(t, `{"two_phase":true}`)
	m.notify(0, h.merchantParams("notify_statuses", []string{"charged", "authorizing"}))
	id := m.create(payment(good, "txid", "a")).at("id")
	h.wantNotified("authorizing of a")
	m.commit(id, "").want(200)
	m.refund(id, "").want(200)
	h.wantNotified("charged of a")

	m.notify(0, h.merchantParams("notify_statuses", "all"))
	id = m.create(payment(delayed, "txid", "b")).at("id")
	h.wantNotified("created of b", "new of b", "authorizing of b", "charging of b")
	m.cancel(id).want(200)
	h.wantNotified("failed of b")

	m.notify(0, h.merchantParams("notify_statuses", []string{}))
	m.create(payment(declined, "txid", "c"))
	h.wantNotified()
	m.notify(0, h.merchantParams("notify_statuses", nil))
	m.create(payment(declined, "txid", "d"))
	h.wantNotified("rejected of d")

	for _, wrong := range []any{"none", "", 7, true, params{}, []any{"charged", "paid"}, []any{7}, []any{"ALL"}, []any{nil}, []any{"all"}} {
		r := admin(t).patch(v1+"/terminal/"+m.terminals[0], params{"merchant_params": h.merchantParams("notify_statuses", wrong)}).want(422)
		r.has("errors.0.field", "merchant_params.notify_statuses", "errors.1", absent)
	}
	admin(t).get(v1+"/terminal/"+m.terminals[0]).want(200).hasRaw("data.merchant_params.notify_statuses", "null")
}

func TestExpiredCardIsRejected(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	now := clock(t)
	at := func(months int) params {
		then := now.AddDate(0, months, 1-now.Day())
		return params{"exp_month": fmt.Sprint(int(then.Month())), "exp_year": fmt.Sprint(then.Year())}
	}
	for months, status := range map[int]string{-1: "rejected", 0: "charged", 1: "charged", -12: "rejected", -120: "rejected"} {
		expiry := at(months)
		year := expiry["exp_year"].(string)
		for _, storage := range []params{card(good).with("exp_month", expiry["exp_month"], "exp_year", year), card(good).with("exp_month", expiry["exp_month"], "exp_year", year[2:])} {
			r := m.create(paymentWith(storage)).has("status", status)
			if status == "rejected" {
				r.wantFailure("rejected", "expired_card", "")
			}
		}
	}
	expired := at(-1)
	m.create(payout(good, "amount", "1", "money_storage", params{"type": "bank_card", "cardnumber": good}.with("exp_month", expired["exp_month"], "exp_year", expired["exp_year"]))).
		wantFailure("rejected", "expired_card", "")
	m.create(payout(good, "amount", "1")).has("status", "charged")
	waiting := m.create(hosted()).at("id")
	m.continueWith(waiting, params{"money_storage": card(good).with("exp_month", expired["exp_month"], "exp_year", expired["exp_year"])}).want(200).
		has("error_code", "expired_card")
}
