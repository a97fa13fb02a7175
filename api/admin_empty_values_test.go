package api_test

import (
	"strings"
	"testing"
)

func TestEmptyAddressOrSecretIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const addressDetail, secretDetail = "must be an http or https address, or null", "must not be empty; null takes it away"
	terminal := f.createTerminal(`,"merchant_params":{"notify_url":"https://shop.example/n","secret":"a","secret_previous":"b"}`)
	f.admin().patch("/api/v1/partners/1", `{"notify_url":"https://shop.example/n","secret":"c"}`).want(200, "")
	before := f.events()
	for field, detail := range map[string]string{"notify_url": addressDetail, "secret": secretDetail} {
		for _, a := range []*response{
			f.admin().post("/api/v1/partners", `{"name":"n","login":"l","pass":"nine-Lions-paint","`+field+`":""}`),
			f.admin().patch("/api/v1/partners/1", `{"`+field+`":""}`),
		} {
			if a.want(422, ""); a.fieldProblems() != field+": "+detail {
				t.Errorf("%s", a.body)
			}
		}
	}
	for field, detail := range map[string]string{"notify_url": addressDetail, "secret": secretDetail, "secret_previous": secretDetail} {
		params := `"merchant_params":{"` + field + `":""}`
		for _, a := range []*response{
			f.admin().post("/api/v1/terminal", `{"name":"T","partner_id":1,"provider":"simulator","type":"payment",`+params+`}`),
			f.admin().patch(terminal, `{`+params+`}`),
		} {
			if a.want(422, ""); a.fieldProblems() != "merchant_params."+field+": "+detail {
				t.Errorf("%s", a.body)
			}
		}
	}
	if f.events() != before {
		t.Error("something was stored")
	}
}

func TestEmptyAddressIsReportedTogetherWithOtherFaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().patch("/api/v1/partners/1", `{"name":"","notify_url":"","secret":""}`).wantFieldsRefused("name", "notify_url", "secret")
	f.admin().patch(f.createTerminal(""), `{"name":"","merchant_params":{"notify_url":"","secret":""}}`).
		wantFieldsRefused("name", "merchant_params.notify_url", "merchant_params.secret")
}

func TestNullRemovesAddressAndSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().patch("/api/v1/partners/1", `{"notify_url":"https://shop.example/n","secret":"c"}`).want(200, "")
	r := f.admin().patch("/api/v1/partners/1", `{"notify_url":null,"secret":null}`).want(200, "")
	if r.at("data.notify_url") != "null" || r.at("data.secret") != "null" {
		t.Errorf("%s", r.body)
	}
	f.admin().post("/api/v1/partners", `{"name":"n","login":"l","pass":"nine-Lions-paint","notify_url":null,"secret":null}`).want(201, "")
	path := f.createTerminal(`,"merchant_params":{"notify_url":"https://shop.example/n","secret":"a"}`)
	r = f.admin().patch(path, `{"merchant_params":{"notify_url":null,"secret":null}}`).want(200, "")
	if strings.Contains(r.body, mask) || strings.Contains(r.body, "shop.example") {
		t.Errorf("%s", r.body)
	}
}
