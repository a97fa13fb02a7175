package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestOrganizationsAreAdministered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":1}`).want(200, "") // so that the newest record is first in lists
	created := f.admin().post("/api/v1/organizations", `{"name":"New","type":"bank","modules":["islamic_finance"],"allowed_regions":["AE","SA"]}`).want(201, "")
	id := created.at("data.id")
	created.want(201, `{"data":{"id":"`+id+`","name":"New","type":"bank","status":"active","modules":["islamic_finance"],"allowed_regions":["AE","SA"],"created_at":"`+created.at("data.created_at")+`"}}`)
	f.admin().get("/api/v1/organizations/"+id).want(200, created.body)
	patched := f.admin().patch("/api/v1/organizations/"+id, `{"params":{"name":"Newer","status":"archived","modules":[]}}`).want(200, "")
	if patched.at("data.name") != "Newer" || patched.at("data.status") != "archived" || patched.at("data.modules") != "[]" || patched.at("data.allowed_regions") != `["AE","SA"]` {
		t.Errorf("%s", patched.body)
	}
	f.admin().patch("/api/v1/organizations/"+id, `{"status":"active"}`).want(409, "")
	if ids := columnOfPages(t, f.admin(), "/api/v1/organizations", 1, "id"); len(ids) != 3 || ids[0] != id {
		t.Errorf("list %v", ids)
	}
	for body, want := range map[string]string{
		`{}`:                                   "name",
		`{"name":5}`:                           "name",
		`{"name":"x","type":"club"}`:           "type",
		`{"name":"x","status":"on"}`:           "status",
		`{"name":"x","modules":"all"}`:         "modules",
		`{"name":"x","modules":[1]}`:           "modules",
		`{"name":"x","allowed_regions":["x"]}`: "allowed_regions",
	} {
		if r := f.admin().post("/api/v1/organizations", body).want(422, ""); r.at("errors.0.field") != want {
			t.Errorf("%s: %s", body, r.body)
		}
	}
	f.admin().get("/api/v1/organizations/"+uuid.NewString()).want(404, "")
	f.admin().get("/api/v1/organizations/x").want(404, "")
	f.admin().patch("/api/v1/organizations/"+uuid.NewString(), `{}`).want(404, "")
}

