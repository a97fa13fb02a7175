package conformance_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Tests of the specification's sections "GET /api/v1/transactions/{id} (read)" and
// "GET /api/v1/transactions (list)".

func TestReadReturnsTheFullState(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_bps":"250","description":"ACME"}`)
	r := m.create(payment(good, "txid", "full", "merchant_meta", params{"k": "v"}, "description", "Shoes"))
	m.get(transactions+"/"+r.at("id")).wantBody(200, r.body)
	refunded := m.refund(r.at("id"), "100").want(200)
	m.get(transactions+"/"+r.at("id")).wantBody(200, refunded.body)
	for _, p := range []params{payment(redirected), payment(password), payment(delayed), payment(declined), payout(declined), paymentWith(params{"type": "crypto"})} {
		r := m.create(p)
		m.get(transactions+"/"+r.at("id")).wantBody(200, r.body)
	}
}

func TestReadNeedsBothHeaders(t *testing.T) {
	m := sandboxMerchant(t)
	path := transactions + "/" + m.create(payment(good)).at("id")
	const body = `{"error":"unauthorized"}`
	m.with("x-organization-id", "").get(path).wantBody(401, body)
	m.with("x-api-key", "").get(path).wantBody(401, body)
	m.with("x-api-key", "mzk_nobody").get(path).wantBody(401, body)
	m.get(path).want(200)
}

func TestEveryEndpointOfTransactionsNeedsBothHeaders(t *testing.T) {
	merchant := sandboxMerchant(t)
	id := merchant.create(payment(redirected)).at("id")
	for _, call := range []struct{ method, path string }{
		{"POST", ""}, {"GET", ""}, {"GET", "/aggregate"}, {"GET", "/" + id}, {"PUT", "/" + id}, {"POST", "/commit/" + id}, {"POST", "/continue/" + id},
		{"POST", "/additional_params_for_auth/" + id}, {"POST", "/choose_target_destination/" + id},
	} {
		var body any
		if call.method != "GET" {
			body = params{"params": params{"type": "cancel"}}
		}
		for _, header := range []string{"x-api-key", "x-organization-id"} {
			merchant.with(header, "").do(call.method, transactions+call.path, body).wantBody(401, `{"error":"unauthorized"}`)
		}
		if r := merchant.do(call.method, transactions+call.path, body); r.status == 401 {
			t.Errorf("%s with both headers gets %d %s", r.called, r.status, r.body)
		}
	}
}

func TestUnknownIDIsNotFound(t *testing.T) {
	m := sandboxMerchant(t)
	for _, id := range []string{"00000000-0000-4000-8000-000000000000", "x", "1"} {
		m.get(transactions+"/"+id).want(404).has("error", "not_found")
	}
}

func TestListHasDataAndCursor(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	m.get(transactions+"?env=test").wantBody(200, `{"data":[],"cursor":{"cursor_field":"started","cursor_value":null}}`)
	r := m.create(payment(good, "txid", "only"))
	m.get(transactions+"?env=test").wantBody(200, `{"data":[`+r.body+`],"cursor":{"cursor_field":"started","cursor_value":null}}`)
	m.get(transactions+"?env=test&order_by=updated").wantBody(200, `{"data":[`+r.body+`],"cursor":{"cursor_field":"updated","cursor_value":null}}`)
}

func TestPageHas20RowsByDefaultAndAtMost100(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	for range 101 {
		merchant.create(payment(good, "money_storage", absent))
	}
	for query, rows := range map[string]int{"": 20, "&limit=1": 1, "&limit=100": 100} {
		if got := len(merchant.get(transactions + "?env=test" + query).want(200).column("id")); got != rows {
			t.Errorf("%q shows %d rows, want %d", query, got, rows)
		}
	}
	for _, limit := range []string{"0", "101", "-1", "x", "1.5", "1e1"} {
		merchant.get(transactions+"?env=test&limit="+limit).refuses("limit", "limit must be from 1 to 100")
	}
}

