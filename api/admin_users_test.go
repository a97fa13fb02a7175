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

// createUser creates a user of the first organization with the password goodPass and other fields.
func (f *fixture) createUser(login, roles, otherFields string) *response {
	f.t.Helper()
	return f.admin().post(users, `{"login":"`+login+`","pass":"`+goodPass+`","name":"U","roles":[`+roles+`]`+otherFields+`}`).want(201, "")
}

func TestUsersAreAdministered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user := f.admin().post(users, `{"params":{"login":"anna","pass":"`+goodPass+`","name":"Anna","email":"anna@bank.example","roles":["client","auditor"]}}`).want(201, "")
	const shownFields = `"login":"anna","name":"Anna","email":"anna@bank.example","roles":["auditor","client"],"partner_id":null,"active":true`
	if !strings.Contains(user.body, shownFields) || strings.Contains(user.body, goodPass) || strings.Contains(user.body, "argon") {
		t.Errorf("%s", user.body)
	}
	path := users + "/" + user.at("data.id")
	f.admin().get(path).want(200, user.body)
	list, row := f.admin().get(users).want(200, ""), strings.TrimSuffix(strings.TrimPrefix(user.body, `{"data":`), "}")
	if !strings.HasPrefix(list.body, `{"data":[`+row+`,`) || list.rows() != 1+len(f.seed.First.Users) || !strings.HasSuffix(list.body, `],"cursor":{"cursor_field":"created_at","cursor_value":null}}`) {
		t.Errorf("the users are %s, want first %s", list.body, row)
	}
	cashier := f.createUser("cashier", `"partner"`, `,"partner_id":1`)
	if cashier.at("data.partner_id") != "1" || cashier.at("data.email") != "null" {
		t.Errorf("%s", cashier.body)
	}
	if page := f.admin().get(users+"?limit=1").want(200, ""); page.at("data.0.id") != cashier.at("data.id") || page.at("cursor.cursor_value") == "null" {
		t.Errorf("%s", page.body)
	}
	if partnerUsers := f.admin().get(users+"?partner_id=1").want(200, ""); partnerUsers.rows() != 1 {
		t.Errorf("%s", partnerUsers.body)
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
	for _, c := range []struct{ name, value, otherFields, refusedField string }{
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
		sentFields := `"` + c.name + `":` + c.value + c.otherFields
		creation := "{" + sentFields
		for name, validValue := range map[string]string{"login": `"new"`, "pass": `"` + goodPass + `"`, "name": `"N"`, "roles": `["client"]`} {
			if name != c.name {
				creation += `,"` + name + `":` + validValue
			}
		}
		for request, a := range map[string]*response{"a patch": f.admin().patch(path, "{"+sentFields+"}"), "a new user": f.admin().post(users, creation+"}")} {
			if a.want(422, "").at("errors.0.field") != c.refusedField {
				t.Errorf("%s with %s: %s, want %s", request, sentFields, a.body, c.refusedField)
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
	annaID := f.createUser("anna", `"client"`, "").at("data.id")
	inSecondOrg := f.admin().with("x-organization-id", f.seed.Second.Org.String())
	unknown := f.admin().get(users+"/"+uuid.NewString()).want(404, "")
	for _, a := range []*response{
		inSecondOrg.get(users + "/" + annaID), inSecondOrg.patch(users+"/"+annaID, `{"name":"X"}`), inSecondOrg.do("DELETE", users+"/"+annaID, ""),
		f.admin().get(users + "/1"), f.admin().get(users + "/" + f.partnerRecordID()), f.admin().get(users + "/x"),
	} {
		if a.status != 404 || a.at("error") != unknown.at("error") {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if name := f.admin().get(users + "/" + annaID).at("data.name"); name != "U" {
		t.Errorf("the user's name is %s", name)
	}
}

// partnerRecordID returns the id of the first partner's record.
func (f *fixture) partnerRecordID() string {
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
	deletion := write{"k-3", "DELETE", users + "/" + created.at("data.id"), ""}
	deletion.wantReplay(f, deletion.sendAs(f.admin()).want(200, ""))
	conflicting := write{"k-1", "POST", users, `{"login":"boris","pass":"` + goodPass + `","name":"B","roles":["client"]}`}
	conflicting.sendAs(f.admin()).want(409, keyConflict)
	f.restart()
	creation.wantReplay(f, created)
}

func TestPartnerPasswordIsReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	login := func(pass string) *response {
		return f.logIn(f.seed.First.Org.String(), `{"login":"demo","pass":"`+pass+`"}`)
	}
	oldToken := login(string(f.seed.First.Pass)).want(201, "").at("data.token")
	if r := f.admin().patch("/api/v1/partners/1", `{"pass":""}`).want(422, ""); r.at("errors.0.field") != "pass" {
		t.Errorf("%s", r.body)
	}
	f.admin().patch("/api/v1/partners/999", `{"pass":"another-Lion-paints-9"}`).want(404, "")
	f.admin().patch("/api/v1/partners/1", `{"name":"Other"}`).want(200, "")
	f.bearer(oldToken, f.seed.First.Org).get("/api/v1/balances").want(200, "")
	f.admin().patch("/api/v1/partners/1", `{"pass":"another-Lion-paints-9"}`).want(200, "")
	f.bearer(oldToken, f.seed.First.Org).get("/api/v1/balances").want(401, unauthorized)
	login(string(f.seed.First.Pass)).want(401, unauthorized)
	login("another-Lion-paints-9").want(201, "")
	f.partner().get("/api/v1/balances").want(200, "") // partners' keys are not affected
}

func TestAdminTokenIsRotated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const path = "/api/v1/admin_tokens/rotate"
	oldAdmin := f.admin()
	r := oldAdmin.post(path, "").want(201, "")
	newAdmin := f.bearer(r.at("data.token"), f.seed.First.Org)
	if !strings.HasPrefix(r.at("data.token"), "mza_") || r.body != `{"data":{"token":"`+r.at("data.token")+`"}}` {
		t.Errorf("%s", r.body)
	}
	for _, refused := range []*response{oldAdmin.get("/api/v1/partners"), oldAdmin.post(path, ""), oldAdmin.keyed("k").post(path, "{}"), oldAdmin.get("/api/v1/sandbox/clock")} {
		refused.want(401, unauthorized)
	}
	newAdmin.get("/api/v1/partners").want(200, "")
	f.session().post(path, "").want(403, "")
	f.anyone().post(path, "").want(401, unauthorized)

	// With an idempotency key the response is stored, encrypted, so that it can be repeated.
	rotation := newAdmin.keyed("k").post(path, "{}").want(201, "")
	newestAdmin := f.bearer(rotation.at("data.token"), f.seed.First.Org)
	newAdmin.keyed("k").post(path, "{}").want(401, unauthorized)
	if repeated := newestAdmin.keyed("k").post(path, "{}").want(201, rotation.body); !repeated.isReplay() {
		t.Error("no replay")
	}
	newestAdmin.get("/api/v1/partners").want(200, "")
	f.restart()
	newestAdmin.get("/api/v1/partners").want(200, "")
	newAdmin.get("/api/v1/partners").want(401, unauthorized)
	f.stopServer()
	f.stopBackend() // closes the store, so that its files are complete
	f.wantSecretsAbsent(rotation.at("data.token"))
}

// A rotation needs no body. A body that is not a JSON object is refused, because its sender probably meant another request.
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
	fileCount := 0
	must(f.t, filepath.WalkDir(f.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, secret := range secrets {
			if bytes.Contains(content, []byte(secret)) {
				f.t.Errorf("%s has a secret", path)
			}
		}
		fileCount++
		return err
	}))
	if fileCount == 0 {
		f.t.Error("no file was looked into")
	}
}