func TestPartnersAreAdministered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	partner := f.admin().post("/api/v1/partners", `{"name":"Shop","login":"shop","pass":"nine-Lions-paint","email":"a@b.example","lang":"ru","unknown":1,
		"source_addresses":["203.0.113.0/24","2001:db8::1"],"overdraft_limit":[{"currency":"USD","env":"test","amount":"500"}]}`).want(201, "")
	id := partner.at("id")
	for path, want := range map[string]string{
		"name": "Shop", "login": "shop", "active": "true", "email": "a@b.example", "lang": "ru", "pass": "(absent)", "secret": "null",
		"source_addresses": `["203.0.113.0/24","2001:db8::1/128"]`, "overdraft_limit.0.amount": "500", "overdraft_limit.0.currency": "USD",
	} {
		if partner.at(path) != want || partner.at("data."+path) != want {
			t.Errorf("%s = %s and %s, want %s at the top level and in data", path, partner.at(path), partner.at("data."+path), want)
		}
	}
	if id != "3" || partner.at("created_at") == "null" || strings.Contains(partner.body, "nine-Lions-paint") {
		t.Errorf("%s", partner.body)
	}
	f.admin().post("/api/v1/partners", `{"params":{"name":"Again","login":"shop","pass":"nine-Lions-paint"}}`).want(409, `{"error":"conflict","message":"login: the login is taken"}`)
	read := f.admin().get("/api/v1/partners/"+id).want(200, "")
	if read.at("data.login") != "shop" || read.at("login") != "(absent)" {
		t.Errorf("%s", read.body)
	}
	patched := f.admin().patch("/api/v1/partners/"+id, `{"active":false,"email":"c@d.example","source_addresses":[],"overdraft_limit":[]}`).want(200, "")
	if patched.at("data.active") != "false" || patched.at("data.email") != "c@d.example" || patched.at("data.name") != "Shop" || patched.at("data.source_addresses") != "[]" || patched.at("data.overdraft_limit") != "[]" {
		t.Errorf("%s", patched.body)
	}
	if ids := columnOfPages(t, f.admin(), "/api/v1/partners", 1, "id"); !slices.Equal(ids, []string{"3", "1"}) {
		t.Errorf("list %v", ids)
	}
	for body, want := range map[string]string{
		`{"login":"l","pass":"nine-Lions-paint"}`:                                                                           "name",
		`{"name":"n","pass":"nine-Lions-paint"}`:                                                                            "login",
		`{"name":"n","login":"l"}`:                                                                                          "pass",
		`{"name":"n","login":"l","pass":5}`:                                                                                 "pass",
		`{"name":"n","login":"l","pass":"nine-Lions-paint","email":"x"}`:                                                    "email",
		`{"name":"n","login":"l","pass":"nine-Lions-paint","active":"yes"}`:                                                 "active",
		`{"name":"n","login":"l","pass":"nine-Lions-paint","source_addresses":["x"]}`:                                       "source_addresses.0",
		`{"name":"n","login":"l","pass":"nine-Lions-paint","overdraft_limit":{}}`:                                           "overdraft_limit",
		`{"name":"n","login":"l","pass":"nine-Lions-paint","overdraft_limit":[1]}`:                                          "overdraft_limit",
		`{"name":"n","login":"l","pass":"nine-Lions-paint","overdraft_limit":[{"currency":"USD","env":"test","amount":5}]}`: "overdraft_limit.0.amount",
	} {
		if r := f.admin().post("/api/v1/partners", body).want(422, ""); r.at("errors.0.field") != want {
			t.Errorf("%s: %s", body, r.body)
		}
	}
	for _, unknownID := range []string{"0", "-1", "01", "2", "99", "x", "1.0", "99999999999999999999"} {
		f.admin().get("/api/v1/partners/"+unknownID).want(404, "")
		f.admin().patch("/api/v1/partners/"+unknownID, `{}`).want(404, "")
	}
}

func TestAdministrationRequestNamesItsOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	inNoOrg := f.admin().with("x-organization-id", "")
	inNoOrg.get("/api/v1/partners").want(422, `{"errors":[{"code":"invalid","detail":"x-organization-id is required","field":"x-organization-id"}]}`)
	inNoOrg.with("x-organization-id", "x").get("/api/v1/partners").want(422, "")
	inNoOrg.with("x-organization-id", uuid.NewString()).get("/api/v1/partners").want(404, `{"error":"not_found","message":"no such organization"}`)
	partners := inNoOrg.with("x-organization-id", f.seed.Second.Org.String()).get("/api/v1/partners").want(200, "")
	if partners.at("data.0.id") != "2" || partners.rows() != 1 {
		t.Errorf("%s", partners.body)
	}
	// The administrator may make changes in an organization that is not active.
	f.admin().patch("/api/v1/organizations/"+f.seed.First.Org.String(), `{"status":"maintenance"}`).want(200, "")
	f.admin().get("/api/v1/partners").want(200, "")
}