func TestCursorReachesAllRowsAndEndsWithNull(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	var wantIDs []string
	for range 7 {
		wantIDs = append(wantIDs, merchant.create(payment(declined)).at("id"))
	}
	slices.Reverse(wantIDs)
	for _, order := range []string{"started", "updated"} {
		var gotIDs []string
		cursor := ""
		for range 4 {
			r := merchant.get(transactions+"?env=test&limit=2&order_by="+order+cursor).want(200).has("cursor.cursor_field", order)
			gotIDs = append(gotIDs, r.column("id")...)
			if r.rawAt("cursor.cursor_value") == "null" {
				break
			}
			cursor = "&cursor=" + url.QueryEscape(r.matches("cursor.cursor_value", instant).at("cursor.cursor_value"))
		}
		if strings.Join(gotIDs, " ") != strings.Join(wantIDs, " ") {
			t.Errorf("by %s the walk shows\n%v, want\n%v", order, gotIDs, wantIDs)
		}
	}
}

func TestFullLastPageHasNoCursor(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	for range 3 {
		m.create(payment(declined))
	}
	m.get(transactions+"?env=test&limit=3").want(200).has("data.3", absent).hasRaw("cursor.cursor_value", "null")
	m.get(transactions+"?env=test&limit=2").want(200).has("data.2", absent).matches("cursor.cursor_value", instant)
}

func TestListIsFilteredByStatusTypeAndEnv(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	chargedID, declinedID := merchant.create(payment(good)).at("id"), merchant.create(payment(declined)).at("id")
	out := merchant.create(payout(good, "amount", "10")).at("id")
	prod := merchant.create(payment(good, "env", "prod")).at("id")
	for query, want := range map[string][]string{
		"?env=test": {out, declinedID, chargedID}, "?env=test&status=charged": {out, chargedID}, "?env=test&status=rejected": {declinedID}, "?env=test&type=payment": {declinedID, chargedID},
		"?env=test&type=payout": {out}, "?env=test&status=charged&type=payout": {out}, "?env=prod": {prod}, "": {prod}, "?env=test&status=anything_else": {},
	} {
		merchant.wantListed(query, want...)
	}
	merchant.get(transactions+"?type=refund").refuses("type", "type must be payment or payout")
	merchant.get(transactions+"?env=live").refuses("env", "env must be prod or test")
}

// wantListed checks which transactions a query returns.
func (m *merchant) wantListed(query string, want ...string) {
	m.t.Helper()
	if got := m.get(transactions + query).want(200).column("id"); strings.Join(got, " ") != strings.Join(want, " ") {
		m.t.Errorf("%q shows %v, want %v", query, got, want)
	}
}

func TestListIsFilteredByTimes(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	first := merchant.create(payment(delayed))
	advance(t, 3)
	second := merchant.create(payment(declined))
	advance(t, 2)
	first = merchant.read(first.at("id")).has("status", "charged")
	a, b := first.at("id"), second.at("id")
	at := func(r *response, name string) string { return url.QueryEscape(r.at(name)) }
	for query, want := range map[string][]string{
		"started_from=" + at(second, "started"):                                             {b},
		"started_to=" + at(first, "started"):                                                {a},
		"started_from=" + at(first, "started") + "&started_to=" + at(second, "started"):     {b, a},
		"finished_from=" + at(first, "finished"):                                            {a},
		"finished_to=" + at(second, "finished"):                                             {b},
		"finished_from=" + at(second, "finished") + "&finished_to=" + at(first, "finished"): {b, a},
		"updated_from=" + at(first, "finished"):                                             {a},
		"updated_to=" + at(second, "finished"):                                              {b},
	} {
		merchant.wantListed("?env=test&"+query, want...)
	}
	merchant.get(transactions+"?started_from=yesterday").refuses("started_from", "started_from must be an ISO 8601 time")
	waiting := merchant.create(payment(redirected)).at("id")
	merchant.wantListed("?env=test&finished_from=2020-01-01T00:00:00Z", b, a)
	merchant.wantListed("?env=test&order_by=updated", waiting, a, b)
	merchant.wantListed("?env=test&order_by=started", waiting, b, a)
}

func TestListIsFilteredByAmount(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	var ids []string
	for _, amount := range []string{"9", "10", "100", "340282366920938463463374607431768211456"} {
		ids = append(ids, m.create(payment(declined, "amount", amount)).at("id"))
	}
	m.wantListed("?env=test&amount_from=10", ids[3], ids[2], ids[1])
	m.wantListed("?env=test&amount_to=10", ids[1], ids[0])
	m.wantListed("?env=test&amount_from=10&amount_to=100", ids[2], ids[1])
	m.wantListed("?env=test&amount_from=340282366920938463463374607431768211456", ids[3])
	m.get(transactions+"?amount_from=1.5").refuses("amount_from", "amount_from must be a string of minor units")
}

