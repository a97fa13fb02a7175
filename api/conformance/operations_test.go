package conformance_test

import (
	"sync"
	"testing"
)

// Tests of the endpoints that continue a transaction: commit, continue, additional_params_for_auth and
// choose_target_destination.

func TestCommitAcceptsEachFormOfItsBody(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"two_phase":true}`)
	for _, body := range []any{`{"params":{"money_storage_meta":{}}}`, `{"params":{}}`, `{}`, nil} {
		id := m.create(payment(good)).has("status", "payment_suspended").at("id")
		m.post(transactions+"/commit/"+id, body).want(200).has("id", id, "status", "charged")
	}
}

func TestTwoPhasesAreSetByTheTerminal(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payment", `{"two_phase":true,"currencies":["EUR"]}`)
	m.addTerminal("payment", `{"currencies":["USD"]}`)
	m.create(payment(good, "currency", "EUR")).has("status", "payment_suspended").matches("hold_expires_at", instant)
	m.create(payment(good, "currency", "USD")).has("status", "charged", "hold_expires_at", absent)
}

func TestCommitWithoutAHoldIsAConflict(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	for _, p := range []params{payment(good), payment(declined), payment(redirected), hosted()} {
		m.commit(m.create(p).at("id"), "").want(409).has("error", "conflict")
	}
}

func TestPartialCommitReleasesTheRemainder(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{"two_phase":true,"fee_bps":"1000"}`)
	id := merchant.create(payment(good)).at("id")
	merchant.wantBalance("USD", "0 900")
	merchant.commit(id, "400").want(200).has("status", "charged", "captured_amount", "400", "amount", "1000")
	merchant.wantBalance("USD", "360 0")
	merchant.wantMoved(id,
		"hold_payment pending: Dr A:provider:T1 1000 USD, Cr L:partner:P:available 900 USD, Cr I:fees 100 USD",
		"capture capture: Dr A:provider:T1 400 USD, Cr L:partner:P:available 360 USD, Cr I:fees 40 USD")
	merchant.commit(id, "100").want(409).has("error", "conflict")
	merchant.refund(id, "401").want(422).has("error", "invalid_refund_amount")
	merchant.refund(id, "").want(200).has("refunded_amount", "400")
}

func TestCommitAmountIsPositiveAndAtMostTheHold(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"two_phase":true}`)
	id := m.create(payment(good)).at("id")
	for _, amount := range []any{"0", "-1", "1001", "1.5", "", 400} {
		m.post(transactions+"/commit/"+id, params{"params": params{"amount": amount}}).want(422).has("error", "invalid_capture_amount")
	}
	m.commit(id, "1000").want(200).has("status", "charged")
}

func TestConcurrentCaptureAndCancelHaveOneWinner(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"two_phase":true}`)
	for range 5 {
		id := m.create(payment(good)).at("id")
		var capture, cancel *response
		var wg sync.WaitGroup
		wg.Go(func() { capture = m.commit(id, "") })
		wg.Go(func() { cancel = m.cancel(id) })
		wg.Wait()
		end := m.read(id).at("status")
		switch {
		case capture.status == 200 && end == "charged" && (cancel.status == 409 && cancel.at("error") == "conflict" || cancel.status == 422 && cancel.at("error") == "not_reversible"):
		case cancel.status == 200 && end == "failed" && capture.status == 409 && capture.at("error") == "conflict":
		default:
			t.Errorf("capture %d %s, cancel %d %s: it is %s", capture.status, capture.body, cancel.status, cancel.body, end)
		}
	}
}

func TestContinueAcceptsABareObject(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(hosted()).at("id")
	m.continueWith(id, params{
		"money_storage": card(good), "route": "simulator",
		"browser_data": params{"language": "en-GB", "timezone": -60, "user_agent": "Mozilla/5.0"},
	}).want(200).has("id", id, "status", "charged", "route", "simulator")
	m.wantMoved(id, charge)
}

