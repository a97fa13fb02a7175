package api_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"mizan/api"
)

// logIn posts a login to the organization. If org is empty, the request names no organization.
func (f *fixture) logIn(org, body string) *response {
	f.t.Helper()
	return f.anyone().with("x-organization-id", org).post(sessions, body)
}

// logInAs logs in to the first organization with the fixture's password and returns the caller.
func (f *fixture) logInAs(login string) caller {
	f.t.Helper()
	first := f.seed.First.Org
	return f.bearer(f.logIn(first.String(), loginBody(login, goodPass)).want(201, "").at("data.token"), first)
}

func loginBody(login, pass string) string {
	return fmt.Sprintf(`{"login":%q,"pass":%q}`, login, pass)
}

func (f *fixture) advance(seconds int) {
	f.t.Helper()
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":`+strconv.Itoa(seconds)+`}`).want(200, "")
}

func TestSessionIsCreatedAndEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createUser("anna", `"client","auditor"`, "")
	first := f.seed.First.Org
	r := f.logIn(first.String(), loginBody("anna", goodPass)).want(201, "")
	token := r.at("data.token")
	want := `{"data":{"token":"` + token + `","expires_at":"2026-09-03T22:15:30.123456+00:00","organization_id":"` + first.String() + `","roles":["auditor","client"]}}`
	if r.body != want || !strings.HasPrefix(token, "mzs_") || len(token) != 47 || r.header.Get("cache-control") != "no-store" {
		t.Errorf("%s, want %s", r.body, want)
	}
	anna := f.bearer(token, first)
	anna.get(ledgerPath+"/head").want(200, "")
	otherSession := f.logInAs("anna")
	if out := anna.do("DELETE", sessions+"/current", "").want(204, ""); out.body != "" {
		t.Errorf("%q", out.body)
	}
	anna.get(ledgerPath+"/head").want(401, unauthorized)
	anna.do("DELETE", sessions+"/current", "").want(401, unauthorized)
	otherSession.get(ledgerPath+"/head").want(200, "")
	events := f.auditor().get(ledgerPath+"/events?limit=1").want(200, "")
	if events.at("data.0.event") != "revoke" || events.at("data.0.from") != "active" || events.at("data.0.to") != "revoked" {
		t.Errorf("%s", events.body)
	}
	f.restart()
	anna.get(ledgerPath+"/head").want(401, unauthorized)
	otherSession.get(ledgerPath+"/head").want(200, "")
}

func TestSessionIsValidInItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createUser("anna", `"auditor"`, "")
	anna := f.logInAs("anna")
	for _, otherOrg := range []string{"", f.seed.Second.Org.String(), uuid.NewString(), "x"} {
		anna.with("x-organization-id", otherOrg).get(ledgerPath+"/head").want(401, unauthorized)
	}
}

// All logins with wrong credentials get the same response, byte for byte. Only malformed logins get another response.
func TestAllFailedLoginsHaveTheSameResponse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.seed.First.Org.String()
	f.createUser("anna", `"client"`, "")
	deletedUser := f.createUser("gone", `"client"`, "")
	f.admin().do("DELETE", users+"/"+deletedUser.at("data.id"), "").want(200, "")
	f.admin().post("/api/v1/partners", `{"name":"F","login":"far","pass":"nine-Lions-paint","source_addresses":["192.0.2.0/24"]}`).want(201, "")
	inactiveOrg := f.anyone().with("authorization", "Bearer "+string(f.seed.AdminToken)).post("/api/v1/organizations", `{"name":"Idle"}`).want(201, "").at("data.id")
	inactiveOrgAdmin := f.admin().with("x-organization-id", inactiveOrg)
	inactiveOrgAdmin.post(users, `{"login":"anna","pass":"`+goodPass+`","name":"A","roles":["admin"]}`).want(201, "")
	f.logIn(inactiveOrg, loginBody("anna", goodPass)).want(201, "")
	f.admin().patch("/api/v1/organizations/"+inactiveOrg, `{"status":"archived"}`).want(200, "")

	reference := f.logIn(first, loginBody("nobody", goodPass)).want(401, unauthorized)
	for name, a := range map[string]*response{
		"wrong password":                 f.logIn(first, loginBody("anna", goodPass+"x")),
		"login in another case":          f.logIn(first, loginBody("ANNA", goodPass)),
		"deactivated user":               f.logIn(first, loginBody("gone", goodPass)),
		"partner's wrong password":       f.logIn(first, loginBody("demo", "wrong")),
		"partner without password":       f.logIn(f.seed.Second.Org.String(), loginBody("demo", "wrong")),
		"partner from a refused address": f.logIn(first, loginBody("far", goodPass)),
		"another organization":           f.logIn(f.seed.Second.Org.String(), loginBody("anna", goodPass)),
		"inactive organization":          f.logIn(inactiveOrg, loginBody("anna", goodPass)),
		"unknown organization":           f.logIn(uuid.NewString(), loginBody("anna", goodPass)),
		"malformed organization":         f.logIn("x", loginBody("anna", goodPass)),
		"missing organization":           f.logIn("", loginBody("anna", goodPass)),
		"the nil organization":           f.logIn(uuid.Nil.String(), loginBody("anna", goodPass)),
		"a key as a password":            f.logIn(first, loginBody("demo", string(f.seed.First.APIKey))),
		"an admin token in the header":   f.admin().post(sessions, loginBody("anna", "wrong")),
		"a partner's key in the header":  f.partner().post(sessions, loginBody("demo", "wrong")),
	} {
		if a.status != 401 || a.body != unauthorized || sameHeaders(a) != sameHeaders(reference) {
			t.Errorf("%s: %d %s %v", name, a.status, a.body, a.header)
		}
	}
}

