package api_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// mask is what responses show in place of a secret.
const mask = "•••"

// createTerminal makes a terminal of the first partner, with more fields, and returns its path.
func (f *fixture) createTerminal(fields string) string {
	f.t.Helper()
	terminal := f.admin().post("/api/v1/terminal", `{"name":"T","partner_id":1,"provider":"simulator","type":"payment","env":"test"`+fields+`}`).want(201, "")
	return "/api/v1/terminal/" + terminal.at("data.id")
}

// dataObject returns the object under "data" in a response, byte for byte.
func (r *response) dataObject() string {
	return strings.TrimSuffix(strings.TrimPrefix(r.body, `{"data":`), "}")
}

func TestTerminalSentBackAsReadKeepsItsSecrets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := f.createTerminal(`,"merchant_params":{"notify_url":"https://shop.example/n","secret":"CANARY-1","secret_previous":"CANARY-2"}`)
	read := f.admin().get(path).want(200, "")
	if read.at("data.merchant_params.secret") != mask || read.at("data.merchant_params.secret_previous") != mask || strings.Contains(read.body, "CANARY") {
		t.Errorf("%s", read.body)
	}
	before := f.events()
	f.admin().patch(path, read.dataObject()).want(200, read.body)
	if f.events() != before {
		t.Error("what was read and sent back has changed something")
	}
	id := uuid.MustParse(strings.TrimPrefix(path, "/api/v1/terminal/"))
	stored, _ := f.directory.Terminal(f.seed.First.Org, id)
	if n := stored.Notification; n.Secret != "CANARY-1" || n.SecretPrevious != "CANARY-2" {
		t.Errorf("the secrets became %q and %q", n.Secret, n.SecretPrevious)
	}
	f.admin().patch(path, `{"merchant_params":{"secret":"CANARY-3","secret_previous":"`+mask+`"}}`).want(200, "")
	stored, _ = f.directory.Terminal(f.seed.First.Org, id)
	if n := stored.Notification; n.Secret != "CANARY-3" || n.SecretPrevious != "CANARY-2" {
		t.Errorf("the secrets became %q and %q", n.Secret, n.SecretPrevious)
	}
	f.admin().patch(path, `{"merchant_params":{"notify_url":"https://shop.example/n"}}`).want(200, "")
	if stored, _ = f.directory.Terminal(f.seed.First.Org, id); stored.Notification.Secret != "" {
		t.Error("a secret that was left out is still there")
	}
}

func TestPartnerSentBackAsReadKeepsItsSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const path = "/api/v1/partners/1"
	f.admin().patch(path, `{"secret":"CANARY","notify_url":"https://shop.example/n","overdraft_limit":[{"currency":"USDT","network":"","amount":"5"}]}`).want(200, "")
	read := f.admin().get(path).want(200, "")
	if read.at("data.secret") != mask || strings.Contains(read.body, "CANARY") {
		t.Errorf("%s", read.body)
	}
	before := f.events()
	f.admin().patch(path, read.dataObject()).want(200, read.body)
	if f.events() != before {
		t.Error("what was read and sent back has changed something")
	}
	if p, _ := f.directory.Partner(f.seed.First.Org, 1); p.Secret != "CANARY" {
		t.Errorf("the secret became %q", p.Secret)
	}
	f.admin().patch(path, `{"secret":null}`).want(200, "")
	if p, _ := f.directory.Partner(f.seed.First.Org, 1); p.Secret != "" {
		t.Errorf("the secret became %q", p.Secret)
	}
}

func TestMaskIsRefusedWithoutAStoredSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := f.createTerminal("")
	for _, a := range []*response{
		f.admin().patch(path, `{"merchant_params":{"secret":"`+mask+`"}}`),
		f.admin().post("/api/v1/terminal", `{"name":"T","partner_id":1,"provider":"simulator","type":"payment","merchant_params":{"secret":"`+mask+`"}}`),
	} {
		if a.want(422, ""); a.fieldProblems() != "merchant_params.secret: is not known here: send the secret itself" {
			t.Errorf("%s", a.body)
		}
	}
	for _, a := range []*response{
		f.admin().patch("/api/v1/partners/1", `{"secret":"`+mask+`"}`),
		f.admin().post("/api/v1/partners", `{"name":"n","login":"l","pass":"nine-Lions-paint","secret":"`+mask+`"}`),
	} {
		if a.want(422, ""); a.fieldProblems() != "secret: is not known here: send the secret itself" {
			t.Errorf("%s", a.body)
		}
	}
}

// patchablePaths returns the path of one record of each kind that PATCH can change.
func (f *fixture) patchablePaths() map[string]string {
	f.t.Helper()
	limit := f.createLimit(`{"partner_id":1,"kind":"daily_volume","currency":"USD","env":"test","max_amount":"1000"}`)
	return map[string]string{
		"organization": "/api/v1/organizations/" + f.seed.First.Org.String(),
		"partner":      "/api/v1/partners/1",
		"terminal":     f.createTerminal(`,"provider_params":{"priority":3}`),
		"user":         users + "/" + f.createUser("anna", `"client"`, "").at("data.id"),
		"limit":        limitsPath + "/" + limit.at("data.id"),
	}
}

