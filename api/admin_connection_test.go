package api_test

import (
	"strings"
	"testing"

	_ "mizan/actors/provider/sepa"   // registers the provider, whose parameters docs/records.md documents
	_ "mizan/actors/provider/stripe" // the same
	"mizan/actors/provider/utp"

	"github.com/google/uuid"
)

// connectionParams are the parameters of a terminal whose provider is another platform, except for the credentials.
const connectionParams = `"base_url":"https://platform.example/prefix","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5"`

func terminalBody(params string) string {
	return `{"name":"far","partner_id":1,"provider":"utp","type":"payment","env":"test","provider_params":{` + params + `}}`
}

func TestCredentialsForAnotherPlatformAreNeverShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	keyed := f.admin().with("idempotency-key", "one")
	terminal := keyed.post("/api/v1/terminal", terminalBody(connectionParams+`,"api_key":"mzk_secret","priority":5,"webhook_secret":"signing-value"`)).want(201, "")
	const shownParams = `{"base_url":"https://platform.example/prefix","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"•••","priority":5,"webhook_secret":"•••"}`
	id := terminal.at("data.id")
	repeated := keyed.post("/api/v1/terminal", terminalBody(connectionParams+`,"api_key":"mzk_secret","priority":5,"webhook_secret":"signing-value"`)).want(201, terminal.body)
	read := f.admin().get("/api/v1/terminal/"+id).want(200, "")
	list := f.admin().get("/api/v1/terminals").want(200, "")
	patched := f.admin().patch("/api/v1/terminal/"+id, `{"name":"farther"}`).want(200, "")
	deleted := f.admin().do("DELETE", "/api/v1/terminal/"+id, "").want(200, "")
	for _, a := range []*response{terminal, repeated, read, list, patched, deleted} {
		if strings.Contains(a.body, "mzk_secret") || strings.Contains(a.body, "signing-value") || !strings.Contains(a.body, `"provider_params":`+shownParams) {
			t.Errorf("shown: %s", a.body)
		}
	}
	if strings.Contains(f.log.String(), "mzk_secret") || strings.Contains(f.log.String(), "signing-value") {
		t.Errorf("the log has %s", f.log)
	}
}

// The mask, •••, is what responses show in place of a secret.
func TestPatchWithTheMaskKeepsTheStoredSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.admin().post("/api/v1/terminal", terminalBody(connectionParams+`,"api_key":"mzk_first","webhook_secret":"hook"`)).want(201, "").at("data.id")
	storedConnection := func() string {
		t.Helper()
		for _, terminal := range f.directory.RemoteTerminals(utp.Name) {
			if terminal.ID.String() == id {
				c := terminal.Parameters.(*utp.Connection)
				return c.BaseURL + " " + c.APIKey + " " + c.WebhookSecret
			}
		}
		return "nothing"
	}
	patch := func(params string, status int) *response {
		t.Helper()
		return f.admin().patch("/api/v1/terminal/"+id, `{"provider_params":{`+params+`}}`).want(status, "")
	}
	patch(`"base_url":"https://PLATFORM.example:443/moved","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"•••","webhook_secret":"\u2022\u2022\u2022"`, 200)
	if got := storedConnection(); got != "https://PLATFORM.example:443/moved mzk_first hook" {
		t.Errorf("stored %s", got)
	}
	patch(connectionParams+`,"api_key":"mzk_second"`, 200)
	if got := storedConnection(); got != "https://platform.example/prefix mzk_second " {
		t.Errorf("stored %s", got)
	}
	if r := patch(connectionParams+`,"api_key":"•••","webhook_secret":"•••"`, 422); r.at("errors.0.field") != "provider_params.webhook_secret" {
		t.Errorf("%s", r.body)
	}
	f.admin().post("/api/v1/terminal", terminalBody(connectionParams+`,"api_key":"•••"`)).want(422, "")
	f.restart()
	if got := storedConnection(); got != "https://platform.example/prefix mzk_second " {
		t.Errorf("stored over a restart %s", got)
	}
}

