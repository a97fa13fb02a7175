package api_test

import (
	"strings"
	"testing"
)

func TestEmptyAddressOrSecretIsRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const whenEmpty, noSecret = "must be an http or https address, or null", "must not be empty; null takes it away"
	terminal := h.terminalAt(`,"merchant_params":{"notify_url":"https://shop.example/n","secret":"a","secret_previous":"b"}`)
	h.admin().patch("/api/v1/partners/1", `{"notify_url":"https://shop.example/n","secret":"c"}`).want(200, "")
	before := h.events()
	for field, detail := range map[string]string{"notify_url": whenEmpty, "secret": noSecret} {
		for _, a := range []*answer{
			h.admin().post("/api/v1/partners", `{"name":"n","login":"l","pass":"nine-Lions-paint","`+field+`":""}`),
			h.admin().patch("/api/v1/partners/1", `{"`+field+`":""}`),
		} {
			if a.want(422, ""); a.problemsOf() != field+": "+detail {
				t.Errorf("%s", a.body)
			}
		}
	}
	for field, detail := range map[string]string{"notify_url": whenEmpty, "secret": noSecret, "secret_previous": noSecret} {
		params := `"merchant_params":{"` + field + `":""}`
		for _, a := range []*answer{
			h.admin().post("/api/v1/terminal", `{"name":"T","partner_id":1,"provider":"simulator","type":"payment",`+params+`}`),
			h.admin().patch(terminal, `{`+params+`}`),
		} {
			if a.want(422, ""); a.problemsOf() != "merchant_params."+field+": "+detail {
				t.Errorf("%s", a.body)
			}
		}
	}
	if h.events() != before {
		t.Error("something was stored")
	}
}

func TestEmptyAddressIsReportedTogetherWithOtherFaults(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.admin().patch("/api/v1/partners/1", `{"name":"","notify_url":"","secret":""}`).wantFieldsRefused("name", "notify_url", "secret")
	h.admin().patch(h.terminalAt(""), `{"name":"","merchant_params":{"notify_url":"","secret":""}}`).
		wantFieldsRefused("name", "merchant_params.notify_url", "merchant_params.secret")
}

func TestNullRemovesAddressAndSecret(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.admin().patch("/api/v1/partners/1", `{"notify_url":"https://shop.example/n","secret":"c"}`).want(200, "")
	a := h.admin().patch("/api/v1/partners/1", `{"notify_url":null,"secret":null}`).want(200, "")
	if a.at("data.notify_url") != "null" || a.at("data.secret") != "null" {
		t.Errorf("%s", a.body)
	}
	h.admin().post("/api/v1/partners", `{"name":"n","login":"l","pass":"nine-Lions-paint","notify_url":null,"secret":null}`).want(201, "")
	path := h.terminalAt(`,"merchant_params":{"notify_url":"https://shop.example/n","secret":"a"}`)
	a = h.admin().patch(path, `{"merchant_params":{"notify_url":null,"secret":null}}`).want(200, "")
	if strings.Contains(a.body, mask) || strings.Contains(a.body, "shop.example") {
		t.Errorf("%s", a.body)
	}
}
