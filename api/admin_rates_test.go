package api_test

import (
	"strings"
	"testing"

	"mizan/ledger/money"
)

const ratesPath = "/api/v1/rates"

func (c caller) put(path, body string) *response {
	c.fixture.t.Helper()
	return c.do("PUT", path, body)
}

func TestRateIsSetAndChanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rate := f.admin().put(ratesPath, `{"from":"USD","to":"RUB","rate":"92.50"}`).want(200, "")
	for field, want := range map[string]string{"from": "USD", "to": "RUB", "rate": "92.5", "created_at": rate.at("data.updated_at")} {
		if got := rate.at("data." + field); got != want {
			t.Errorf("%s = %s, want %s", field, got, want)
		}
	}
	if !strings.HasPrefix(rate.at("data.updated_at"), "2026-09-03T10:15:30.") {
		t.Errorf("%s", rate.body)
	}
	f.admin().put(ratesPath, `{"from":"USD","to":"RUB","rate":"92.5"}`).want(200, rate.body)
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":60}`).want(200, "")
	changed := f.admin().put(ratesPath, `{"params":{"from":"USD","to":"RUB","rate":"93.25"}}`).want(200, "")
	if changed.at("data.rate") != "93.25" || changed.at("data.updated_at") != "2026-09-03T10:16:30.123456+00:00" || changed.at("data.created_at") != rate.at("data.created_at") || changed.at("data.id") != rate.at("data.id") {
		t.Errorf("%s after %s", changed.body, rate.body)
	}
	if value, ok := f.directory.Rate(f.seed.First.Org, "USD", "RUB"); !ok || value.String() != "93.25" {
		t.Errorf("payments are converted at %v", value)
	}
	list := f.admin().get(ratesPath).want(200, "")
	if list.rows() != 1 || list.at("data.0.rate") != "93.25" || list.at("cursor.cursor_value") != "null" {
		t.Errorf("%s", list.body)
	}
}

func TestEveryValueOfARateIsAnEventOfTheLedger(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, value := range []string{"92.5", "93", "93.0", "92.5"} {
		f.admin().put(ratesPath, `{"from":"USD","to":"RUB","rate":"`+value+`"}`).want(200, "")
	}
	events := f.auditor().get(ledgerPath+"/events?limit=3").want(200, "")
	for path, want := range map[string]string{
		"data.2.event": "create", "data.2.to": "92.5", "data.2.version": "1",
		"data.1.event": "update", "data.1.from": "92.5", "data.1.to": "93", "data.1.version": "2",
		"data.0.event": "update", "data.0.from": "93", "data.0.to": "92.5", "data.0.version": "3",
		"data.0.source": f.admin().get(ratesPath).at("data.0.id"),
	} {
		if got := events.at(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
}

func TestRatesBelongToOneOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	inSecondOrg := f.admin().with("x-organization-id", f.seed.Second.Org.String())
	f.admin().put(ratesPath, `{"from":"USD","to":"RUB","rate":"92.5"}`).want(200, "")
	if list := inSecondOrg.get(ratesPath).want(200, ""); list.rows() != 0 {
		t.Errorf("%s", list.body)
	}
	secondRate := inSecondOrg.put(ratesPath, `{"from":"USD","to":"RUB","rate":"80"}`).want(200, "")
	if list := f.admin().get(ratesPath).want(200, ""); list.at("data.0.rate") != "92.5" || list.at("data.0.id") == secondRate.at("data.id") {
		t.Errorf("%s", list.body)
	}
	inNoOrg := f.admin().with("x-organization-id", "")
	inNoOrg.put(ratesPath, `{"from":"USD","to":"RUB","rate":"1"}`).want(422, "")
	inNoOrg.get(ratesPath).want(422, "")
}

func TestRatesAreListedPageByPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var wantIDs []string
	for _, to := range []string{"RUB", "EUR", "USDT"} {
		wantIDs = append([]string{f.admin().put(ratesPath, `{"from":"USD","to":"`+to+`","rate":"2"}`).at("data.id")}, wantIDs...)
	}
	f.admin().put(ratesPath, `{"from":"USD","to":"RUB","rate":"3"}`).want(200, "")
	if ids := columnOfPages(t, f.admin(), ratesPath, 2, "id"); strings.Join(ids, " ") != strings.Join(wantIDs, " ") {
		t.Errorf("list %v, want %v", ids, wantIDs)
	}
	for query, field := range map[string]string{"page=1": "page", "limit=0": "limit", "limit=501": "limit", "cursor=x": "cursor", "from=USD": "from"} {
		if r := f.admin().get(ratesPath+"?"+query).want(422, ""); r.at("errors.0.field") != field {
			t.Errorf("%s: %s", query, r.body)
		}
	}
}

func TestInvalidRatesAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const numberDetail, stringDetail = "rate must be a decimal number above zero, of at most 38 digits", "rate must be a decimal number in a string"
	for body, want := range map[string]string{
		`{}`:                                      "from: from is required|to: to is required|rate: rate is required",
		`{"from":"USD","to":"RUB"}`:               "rate: rate is required",
		`{"from":"USD","to":"RUB","rate":null}`:   "rate: rate is required",
		`{"from":"JPY","to":"RUB","rate":"1"}`:    "from: unsupported currency JPY",
		`{"from":"USD","to":"rub","rate":"1"}`:    "to: unsupported currency rub",
		`{"from":"AED","to":"XTS","rate":"1"}`:    "from: unsupported currency AED|to: unsupported currency XTS",
		`{"from":643,"to":"RUB","rate":"1"}`:      "from: unsupported currency 643",
		`{"from":"USD","to":"","rate":"1"}`:       "to: unsupported currency ",
		`{"from":"USD","to":"USD","rate":"1"}`:    "to: must be another currency than from",
		`{"from":"USD","to":"RUB","rate":92.5}`:   "rate: " + stringDetail,
		`{"from":"USD","to":"RUB","rate":["1"]}`:  "rate: " + stringDetail,
		`{"from":"USD","to":"RUB","rate":""}`:     "rate: " + numberDetail,
		`{"from":"USD","to":"RUB","rate":"0"}`:    "rate: " + numberDetail,
		`{"from":"USD","to":"RUB","rate":"0.00"}`: "rate: " + numberDetail,
		`{"from":"USD","to":"RUB","rate":"-1"}`:   "rate: " + numberDetail,
		`{"from":"USD","to":"RUB","rate":"+1"}`:   "rate: " + numberDetail,
		`{"from":"USD","to":"RUB","rate":"01"}`:   "rate: " + numberDetail,
		`{"from":"USD","to":"RUB","rate":".5"}`:   "rate: " + numberDetail,
		`{"from":"USD","to":"RUB","rate":"5."}`:   "rate: " + numberDetail,
		`{"from":"USD","to":"RUB","rate":"1e2"}`:  "rate: " + numberDetail,
		`{"from":"USD","to":"RUB","rate":"1,5"}`:  "rate: " + numberDetail,
		`{"from":"USD","to":"RUB","rate":" 1"}`:   "rate: " + numberDetail,
		`{"from":"USD","to":"RUB","rate":"` + strings.Repeat("9", money.MaxRateDigits+1) + `"}`: "rate: " + numberDetail,
		`{"From":"USD","to":"RUB","rate":"1"}`:                                                  "from: from is required",
		`{"from":"` + strings.Repeat("X", 100) + `","to":"RUB","rate":"1"}`:                     "from: unsupported currency " + strings.Repeat("X", 32),
	} {
		r := f.admin().put(ratesPath, body)
		var got []string
		problems, _ := r.object()["errors"].([]any)
		for _, problem := range problems {
			p := problem.(map[string]any)
			got = append(got, p["field"].(string)+": "+p["detail"].(string))
		}
		if r.status != 422 || strings.Join(got, "|") != want {
			t.Errorf("%s: %d %s, want %s", body, r.status, r.body, want)
		}
	}
	f.admin().put(ratesPath, `{"from":"USD","from":"EUR","to":"RUB","rate":"1"}`).want(400, "")
	if list := f.admin().get(ratesPath).want(200, ""); list.rows() != 0 {
		t.Errorf("what was refused is there: %s", list.body)
	}
	f.admin().put(ratesPath, `{"from":"USD","to":"RUB","rate":"`+strings.Repeat("9", money.MaxRateDigits)+`"}`).want(200, "")
}
