package api_test

import (
	"strings"
	"testing"

	"mizan/actors/provider/manual"

	"github.com/google/uuid"
)

func TestParametersOfManualPayoutsAreCheckedAndMasked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	create := func(params string) string {
		return `{"name":"by hand","partner_id":1,"provider":"manual","type":"payout","env":"test","provider_params":{` + params + `}}`
	}
	const second = `"settle_after_seconds":60,"bank_token":`
	made := f.admin().post("/api/v1/terminal", create(second+`"CANARY"`)).want(201, "")
	path := "/api/v1/terminal/" + made.at("data.id")
	for params, field := range map[string]string{
		``:                              "settle_after_seconds",
		`"settle_after_seconds":0`:      "settle_after_seconds",
		`"settle_after_seconds":604801`: "settle_after_seconds",
		`"settle_after_seconds":"60"`:   "settle_after_seconds",
		second + `7`:                    "bank_token",
	} {
		for what, r := range map[string]*response{
			"created": f.admin().post("/api/v1/terminal", create(params)),
			"changed": f.admin().patch(path, `{"provider_params":{`+params+`}}`),
		} {
			if r.want(422, "").at("errors.0.field") != "provider_params."+field {
				t.Errorf("%s, %s: %s", params, what, r.body)
			}
		}
	}
	patched := f.admin().patch(path, `{"provider_params":{"settle_after_seconds":90,"bank_token":"•••"}}`).want(200, "")
	f.restart()
	read := f.admin().get(path).want(200, "")
	for what, r := range map[string]*response{"made": made, "patched": patched, "read": read, "listed": f.admin().get("/api/v1/terminals").want(200, "")} {
		if strings.Contains(r.body, "CANARY") || !strings.Contains(r.body, `"bank_token":"•••"`) {
			t.Errorf("%s: the token is shown, or its mask is not: %s", what, r.body)
		}
	}
	id, err := uuid.Parse(made.at("data.id"))
	must(t, err)
	kept, _ := f.directory.Terminal(f.seed.First.Org, id)
	if p := kept.Parameters.(*manual.Params); p.SettleAfter != 90 || p.BankToken != "CANARY" {
		t.Error("what is stored is not what was sent")
	}
	if strings.Contains(f.log.String(), "CANARY") {
		t.Errorf("the log has %s", f.log)
	}
}