// An administrator who may set a platform's address, but not read its key, must not be able to have
// the key sent to another server.
func TestNewPlatformAddressNeedsItsKeySentAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.admin().post("/api/v1/terminal", terminalBody(connectionParams+`,"api_key":"mzk_first","webhook_secret":"hook"`)).want(201, "").at("data.id")
	const organizationField = `,"organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5"`
	for _, address := range []string{"https://elsewhere.example", "https://platform.example:8443", "https://platform.example.elsewhere.example/prefix", "http://127.0.0.1:8080"} {
		r := f.admin().patch("/api/v1/terminal/"+id, `{"provider_params":{"base_url":"`+address+`"`+organizationField+`,"api_key":"\u2022••","webhook_secret":"•••"}}`).want(422, "")
		if r.at("errors.0.field") != "provider_params.api_key" {
			t.Errorf("%s: %s", address, r.body)
		}
		if connected := f.directory.RemoteTerminals(utp.Name); len(connected) != 1 || connected[0].Parameters.(*utp.Connection).BaseURL != "https://platform.example/prefix" {
			t.Errorf("%s: the terminal has moved", address)
		}
	}
	f.admin().patch("/api/v1/terminal/"+id, `{"provider_params":{"base_url":"https://elsewhere.example"`+organizationField+`,"api_key":"mzk_second","webhook_secret":"•••"}}`).want(200, "")
	if c := f.directory.RemoteTerminals(utp.Name)[0].Parameters.(*utp.Connection); c.BaseURL != "https://elsewhere.example" || c.APIKey != "mzk_second" || c.WebhookSecret != "hook" {
		t.Errorf("stored %s %s %s", c.BaseURL, c.APIKey, c.WebhookSecret)
	}
}

func TestConnectionIsCheckedOnRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for params, field := range map[string]string{
		``:               "base_url",
		connectionParams: "api_key",
		`"base_url":"http://platform.example","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"k"`: "base_url",
		`"base_url":"https://platform.example","organization_id":"us","api_key":"k"`:                                  "organization_id",
	} {
		if r := f.admin().post("/api/v1/terminal", terminalBody(params)).want(422, ""); r.at("errors.0.field") != "provider_params."+field {
			t.Errorf("%s: %s", params, r.body)
		}
	}
	// Only a sandbox, such as this one, may connect without TLS, and only to this machine.
	f.admin().post("/api/v1/terminal", terminalBody(`"base_url":"http://127.0.0.1:8443","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"k"`)).want(201, "")
}

// A terminal's secret parameters are stored but never shown, whatever its provider. Unknown
// parameters are stored too, and named in a warning.
func TestTerminalHidesSecretsAndWarnsOfUnknownParameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const secrets = `"api_secret":"CANARY-1","auth":{"access_token":"CANARY-2","user":"u"},"PASSWORD":"CANARY-3","publishable_key":"pk_1"`
	const shownParams = `{"priority":3,"api_secret":"•••","auth":{"access_token":"•••","user":"u"},"PASSWORD":"•••","publishable_key":"pk_1"}`
	terminal := f.admin().with("idempotency-key", "k").post("/api/v1/terminal", `{"partner_id":1,"name":"S","provider":"simulator","type":"payment","env":"test","provider_params":{"priority":3,`+secrets+`},"merchant_params":{"my_key":"CANARY-4"}}`).want(201, "")
	const wantWarnings = `["provider_params.PASSWORD is not known here; it is kept as it is","provider_params.api_secret is not known here; it is kept as it is","provider_params.auth is not known here; it is kept as it is","provider_params.publishable_key is not known here; it is kept as it is"]`
	path := "/api/v1/terminal/" + terminal.at("data.id")
	repeated := f.admin().with("idempotency-key", "k").post("/api/v1/terminal", `{"partner_id":1,"name":"S","provider":"simulator","type":"payment","env":"test","provider_params":{"priority":3,`+secrets+`},"merchant_params":{"my_key":"CANARY-4"}}`).want(201, "")
	patched := f.admin().patch(path, `{"name":"T","provider_params":`+shownParams+`,"merchant_params":{"my_key":"•••"}}`).want(200, "")
	for name, a := range map[string]*response{"made": terminal, "again": repeated, "patched": patched} {
		if a.at("warnings") != wantWarnings {
			t.Errorf("%s: warned %s", name, a.body)
		}
	}
	f.restart()
	read := f.admin().get(path).want(200, "")
	for name, a := range map[string]*response{"made": terminal, "again": repeated, "patched": patched, "read": read, "listed": f.admin().get("/api/v1/terminals").want(200, "")} {
		if strings.Contains(a.body, "CANARY") {
			t.Errorf("%s: a secret is shown: %s", name, a.body)
		}
	}
	if !strings.Contains(read.body, `"provider_params":`+shownParams) || !strings.Contains(read.body, `"merchant_params":{"my_key":"•••"}`) {
		t.Errorf("read as %s", read.body)
	}
	id, err := uuid.Parse(terminal.at("data.id"))
	must(t, err)
	stored, _ := f.directory.Terminal(f.seed.First.Org, id)
	if got := string(stored.ProviderParams); got != `{"priority":3,`+secrets+`}` {
		t.Errorf("kept as %s", got)
	}
	if r := f.admin().patch(path, `{"provider_params":{"other_secret":"•••"}}`).want(422, ""); r.at("errors.0.field") != "provider_params.other_secret" {
		t.Errorf("a mask of nothing: %s", r.body)
	}
	if r := f.admin().patch(path, `{"provider_params":{"priority":1}}`).want(200, ""); strings.Contains(r.body, "warnings") {
		t.Errorf("warned of nothing: %s", r.body)
	}
}
