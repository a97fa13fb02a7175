package conformance_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Tests of deliveries as the administration sees them.

const deliveries = v1 + "/deliveries"

func TestAdministrationListsDeliveries(t *testing.T) {
	merchant, h := newMerchantWithHook(t, `{}`)
	h.respond(500)
	parked := merchant.create(payment(good, "txid", "a")).at("id")
	advance(t, 8*3600)
	h.respond(200)
	payoutID := merchant.create(payout(good, "txid", "b", "amount", "1")).at("id")
	h.waitForAll()
	h.respond(500)
	waits := merchant.create(payment(declined, "txid", "c")).at("id")
	h.waitForAll()
	transactionIDs := func(query string) string {
		t.Helper()
		return strings.Join(admin(t).get(deliveries+"?limit=500&"+query).want(200).column("transaction_id"), " ")
	}
	paymentTerminal, payoutTerminal := merchant.terminals[0], merchant.terminals[1]
	for query, want := range map[string]string{
		"terminal_id=" + paymentTerminal:                                waits + " " + parked,
		"terminal_id=" + payoutTerminal:                                 payoutID,
		"terminal_id=" + paymentTerminal + "&state=parked":              parked,
		"terminal_id=" + paymentTerminal + "&state=pending":             waits,
		"terminal_id=" + paymentTerminal + "&state=delivered":           "",
		"transaction_id=" + payoutID + "&state=delivered":               payoutID,
		"terminal_id=" + paymentTerminal + "&from=2100-01-01T00:00:00Z": "",
		"terminal_id=" + paymentTerminal + "&to=2020-01-01T00:00:00Z":   "",
		"transaction_id=" + paymentTerminal:                             "",
	} {
		if got := transactionIDs(query); got != want {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	row := admin(t).get(deliveries+"?terminal_id="+paymentTerminal+"&limit=1").want(200).has(
		"data.0.transaction_id", waits, "data.0.terminal_id", paymentTerminal, "data.0.type", "transaction.rejected", "data.0.state", "pending", "data.0.attempts", "1",
	).matches("data.0.next_at", instant).matches("data.0.booked_at", instant).matches("data.0.event_id", regexp.MustCompile(`^[0-9a-f-]{36}$`))
	next := row.at("cursor.cursor_value")
	admin(t).get(deliveries+"?terminal_id="+paymentTerminal+"&limit=1&cursor="+next).want(200).has("data.0.transaction_id", parked, "data.1", absent)
}

func TestDeliveryIsReadWithItsAttempts(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	h.respond(500)
	id := m.create(payment(good, "txid", "a")).at("id")
	first := clock(t)
	h.waitForAll()
	h.respond(201)
	advance(t, 30)
	event := deliveriesOf(t, id).at("data.0.event_id")
	admin(t).get(deliveries+"/"+event).want(200).has(
		"data.event_id", event, "data.state", "delivered", "data.next_at", "null",
		"data.attempts.0.at", first.Format(timeFormat), "data.attempts.0.status", "500", "data.attempts.0.error", "status 500",
		"data.attempts.1.status", "201", "data.attempts.1.error", "null", "data.attempts.2", absent,
	).matches("data.attempts.0.duration_ms", digits).matches("data.attempts.1.at", instant)
}

func TestDeliveryIsReplayed(t *testing.T) {
	merchant, h := newMerchantWithHook(t, `{}`)
	h.respond(500)
	ids := []string{merchant.create(payment(good, "txid", "a")).at("id"), merchant.create(payment(good, "txid", "b")).at("id"), merchant.create(payment(good, "txid", "c")).at("id")}
	advance(t, 8*3600)
	before := h.waitForAll()
	h.respond(200)
	event := deliveriesOf(t, ids[0]).has("data.0.state", "parked").at("data.0.event_id")
	keyed := admin(t).with("idempotency-key", "replay of "+event)
	first := keyed.post(deliveries+"/"+event+"/replay", nil).want(200).has("data.event_id", event, "data.state", "pending")
	keyed.post(deliveries+"/"+event+"/replay", nil).wantBody(200, first.body).hasHeader("x-idempotent-replay", "true")
	repeated := h.waitForAll()
	if last := repeated[len(repeated)-1]; len(repeated) != len(before)+1 || last.parsed.EventID != event || last.parsed.Data.TxID != "a" {
		t.Errorf("%d attempts, the last one of %s", len(repeated)-len(before), last.parsed.Data.TxID)
	}
	last := repeated[len(repeated)-1]
	last.hasHeaders(last.signatureHeaders("whsec"))
	for range 2 {
		keyed.with("idempotency-key", "all of "+event).post(deliveries+"/replay", params{"terminal_id": merchant.terminals[0]}).wantBody(200, `{"data":{"replayed":2}}`)
	}
	if rest := h.waitForAll(); len(rest) != len(repeated)+2 {
		t.Errorf("%d attempts", len(rest)-len(repeated))
	}
	for _, id := range ids {
		deliveriesOf(t, id).has("data.0.state", "delivered", "data.0.attempts", "7")
	}
}

func TestTestDeliveryIsSignedAndStoresNothing(t *testing.T) {
	merchant, h := newMerchantWithHook(t, `{}`)
	r := admin(t).post(v1+"/terminal/"+merchant.terminals[0]+"/test-delivery", nil).want(200).has("data.delivered", "true", "data.status", "200", "data.error", "null")
	n := h.waitForAll()[0]
	n.hasHeaders(n.signatureHeaders("whsec"))
	if n.parsed.Type != "transaction.test" || n.parsed.EventID != r.at("data.event_id") {
		t.Errorf("sent was %s", n.body)
	}
	h.respond(503)
	admin(t).post(v1+"/terminal/"+merchant.terminals[0]+"/test-delivery", nil).want(200).has("data.delivered", "false", "data.status", "503")
	advance(t, 8*3600)
	if all := h.waitForAll(); len(all) != 2 {
		t.Errorf("%d attempts: a test is not repeated", len(all))
	}
	admin(t).get(deliveries+"?terminal_id="+merchant.terminals[0]).want(200).has("data.0", absent)
	admin(t).post(v1+"/terminal/"+newMerchantWithTerminals(t, `{}`).terminals[0]+"/test-delivery", nil).want(422).has("errors.0.field", "notify_url")
}

func TestDeliveriesAreForTheAdministrationOnly(t *testing.T) {
	merchant, h := newMerchantWithHook(t, `{}`)
	id := merchant.create(payment(good, "txid", "a")).at("id")
	h.waitForAll()
	event := deliveriesOf(t, id).at("data.0.event_id")
	s := testServer(t).Sandbox
	unknown := admin(t).get(deliveries + "/00000000-0000-4000-8000-000000000000").want(404)
	otherAdmin := admin(t).with("x-organization-id", s.Second.OrganizationID)
	for _, call := range []struct{ method, path string }{{"GET", ""}, {"POST", "/replay"}} {
		path := deliveries + "/" + event + call.path
		merchant.do(call.method, path, nil).want(401)
		anyone(t).do(call.method, path, nil).want(401)
		auditor(t).do(call.method, path, nil).want(403)
		otherAdmin.do(call.method, path, nil).wantBody(404, unknown.body)
	}
	otherAdmin.get(fmt.Sprintf("%s?transaction_id=%s", deliveries, id)).want(200).has("data.0", absent)
	otherAdmin.post(deliveries+"/replay", params{"terminal_id": merchant.terminals[0]}).want(404)
	otherAdmin.post(v1+"/terminal/"+merchant.terminals[0]+"/test-delivery", nil).want(404)
}