func TestImmutableFieldsAreAcceptedOnlyUnchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	paths := f.patchablePaths()
	for name, path := range paths {
		read := f.admin().get(path).want(200, "")
		before := f.events()
		f.admin().patch(path, read.dataObject()).want(200, read.body)
		if f.events() != before {
			t.Errorf("a %s that was read and sent back has changed", name)
		}
	}
	otherID := uuid.NewString()
	for _, c := range []struct{ record, field, value string }{
		{"organization", "id", `"` + otherID + `"`},
		{"organization", "created_at", `"2020-01-01T00:00:00.000000+00:00"`},
		{"partner", "id", `2`},
		{"partner", "id", `"1"`},
		{"partner", "login", `"other"`},
		{"partner", "login", `null`},
		{"terminal", "id", `"` + otherID + `"`},
		{"terminal", "partner_id", `2`},
		{"terminal", "provider", `"utp"`},
		{"terminal", "type", `"payout"`},
		{"terminal", "type", `{}`},
		{"terminal", "env", `"prod"`},
		{"terminal", "env", `null`},
		{"user", "id", `"` + otherID + `"`},
		{"user", "login", `"berta"`},
		{"limit", "id", `"` + otherID + `"`},
	} {
		r := f.admin().patch(paths[c.record], `{"`+c.field+`":`+c.value+`}`).want(422, "")
		if r.fieldProblems() != c.field+": "+c.field+" never changes" {
			t.Errorf("%s %s %s: %s", c.record, c.field, c.value, r.body)
		}
	}
}

func TestNullClearsOptionalFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	paths := f.patchablePaths()
	f.admin().patch(paths["partner"], `{"email":"a@b.example","lang":"ru","notify_url":"https://a.example","secret":"s","source_addresses":["127.0.0.1"],"overdraft_limit":[{"currency":"USD","amount":"1"}]}`).want(200, "")
	f.admin().patch(paths["user"], `{"email":"a@b.example","roles":["partner"],"partner_id":1}`).want(200, "")
	f.admin().patch(paths["terminal"], `{"merchant_adapter":"m","merchant_params":{"notify_url":"https://a.example"}}`).want(200, "")
	for _, c := range []struct{ record, field, otherFields, shown string }{
		{"organization", "modules", "", "[]"},
		{"organization", "allowed_regions", "", "[]"},
		{"partner", "email", "", "null"},
		{"partner", "lang", "", "null"},
		{"partner", "notify_url", "", "null"},
		{"partner", "secret", "", "null"},
		{"partner", "source_addresses", "", "[]"},
		{"partner", "overdraft_limit", "", "[]"},
		{"terminal", "provider_params", "", "{}"},
		{"terminal", "merchant_params", "", "{}"},
		{"terminal", "merchant_adapter", "", ""},
		{"user", "email", "", "null"},
		{"user", "partner_id", `,"roles":["client"]`, "null"},
		{"limit", "max_count", "", "null"}, // for a volume limit, which has no max_count
		{"limit", "terminal_id", "", "null"},
	} {
		r := f.admin().patch(paths[c.record], `{"`+c.field+`":null`+c.otherFields+`}`).want(200, "")
		if got := r.at("data." + c.field); got != c.shown {
			t.Errorf("%s %s became %s", c.record, c.field, got)
		}
	}
}

func TestNullIsRefusedForRequiredFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	paths := f.patchablePaths()
	before := f.events()
	for _, c := range []struct{ record, field string }{
		{"organization", "name"}, {"organization", "type"}, {"organization", "status"},
		{"partner", "name"}, {"partner", "pass"}, {"partner", "active"},
		{"terminal", "name"}, {"terminal", "is_active"},
		{"user", "name"}, {"user", "pass"}, {"user", "roles"}, {"user", "active"},
		{"limit", "max_amount"}, {"limit", "active"}, {"limit", "kind"},
	} {
		r := f.admin().patch(paths[c.record], `{"`+c.field+`":null}`).want(422, "")
		if r.at("errors.0.field") != c.field || r.at("errors.1") != "(absent)" {
			t.Errorf("%s %s: %s", c.record, c.field, r.body)
		}
	}
	if f.events() != before {
		t.Error("something was changed")
	}
}

func TestCursorWithAnUnescapedPlusIsAccepted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createTerminal("")
	limit := `{"partner_id":1,"kind":"daily_volume","currency":"USD","max_amount":"1"}`
	f.createLimit(limit)
	f.createLimit(limit)
	for _, value := range []string{"RU", "KZ"} {
		f.admin().post(blocklistPath, `{"kind":"country","value":"`+value+`"}`).want(201, "")
	}
	for _, reference := range []string{"a", "b"} {
		f.admin().post("/api/v1/partners/1/settlements", `{"direction":"in","amount":"1","currency":"USD","reference":"`+reference+`"}`).want(201, "")
	}
	for _, list := range []string{"/api/v1/organizations", "/api/v1/terminals", limitsPath, blocklistPath, "/api/v1/partners/1/settlements"} {
		first := f.admin().get(list+"?limit=1").want(200, "")
		cursor := first.at("cursor.cursor_value")
		if !strings.Contains(cursor, "+") {
			t.Fatalf("%s: %s", list, first.body)
		}
		encoded := f.admin().get(list+"?limit=1&cursor="+url.QueryEscape(cursor)).want(200, "")
		f.admin().get(list+"?limit=1&cursor="+cursor).want(200, encoded.body)
		if encoded.rows() != 1 || encoded.at("data.0.id") == first.at("data.0.id") {
			t.Errorf("%s: %s", list, encoded.body)
		}
	}
}
