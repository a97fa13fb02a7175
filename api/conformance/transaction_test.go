package conformance_test

import (
	"strings"
	"testing"
	"time"
)

// Tests of the specification's sections "Transaction", with its fields, and "Rules on fields".

func TestTransactionIDNeverChanges(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(delayed)).has("status", "charging").matches("id", uuid4).at("id")
	advance(t, 5)
	m.read(id).has("id", id, "status", "charged")
	m.refund(id, "").want(200).has("id", id)
}

func TestTxidIsStoredAsSentAndIsCaseSensitive(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	oddText := " Orders/2026 № 1\tä\u0000€ "
	first := m.create(payment(good, "txid", oddText)).has("txid", oddText)
	m.read(first.at("id")).has("txid", oddText)
	for _, other := range []string{strings.ToLower(oddText), strings.TrimSpace(oddText)} {
		if r := m.create(payment(good, "txid", other)); r.at("id") == first.at("id") {
			t.Errorf("%q was taken for %q", other, oddText)
		}
	}
	m.create(payment(good, "txid", oddText)).has("id", first.at("id"))
}

func TestTypeIsTheDirectionOfMoney(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	m.create(payment(good)).has("type", "payment")
	m.wantBalance("USD", "1000 0")
	m.create(payout(good, "amount", "300")).has("type", "payout", "status", "charged")
	m.wantBalance("USD", "700 0")
	m.send(payment(good, "type", "transfer")).refuses("type", "type must be payment or payout")
	m.send(payment(good, "type", absent)).refuses("type", "type is required")
}

func TestErrorDescriptionIsEmptyOnSuccess(t *testing.T) {
	m := sandboxMerchant(t)
	m.create(payment(good)).has("status", "charged").hasRaw("error_description", `""`)
	m.create(payment(declined)).has("status", "rejected", "error_code", "card_declined")
}

func TestDeductedFeeIsShownInTheAmounts(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_bps":"250","fee_fixed":"7"}`)
	m.create(payment(good)).has("amount", "1000", "amount_with_fee", "1000", "amount_dest", "968", "merchant_amount", "968")
	m.create(payout(good, "amount", "400")).has("status", "charged", "amount", "400", "amount_with_fee", "400", "amount_dest", "383", "merchant_amount", "383")
}

func TestFeeOnTopIsShownInTheAmounts(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_bps":"250","fee_fixed":"7","fee_mode":"on_top"}`)
	m.create(payment(good)).has("amount", "1000", "amount_with_fee", "1032", "amount_dest", "1000", "merchant_amount", "1000")
	m.create(payout(good, "amount", "400")).has("status", "charged", "amount", "400", "amount_with_fee", "417", "amount_dest", "400", "merchant_amount", "400")
}

func TestSameCurrencyShowsNoRate(t *testing.T) {
	sandboxMerchant(t).create(payment(good, "currency", "EUR")).has("currency", "EUR", "currency_dest", "EUR", "currency_rate", absent)
}

