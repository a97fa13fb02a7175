package conformance_test

import (
	"fmt"
	"strings"
	"testing"
)

// Tests of the specification's section "Errors", and of the service's own choices about the shapes of
// requests and responses.

func TestErrorsHaveTheThreeSpecifiedShapes(t *testing.T) {
	m := sandboxMerchant(t)
	m.send(payment(good, "currency", "JPY", "txid", strings.Repeat("x", 256))).wantBody(422,
		`{"errors":[{"code":"invalid","detail":"unsupported currency JPY","field":"currency"},`+
			`{"code":"invalid","detail":"txid must be at most 255 characters","field":"txid"}]}`)
	r := m.refund(m.create(payment(good)).at("id"), "1001").want(422).has("error", "invalid_refund_amount")
	if names := r.memberNames(""); len(names) != 2 || !names["message"] {
		t.Errorf("a refused operation gets %s", r.body)
	}
	m.post(transactions, payment(good)).wantBody(422, `{"error":"wrong params - can't init tx"}`)
}

func TestEachRefusalHasItsStatus(t *testing.T) {
	merchant := sandboxMerchant(t)
	id := merchant.create(payment(good)).at("id")
	for what, c := range map[string]struct {
		response *response
		status   int
	}{
		"a create":                 {merchant.send(payment(good, "txid", "status-1")), 201},
		"its repetition":           {merchant.send(payment(good, "txid", "status-1")), 201},
		"a rejected create":        {merchant.send(payment(declined)), 201},
		"no target bank":           {merchant.post(transactions+"/choose_target_destination/"+id, `{}`), 400},
		"no key":                   {merchant.with("x-api-key", "").get(transactions), 401},
		"no organization":          {merchant.with("x-organization-id", "").get(transactions), 401},
		"an unsupported currency":  {merchant.send(payment(good, "currency", "PLN")), 422},
		"a cvv of four digits":     {merchant.send(paymentWith(card(good).with("cvv", "1234"))), 422},
		"an unknown type":          {merchant.send(paymentWith(params{"type": "cash"})), 422},
		"no scheme":                {merchant.send(paymentWith(params{"type": "direct_debit"})), 422},
		"a long txid":              {merchant.send(payment(good, "txid", strings.Repeat("x", 256))), 422},
		"a long description":       {merchant.send(payment(good, "description", strings.Repeat("x", 2001))), 422},
		"no amount above zero":     {merchant.send(payment(good, "amount", "0")), 422},
		"no refund type":           {merchant.put(transactions+"/"+id, `{"params":{}}`), 422},
		"too large a refund":       {merchant.refund(id, "1001"), 422},
		"what is not reversible":   {merchant.refund(merchant.create(payment(declined)).at("id"), ""), 422},
		"an unexpected parameter":  {merchant.get(transactions + "?page=2"), 422},
		"a path that is not there": {merchant.get(v1 + "/nothing"), 404},
		"another method":           {merchant.do("DELETE", transactions, nil), 405},
	} {
		if c.response.status != c.status {
			t.Errorf("%s: %d %s, want %d", what, c.response.status, c.response.body, c.status)
		}
	}
}

func TestEveryResponseHasARequestID(t *testing.T) {
	m := sandboxMerchant(t)
	seen := map[string]bool{}
	for _, a := range []*response{m.create(payment(good)), m.get(transactions), anyone(t).get(transactions), m.get("/nothing"), m.send(params{})} {
		id := a.header.Get("x-request-id")
		if id == "" || seen[id] {
			t.Errorf("%s has the request id %q", a.called, id)
		}
		seen[id] = true
	}
}

func TestReplayIsMarkedAndNamesTheFirstDifference(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	request := payment(good, "txid", "m", "description", "Shoes", "network", absent, "customer", params{"name": "J"}, "lang", "en", "merchant_meta", params{"a": 1, "b": 2})
	merchant.create(request).hasHeader("x-idempotent-replay", absent).hasHeader("x-idempotent-mismatch", absent)
	merchant.create(request).hasHeader("x-idempotent-replay", "true").hasHeader("x-idempotent-mismatch", absent)
	for name, value := range map[string]any{
		"amount": "1001", "currency": "EUR", "env": "prod", "description": "Boots", "returnUrl": "https://a.example", "failUrl": "https://b.example",
		"lang": "ru", "customer": params{"name": "K"}, "merchant_meta": params{"a": 2}, "money_storage": card(anotherGood),
	} {
		merchant.create(request.with(name, value)).hasHeader("x-idempotent-replay", "true").hasHeader("x-idempotent-mismatch", name)
	}
	merchant.create(request.with("type", "payout")).hasHeader("x-idempotent-mismatch", "type")
}

func TestAmountsGoUpTo2To256(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	const maxUint256 = "115792089237316195423570985008687907853269984665640564039457584007913129639935" // 2^256 − 1
	m.create(payment(good, "amount", maxUint256)).has("status", "rejected", "error_description", "amount out of range", "amount", maxUint256)
	m.send(payment(good, "amount", maxUint256[:77]+"6")).refuses("amount", "amount is above 2^256 - 1")
	m.send(payment(good, "amount", strings.Repeat("9", 79))).refuses("amount", "amount is above 2^256 - 1")
	limit := "1" + strings.Repeat("0", 72)
	m.create(payment(good, "amount", limit[:72]+"1")).has("status", "rejected", "error_description", "amount out of range")
	m.create(payment(good, "amount", limit)).has("status", "charged", "amount", limit)
	m.refund(m.create(payment(good, "amount", limit)).at("id"), "").want(200)
}