func TestListIsOrderedByStartedOrUpdated(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	a, b := m.create(payment(good)).at("id"), m.create(payment(good)).at("id")
	m.wantListed("?env=test", b, a)
	m.refund(a, "").want(200)
	m.wantListed("?env=test&order_by=started", b, a)
	m.wantListed("?env=test&order_by=updated", a, b)
	m.get(transactions+"?order_by=amount").want(422).has("errors.0.field", "order_by")
}

func TestListIsFilteredByRetrievalReferenceNumber(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	m.create(payment(good))
	listedPayment := m.create(payment(good))
	m.create(payment(declined)).has("rrn", absent)
	m.wantListed("?env=test&rrn="+listedPayment.at("rrn"), listedPayment.at("id"))
	m.wantListed("?env=test&rrn=000000000000")
}

func TestListIsFilteredByLink(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	m.create(payment(good))
	m.wantListed("?env=test&link_id=00000000-0000-4000-8000-000000000000")
	m.get(transactions+"?link_id=x").want(422).has("errors.0.field", "link_id")
}

func TestUnknownListParametersAreRefused(t *testing.T) {
	m := sandboxMerchant(t)
	for _, name := range []string{"page", "offset", "from", "to", "currency", "partner_id", "id", "sort", "Limit"} {
		m.get(transactions+"?"+name+"=1").refuses(name, "Unexpected field")
	}
	m.get(transactions+"?page=1&offset=2").want(422).has("errors.0.detail", "Unexpected field", "errors.1.detail", "Unexpected field")
}

func TestListAcceptsAndIgnoresTxid(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	a, b := m.create(payment(good, "txid", "a")).at("id"), m.create(payment(good, "txid", "b")).at("id")
	m.wantListed("?env=test&txid=a", b, a)
	m.wantListed("?env=test&txid=", b, a)
}

func TestStartCursorNeedsEndCursor(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	var all []*response
	for range 4 {
		all = append(all, merchant.create(payment(declined)))
	}
	id := func(i int) string { return all[i].at("id") }
	at := func(i int) string { return url.QueryEscape(all[i].at("started")) }
	merchant.wantListed("?env=test&start_cursor="+at(2), id(3), id(2), id(1), id(0))
	merchant.wantListed("?env=test&start_cursor=anything", id(3), id(2), id(1), id(0))
	merchant.wantListed("?env=test&start_cursor="+at(2)+"&end_cursor="+at(1), id(2), id(1))
	merchant.wantListed("?env=test&start_cursor="+at(1)+"&end_cursor="+at(2), id(2), id(1))
}

func TestAggregateSumsByCurrencyAndStatus(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{"fee_bps":"250"}`)
	paid := merchant.create(payment(good)).at("id")
	merchant.create(payment(good, "amount", "3000"))
	merchant.create(payment(declined))
	merchant.create(payment(good, "currency", "EUR"))
	merchant.refund(paid, "400").want(200)
	r := merchant.get(transactions + "/aggregate?env=test&currency=USD&status=charged").want(200)
	r.has("data.0.currency", "USD", "data.0.network", "", "data.0.env", "test", "data.0.type", "payment", "data.0.status", "charged", "data.1", absent).
		hasRaw("data.0.count", "1", "data.0.amount", `"3000"`, "data.0.amount_with_fee", `"3000"`, "data.0.merchant_amount", `"2925"`,
			"data.0.fee_amount", `"75"`, "data.0.refunded_amount", `"0"`).matches("meta.as_of", instant)
	all := merchant.get(transactions + "/aggregate?env=test").want(200)
	if got := fmt.Sprint(all.column("currency"), all.column("status"), all.column("amount"), all.column("refunded_amount")); got !=
		"[EUR USD USD USD] [charged charged refunded rejected] [1000 3000 1000 1000] [0 0 400 0]" {
		t.Errorf("the rows are %s", got)
	}
	merchant.get(transactions+"/aggregate?currency=JPY").refuses("currency", "unsupported currency JPY")
	merchant.get(transactions+"/aggregate?limit=5").refuses("limit", "Unexpected field")
	byType := merchant.get(transactions + "/aggregate?env=test&group_by=type&currency=USD").want(200)
	byType.has("data.0.count", "3", "data.0.amount", "5000", "data.0.status", absent, "data.1", absent)
}