// A caller at an IP address that the partner does not admit can't find out whether a password is right, not even from many
// responses. This holds for the partner's own login and for the logins of users with the role partner.
func TestRightPasswordFromARefusedAddressLooksWrong(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.seed.First.Org.String()
	createFarPartner := func(login string) string {
		return f.admin().post("/api/v1/partners", `{"name":"F","login":"`+login+`","pass":"`+goodPass+`","source_addresses":["192.0.2.0/24"]}`).want(201, "").at("data.id")
	}
	partnerID := createFarPartner("far")
	createFarPartner("away")
	for _, login := range []string{"cashier", "scribe"} {
		f.admin().post(users, `{"login":"`+login+`","pass":"`+goodPass+`","name":"C","roles":["partner"],"partner_id":`+partnerID+`}`).want(201, "")
	}
	for _, pair := range [][2]string{{"far", "away"}, {"cashier", "scribe"}} {
		for i := range 7 {
			right, wrong := f.logIn(first, loginBody(pair[0], goodPass)), f.logIn(first, loginBody(pair[1], goodPass+"x"))
			if right.status != wrong.status || right.body != wrong.body || sameHeaders(right) != sameHeaders(wrong) {
				t.Errorf("%s, attempt %d: a right password gets %d %s, a wrong one %d %s", pair[0], i, right.status, right.body, wrong.status, wrong.body)
			}
			if want := 401 + 28*(i/5); right.status != want { // 401 five times, then 429
				t.Errorf("%s, attempt %d: %d, want %d", pair[0], i, right.status, want)
			}
		}
	}
	// The lockout continues when the partner's source addresses change. It does not affect the partner's API keys.
	f.admin().patch("/api/v1/partners/"+partnerID, `{"source_addresses":[]}`).want(200, "")
	f.logIn(first, loginBody("far", goodPass)).want(429, "")
	key := f.admin().post("/api/v1/api_keys", `{"name":"K","partner_id":`+partnerID+`}`).want(201, "").at("key")
	f.partner().with("x-api-key", key).get("/api/v1/balances").want(200, "")
}

func TestMalformedLoginIsRefusedByField(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for body, fields := range map[string][]string{
		`{}`:                                         {"login", "pass"},
		`{"login":"anna"}`:                           {"pass"},
		`{"pass":"nine-Lions-paint"}`:                {"login"},
		`{"login":"","pass":""}`:                     {"login", "pass"},
		`{"login":7,"pass":"nine-Lions-paint"}`:      {"login"},
		`{"login":"anna","pass":7}`:                  {"pass"},
		`{"login":null,"pass":null}`:                 {"login", "pass"},
		`{"login":["a"],"pass":{}}`:                  {"login", "pass"},
		`{"Login":"anna","pass":"nine-Lions-paint"}`: {"login"},
		loginBody(strings.Repeat("я", 256), "p"):     {"login"},
		loginBody("anna", strings.Repeat("p", 257)):  {"pass"},
	} {
		r := f.logIn(f.seed.First.Org.String(), body).want(422, "")
		var named []string
		for i := range 3 {
			if field := r.at(fmt.Sprintf("errors.%d.field", i)); field != "(absent)" {
				named = append(named, field)
			}
		}
		if fmt.Sprint(named) != fmt.Sprint(fields) {
			t.Errorf("%s: %s, want %v", body, r.body, fields)
		}
	}
	// A login and a password of the greatest length are well formed.
	f.logIn(f.seed.First.Org.String(), loginBody(strings.Repeat("я", 255), strings.Repeat("p", 256))).want(401, unauthorized)
	f.logIn(f.seed.First.Org.String(), `[]`).want(422, "")
	f.logIn(f.seed.First.Org.String(), `{"login":"a","login":"b","pass":"nine-Lions-paint"}`).want(400, "")
}