func TestTwoCurrenciesShowTheAppliedRate(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"settlement_currency":"KZT"}`)
	setRate(t, "GBP", "KZT", "612.5")
	m.create(payment(good, "currency", "GBP")).
		has("status", "charged", "currency", "GBP", "currency_dest", "KZT", "currency_rate", "612.5", "amount_dest", "612500", "merchant_amount", "1000")
}

// setRate sets the organization's rate of a pair.
func setRate(t testing.TB, from, to, value string) {
	t.Helper()
	admin(t).put(v1+"/rates", params{"from": from, "to": to, "rate": value}).want(200)
}

func TestNetworkIsShownOnlyForNetworkAssets(t *testing.T) {
	m := sandboxMerchant(t)
	m.create(payment(good)).has("network", absent)
	m.create(paymentWith(params{"type": "e_wallet"}, "currency", "USDT", "network", "tron")).has("status", "charged", "network", "tron")
}

func TestEnvIsShown(t *testing.T) {
	m := sandboxMerchant(t)
	m.create(payment(good, "env", "prod")).has("env", "prod", "status", "charged")
	m.create(payment(good, "env", "test")).has("env", "test", "status", "charged")
	m.send(payment(good, "env", "staging")).refuses("env", "env must be prod or test")
}

func TestMerchantMetaIsReturned(t *testing.T) {
	m := sandboxMerchant(t)
	meta := map[string]any{"basket": []int{1, 2}, "n": "1", "deep": map[string]any{"x": nil}}
	id := m.create(payment(good, "merchant_meta", meta)).at("id")
	m.read(id).hasRaw("merchant_meta", `{"basket":[1,2],"deep":{"x":null},"n":"1"}`)
	m.create(payment(good)).hasRaw("merchant_meta", `{}`)
}

func TestStartedAtIsTheCreationAndFinishedAtTheFinalStatus(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	before := clock(t)
	slow := merchant.create(payment(delayed)).has("status", "charging").hasRaw("finished", "null").matches("started", instant)
	advance(t, 5)
	charged := merchant.read(slow.at("id")).has("status", "charged", "started", slow.at("started")).matches("finished", instant)
	// While the clock stands still, booked times advance by microseconds and so run ahead of it.
	for name, from := range map[string]time.Time{"started": before, "finished": before.Add(5 * time.Second)} {
		if at := charged.time(name); at.Before(from) || at.Sub(from) > time.Second {
			t.Errorf("%s is %v, want %v", name, at, from)
		}
	}
	merchant.create(payment(declined)).has("status", "rejected").matches("finished", instant)
	merchant.create(payment(processing)).has("status", "failed").matches("finished", instant)
}

func TestRouteIsEmptyBeforeRouting(t *testing.T) {
	m := sandboxMerchant(t)
	m.create(payment(good)).has("route", "simulator")
	waiting := m.read(m.create(hosted("txid", absent)).at("id")).has("status", "created").hasRaw("route", `""`)
	m.create(payment(good, "money_storage", absent)).has("status", "rejected").hasRaw("route", `""`)
	m.continueWith(waiting.at("id"), params{"money_storage": card(good)}).want(200).has("route", "simulator")
}

func TestTxidAndStatusAreSetFromTheStart(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(hosted("txid", "early")).has("txid", "early", "status", "created").at("id")
	m.read(id).has("txid", "early", "status", "created")
}

func TestDescriptionIsEchoedOnceATerminalIsChosen(t *testing.T) {
	merchant := sandboxMerchant(t)
	merchant.create(payment(good, "description", "Shoes")).has("description", "Shoes")
	merchant.create(payment(good)).hasRaw("description", "null")
	merchant.create(payment(declined, "description", "Shoes")).has("status", "rejected", "description", "Shoes")

	merchant.create(payment(good, "description", "Shoes", "money_storage", absent)).has("status", "rejected").hasRaw("description", "null")
	waiting := merchant.create(hosted("description", "Shoes"))
	if got := waiting.at("description"); got != absent && got != "null" {
		t.Errorf("a hosted create shows %q", got)
	}
	merchant.read(waiting.at("id")).hasRaw("description", "null")
	merchant.continueWith(waiting.at("id"), params{"money_storage": card(good)}).want(200).has("status", "charged", "description", "Shoes")
}

func TestTerminalTextReplacesTheDescription(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"description":"ACME web shop"}`)
	first := m.create(payment(good, "description", "Shoes", "txid", "d")).has("description", "ACME web shop")
	m.create(payment(good)).has("description", "ACME web shop")
	again := m.create(payment(good, "description", "Shoes", "txid", "d")).has("id", first.at("id"))
	if got := again.header.Get("x-idempotent-mismatch"); got != "" {
		t.Errorf("the sent description is not what is stored: %q differs", got)
	}
	m.create(payment(good, "description", "Boots", "txid", "d")).hasHeader("x-idempotent-mismatch", "description")
}

func TestWidgetURLAndAuthParamsAreAlternatives(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	m.create(payment(redirected)).has("auth_params.type", "redirect").hasRaw("widget_url", "null")
	waiting := m.create(hosted())
	m.read(waiting.at("id")).hasRaw("auth_params", "null").has("widget_url", waiting.at("widget_url"))
	m.continueWith(waiting.at("id"), params{"money_storage": card(redirected)}).want(200).
		has("status", "action_required", "auth_params.type", "redirect").hasRaw("widget_url", "null")
	m.create(payment(good)).hasRaw("widget_url", "null").hasRaw("auth_params", "null")
}

func TestSomeProvidersHaveOnlyTheRedirectURL(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	for _, kind := range []string{"sbp", "qr_code", "crypto"} {
		a := m.create(paymentWith(params{"type": kind})).has("status", "action_required").hasRaw("auth_params", "null").hasRaw("widget_url", "null")
		if !strings.HasPrefix(a.at("simple_auth_redirect_url"), testServer(t).BaseURL+"/") {
			t.Errorf("%s: simple_auth_redirect_url is %s", kind, a.at("simple_auth_redirect_url"))
		}
	}
}

