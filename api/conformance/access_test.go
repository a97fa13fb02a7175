package conformance_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// Tests of the specification's section "Authentication", for the routes of transactions.

const unauthorized = `{"error":"unauthorized"}`

// withoutFields returns a header without the named fields, which differ from response to response.
func withoutFields(h http.Header, names ...string) string {
	h = h.Clone()
	for _, name := range names {
		h.Del(name)
	}
	return fmt.Sprint(h)
}

func TestUnauthorizedResponseGivesNoReason(t *testing.T) {
	s := testServer(t).Sandbox
	m := newMerchantWithTerminals(t, `{}`)
	key := func(more string) string {
		return admin(t).post(v1+"/api_keys", `{"name":"k","partner_id":`+m.number+more+`}`).want(201).at("key")
	}
	expiring := key(`,"expires_at":"` + clock(t).Add(time.Minute).Format(time.RFC3339) + `"`)
	restricted := newMerchant(t, "source_addresses", []string{"192.0.2.0/24"})
	revoked := admin(t).post(v1+"/api_keys", `{"name":"k","partner_id":`+m.number+`}`).want(201)
	admin(t).do("DELETE", v1+"/api_keys/"+revoked.at("id"), nil).want(200)
	keyed(t, expiring, s.OrganizationID).get(transactions).want(200)
	advance(t, 61)

	var first *response
	for name, c := range map[string]caller{
		"nothing": anyone(t), "the key alone": anyone(t).with("x-api-key", s.APIKey), "the organization alone": anyone(t).with("x-organization-id", s.OrganizationID),
		"an unknown key": keyed(t, "mzk_nobody", s.OrganizationID), "an unknown organization": keyed(t, s.APIKey, "00000000-0000-4000-8000-000000000000"),
		"an organization that is none": keyed(t, s.APIKey, "x"), "another organization": keyed(t, s.APIKey, s.Second.OrganizationID),
		"an expired key": keyed(t, expiring, s.OrganizationID), "a revoked key": keyed(t, revoked.at("key"), s.OrganizationID),
		"another address": restricted.caller, "an admin token as a key": keyed(t, s.AdminToken, s.OrganizationID),
		"an unknown token": bearer(t, "mza_nobody"), "an unknown session": bearer(t, "mzs_nobody"), "another's session": bearer(t, s.Second.SessionToken),
	} {
		for _, a := range []*response{c.get(transactions), c.post(transactions, params{"params": payment(good)}), c.get(transactions + "/x")} {
			if first == nil {
				first = a
			}
			if a.status != 401 || a.body != unauthorized {
				t.Errorf("%s: %s responded %d %s", name, a.called, a.status, a.body)
			}
			if withoutFields(a.header, "Date", "X-Request-Id") != withoutFields(first.header, "Date", "X-Request-Id") {
				t.Errorf("%s: %s has the headers %v, want those of others, %v", name, a.called, a.header, first.header)
			}
		}
	}
}

func TestAdminTokenIsRefusedOnPartnerRoutes(t *testing.T) {
	admin(t).post(transactions, params{"params": payment(good)}).wantBody(401, unauthorized)
	admin(t).get(v1+"/balances").wantBody(401, unauthorized)
}

func TestInactiveOrganizationIs401(t *testing.T) {
	platform := anyone(t).with("authorization", "Bearer "+testServer(t).Sandbox.AdminToken)
	for _, status := range []string{"maintenance", "archived"} {
		org := platform.post(v1+"/organizations", `{"name":"Sleeps","type":"merchant"}`).want(201).at("data.id")
		of := platform.with("x-organization-id", org)
		number := of.post(v1+"/partners", `{"name":"P","login":"p","pass":"nine-Lions-paint"}`).want(201).at("id")
		key := of.post(v1+"/api_keys", `{"name":"k","partner_id":`+number+`}`).want(201).at("key")
		keyed(t, key, org).get(transactions).want(200)
		platform.patch(v1+"/organizations/"+org, `{"status":"`+status+`"}`).want(200)
		keyed(t, key, org).get(transactions).wantBody(401, unauthorized)
	}
	org := platform.post(v1+"/organizations", `{"name":"Begins","type":"merchant","status":"provisioning"}`).want(201).at("data.id")
	of := platform.with("x-organization-id", org)
	number := of.post(v1+"/partners", `{"name":"P","login":"p","pass":"nine-Lions-paint"}`).want(201).at("id")
	key := of.post(v1+"/api_keys", `{"name":"k","partner_id":`+number+`}`).want(201).at("key")
	keyed(t, key, org).get(transactions).wantBody(401, unauthorized)
}

func TestDeactivatedPartnerIs403(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	id := merchant.create(payment(good)).at("id")
	admin(t).patch(v1+"/partners/"+merchant.number, `{"active":false}`).want(200)
	for _, a := range []*response{
		merchant.get(transactions), merchant.get(transactions + "/" + id), merchant.send(payment(good)), merchant.refund(id, ""), merchant.commit(id, ""), merchant.get(v1 + "/balances"),
	} {
		if a.status != 403 || a.at("error") != "forbidden" {
			t.Errorf("%s responded %d %s", a.called, a.status, a.body)
		}
	}
	admin(t).patch(v1+"/partners/"+merchant.number, `{"active":true}`).want(200)
	merchant.read(id).has("status", "charged")
}

func TestAdministrationTakesTheAdminTokenOnly(t *testing.T) {
	s := testServer(t).Sandbox
	admin(t).get(v1 + "/partners").want(200)
	for _, c := range []caller{sandboxMerchant(t).caller, anyone(t), bearer(t, "mza_nobody")} {
		if r := c.get(v1 + "/partners"); r.status != 401 {
			t.Errorf("%s responded %d %s", r.called, r.status, r.body)
		}
	}
	bearer(t, s.SessionToken).get(v1 + "/partners").want(403)
}
