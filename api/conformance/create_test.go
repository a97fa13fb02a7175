package conformance_test

import (
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Tests of the specification's section "POST /api/v1/transactions (create)".

func TestCreateNeedsAParamsObject(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	for _, body := range []any{payment(good), `{}`, `[]`, `"x"`, `null`, `{"params":null}`, `{"params":[]}`, `{"params":"x"}`, `{"PARAMS":{}}`} {
		m.post(transactions, body).wantBody(422, `{"error":"wrong params - can't init tx"}`)
	}
	if ids := m.get(transactions + "?env=test").want(200).column("id"); len(ids) != 0 {
		t.Errorf("bare bodies made %d transactions", len(ids))
	}
}

func TestCreateReturns201WithTheTransaction(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	r := m.send(payment(good, "txid", "t-1")).want(201)
	m.get(transactions+"/"+r.at("id")).wantBody(200, r.body)
}

func TestCreateAmountMustBePositive(t *testing.T) {
	m := sandboxMerchant(t)
	for _, amount := range []string{"0", "-1", "-1000"} {
		m.send(payment(good, "amount", amount)).refuses("amount", "amount must be greater than zero")
	}
	m.send(payment(good, "amount", absent)).refuses("amount", "amount is required")
	m.create(payment(good, "amount", "1")).has("status", "charged", "amount", "1")
}

func TestTxidHasAtMost255Characters(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	long := strings.Repeat("я", 255)
	m.create(payment(good, "txid", long)).has("txid", long)
	m.send(payment(good, "txid", long+"я")).refuses("txid", "txid must be at most 255 characters")
	m.send(payment(good, "txid", 17)).refuses("txid", "txid must be a string")
}

func TestDescriptionIsAStringOfAtMost2000Characters(t *testing.T) {
	m := sandboxMerchant(t)
	long := strings.Repeat("ж", 2000)
	m.create(payment(good, "description", long)).has("description", long)
	m.send(payment(good, "description", long+"ж")).refuses("description", "description must be at most 2000 characters")
	for _, other := range []any{17, true, []string{"a"}, params{"a": "b"}} {
		m.send(payment(good, "description", other)).refuses("description", "description must be a string")
	}
}

func TestRefusedCreateStoresNothing(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	size := sizeOfJournal(t, m)
	before := size()
	m.send(payment(good, "txid", strings.Repeat("x", 256), "amount", "0", "currency", "JPY", "description", 1)).want(422).
		has("errors.0.field", "amount", "errors.1.field", "currency", "errors.2.field", "txid", "errors.3.field", "description")
	if after := size(); after != before {
		t.Errorf("the journal has %s events, had %s", after, before)
	}
}

func TestAbsentEnvIsProd(t *testing.T) {
	m := sandboxMerchant(t)
	m.create(payment(good, "env", absent)).has("status", "charged", "env", "prod")
}

func TestEnvIsNotReadFromTheQuery(t *testing.T) {
	m := sandboxMerchant(t)
	m.post(transactions+"?env=test", params{"params": payment(good, "env", absent)}).want(201).has("env", "prod")
	m.post(transactions, params{"params": payment(good, "env", absent), "env": "test"}).want(201).has("env", "prod")
	m.post(transactions+"?env=prod", params{"params": payment(good)}).want(201).has("env", "test")
}

func TestHostedAndShowWidgetSendThePayerToThePage(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	for _, p := range []params{hosted(), hosted("hosted", absent, "show_widget", true), hosted("returnUrl", returnURL, "failUrl", failURL)} {
		r := m.create(p).has("status", "created")
		payer{t}.open(r.at("widget_url")).want(200)
	}
	for _, p := range []params{hosted("hosted", false), hosted("show_widget", false, "hosted", absent)} {
		m.create(p).has("status", "rejected", "error_description", "unexpected card")
	}
	m.send(hosted("hosted", "true")).refuses("hosted", "hosted must be true or false")
	m.send(hosted("show_widget", 1)).refuses("show_widget", "show_widget must be true or false")
}

func TestReturnAddressesAreOptionalForHostedPaymentsAndPayouts(t *testing.T) {
	m := sandboxMerchant(t)
	id := m.create(hosted()).has("status", "created").at("id")
	m.continueWith(id, params{"money_storage": card(good)}).want(200).has("status", "charged")
	m.create(payout(good)).has("status", "charged")
}

func TestCreateWithNeitherHostedNorCredentialsIsUnexpectedCard(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(good, "money_storage", absent)).has("status", "rejected", "error_description", "unexpected card").at("id")
	m.create(payout(good, "money_storage", absent)).has("status", "rejected", "error_description", "unexpected card")
	if got := m.states(id); got != "created rejected" {
		t.Errorf("it went through %s", got)
	}
}