func TestAuthFieldsAreForPaymentsOnly(t *testing.T) {
	m := sandboxMerchant(t)
	m.create(payment(good)).hasRaw("auth_params", "null").hasRaw("additional_params_for_auth", "{}")
	m.create(payout(good)).has("auth_params", absent, "additional_params_for_auth", absent)
	m.create(payout(good, "money_storage", params{"type": "sepa"})).has("status", "action_required", "auth_params", absent, "additional_params_for_auth", absent)
}

func TestAdditionalParamsRequestMaterial(t *testing.T) {
	m := sandboxMerchant(t)
	id := m.create(payment(password)).has("status", "action_required", "additional_params_for_auth.type", "otp").at("id")
	m.submit(id, params{"otp": "123456"}).want(200).has("status", "charged").hasRaw("additional_params_for_auth", "{}")
}

func TestRedirectURLIsShownWhileThePayerMustAct(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	merchant.create(payment(good)).has("simple_auth_redirect_url", absent)
	for _, p := range []params{payment(redirected), payment(formRequired), payment(password), paymentWith(params{"type": "sbp"})} {
		r := merchant.create(p).has("status", "action_required")
		if !strings.HasPrefix(r.at("simple_auth_redirect_url"), testServer(t).BaseURL+"/") {
			t.Errorf("simple_auth_redirect_url is %s", r.at("simple_auth_redirect_url"))
		}
	}
	merchant.create(payment(good))
	out := merchant.create(payout(good, "money_storage", params{"type": "sepa"})).has("status", "action_required")
	if !strings.HasPrefix(out.at("simple_auth_redirect_url"), testServer(t).BaseURL+"/") {
		t.Errorf("a payout's simple_auth_redirect_url is %s", out.at("simple_auth_redirect_url"))
	}
	merchant.choose(out.at("id"), "sim-bank-1").want(200).has("status", "charged", "simple_auth_redirect_url", absent)
}

func TestDestinationsUseTheProtocolsSpelling(t *testing.T) {
	m := sandboxMerchant(t)
	r := m.create(payout(good, "money_storage", params{"type": "open_banking"})).has("status", "action_required", "available_destinations", absent)
	if r.at("availble_destinations.0.target_bank_id") == absent || r.at("availble_destinations.0.name") == absent {
		t.Errorf("availble_destinations is %s", r.at("availble_destinations"))
	}
	m.create(payout(good)).has("availble_destinations", absent)
}

func TestRefundFieldsAppearWithTheFirstRefund(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(good)).has("refund_id", absent, "refund_msg", absent).at("id")
	m.refund(id, "").want(200).matches("refund_id", uuid4).has("refund_msg", "The money was returned.")
	refusingID := m.create(payment(refundRefused)).at("id")
	m.refund(refusingID, "").want(200).has("status", "charged", "refund_msg", "The provider refused the refund.").matches("refund_id", uuid4)
}

func TestProviderAddsKeysToMerchantMeta(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	r := m.create(paymentWith(params{"type": "crypto"}, "merchant_meta", params{"order": "7", "lang": "xx"})).
		has("merchant_meta.order", "7", "merchant_meta.status", "awaiting_deposit", "merchant_meta.lang", "en")
	approvePayment(t, r).wantRedirectedTo(returnURL)
	m.read(r.at("id")).has("status", "charged", "merchant_meta.order", "7", "merchant_meta.status", "confirmed")
}

func TestLangInMerchantMetaSelectsTheDescriptions(t *testing.T) {
	m := newMerchant(t, "lang", "ru")
	m.addTerminal("payment", `{}`)
	m.create(payment(declined, "merchant_meta", params{"lang": "en", "order": "7"})).
		has("merchant_meta.lang", "ru", "merchant_meta.order", "7", "error_description", "Карта отклонена.")
	m.create(payment(good)).has("merchant_meta.lang", "ru")
}

// approvePayment opens a transaction's address as the payer and approves.
func approvePayment(t testing.TB, r *response) *page {
	t.Helper()
	p := payer{t}
	return p.send(p.open(r.at("simple_auth_redirect_url")), "decision", "approve")
}
