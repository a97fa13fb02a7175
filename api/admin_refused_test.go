package api_test

import (
	"strings"
	"testing"
)

// wantFieldsRefused checks that exactly these fields are refused, in this order.
func (r *response) wantFieldsRefused(fields ...string) {
	r.t.Helper()
	var got []string
	r.want(422, "")
	for problem := range strings.SplitSeq(r.fieldProblems(), "|") {
		field, _, _ := strings.Cut(problem, ":")
		got = append(got, field)
	}
	if strings.Join(got, " ") != strings.Join(fields, " ") {
		r.t.Errorf("refused %s\nwant    %s\n%s", got, fields, r.body)
	}
}

// Specification, "Errors": one element per field on validation failures.
func TestCreateReportsAllBadFieldsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before := f.events()
	for _, c := range []struct{ path, body, fields string }{
		{"organizations", `{"name":"","type":"club","status":7,"modules":["x"],"allowed_regions":["x"]}`, "name type status modules allowed_regions"},
		{"partners", `{"name":"","login":"a b","pass":"","email":"x","lang":"?","notify_url":"x","secret":5,"source_addresses":["x"],"overdraft_limit":{},"active":"yes"}`,
			"name login pass email lang notify_url secret source_addresses.0 overdraft_limit active"},
		{"partners", `{"active":1}`, "name login pass active"},
		{"partners", `{"name":"n","login":"l","pass":"nine-Lions-paint","overdraft_limit":[{"currency":"JPY","env":"live","amount":5},{"currency":"USDT","amount":"1"},{"currency":"USD","network":"tron","amount":"1"}]}`,
			"overdraft_limit.0.currency overdraft_limit.0.env overdraft_limit.0.amount overdraft_limit.1.network overdraft_limit.2.network"},
		{"terminal", `{"name":"","partner_id":99,"provider":"x","type":"x","is_active":1,"env":"x","provider_params":{"priority":"1","networks":["nowhere"],"methods":["cash"],"max_amount":"0","fee_bps":5,"settlement_currency":"USDT"},"merchant_adapter":"\u0001","merchant_params":{"notify_url":"x","secret":5}}`,
			"name partner_id provider type is_active env provider_params.methods provider_params.priority provider_params.fee_bps provider_params.networks provider_params.max_amount merchant_adapter merchant_params.notify_url merchant_params.secret"},
		{"terminal", `{"name":"T","partner_id":1,"provider":"utp","type":"payment","provider_params":{"base_url":5,"priority":"1"}}`,
			"provider_params.priority provider_params.base_url provider_params.organization_id provider_params.api_key"},
		{"terminal", `{"provider_params":7,"merchant_params":[]}`, "name partner_id provider type provider_params merchant_params"},
		{"api_keys", `{"name":"","partner_id":99,"expires_at":"2020-01-01T00:00:00Z"}`, "name partner_id expires_at"},
		{"limits", `{"partner_id":99,"terminal_id":"x","kind":"daily_volume","type":"merchant","currency":"JPY","env":"live","max_amount":5,"max_count":"1","window":"hour","scope":"phone","active":1}`,
			"partner_id terminal_id type currency env max_amount max_count window scope active"},
		{"limits", `{"partner_id":1,"kind":"velocity"}`, "max_count window"},
		{"users", `{"login":"a b","pass":"password","email":"x","name":"","roles":["root"],"active":0}`, "login pass email name roles active"},
		{"users", `{"login":"demo 2","pass":"password","name":"U","roles":["partner"],"partner_id":99}`, "login pass partner_id"},
		{"blocklist", `{"kind":5}`, "kind value"},
		{"partners/1/settlements", `{"direction":"up","amount":5,"currency":"JPY","env":"live","reference":""}`, "direction amount currency env reference"},
		{"partners/1/settlements", `{"direction":"in","currency":"USDT","network":"nowhere"}`, "amount network reference"},
	} {
		f.admin().post("/api/v1/"+c.path, c.body).wantFieldsRefused(strings.Fields(c.fields)...)
	}
	if f.events() != before {
		t.Error("something was stored")
	}
}

func TestPatchReportsAllBadFieldsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	paths := f.patchablePaths()
	before := f.events()
	for _, c := range []struct{ record, body, fields string }{
		{"organization", `{"id":"x","name":7,"type":"club","status":"on","modules":["x"]}`, "name type status modules id"},
		{"partner", `{"name":"","login":"x","pass":5,"email":"x","lang":"?","source_addresses":["x"],"overdraft_limit":[{"currency":"USD"}],"active":null}`,
			"name login pass email lang source_addresses.0 overdraft_limit.0.amount active"},
		{"terminal", `{"name":"","provider":"x","is_active":"no","env":"prod","provider_params":{"priority":"1","fee_bps":5},"merchant_params":{"notify_url":"x"}}`,
			"name provider is_active env provider_params.priority provider_params.fee_bps merchant_params.notify_url"},
		{"user", `{"login":"x","pass":"password","email":"x","name":7,"roles":["client"],"partner_id":99}`, "login pass email name partner_id"},
		{"limit", `{"partner_id":2,"kind":"velocity","max_amount":5,"max_count":7,"active":"no"}`, "partner_id kind max_amount max_count active"},
	} {
		f.admin().patch(paths[c.record], c.body).wantFieldsRefused(strings.Fields(c.fields)...)
	}
	if f.events() != before {
		t.Error("something was changed")
	}
}

func TestProviderSettlementReportsAllBadFieldsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().post(f.createTerminal("")+"/settlements", `{"gross":"5","fee":"6","currency":"JPY","env":"prod","reference":7}`).
		wantFieldsRefused("fee", "currency", "env", "reference")
}

func TestRateReportsAllBadFieldsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().do("PUT", "/api/v1/rates", `{"from":"USD","to":"USD","rate":5}`).wantFieldsRefused("to", "rate")
	f.admin().do("PUT", "/api/v1/rates", `{"to":"JPY"}`).wantFieldsRefused("from", "to", "rate")
}

func TestUnknownRecordIs404WhateverTheBody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	foreignID := f.admin().with("x-organization-id", f.seed.Second.Org.String()).get("/api/v1/terminals").at("data.0.id")
	for _, path := range []string{"partners/2", "partners/99", "terminal/" + foreignID, "users/" + foreignID, "limits/" + foreignID, "organizations/" + foreignID} {
		f.admin().patch("/api/v1/"+path, `{"name":7,"active":"no"}`).want(404, "")
	}
	for _, path := range []string{"partners/2", "terminal/" + foreignID} {
		f.admin().post("/api/v1/"+path+"/settlements", `{"amount":5}`).want(404, "")
	}
}

func TestRefusedCreationLeavesItsKeyFree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	keyed := f.admin().with("idempotency-key", "once")
	keyed.post("/api/v1/organizations", `{"name":"Good","type":7}`).want(422, "")
	created := keyed.post("/api/v1/organizations", `{"name":"Good","type":"bank"}`).want(201, "")
	if created.header.Get("x-idempotent-replay") != "" {
		t.Error("a refusal has used the key")
	}
}

func TestRoutingParametersOfATerminalAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for params, field := range map[string]string{
		`{"methods":["bank_card","sbp","pix"]}`: "",
		`{"methods":["cash"]}`:                  "provider_params.methods",
		`{"methods":["ach"]}`:                   "provider_params.methods",
		`{"networks":["tron","solana"]}`:        "",
		`{"networks":["nowhere"]}`:              "provider_params.networks",
		`{"min_amount":"0"}`:                    "",
		`{"max_amount":"0"}`:                    "provider_params.max_amount",
		`{"max_amount":"1"}`:                    "",
	} {
		r := f.admin().post("/api/v1/terminal", `{"name":"T","partner_id":1,"provider":"simulator","type":"payment","env":"test","provider_params":`+params+`}`)
		if field == "" {
			r.want(201, "")
		} else {
			r.wantFieldsRefused(field)
			f.admin().patch(f.createTerminal(""), `{"provider_params":`+params+`}`).wantFieldsRefused(field)
		}
	}
}