func TestSessionExpiresAfterHalfAnHourIdleOr12Hours(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createUser("anna", `"auditor"`, "")
	idleSession, usedSession := f.logInAs("anna"), f.logInAs("anna")
	f.advance(29*60 + 59)
	usedSession.get(ledgerPath+"/head").want(200, "")
	f.advance(1)
	idleSession.get(ledgerPath+"/head").want(401, unauthorized)
	for range 24 { // for 24 times 28 minutes: 11 hours and 12 minutes
		f.advance(28 * 60)
		usedSession.get(ledgerPath+"/head").want(200, "")
	}
	f.restart() // the server remembers when the session was last used
	f.advance(18*60 - 1)
	usedSession.get(ledgerPath+"/head").want(200, "")
	f.advance(1)
	usedSession.get(ledgerPath+"/head").want(401, unauthorized)
	f.auditor().get(ledgerPath+"/head").want(200, "") // the sandbox's own sessions never expire
}

func TestChangesThatEndAUsersSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i, body := range []string{`{"active":false}`, `{"pass":"` + goodPass + ` again"}`, `{"roles":["auditor","client"]}`} {
		login := fmt.Sprint("anna", i)
		path := users + "/" + f.createUser(login, `"auditor"`, "").at("data.id")
		anna := f.logInAs(login)
		f.admin().patch(path, `{"name":"Other"}`).want(200, "")
		anna.get(ledgerPath+"/head").want(200, "")
		f.admin().patch(path, body).want(200, "")
		anna.get(ledgerPath+"/head").want(401, unauthorized)
	}
	path := users + "/" + f.createUser("gone", `"auditor"`, "").at("data.id")
	loggedOut := f.logInAs("gone")
	f.admin().do("DELETE", path, "").want(200, "")
	loggedOut.get(ledgerPath+"/head").want(401, unauthorized)
	f.admin().patch(path, `{"active":true}`).want(200, "")
	loggedOut.get(ledgerPath+"/head").want(401, unauthorized)
}

// deactivated is the response to a deactivated partner.
const deactivated = `{"error":"forbidden","message":"the partner is deactivated"}`

// A session with the role partner can read what the partner's API key can read, and can't write.
func TestPartnerSessionReadsLikeItsKeyAndCannotWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.seed.First.Org
	paidID := f.partner().post(transactions, paymentBody(`"amount":"100"`)).want(201, "").at("id")
	neighbour := f.otherPartner()
	foreignID := neighbour.post(transactions, paymentBody(`"amount":"100"`)).at("id")
	f.createUser("cashier", `"partner"`, `,"partner_id":1`)
	for holder, session := range map[string]caller{
		"the partner itself": f.bearer(f.logIn(first.String(), loginBody("demo", string(f.seed.First.Pass))).want(201, "").at("data.token"), first),
		"a user":             f.logInAs("cashier"),
	} {
		for _, path := range []string{
			transactions + "?env=test", transactions + "/" + paidID, "/api/v1/balances",
			ledgerPath + "/accounts?env=test", ledgerPath + "/entries?env=test", ledgerPath + "/accounts/A:bank", ledgerPath + "/head",
		} {
			key, person := f.partner().get(path), session.get(path)
			if person.status != key.status || person.body != key.body {
				t.Errorf("%s at %s: %d %s, the key %d %s", holder, path, person.status, person.body, key.status, key.body)
			}
		}
		session.get(transactions+"/aggregate?env=test").want(200, "")
		if r := session.get(transactions + "/" + foreignID); r.status != 404 || r.body != session.get(transactions+"/"+uuid.NewString()).body {
			t.Errorf("%s: a neighbour's transaction: %d %s", holder, r.status, r.body)
		}
		before := f.events()
		session.post(transactions, paymentBody(`"amount":"1"`)).want(403, "")
		session.do("PUT", transactions+"/"+paidID, `{"params":{"type":"refund"}}`).want(403, "")
		session.post(transactions+"/commit/"+paidID, `{}`).want(403, "")
		session.get("/api/v1/partners").want(403, "")
		if after := f.events(); after != before {
			t.Errorf("%s: %s events, were %s", holder, after, before)
		}
	}
}

