package api_test

import (
	"strings"
	"testing"
)

const connection = `"base_url":"https://platform.example/prefix","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5"`

func connecting(params string) string {
	return `{"name":"far","partner_id":1,"provider":"utp","type":"payment","env":"test","provider_params":{` + params + `}}`
}

func TestKeysToAnotherPlatformAreNeverShown(t *testing.T) {
	t.Parallel()
	h := open(t)
	keyed := h.admin().with("idempotency-key", "one")
	made := keyed.post("/api/v1/terminal", connecting(connection+`,"api_key":"mzk_secret","priority":5,"webhook_secret":"signing-value"`)).want(201, "")
	const shown = `{"base_url":"https://platform.example/prefix","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"•••","priority":5,"webhook_secret":"•••"}`
	id := made.at("data.id")
	again := keyed.post("/api/v1/terminal", connecting(connection+`,"api_key":"mzk_secret","priority":5,"webhook_secret":"signing-value"`)).want(201, made.body)
	read := h.admin().get("/api/v1/terminal/"+id).want(200, "")
	list := h.admin().get("/api/v1/terminals").want(200, "")
	patched := h.admin().patch("/api/v1/terminal/"+id, `{"name":"farther"}`).want(200, "")
	deleted := h.admin().do("DELETE", "/api/v1/terminal/"+id, "").want(200, "")
	for _, a := range []*answer{made, again, read, list, patched, deleted} {
		if strings.Contains(a.body, "mzk_secret") || strings.Contains(a.body, "signing-value") || !strings.Contains(a.body, `"provider_params":`+shown) {
			t.Errorf("shown: %s", a.body)
		}
	}
	if strings.Contains(h.log.String(), "mzk_secret") || strings.Contains(h.log.String(), "signing-value") {
		t.Errorf("the log has %s", h.log)
	}
}

func TestAMaskThatIsSentBackKeepsWhatIsStored(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.admin().post("/api/v1/terminal", connecting(connection+`,"api_key":"mzk_first","webhook_secret":"hook"`)).want(201, "").at("data.id")
	stored := func() string {
		t.Helper()
		for _, terminal := range h.directory.Connected() {
			if terminal.ID.String() == id {
				return terminal.Connection.BaseURL + " " + terminal.Connection.APIKey + " " + terminal.Connection.WebhookSecret
			}
		}
		return "nothing"
	}
	patch := func(params string, status int) *answer {
		t.Helper()
		return h.admin().patch("/api/v1/terminal/"+id, `{"provider_params":{`+params+`}}`).want(status, "")
	}
	patch(`"base_url":"https://moved.example","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"•••","webhook_secret":"\u2022\u2022\u2022"`, 200)
	if got := stored(); got != "https://moved.example mzk_first hook" {
		t.Errorf("stored %s", got)
	}
	patch(connection+`,"api_key":"mzk_second"`, 200)
	if got := stored(); got != "https://platform.example/prefix mzk_second " {
		t.Errorf("stored %s", got)
	}
	if a := patch(connection+`,"api_key":"•••","webhook_secret":"•••"`, 422); a.at("errors.0.field") != "provider_params.webhook_secret" {
		t.Errorf("%s", a.body)
	}
	h.admin().post("/api/v1/terminal", connecting(connection+`,"api_key":"•••"`)).want(422, "")
	h.restart()
	if got := stored(); got != "https://platform.example/prefix mzk_second " {
		t.Errorf("stored over a restart %s", got)
	}
}

func TestAConnectionIsCheckedWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	h := open(t)
	for params, field := range map[string]string{
		``:         "base_url",
		connection: "api_key",
		`"base_url":"http://platform.example","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"k"`: "base_url",
		`"base_url":"https://platform.example","organization_id":"us","api_key":"k"`:                                  "organization_id",
	} {
		if a := h.admin().post("/api/v1/terminal", connecting(params)).want(422, ""); a.at("errors.0.field") != "provider_params."+field {
			t.Errorf("%s: %s", params, a.body)
		}
	}
	// Only a sandbox, which this is, may do without TLS, and only on this machine.
	h.admin().post("/api/v1/terminal", connecting(`"base_url":"http://127.0.0.1:8443","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"k"`)).want(201, "")
}