func TestNamesMatchExactly(t *testing.T) {
	m := sandboxMerchant(t)
	m.send(payment(good, "amount", absent, "Amount", "1000")).refuses("amount", "amount is required")
	m.create(payment(good, "money_storage", absent, "Money_Storage", card(good))).has("error_description", "unexpected card")
	m.send(paymentWith(card(good).with("cvv", absent, "CVV", "123"))).refuses("money_storage.cvv", "cvv is required")
	m.put(transactions+"/"+m.create(payment(good)).at("id"), `{"params":{"Type":"refund"}}`).want(422)
}

func TestMalformedBodiesAre400AndStoreNothing(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	size := sizeOfJournal(t, merchant)
	before := size()
	for what, body := range map[string]string{
		"no JSON":           `{"params":{`,
		"nothing":           ``,
		"two documents":     `{"params":{}}{}`,
		"a name twice":      `{"params":{"type":"payment","amount":"1","amount":"2"}}`,
		"params twice":      `{"params":{},"params":{}}`,
		"an escaped twin":   `{"params":{"type":"payment","amount":"1","amoun\u0074":"2"}}`,
		"invalid UTF-8":     "{\"params\":{\"type\":\"payment\",\"amount\":\"1\",\"description\":\"\xff\"}}",
		"a lone surrogate":  `{"params":{"type":"payment","amount":"1","description":"\ud800"}}`,
		"nesting beyond 32": `{"params":{"merchant_meta":{"a":` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `}}}`,
	} {
		r := merchant.with("content-type", "application/json").post(transactions, body)
		if r.status != 400 || r.at("error") != "bad_request" {
			t.Errorf("%s gets %d %s", what, r.status, r.body)
		}
	}
	large := merchant.post(transactions, params{"params": payment(good, "merchant_meta", params{"x": strings.Repeat("x", 1<<20)})}).want(413)
	large.has("error", "payload_too_large")
	if after := size(); after != before {
		t.Errorf("the journal has %s events, had %s", after, before)
	}
	deep := strings.Repeat("[", 29) + strings.Repeat("]", 29) // together with the three objects around it, this is the deepest nesting that the server accepts
	merchant.post(transactions, fmt.Sprintf(`{"params":{"type":"payment","amount":"1","currency":"USD","env":"test","merchant_meta":{"a":%s}}}`, deep)).want(201)
}

func TestMetaNumbersAreReturnedExactly(t *testing.T) {
	m := sandboxMerchant(t)
	r := m.post(transactions, `{"params":{"type":"payment","amount":"1","currency":"USD","env":"test","merchant_meta":{"n":12345678901234567890.10}}}`).want(201)
	if !strings.Contains(r.body, `"n":12345678901234567890.10`) {
		t.Errorf("the number came back as %s", r.rawAt("merchant_meta"))
	}
}

func TestIdempotencyKeyReplaysTheFirstResponse(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	key := func(k string) caller { return merchant.with("idempotency-key", k) }
	body := params{"params": payment(good)}
	first := key("create 1").post(transactions, body).want(201).hasHeader("x-idempotent-replay", absent)
	key("create 1").post(transactions, body).wantBody(201, first.body).hasHeader("x-idempotent-replay", "true").
		hasHeader("location", transactions+"/"+first.at("id"))
	key("create 1").post(transactions, params{"params": payment(good, "amount", "1001")}).want(409).has("error", "conflict")
	merchant.wantBalance("USD", "1000 0")

	path, part := transactions+"/"+first.at("id"), `{"params":{"type":"refund","amount":"400"}}`
	refunded := key("refund 1").put(path, part).want(200)
	key("refund 1").put(path, part).wantBody(200, refunded.body).hasHeader("x-idempotent-replay", "true")
	merchant.wantBalance("USD", "600 0")
	key("refund 2").put(path, part).want(200).has("refunded_amount", "800")

	other := newMerchantWithTerminals(t, `{}`)
	other.with("idempotency-key", "create 1").post(transactions, body).want(201).hasHeader("x-idempotent-replay", absent)
}

func TestIdempotencyKeyHasAtMost255Characters(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	for _, bad := range []string{strings.Repeat("k", 256), "a\tb"} {
		m.with("idempotency-key", bad).post(transactions, params{"params": payment(good)}).want(422).has("errors.0.field", "Idempotency-Key")
	}
	m.with("idempotency-key", strings.Repeat("k", 255)).post(transactions, params{"params": payment(good)}).want(201)
}

func TestAdministrationAcceptsBareAndWrappedBodies(t *testing.T) {
	n := merchantCount.Add(1)
	admin(t).post(v1+"/partners", fmt.Sprintf(`{"name":"Bare","login":"bare-%d","pass":"nine-Lions-paint"}`, n)).want(201).has("name", "Bare", "data.name", "Bare")
	admin(t).post(v1+"/partners", fmt.Sprintf(`{"params":{"name":"Wrapped","login":"wrapped-%d","pass":"nine-Lions-paint"}}`, n)).want(201).has("name", "Wrapped")
	list := admin(t).get(v1 + "/partners?limit=2").want(200)
	list.has("data.0.name", "Wrapped", "data.1.name", "Bare")
	if list.at("cursor.cursor_field") == absent || list.at("cursor.cursor_value") == absent {
		t.Errorf("a list without its cursor: %s", list.body)
	}
}