func TestTerminalsAreAdministered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	terminal := f.admin().post("/api/v1/terminal", `{"name":"T","partner_id":1,"provider":"simulator","type":"payment","env":"test",
		"provider_params":{"priority":-5,"fee_bps":"250","description":"Shop text"},
		"merchant_params":{"notify_url":"https://shop.example/n","secret":"CANARY","secret_previous":"CANARY2","tg_ids_to_notify":[1,"2"]}}`).want(201, "")
	id := terminal.at("data.id")
	for path, want := range map[string]string{
		"name": "T", "partner_id": "1", "provider": "simulator", "type": "payment", "is_active": "true", "env": "test", "merchant_adapter": "",
		"provider_params.fee_bps": "250", "merchant_params.notify_url": "https://shop.example/n", "merchant_params.tg_ids_to_notify": `[1,"2"]`,
	} {
		if got := terminal.at("data." + path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	if strings.Contains(terminal.body, "CANARY") {
		t.Errorf("a secret is shown: %s", terminal.body)
	}
	f.admin().get("/api/v1/terminal/"+id).want(200, terminal.body)
	// Transactions are routed to the new terminal, with its fee and its description.
	paid := f.partner().post(transactions, paymentBody(`"amount":"1000","currency":"USD","description":"mine"`)).want(201, "")
	if paid.at("merchant_amount") != "975" || paid.at("description") != "Shop text" {
		t.Errorf("%s", paid.body)
	}
	patched := f.admin().patch("/api/v1/terminal/"+id, `{"is_active":false,"provider_params":{}}`).want(200, "")
	if patched.at("data.is_active") != "false" || patched.at("data.provider_params") != "{}" || patched.at("data.merchant_params.notify_url") != "https://shop.example/n" {
		t.Errorf("%s", patched.body)
	}
	if ids := columnOfPages(t, f.admin(), "/api/v1/terminals?partner_id=1", 2, "id"); len(ids) != 5 || ids[0] != id {
		t.Errorf("list %v", ids)
	}
	if list := f.admin().get("/api/v1/terminals?partner_id=2").want(200, ""); list.rows() != 0 {
		t.Errorf("%s", list.body)
	}
	for body, want := range map[string]string{
		`{"name":"T","provider":"simulator","type":"payment"}`:                                    "partner_id",
		`{"name":"T","provider":"simulator","type":"payment","partner_id":"1"}`:                   "partner_id",
		`{"name":"T","provider":"simulator","type":"payment","partner_id":2}`:                     "partner_id",
		`{"name":"T","provider":"x","type":"payment","partner_id":1}`:                             "provider",
		`{"name":"T","provider":"simulator","type":"x","partner_id":1}`:                           "type",
		`{"name":"T","provider":"simulator","type":"payment","partner_id":1,"env":"x"}`:           "env",
		`{"name":"T","provider":"simulator","type":"payment","partner_id":1,"provider_params":1}`: "provider_params",
	} {
		if r := f.admin().post("/api/v1/terminal", body).want(422, ""); r.at("errors.0.field") != want {
			t.Errorf("%s: %s", body, r.body)
		}
	}
}

func TestKeysAreShownOnceAndRevoked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	apiKey := f.admin().post("/api/v1/api_keys", `{"name":"till","partner_id":1,"expires_at":"2027-01-01T00:00:00Z"}`).want(201, "")
	id, key := apiKey.at("id"), apiKey.at("key")
	if !strings.HasPrefix(key, "mzk_") || apiKey.at("data.key") != key || !strings.HasPrefix(key, apiKey.at("prefix")) || apiKey.at("partner_id") != "1" || apiKey.at("expires_at") != "2027-01-01T00:00:00.000000+00:00" {
		t.Errorf("%s", apiKey.body)
	}
	tillCaller := f.partner().with("x-api-key", key)
	tillCaller.post(transactions, paymentBody(`"amount":"1"`)).want(201, "")
	list := f.admin().get("/api/v1/api_keys?partner_id=1").want(200, "")
	if list.at("data.0.id") != id || list.at("data.0.key") != "(absent)" || strings.Contains(list.body, key) || list.at("data.0.last_used_at") == "null" || list.at("data.0.revoked_at") != "null" {
		t.Errorf("%s", list.body)
	}
	revoked := f.admin().do("DELETE", "/api/v1/api_keys/"+id, "").want(200, "")
	if revoked.at("data.id") != id || revoked.at("data.revoked_at") == "null" {
		t.Errorf("%s", revoked.body)
	}
	tillCaller.post(transactions, paymentBody(`"amount":"1"`)).want(401, unauthorized)
	f.admin().do("DELETE", "/api/v1/api_keys/"+id, "").want(200, revoked.body)
	f.admin().do("DELETE", "/api/v1/api_keys/"+uuid.NewString(), "").want(404, "")
	f.admin().post("/api/v1/api_keys", `{"name":"old","partner_id":1,"expires_at":"2020-01-01T00:00:00Z"}`).want(422, "")
	f.admin().post("/api/v1/api_keys", `{"name":"old","partner_id":1,"expires_at":"soon"}`).want(422, "")
	f.admin().post("/api/v1/api_keys", `{"name":"of nobody","partner_id":99}`).want(422, "")
}

func TestAdministrationListParametersAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, list := range []string{"organizations", "partners", "terminals", "api_keys"} {
		for query, field := range map[string]string{"page=1": "page", "limit=0": "limit", "limit=501": "limit", "cursor=x": "cursor", "cursor=": "cursor", "name=x": "name"} {
			if r := f.admin().get("/api/v1/"+list+"?"+query).want(422, ""); r.at("errors.0.field") != field {
				t.Errorf("%s?%s: %s", list, query, r.body)
			}
		}
	}
	for _, bad := range []string{"0", "-1", "x", ""} {
		f.admin().get("/api/v1/terminals?partner_id="+bad).want(422, "")
	}
	f.admin().post("/api/v1/partners", `[]`).want(422, `{"errors":[{"code":"invalid","detail":"the body must be an object"}]}`)
	f.admin().post("/api/v1/partners", `{`).want(400, "")
	f.admin().with("content-type", "text/plain").post("/api/v1/partners", `{}`).want(415, "")
}

func TestClockIsMoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const path = "/api/v1/sandbox/clock"
	f.admin().get(path).want(200, `{"now":"2026-09-03T10:15:30.123456+00:00"}`)
	f.admin().do("PUT", path, `{"advance_seconds":3600}`).want(200, `{"now":"2026-09-03T11:15:30.123456+00:00"}`)
	f.admin().do("PUT", path, `{"now":"2026-09-04T00:00:00+01:00"}`).want(200, `{"now":"2026-09-03T23:00:00.000000+00:00"}`)
	f.admin().do("PUT", path, `{"advance_seconds":0}`).want(200, `{"now":"2026-09-03T23:00:00.000000+00:00"}`)
	for _, earlier := range []string{`{"now":"2026-09-03T22:59:59Z"}`, `{"advance_seconds":-1}`, `{"advance_seconds":-9223372036854775808}`} {
		f.admin().do("PUT", path, earlier).want(409, `{"error":"conflict","message":"the clock never moves back"}`)
	}
	for _, bad := range []string{`{}`, `{"now":5}`, `{"now":"tomorrow"}`, `{"advance_seconds":1.5}`, `{"advance_seconds":"5"}`,
		`{"advance_seconds":1e3}`, `{"advance_seconds":99999999999999999999}`, `{"now":"2027-01-01T00:00:00Z","advance_seconds":1}`, `{"Now":"2027-01-01T00:00:00Z"}`, `{"now":"9999-12-31T23:59:59-01:00"}`} {
		f.admin().do("PUT", path, bad).want(422, "")
	}
	f.admin().get(path).want(200, `{"now":"2026-09-03T23:00:00.000000+00:00"}`)
}

func TestDelayedCardIsChargedWhenTheClockMoves(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.partner().post(transactions, strings.Replace(paymentBody(`"amount":"7","currency":"USD"`), "4242424242424242", "4000000000000077", 1)).want(201, "")
	if transaction.at("status") != "charging" || transaction.at("finished") != "null" {
		t.Fatalf("%s", transaction.body)
	}
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":5}`).want(200, "")
	read := f.partner().get(transactions+"/"+transaction.at("id")).want(200, "")
	if read.at("status") != "charged" || !strings.HasPrefix(read.at("finished"), "2026-09-03T10:15:35.1234") {
		t.Errorf("%s", read.body)
	}
}

func TestHealthHasTheSpecifiedFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.anyone().get("/api/v1/health").want(200, `{"core_status":"ok","db_status":"ok","appversion":"v0.0.0-test","env":"sandbox","domain":"127.0.0.1"}`)
}

func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.partner().post(transactions, strings.Replace(paymentBody(`"amount":"1"`), `"123"`, `"CANARY"`, 1)).want(422, "")
	f.admin().post("/api/v1/partners", `{"name":"n","login":"l","pass":"CANARY","email":"CANARY"}`).want(422, "")
	f.bearer("mzs_CANARY", f.seed.First.Org).get("/api/v1/partners").want(401, "")
	f.partner().with("x-api-key", "CANARY").get(transactions+"/CANARY").want(401, "")
	if log := f.log.String(); strings.Contains(log, "CANARY") {
		t.Errorf("log %q", log)
	}
}