func TestCustomerLangAndMetaAreAccepted(t *testing.T) {
	m := sandboxMerchant(t)
	m.create(payment(good, "customer", params{"email": "jane@example.com", "phone": "+44 20", "name": "Jane"}, "lang", "ru",
		"merchant_meta", params{"a": "b"})).has("status", "charged", "merchant_meta.a", "b")
	for name, value := range map[string]any{"customer": "Jane", "lang": 7, "merchant_meta": "x", "returnUrl": 7, "failUrl": []int{}, "money_storage": "card"} {
		r := m.send(payment(good, name, value)).want(422)
		r.has("errors.0.field", name)
	}
	page := payer{t}.open(m.create(hosted("lang", "ru")).at("widget_url")).want(200)
	if !strings.Contains(page.body, "Выберите способ оплаты") {
		t.Errorf("the page is not in the language asked for: %s", page.body)
	}
}

func TestStatus201DoesNotMeanAccepted(t *testing.T) {
	m := newMerchant(t)
	m.send(payment(good)).want(201).has("status", "rejected", "error_description", "no terminal available")
	m.addTerminal("payment", `{}`)
	m.send(payment(declined)).want(201).has("status", "rejected", "error_code", "card_declined")
	m.send(payment(good, "amount", "1"+strings.Repeat("0", 73))).want(201).has("status", "rejected", "error_description", "amount out of range")
}

func TestRepeatedTxidReturnsTheSameTransaction(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	first := merchant.create(payment(good, "txid", "order-7"))
	first.hasHeader("location", transactions+"/"+first.at("id")).hasHeader("x-idempotent-replay", absent)
	for _, p := range []params{
		payment(good, "txid", "order-7"), payment(good, "txid", "order-7", "amount", "999999"), payment(declined, "txid", "order-7"),
		payment(good, "txid", "order-7", "money_storage", absent), payment(good, "txid", "order-7", "returnUrl", absent),
		payout(good, "txid", "order-7"), payment(good, "txid", "order-7", "env", "prod"),
	} {
		merchant.send(p).wantBody(201, first.body).hasHeader("location", transactions+"/"+first.at("id"))
	}
	merchant.create(hosted("txid", "order-7")).has("id", first.at("id"), "status", "charged") // a hosted create request with the same txid
	merchant.wantBalance("USD", "1000 0")
	merchant.refund(first.at("id"), "").want(200)
	merchant.create(payment(good, "txid", "order-7")).has("id", first.at("id"), "status", "refunded")
}

func TestConcurrentCreatesWithOneTxidMakeOneTransaction(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	const racers = 32
	responses := make([]*response, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { responses[i] = merchant.send(payment(good, "txid", "race")) })
	}
	wg.Wait()
	replays := 0
	for _, a := range responses {
		a.wantBody(201, responses[0].body).has("status", "charged")
		if a.header.Get("x-idempotent-replay") == "true" {
			replays++
		}
	}
	if replays != racers-1 {
		t.Errorf("%d of %d responses are replays", replays, racers)
	}
	merchant.wantBalance("USD", "1000 0")
}