func TestContinueRefusesOtherBodies(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	id := merchant.create(hosted()).at("id")
	merchant.continueWith(id, params{"params": params{"money_storage": card(good)}}).refuses("money_storage", "money_storage is required")
	merchant.continueWith(id, params{"money_storage": params{}}).refuses("money_storage", "money_storage is required")
	merchant.continueWith(id, params{"money_storage": card(good).with("cvv", "12")}).refuses("money_storage.cvv", "invalid cvv")
	merchant.continueWith(id, params{"money_storage": card(good), "route": 7}).refuses("route", "route must be a string")
	for name, value := range map[string]any{"language": 7, "timezone": "UTC", "user_agent": []int{}} {
		merchant.continueWith(id, params{"money_storage": card(good), "browser_data": params{name: value}}).want(422).has("errors.0.field", "browser_data."+name)
	}
	merchant.read(id).has("status", "created")
	merchant.continueWith(id, params{"money_storage": card(good), "browser_data": params{}}).want(200).has("status", "charged")
}

func TestUnofferedRouteIsRefusedAndThePayerCanStillPay(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{"methods":["bank_card"]}`)
	id := merchant.create(hosted()).at("id")
	for _, p := range []params{
		{"money_storage": card(good), "route": "elsewhere"}, {"money_storage": card(good), "route": "utp"}, {"money_storage": card(good), "route": "SIMULATOR"},
		{"money_storage": params{"type": "sbp"}, "route": "simulator"},
	} {
		merchant.continueWith(id, p).want(422).has("errors.0.code", "flow_not_continuable", "errors.0.field", "route")
	}
	merchant.read(id).has("status", "created", "route", "")
	if calls := providerCalls(t, id); len(calls) != 0 {
		t.Errorf("the rail was called: %v", calls)
	}
	merchant.continueWith(id, params{"money_storage": card(good), "route": "simulator"}).want(200).has("status", "charged", "route", "simulator")
	merchant.wantMoved(id, charge)
}

func TestContinueIsRefusedInOtherStates(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	done := m.create(hosted()).at("id")
	m.continueWith(done, params{"money_storage": card(good)}).want(200)
	for _, id := range []string{done, m.create(payment(good)).at("id"), m.create(payment(declined)).at("id"), m.create(payment(redirected)).at("id")} {
		r := m.continueWith(id, params{"money_storage": card(good)}).want(422)
		r.has("errors.0.code", "flow_not_continuable")
		if detail := r.at("errors.0.detail"); detail == absent || detail == "" {
			t.Errorf("there is no detail: %s", r.body)
		}
	}
}

func TestMaterialIsAcceptedBareAndWrapped(t *testing.T) {
	merchant := sandboxMerchant(t)
	const good, wrong = `{"otp":"123456"}`, `{"otp":"0"}`
	for body, status := range map[string]string{
		`{"additional_params_for_auth":` + good + `}`:                                                       "charged",
		`{"params":{"additional_params_for_auth":` + good + `}}`:                                            "charged",
		`{"params":` + good + `}`:                                                                           "charged",
		`{"additional_params_for_auth":` + good + `,"params":` + wrong + `}`:                                "charged",
		`{"additional_params_for_auth":` + good + `,"params":{"additional_params_for_auth":` + wrong + `}}`: "charged",
		`{"additional_params_for_auth":` + wrong + `,"params":{"additional_params_for_auth":` + good + `}}`: "rejected",
		`{"additional_params_for_auth":` + wrong + `}`:                                                      "rejected",
	} {
		id := merchant.create(payment(password)).has("status", "action_required").at("id")
		r := merchant.post(transactions+"/additional_params_for_auth/"+id, body)
		if r.status != 200 || r.at("status") != status {
			t.Errorf("%s responded %d %s, want %s", body, r.status, r.body, status)
		}
	}
}

func TestMaterialIsRequired(t *testing.T) {
	merchant := sandboxMerchant(t)
	id := merchant.create(payment(password)).at("id")
	for _, body := range []string{`{}`, `{"params":{}}`, `{"additional_params_for_auth":null}`} {
		merchant.post(transactions+"/additional_params_for_auth/"+id, body).refuses("additional_params_for_auth", "additional_params_for_auth is required")
	}
	for _, body := range []string{
		`{"additional_params_for_auth":{}}`, `{"additional_params_for_auth":{"status":"charged"}}`, `{"params":{"status":"charged"}}`,
		`{"params":{"additional_params_for_auth":{}}}`,
	} {
		merchant.post(transactions+"/additional_params_for_auth/"+id, body).refuses("additional_params_for_auth", "additional_params_for_auth must not be empty")
	}
	merchant.post(transactions+"/additional_params_for_auth/"+id, `{"additional_params_for_auth":"123456"}`).
		refuses("additional_params_for_auth", "additional_params_for_auth must be an object")
	merchant.read(id).has("status", "action_required")
}

// Material is what a payer enters to authenticate. If it lacks the fields that the provider requires, the payment does not
// change.
func TestMaterialWithoutTheRequiredFieldsIsRefused(t *testing.T) {
	merchant := sandboxMerchant(t)
	id := merchant.create(payment(password)).at("id")
	before := providerCalls(t, id)
	for _, material := range []params{{"otp": ""}, {"otp": "  "}, {"otp": 123456}, {"otp": nil}, {"OTP": "123456"}, {"signature": "123456"}, {"status": "charged", "code": "1"}} {
		merchant.submit(id, material).refuses("additional_params_for_auth.otp", "otp is required, a text that is not empty")
	}
	merchant.read(id).has("status", "action_required", "additional_params_for_auth.type", "otp")
	if after := providerCalls(t, id); len(after) != len(before) {
		t.Errorf("the rail was called: %v", after[len(before):])
	}
	merchant.submit(id, params{"otp": "123456"}).want(200).has("status", "charged")
}

func TestStatusInTheMaterialIsIgnored(t *testing.T) {
	m := sandboxMerchant(t)
	id := m.create(payment(password)).at("id")
	m.submit(id, params{"status": "charged", "otp": "0"}).want(200).has("status", "rejected", "error_code", "authentication_failed")
	id = m.create(payment(password)).at("id")
	m.submit(id, params{"status": "failed", "otp": "123456"}).want(200).has("status", "charged")
}

func TestMaterialInOtherStatesIsAConflict(t *testing.T) {
	m := sandboxMerchant(t)
	for _, p := range []params{payment(good), payment(declined), payment(delayed), hosted()} {
		m.submit(m.create(p).at("id"), params{"otp": "123456"}).want(409).has("error", "conflict")
	}
}

func TestTargetBankIsRequired(t *testing.T) {
	m := sandboxMerchant(t)
	id := m.create(payout(good, "money_storage", params{"type": "sepa"})).has("status", "action_required").at("id")
	for _, body := range []any{`{}`, nil, `{"target_bank_id":""}`, `{"target_bank_id":null}`, `{"target_bank_id":7}`, `{"params":{"target_bank_id":"sim-bank-1"}}`} {
		m.post(transactions+"/choose_target_destination/"+id, body).wantBody(400, `{"error":"id and target_bank_id are required"}`)
	}
	m.read(id).has("status", "action_required")
}

func TestDestinationMustBeOffered(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	merchant.create(payment(good))
	r := merchant.create(payout(good, "amount", "400", "money_storage", params{"type": "open_banking"})).has("status", "action_required")
	id := r.at("id")
	merchant.wantBalance("USD", "600 0")
	merchant.choose(id, "nobody's bank").refuses("target_bank_id", "is none of availble_destinations")
	merchant.read(id).has("status", "action_required")
	merchant.choose(id, r.at("availble_destinations.1.target_bank_id")).want(200).has("status", "charged", "availble_destinations", absent)
	merchant.wantBalance("USD", "600 0")
	const heldEntry = "Dr L:partner:P:available 400 USD, Cr A:provider:T2 400 USD"
	merchant.wantMoved(id, "authorise pending: "+heldEntry, "settle capture: "+heldEntry)
	merchant.choose(id, "sim-bank-1").want(409).has("error", "conflict")
}

// Tests of the specification's section "Payer actions (auth_params)".

func TestAuthParamsDescribeThePayersAction(t *testing.T) {
	m := sandboxMerchant(t)
	redirect := m.create(payment(redirected)).has("auth_params.type", "redirect", "auth_params.method", "get")
	form := m.create(payment(formRequired)).has("auth_params.type", "auth_3ds_form", "auth_params.method", "post")
	otherPayment := m.create(payment(password)).has("status", "action_required", "auth_params.type", "none")
	for _, a := range []*response{redirect, form, otherPayment} {
		for name, kind := range map[string]string{"type": `"`, "version": `"`, "method": `"`, "url": `"`, "params": `{`} {
			if raw := a.rawAt("auth_params." + name); raw[:1] != kind {
				t.Errorf("auth_params.%s is %s", name, raw)
			}
		}
		value, _ := a.value("auth_params.params")
		for name, v := range value.(map[string]any) {
			if _, ok := v.(string); !ok {
				t.Errorf("auth_params.params.%s is %v, want a string", name, v)
			}
		}
	}
	if url := form.at("auth_params.url"); url[:8] != "https://" {
		t.Errorf("the form posts to %s", url)
	}
}

func TestRedirectLeadsToTheProvidersPage(t *testing.T) {
	m := sandboxMerchant(t)
	r := m.create(payment(redirected))
	p := payer{t}
	p.send(p.open(r.at("auth_params.url")), "decision", "approve").wantRedirectedTo(returnURL)
	m.read(r.at("id")).has("status", "charged")
}

func TestFormIsPostedToTheProvidersPage(t *testing.T) {
	m := sandboxMerchant(t)
	r := m.create(payment(formRequired))
	p := payer{t}
	fields := map[string][]string{}
	value, _ := r.value("auth_params.params")
	for name, v := range value.(map[string]any) {
		fields[name] = []string{v.(string)}
	}
	p.send(p.ask("POST", r.at("auth_params.url"), fields), "decision", "approve").wantRedirectedTo(returnURL)
	m.read(r.at("id")).has("status", "charged")
}

func TestRedirectURLLeadsThroughEveryProviderAction(t *testing.T) {
	merchant := sandboxMerchant(t)
	p := payer{t}
	for _, create := range []params{payment(redirected), payment(formRequired), paymentWith(params{"type": "sbp"}), paymentWith(params{"type": "qr_code"}), paymentWith(params{"type": "crypto"})} {
		r := merchant.create(create)
		approvePayment(t, r).wantRedirectedTo(returnURL)
		merchant.read(r.at("id")).has("status", "charged")
	}
	otp := merchant.create(payment(password))
	p.send(p.open(otp.at("simple_auth_redirect_url")), "otp", "123456")
	merchant.read(otp.at("id")).has("status", "charged")
	choice := merchant.create(payout(good, "money_storage", params{"type": "sepa"}))
	p.send(p.open(choice.at("simple_auth_redirect_url")), "target_bank_id", "sim-bank-2").want(200)
	merchant.read(choice.at("id")).has("status", "charged")
	hosted := merchant.read(merchant.create(hosted()).at("id"))
	p.send(p.open(hosted.at("simple_auth_redirect_url")), "cardnumber", "4242424242424242", "cardholder", "J", "exp_month", "1", "exp_year", "99", "cvv", "737").want(200)
	merchant.read(hosted.at("id")).has("status", "charged")
}

// Material (what a payer enters to authenticate) is accepted only if a provider requires it. Otherwise it would end a payment
// that waits for its payer.
func TestUnrequestedMaterialIsRefused(t *testing.T) {
	merchant := sandboxMerchant(t)
	for name, p := range map[string]params{
		"a redirect": payment("4000000000003220"), "a form": payment("4000000000003063"), "another device": paymentWith(params{"type": "sbp"}),
		"the choice of a bank": payout("", "money_storage", params{"type": "sepa"}),
	} {
		transaction := merchant.create(p).has("status", "action_required")
		r := merchant.post(transactions+"/additional_params_for_auth/"+transaction.at("id"), `{"additional_params_for_auth":{"otp":"123456"}}`)
		if r.status != 409 || r.at("error") != "conflict" {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
		merchant.read(transaction.at("id")).has("status", "action_required")
	}
}