func TestOverdraftNeedsAKnownAsset(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for entry, want := range map[string]string{
		`{"currency":"USD","amount":"5"}`:                                   `{"currency":"USD","network":"","env":"prod","amount":"5"}`,
		`{"currency":"ETH","env":"test","amount":"5"}`:                      `{"currency":"ETH","network":"ethereum","env":"test","amount":"5"}`,
		`{"currency":"USDT","network":"bsc","env":"test","amount":"5"}`:     `{"currency":"USDT","network":"bsc","env":"test","amount":"5"}`,
		`{"currency":"USDT","network":"","env":"test","amount":"5"}`:        `{"currency":"USDT","network":"","env":"test","amount":"5"}`,
		`{"currency":"USDT","env":"test","amount":"5"}`:                     "overdraft_limit.0.network",
		`{"currency":"USDT","network":null,"env":"test","amount":"5"}`:      "overdraft_limit.0.network",
		`{"currency":"USDT","network":"solana","env":"test","amount":"5"}`:  "overdraft_limit.0.network",
		`{"currency":"USDT","network":"nowhere","env":"test","amount":"5"}`: "overdraft_limit.0.network",
		`{"currency":"ETH","network":"tron","env":"test","amount":"5"}`:     "overdraft_limit.0.network",
		`{"currency":"USD","env":"live","amount":"5"}`:                      "overdraft_limit.0.env",
	} {
		r := f.admin().patch("/api/v1/partners/1", `{"overdraft_limit":[`+entry+`]}`)
		if !strings.HasPrefix(want, "{") {
			r.wantFieldsRefused(want)
			continue
		}
		r.want(200, "")
		if !strings.Contains(r.body, `"overdraft_limit":[`+want+`],"branding":`) {
			t.Errorf("%s: %s", entry, r.body)
		}
	}
}

func TestSettlementNeedsANetworkOfItsCurrency(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const path = "/api/v1/partners/1/settlements"
	f.admin().post(path, `{"direction":"in","amount":"1","currency":"USDT","network":"solana","reference":"a"}`).wantFieldsRefused("network")
	f.admin().post(path, `{"direction":"in","amount":"1","currency":"ETH","network":"tron","reference":"b"}`).wantFieldsRefused("network")
	settlement := f.admin().post(path, `{"direction":"in","amount":"1","currency":"USD","network":"tron","reference":"c"}`).want(201, "")
	if settlement.at("data.network") != "" {
		t.Errorf("%s", settlement.body)
	}
}

func TestRevokedKeyShowsItsLastUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	apiKey := f.admin().post("/api/v1/api_keys", `{"name":"till","partner_id":1}`).want(201, "")
	f.partner().with("x-api-key", apiKey.at("key")).get("/api/v1/balances").want(200, "")
	revoked := f.admin().with("idempotency-key", "gone").do("DELETE", "/api/v1/api_keys/"+apiKey.at("id"), "").want(200, "")
	list := f.admin().get("/api/v1/api_keys?partner_id=1&limit=1").want(200, "")
	if revoked.at("data.last_used_at") == "null" || revoked.at("data.last_used_at") != list.at("data.0.last_used_at") {
		t.Errorf("%s, and the list says %s", revoked.body, list.body)
	}
	f.admin().with("idempotency-key", "gone").do("DELETE", "/api/v1/api_keys/"+apiKey.at("id"), "").want(200, revoked.body)
}

func TestRoutingOfATransactionTakesNoParameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.partner().post(transactions, paymentBody(`"amount":"1"`)).want(201, "").at("id")
	f.admin().get(transactions+"/"+id+"/routing?foo=1").want(422, `{"errors":[{"code":"invalid","detail":"Unexpected field","field":"foo"}]}`)
	f.admin().get(transactions+"/"+id+"/routing").want(200, "")
}

// Specification, "Currencies and network": a transaction that names no network is created even if no terminal determines its
// network. The number of decimals of its amounts is unknown then.
func TestTerminalDoesNotServeACurrencyOfOtherNetworks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, id := range columnOfPages(t, f.admin(), "/api/v1/terminals?partner_id=1", 50, "id") {
		f.admin().do("DELETE", "/api/v1/terminal/"+id, "").want(200, "")
	}
	f.createTerminal(`,"provider_params":{"networks":["solana","ton"]}`)
	create := func(currency string) *response {
		return f.partner().post(transactions, paymentBody(`"amount":"1","currency":"`+currency+`"`)).want(201, "")
	}
	if r := create("ETH"); r.at("status") != "rejected" || r.at("error_description") != "no terminal available" {
		t.Errorf("ETH, which is on ethereum: %s", r.body)
	}
	for _, currency := range []string{"USD", "USDC", "USDT", "TON"} {
		if r := create(currency); r.at("status") != "charged" {
			t.Errorf("%s: %s", currency, r.body)
		}
	}
}
