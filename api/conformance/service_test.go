package conformance_test

import (
	"strings"
	"testing"
)

// Tests of the specification's section "What the service does".

func TestPaymentIsRoutedToATerminalAndMovesMoney(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	paid := m.create(payment(good)).has("status", "charged", "route", "simulator", "amount", "1000")
	m.wantMoved(paid.at("id"), "settle posted: Dr A:provider:T1 1000 USD, Cr L:partner:P:available 1000 USD")
	m.wantBalance("USD", "1000 0")
}

func TestPaymentsPayoutsAndRefundsShareOneObject(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	payIn := merchant.create(payment(good, "txid", "in"))
	refunded := merchant.refund(payIn.at("id"), "400").want(200).has("id", payIn.at("id"), "txid", "in", "type", "payment")
	out := merchant.create(payout(good, "amount", "100")).has("status", "charged")
	for name := range out.memberNames("") {
		if !payIn.memberNames("")[name] {
			t.Errorf("a payout has %s, a payment does not", name)
		}
	}
	for name := range payIn.memberNames("") {
		if payments := name == "auth_params" || name == "additional_params_for_auth"; !out.memberNames("")[name] && !payments {
			t.Errorf("a payment has %s, a payout does not", name)
		}
		if !refunded.memberNames("")[name] {
			t.Errorf("a payment has %s, a refunded one does not", name)
		}
	}
	if ids := merchant.get(transactions + "?env=test").want(200).column("id"); len(ids) != 2 {
		t.Errorf("a payment, its refund and a payout are %d transactions, want 2", len(ids))
	}
}

func TestPartnersSeeOnlyTheirOwnTransactions(t *testing.T) {
	merchant, neighbour := newMerchantWithTerminals(t, `{}`), newMerchantWithTerminals(t, `{}`)
	id := merchant.create(payment(good, "txid", "one")).at("id")
	for name, otherCaller := range map[string]caller{"the same organization": neighbour.caller, "another organization": secondPartner(t)} {
		unknown := otherCaller.get(transactions + "/00000000-0000-4000-8000-000000000000").want(404)
		otherCaller.get(transactions+"/"+id).wantBody(404, unknown.body)
		for _, call := range []struct{ method, path, body string }{
			{"PUT", "/" + id, `{"params":{"type":"refund"}}`},
			{"PUT", "/" + id, `{"params":{"type":"cancel"}}`},
			{"POST", "/commit/" + id, `{"params":{}}`},
			{"POST", "/continue/" + id, `{"money_storage":{"type":"sbp"}}`},
			{"POST", "/additional_params_for_auth/" + id, `{"additional_params_for_auth":{"otp":"1"}}`},
			{"POST", "/choose_target_destination/" + id, `{"target_bank_id":"x"}`},
		} {
			if r := otherCaller.do(call.method, transactions+call.path, call.body); r.status != 404 || r.body != unknown.body {
				t.Errorf("%s of %s responded %d %s, want %s", call.path, name, r.status, r.body, unknown.body)
			}
		}
		if rows := otherCaller.get(transactions + "?env=test&limit=100").want(200).column("id"); strings.Contains(strings.Join(rows, " "), id) {
			t.Errorf("the list of a partner of %s shows it", name)
		}
	}
	neighbour.wantBalance("USD", "0 0")
	merchant.wantBalance("USD", "1000 0")
}

func TestAPIKeyBelongsToOneOrganization(t *testing.T) {
	s := testServer(t).Sandbox
	keyed(t, s.APIKey, s.OrganizationID).get(transactions).want(200)
	keyed(t, s.APIKey, s.Second.OrganizationID).get(transactions).wantBody(401, `{"error":"unauthorized"}`)
	keyed(t, s.Second.APIKey, s.OrganizationID).get(transactions).wantBody(401, `{"error":"unauthorized"}`)
}

func TestAllKeysOfAPartnerSeeTheSameTransactions(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(good, "txid", "k")).at("id")
	other := keyed(t, newKey(t, m.number), testServer(t).Sandbox.OrganizationID)
	other.get(transactions+"/"+id).want(200).has("txid", "k")
	other.post(transactions, params{"params": payment(good, "txid", "k")}).want(201).has("id", id)
}

func TestBodiesAreJSON(t *testing.T) {
	m := sandboxMerchant(t)
	for _, a := range []*response{
		m.create(payment(good)), m.get(transactions).want(200), m.send(params{}).want(422), anyone(t).get(transactions).want(401),
	} {
		if got := a.header.Get("content-type"); got != "application/json" {
			t.Errorf("%s: content-type %q", a.called, got)
		}
	}
	m.with("content-type", "text/plain").post(transactions, params{"params": payment(good)}).want(415)
	m.with("content-type", "application/json; charset=utf-8").post(transactions, params{"params": payment(good, "description", "Schuhe für Zoë 🥿")}).want(201).
		has("description", "Schuhe für Zoë 🥿")
}

func TestIdentifiersAreUUIDsOfVersion4(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	paid := m.create(payment(chargedBack)).matches("id", uuid4)
	m.refund(paid.at("id"), "1").want(200).matches("refund_id", uuid4)
	advance(t, 60)
	m.read(paid.at("id")).has("status", "reversed").matches("return_id", uuid4)
	for _, id := range append(m.terminals, testServer(t).Sandbox.OrganizationID) {
		if !uuid4.MatchString(id) {
			t.Errorf("%s is no UUID of version 4", id)
		}
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	m := sandboxMerchant(t)
	id := m.create(payment(good, "basket", []int{1, 2}, "Amount", "9", "AMOUNT", 3, "notifyUrl", "https://shop.example/hook")).
		has("status", "charged", "amount", "1000").at("id")
	m.put(transactions+"/"+id, `{"params":{"type":"refund","amount":"1","reason":"size"},"other":1}`).want(200).has("status", "refunded")
	m.create(paymentWith(card(good).with("card_color", "blue"))).has("status", "charged")
}

func TestTimesHaveAnOffset(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	m.create(payment(good)).matches("started", instant).matches("finished", instant)
	m.create(payment(good))
	list := m.get(transactions + "?env=test&limit=1").want(200)
	list.matches("data.0.started", instant).matches("data.0.finished", instant).matches("cursor.cursor_value", instant)
}

func TestHealthHasItsFieldsAndNoStatusField(t *testing.T) {
	r := anyone(t).get(v1 + "/health").want(200)
	for _, name := range []string{"core_status", "db_status", "appversion", "env", "domain"} {
		if raw := r.rawAt(name); !strings.HasPrefix(raw, `"`) {
			t.Errorf("%s is %s, want a string", name, raw)
		}
	}
	r.has("core_status", "ok", "status", absent)
}
