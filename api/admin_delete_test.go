package api_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

// DELETE deactivates a record. It never removes one, because every record has a history.
func TestDeletePartnerDeactivatesIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	paid := f.partner().post(transactions, paymentBody(`"amount":"100"`)).want(201, "")
	deleted := f.admin().do("DELETE", "/api/v1/partners/1", "").want(200, "")
	if deleted.at("data.id") != "1" || deleted.at("data.active") != "false" || deleted.at("data.login") != "demo" {
		t.Errorf("%s", deleted.body)
	}
	f.partner().get(transactions+"/"+paid.at("id")).want(403, "")
	f.admin().do("DELETE", "/api/v1/partners/1", "").want(200, deleted.body)
	f.admin().get("/api/v1/partners/1").want(200, deleted.body)
	if ids := columnOfPages(t, f.admin(), "/api/v1/partners", 1, "id"); len(ids) != 1 || ids[0] != "1" {
		t.Errorf("list %v", ids)
	}
	event := f.auditor().get(ledgerPath+"/events?limit=1").want(200, "")
	if event.at("data.0.event") != "deactivate" || event.at("data.0.from") != "active" || event.at("data.0.to") != "inactive" {
		t.Errorf("%s", event.body)
	}
	f.admin().patch("/api/v1/partners/1", `{"active":true}`).want(200, "")
	f.partner().get(transactions+"/"+paid.at("id")).want(200, "")
	for _, unknownID := range []string{"0", "01", "2", "99", "x"} {
		f.admin().do("DELETE", "/api/v1/partners/"+unknownID, "").want(404, "")
	}
}

func TestDeletedTerminalGetsNoTransactions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	terminal := f.admin().post("/api/v1/terminal", `{"name":"T","partner_id":1,"provider":"simulator","type":"payment","env":"test",
		"provider_params":{"priority":-5,"description":"by T"}}`).want(201, "")
	path := "/api/v1/terminal/" + terminal.at("data.id")
	if paid := f.partner().post(transactions, paymentBody(`"amount":"100","description":"mine"`)).want(201, ""); paid.at("description") != "by T" {
		t.Errorf("%s", paid.body)
	}
	deleted := f.admin().do("DELETE", path, "").want(200, "")
	if deleted.at("data.is_active") != "false" || deleted.at("data.name") != "T" {
		t.Errorf("%s", deleted.body)
	}
	if paid := f.partner().post(transactions, paymentBody(`"amount":"100","description":"mine"`)).want(201, ""); paid.at("description") != "mine" {
		t.Errorf("%s", paid.body)
	}
	f.admin().do("DELETE", path, "").want(200, deleted.body)
	f.admin().get(path).want(200, deleted.body)
	if ids := columnOfPages(t, f.admin(), "/api/v1/terminals", 10, "id"); ids[0] != terminal.at("data.id") {
		t.Errorf("list %v", ids)
	}
	f.admin().do("DELETE", "/api/v1/terminal/"+uuid.NewString(), "").want(404, "")
	f.admin().do("DELETE", "/api/v1/terminal/x", "").want(404, "")
	second := f.admin().with("x-organization-id", f.seed.Second.Org.String())
	second.do("DELETE", path, "").want(404, "")
}

func TestTerminalAcceptsTwoPhasesAndASettlementCurrency(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := func(params string) string {
		return `{"name":"T","partner_id":1,"provider":"simulator","type":"payment","env":"test","provider_params":` + params + `}`
	}
	terminal := f.admin().post("/api/v1/terminal", body(`{"two_phase":true,"hold_ttl_seconds":60,"settlement_currency":"USDT","settlement_network":"tron"}`)).want(201, "")
	if terminal.at("data.provider_params.two_phase") != "true" || terminal.at("data.provider_params.settlement_network") != "tron" {
		t.Errorf("%s", terminal.body)
	}
	patched := f.admin().patch("/api/v1/terminal/"+terminal.at("data.id"), `{"provider_params":{"settlement_currency":"EUR"}}`).want(200, "")
	if patched.at("data.provider_params") != `{"settlement_currency":"EUR"}` {
		t.Errorf("%s", patched.body)
	}
	for params, want := range map[string]string{
		`{"settlement_currency":"AED"}`:                             "provider_params.settlement_currency",
		`{"settlement_currency":"USDT"}`:                            "provider_params.settlement_network: is required: USDT is on several networks",
		`{"settlement_currency":"EUR","settlement_network":"tron"}`: "provider_params.settlement_network: is no network of EUR",
		`{"settlement_network":"tron"}`:                             "provider_params.settlement_network: is of no use without settlement_currency",
	} {
		r := f.admin().post("/api/v1/terminal", body(params)).want(422, "")
		if got := r.at("errors.0.field") + ": " + r.at("errors.0.detail"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", params, r.body)
		}
	}
}

func TestPartnerLanguageMustBeSupported(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for lang, status := range map[string]int{"ru": 200, "en": 200, "kk": 200, "kaz": 422, "pt-BR": 422, "": 422, "r": 422, "russian": 422, "en_US": 422, "12": 422, "<b>": 422} {
		r := f.admin().patch("/api/v1/partners/1", `{"lang":"`+lang+`"}`).want(status, "")
		if status == 422 && r.at("errors.0.field") != "lang" {
			t.Errorf("%s: %s", lang, r.body)
		}
	}
}