func TestTwoPartnersMayUseOneTxid(t *testing.T) {
	a, b := newMerchantWithTerminals(t, `{}`), newMerchantWithTerminals(t, `{}`)
	if a.create(payment(good, "txid", "1")).at("id") == b.create(payment(good, "txid", "1")).at("id") {
		t.Error("the second partner got the first one's transaction")
	}
	b.wantBalance("USD", "1000 0")
}

func TestCreateWithoutTxidIsNeverAReplay(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	for _, txid := range []any{absent, nil, ""} {
		first, second := m.create(payment(good, "txid", txid)), m.create(payment(good, "txid", txid))
		if first.at("id") == second.at("id") {
			t.Errorf("with txid %v the second create got the first one's transaction", txid)
		}
	}
	m.wantBalance("USD", "6000 0")
}

func TestWidgetTokenIsValidFor15Minutes(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	r := merchant.create(hosted())
	address := r.at("widget_url")
	if u, err := url.Parse(address); err != nil || u.Query().Get("token") == "" || !strings.HasPrefix(address, testServer(t).BaseURL+"/") {
		t.Fatalf("widget_url is %s", address)
	}
	advance(t, 14*60+59)
	payer{t}.open(address).want(200)
	advance(t, 2)
	payer{t}.open(address).want(410)
	payer{t}.open(strings.Replace(address, "token=", "token=x", 1)).want(404)
	payer{t}.open(strings.Replace(address, r.at("id"), merchant.create(hosted()).at("id"), 1)).want(404)
}

func TestHostedCreateReturnsNineFields(t *testing.T) {
	m := sandboxMerchant(t)
	r := m.create(hosted("txid", absent, "description", "Shoes"))
	names := r.memberNames("")
	for name := range strings.FieldsSeq("id status type env txid amount currency started widget_url") {
		if !names[name] {
			t.Errorf("%s is missing", name)
		}
		delete(names, name)
	}
	if len(names) != 0 {
		t.Errorf("besides there are %v", names)
	}
	r.matches("id", uuid4).matches("started", instant).has("status", "created", "type", "payment", "env", "test", "amount", "1000", "currency", "USD").
		hasHeader("location", transactions+"/"+r.at("id"))
}

func TestPayerPaysOnTheHostedPage(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	p := payer{t}
	r := merchant.create(hosted("returnUrl", returnURL, "failUrl", failURL))
	form := p.open(r.at("widget_url"))
	if wrong := p.send(form, "cardnumber", "4242424242424241", "cardholder", "JANE DOE", "exp_month", "12", "exp_year", "99", "cvv", "737"); wrong.status != 422 {
		t.Errorf("a wrong number was answered with %d", wrong.status)
	}
	merchant.read(r.at("id")).has("status", "created")
	done := p.send(form, "cardnumber", "4242 4242 4242 4242", "cardholder", "JANE DOE", "exp_month", "12", "exp_year", "99", "cvv", "737").want(200)
	if !strings.Contains(done.body, returnURL) {
		t.Errorf("there is no way back to the merchant: %s", done.body)
	}
	merchant.read(r.at("id")).has("status", "charged", "route", "simulator").hasRaw("widget_url", "null")
	merchant.wantMoved(r.at("id"), charge)
}

func TestHostedPaymentWithAChallengeReturnsToTheMerchant(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	p := payer{t}
	r := m.create(hosted("returnUrl", returnURL, "failUrl", failURL))
	p.send(p.open(r.at("widget_url")), "cardnumber", redirected, "cardholder", "JANE DOE", "exp_month", "12", "exp_year", "99", "cvv", "737").want(200)
	challenge := p.open(m.read(r.at("id")).has("status", "action_required").at("simple_auth_redirect_url"))
	p.send(challenge, "decision", "approve").wantRedirectedTo(returnURL)
	m.read(r.at("id")).has("status", "charged")
}