func TestSessionsOfADeactivatedPartnerAreForbidden(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.seed.First.Org
	login := loginBody("demo", string(f.seed.First.Pass))
	partnerSession := f.bearer(f.logIn(first.String(), login).want(201, "").at("data.token"), first)
	f.createUser("cashier", `"partner"`, `,"partner_id":1`)
	cashier := f.logInAs("cashier")
	f.admin().patch("/api/v1/partners/1", `{"active":false}`).want(200, "")
	for _, path := range []string{transactions, "/api/v1/balances", ledgerPath + "/accounts"} {
		partnerSession.get(path).want(403, deactivated)
		cashier.get(path).want(403, deactivated)
	}
	f.logIn(first.String(), login).want(403, deactivated)
	f.logIn(first.String(), loginBody("cashier", goodPass)).want(403, deactivated)
	f.logIn(first.String(), loginBody("demo", "wrong")).want(401, unauthorized)
	cashier.do("DELETE", sessions+"/current", "").want(204, "") // a session can be ended even if it has no rights
	cashier.get("/api/v1/balances").want(401, unauthorized)
	f.admin().patch("/api/v1/partners/1", `{"active":true}`).want(200, "")
	partnerSession.get("/api/v1/balances").want(200, "")
	cashier.get("/api/v1/balances").want(401, unauthorized)
}

// A valid session without the necessary role gets 403; an ended session gets 401.
func TestEachRoleReachesItsRoutesOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createUser("an-admin", `"admin"`, "")
	f.createUser("an-auditor", `"auditor"`, "")
	f.createUser("a-client", `"client"`, "")
	f.createUser("both", `"client","auditor"`, "")
	paidPath := transactions + "/" + f.partner().post(transactions, paymentBody(`"amount":"1"`)).at("id")
	for login, want := range map[string][4]int{ // the statuses for the ledger, a transaction, balances and the administration
		"an-admin":   {200, 200, 403, 403},
		"an-auditor": {200, 200, 403, 403},
		"a-client":   {403, 403, 403, 403},
		"both":       {200, 200, 403, 403},
	} {
		c := f.logInAs(login)
		for i, path := range []string{ledgerPath + "/head", paidPath, "/api/v1/balances", "/api/v1/partners"} {
			if r := c.get(path); r.status != want[i] || r.status == 403 && r.at("error") != "forbidden" {
				t.Errorf("%s at %s: %d %s, want %d", login, path, r.status, r.body, want[i])
			}
		}
		c.post(transactions, paymentBody(`"amount":"1"`)).want(403, "")
		c.do("DELETE", sessions+"/current", "").want(204, "")
		c.post(transactions, paymentBody(`"amount":"1"`)).want(401, unauthorized)
	}
	f.partner().do("DELETE", sessions+"/current", "").want(403, "")
	f.admin().do("DELETE", sessions+"/current", "").want(403, "")
	f.anyone().do("DELETE", sessions+"/current", "").want(401, unauthorized)
}

// lockedOut is the response to a login after five failed ones.
const lockedOut = `{"error":"rate_limited","message":"too many failed attempts to log in"}`

func TestFiveFailedLoginsAre429UntilTheyExpire(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.seed.First.Org.String()
	f.createUser("anna", `"client"`, "")
	var lockedHeaders []string
	for _, login := range []string{"anna", "nobody"} {
		for range 5 {
			f.logIn(first, loginBody(login, "wrong")).want(401, unauthorized)
		}
		r := f.logIn(first, loginBody(login, goodPass)).want(429, lockedOut) // even with the right password
		if r.header.Get("retry-after") != "900" {
			t.Errorf("%s: %v", login, r.header)
		}
		lockedHeaders = append(lockedHeaders, sameHeaders(r))
	}
	if lockedHeaders[0] != lockedHeaders[1] {
		t.Errorf("the headers show whether a login exists: %s and %s", lockedHeaders[0], lockedHeaders[1])
	}
	f.createUser("boris", `"client"`, "")
	f.logIn(first, loginBody("boris", goodPass)).want(201, "")
	f.logIn("", loginBody("anna", goodPass)).want(401, unauthorized) // a login that names no organization is counted separately
	f.advance(14*60 + 59)
	if r := f.logIn(first, loginBody("anna", goodPass)).want(429, lockedOut); r.header.Get("retry-after") != "1" {
		t.Errorf("%v", r.header)
	}
	f.advance(1)
	f.logIn(first, loginBody("anna", goodPass)).want(201, "")
}

