package api_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

const (
	users    = "/api/v1/users"
	sessions = "/api/v1/sessions"
	goodPass = "nine-Lions-paint"
)

// createUser creates a user of the first organization with the fixture's password.
func (f *fixture) createUser(login, roles, more string) *response {
	f.t.Helper()
	return f.admin().post(users, `{"login":"`+login+`","pass":"`+goodPass+`","name":"U","roles":[`+roles+`]`+more+`}`).want(201, "")
}

func TestUsersAreAdministered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user := f.admin().post(users, `{"params":{"login":"anna","pass":"`+goodPass+`","name":"Anna","email":"anna@bank.example","roles":["client","auditor"]}}`).want(201, "")
	const shown = `"login":"anna","name":"Anna","email":"anna@bank.example","roles":["auditor","client"],"partner_id":null,"active":true`
	if !strings.Contains(user.body, shown) || strings.Contains(user.body, goodPass) || strings.Contains(user.body, "argon") {
		t.Errorf("%s", user.body)
	}
	path := users + "/" + user.at("data.id")
	f.admin().get(path).want(200, user.body)
	f.admin().get(users).want(200, `{"data":[`+strings.TrimSuffix(strings.TrimPrefix(user.body, `{"data":`), "}")+`],"cursor":{"cursor_field":"created_at","cursor_value":null}}`)
	cashier := f.createUser("cashier", `"partner"`, `,"partner_id":1`)
	if cashier.at("data.partner_id") != "1" || cashier.at("data.email") != "null" {
		t.Errorf("%s", cashier.body)
	}
	if page := f.admin().get(users+"?limit=1").want(200, ""); page.at("data.0.id") != cashier.at("data.id") || page.at("cursor.cursor_value") == "null" {
		t.Errorf("%s", page.body)
	}
	if mine := f.admin().get(users+"?partner_id=1").want(200, ""); mine.rows() != 1 {
		t.Errorf("%s", mine.body)
	}
	changed := f.admin().patch(path, `{"name":"Anna B","email":"b@bank.example","roles":["partner"],"partner_id":1}`).want(200, "")
	if changed.at("data.name") != "Anna B" || changed.at("data.partner_id") != "1" || changed.at("data.roles") != `["partner"]` || changed.at("data.login") != "anna" {
		t.Errorf("%s", changed.body)
	}
	deactivated := f.admin().do("DELETE", path, "").want(200, "")
	if deactivated.at("data.active") != "false" {
		t.Errorf("%s", deactivated.body)
	}
	before := f.events()
	f.admin().do("DELETE", path, "").want(200, deactivated.body)
	if f.events() != before {
		t.Error("switched off twice")
	}
	events := f.auditor().get(ledgerPath+"/events?source="+user.at("data.id")).want(200, "")
	if events.rows() != 3 || events.at("data.0.event") != "deactivate" || events.at("data.1.event") != "update" || events.at("data.2.event") != "create" {
		t.Errorf("%s", events.body)
	}
	f.restart()
	f.admin().get(path).want(200, deactivated.body)
}

func TestEachFieldOfAUserIsChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	foreignPartner := f.admin().with("x-organization-id", f.seed.Second.Org.String()).post("/api/v1/partners", `{"name":"S","login":"s","pass":"nine-Lions-paint"}`).want(201, "").at("id")
	path := users + "/" + f.createUser("anna", `"client"`, "").at("data.id")
	before := f.events()
	for _, c := range []struct{ name, value, more, field string }{
		{"pass", `"password"`, "", "pass"},
		{"pass", `""`, "", "pass"},
		{"pass", `12345678`, "", "pass"},
		{"pass", `"` + strings.Repeat("Aq9-", 65) + `"`, "", "pass"},
		{"name", `""`, "", "name"},
		{"name", `7`, "", "name"},
		{"name", `"` + strings.Repeat("n", 256) + `"`, "", "name"},
		{"email", `"anna"`, "", "email"},
		{"roles", `[]`, "", "roles"},
		{"roles", `"admin"`, "", "roles"},
		{"roles", `["admin","admin"]`, "", "roles"},
		{"roles", `["root"]`, "", "roles"},
		{"roles", `["partner"]`, "", "partner_id"},
		{"roles", `["partner"]`, `,"partner_id":999`, "partner_id"},
		{"roles", `["partner"]`, `,"partner_id":` + foreignPartner, "partner_id"},
		{"partner_id", `1`, "", "partner_id"},
		{"partner_id", `"1"`, "", "partner_id"},
		{"active", `"yes"`, "", "active"},
	} {
		member := `"` + c.name + `":` + c.value + c.more
		whole := "{" + member
		for name, good := range map[string]string{"login": `"new"`, "pass": `"` + goodPass + `"`, "name": `"N"`, "roles": `["client"]`} {
			if name != c.name {
				whole += `,"` + name + `":` + good
			}
		}
		for what, a := range map[string]*response{"a patch": f.admin().patch(path, "{"+member+"}"), "a new user": f.admin().post(users, whole+"}")} {
			if a.want(422, "").at("errors.0.field") != c.field {
				t.Errorf("%s with %s: %s, want %s", what, member, a.body, c.field)
			}
		}
	}
	for body, field := range map[string]string{
		`{"pass":"` + goodPass + `","name":"N","roles":["client"]}`:               "login",
		`{"login":"a b","pass":"` + goodPass + `","name":"N","roles":["client"]}`: "login",
		`{"login":"new","name":"N","roles":["client"]}`:                           "pass",
		`{"login":"new","pass":"` + goodPass + `","name":"N"}`:                    "roles",
		`{"login":"new","pass":"` + goodPass + `","roles":["client"]}`:            "name",
	} {
		if r := f.admin().post(users, body).want(422, ""); r.at("errors.0.field") != field {
			t.Errorf("%s: %s, want %s", body, r.body, field)
		}
	}
	for _, taken := range []string{"anna", "demo"} {
		f.admin().post(users, `{"login":"`+taken+`","pass":"`+goodPass+`","name":"N","roles":["client"]}`).want(409, `{"error":"conflict","message":"login: the login is taken"}`)
	}
	f.admin().post("/api/v1/partners", `{"name":"P","login":"anna","pass":"nine-Lions-paint"}`).want(409, "")
	if after := f.events(); after != before {
		t.Errorf("%s events, were %s: something was stored", after, before)
	}
}

// A partner's id, the id of another organization's user, and an unknown id get the same response.
func TestForeignUserIDEqualsAnUnknownID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	anna := f.createUser("anna", `"client"`, "").at("data.id")
	second := f.admin().with("x-organization-id", f.seed.Second.Org.String())
	random := f.admin().get(users+"/"+uuid.NewString()).want(404, "")
	for _, a := range []*response{
		second.get(users + "/" + anna), second.patch(users+"/"+anna, `{"name":"X"}`), second.do("DELETE", users+"/"+anna, ""),
		f.admin().get(users + "/1"), f.admin().get(users + "/" + f.partnerRecord()), f.admin().get(users + "/x"),
	} {
		if a.status != 404 || a.at("error") != random.at("error") {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if name := f.admin().get(users + "/" + anna).at("data.name"); name != "U" {
		t.Errorf("the user's name is %s", name)
	}
}

// partnerRecord returns the id of the first partner's record.
func (f *fixture) partnerRecord() string {
	p, _ := f.directory.Partner(f.seed.First.Org, 1)
	return p.ID.String()
}

func TestUserWritesTakeAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	creation := write{"k-1", "POST", users, `{"login":"anna","pass":"` + goodPass + `","name":"Anna","roles":["client"]}`}
	created := creation.sendAs(f.admin()).want(201, "")
	creation.wantReplay(f, created)
	change := write{"k-2", "PATCH", users + "/" + created.at("data.id"), `{"pass":"` + goodPass + ` again"}`}
	change.wantReplay(f, change.sendAs(f.admin()).want(200, ""))
	end := write{"k-3", "DELETE", users + "/" + created.at("data.id"), ""}
	end.wantReplay(f, end.sendAs(f.admin()).want(200, ""))
	different := write{"k-1", "POST", users, `{"login":"boris","pass":"` + goodPass + `","name":"B","roles":["client"]}`}
	different.sendAs(f.admin()).want(409, keyConflict)
	f.restart()
	creation.wantReplay(f, created)
}

func TestPartnerPasswordIsReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	login := func(pass string) *response {
		return f.logIn(f.seed.First.Org.String(), `{"login":"demo","pass":"`+pass+`"}`)
	}
	old := login(string(f.seed.First.Pass)).want(201, "").at("data.token")
	if r := f.admin().patch("/api/v1/partners/1", `{"pass":""}`).want(422, ""); r.at("errors.0.field") != "pass" {
		t.Errorf("%s", r.body)
	}
	f.admin().patch("/api/v1/partners/999", `{"pass":"another-Lion-paints-9"}`).want(404, "")
	f.admin().patch("/api/v1/partners/1", `{"name":"Other"}`).want(200, "")
	f.bearer(old, f.seed.First.Org).get("/api/v1/balances").want(200, "")
	f.admin().patch("/api/v1/partners/1", `{"pass":"another-Lion-paints-9"}`).want(200, "")
	f.bearer(old, f.seed.First.Org).get("/api/v1/balances").want(401, unauthorized)
	login(string(f.seed.First.Pass)).want(401, unauthorized)
	login("another-Lion-paints-9").want(201, "")
	f.partner().get("/api/v1/balances").want(200, "") // partners' keys are not affected
}

func TestAdminTokenIsRotated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const path = "/api/v1/admin_tokens/rotate"
	old := f.admin()
	r := old.post(path, "").want(201, "")
	next := f.bearer(r.at("data.token"), f.seed.First.Org)
	if !strings.HasPrefix(r.at("data.token"), "mza_") || r.body != `{"data":{"token":"`+r.at("data.token")+`"}}` {
		t.Errorf("%s", r.body)
	}
	for _, asked := range []*response{old.get("/api/v1/partners"), old.post(path, ""), old.keyed("k").post(path, "{}"), old.get("/api/v1/sandbox/clock")} {
		asked.want(401, unauthorized)
	}
	next.get("/api/v1/partners").want(200, "")
	f.session().post(path, "").want(403, "")
	f.anyone().post(path, "").want(401, unauthorized)

	// With a key the response is stored, sealed, so that it can be repeated.
	first := next.keyed("k").post(path, "{}").want(201, "")
	last := f.bearer(first.at("data.token"), f.seed.First.Org)
	next.keyed("k").post(path, "{}").want(401, unauthorized)
	if again := last.keyed("k").post(path, "{}").want(201, first.body); !again.isReplay() {
		t.Error("no replay")
	}
	last.get("/api/v1/partners").want(200, "")
	f.restart()
	last.get("/api/v1/partners").want(200, "")
	next.get("/api/v1/partners").want(401, unauthorized)
	f.stopServer()
	f.stopBackend()
	f.wantSecretsAbsent(first.at("data.token"))
}

// A body that is not a JSON object shows that the caller wanted something else.
func TestRotationWithABadBodyChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const path = "/api/v1/admin_tokens/rotate"
	for _, body := range []string{"x", `{"a":1`, `[]`, `"token"`, `null`, `7`, ` `, `{} {}`, `{"a":1,"a":2}`} {
		f.admin().keyed("k").post(path, body).want(400, "")
	}
	f.admin().get("/api/v1/partners").want(200, "")
	f.admin().keyed("k").post(path, `{"reason":"a leak"}`).want(201, "")
}

// wantSecretsAbsent checks that no file of the stopped server contains one of the secrets.
func (f *fixture) wantSecretsAbsent(secrets ...string) {
	f.t.Helper()
	files := 0
	must(f.t, filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, secret := range secrets {
			if bytes.Contains(content, []byte(secret)) {
				f.t.Errorf("%s has a secret", path)
			}
		}
		files++
		return err
	}))
	if files == 0 {
		f.t.Error("no file was looked into")
	}
}