func TestConcurrentLoginsGetAtMostFiveGuesses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.seed.First.Org.String()
	f.createUser("anna", `"client"`, "")
	for login, want := range map[string][2]int{"anna": {401, 429}, "nobody": {401, 429}} {
		counts := map[int]int{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				r := f.logIn(first, loginBody(login, "wrong"))
				mu.Lock()
				defer mu.Unlock()
				counts[r.status]++
			})
		}
		wg.Wait()
		if counts[want[0]] != 5 || counts[want[1]] != 59 {
			t.Errorf("%s: %v, want 5 guesses", login, counts)
		}
	}
}

func TestLastUseOfAKeyIsListedAfterARestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := f.admin().post("/api/v1/api_keys", `{"name":"till","partner_id":1}`).want(201, "").at("key")
	use := func() { f.partner().with("x-api-key", key).get("/api/v1/balances").want(200, "") }
	wantLastUse := func(want string) {
		t.Helper()
		if got := f.admin().get("/api/v1/api_keys").at("data.0.last_used_at"); got != want {
			t.Errorf("last used %s, want %s", got, want)
		}
	}
	wantLastUse("null")
	use()
	wantLastUse("2026-09-03T10:15:30.123456+00:00")
	f.restart()
	wantLastUse("2026-09-03T10:15:30.123456+00:00")
	f.advance(3600)
	use()
	f.restart()
	wantLastUse("2026-09-03T11:15:30.123456+00:00")
}

// The store contains no token and no password, and neither does the log.
func TestNoTokenOrPasswordIsStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createUser("anna", `"auditor"`, "")
	token := f.logIn(f.seed.First.Org.String(), loginBody("anna", goodPass)).want(201, "").at("data.token")
	f.logIn(f.seed.First.Org.String(), loginBody("anna", "a wrong one")).want(401, "")
	f.bearer(token, f.seed.First.Org).get(ledgerPath+"/head").want(200, "")
	f.stopServer()
	f.stopBackend()
	f.wantSecretsAbsent(token, goodPass, "a wrong one")
	for _, secret := range []string{token, goodPass, "a wrong one"} {
		if strings.Contains(f.log.String(), secret) {
			t.Error("a secret was logged")
		}
	}
}

// The rate of requests with a partner's session is limited too. These requests do not count towards the limit of the partner's
// API key.
func TestRateOfAPartnersSessionIsLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *api.Config) { cfg.RateLimit = 1 })
	first := f.seed.First.Org
	session := f.bearer(f.logIn(first.String(), loginBody("demo", string(f.seed.First.Pass))).want(201, "").at("data.token"), first)
	r := session.get("/api/v1/balances").want(200, "")
	for n := 0; n < 1_000 && r.status == 200; n++ { // a slow machine needs more requests to reach the limit
		r = session.get("/api/v1/balances")
	}
	if r.status != 429 || r.at("error") != "rate_limited" {
		t.Fatalf("after the burst: %+v", r)
	}
	f.partner().get("/api/v1/balances").want(200, "")
}

// needsASession is the response to a request with an API key or the administration token instead of a session.
const needsASession = `{"error":"forbidden","message":"this needs a session of the organization"}`

// If the service has several organizations, a session's token is not enough: without the header X-Organization-Id the response is
// 401.
func TestCurrentSessionNamesItsOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createUser("anna", `"client","auditor"`, "")
	first := f.seed.First.Org
	anna := f.logInAs("anna")
	want := `{"data":{"organization_id":"` + first.String() + `","roles":["auditor","client"],"expires_at":"2026-09-03T22:15:30.123456+00:00"}}`
	if r := anna.get(sessions+"/current").want(200, ""); r.body != want {
		t.Errorf("%s, want %s", r.body, want)
	}
	f.auditor().get(sessions+"/current").want(200, "")
	anna.with("x-organization-id", "").get(sessions+"/current").want(401, unauthorized)
	f.partner().get(sessions+"/current").want(403, needsASession)
	f.admin().get(sessions+"/current").want(403, needsASession)
	f.anyone().get(sessions+"/current").want(401, unauthorized)
}
