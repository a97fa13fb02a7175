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

// logIn posts a login to the organization; empty: without an organization.
func (h *fixture) logIn(org, body string) *answer {
	h.t.Helper()
	return h.anyone().with("x-organization-id", org).post(sessions, body)
}

// person logs in to the first organization with the fixture's password and returns the caller.
func (h *fixture) person(login string) caller {
	h.t.Helper()
	first := h.seed.First.Org
	return h.bearer(h.logIn(first.String(), loginBody(login, goodPass)).want(201, "").at("data.token"), first)
}

func loginBody(login, pass string) string {
	return fmt.Sprintf(`{"login":%q,"pass":%q}`, login, pass)
}

func (h *fixture) advance(seconds int) {
	h.t.Helper()
	h.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":`+strconv.Itoa(seconds)+`}`).want(200, "")
}

func TestSessionIsCreatedAndEnded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.user("anna", `"client","auditor"`, "")
	first := h.seed.First.Org
	a := h.logIn(first.String(), loginBody("anna", goodPass)).want(201, "")
	token := a.at("data.token")
	want := `{"data":{"token":"` + token + `","expires_at":"2026-09-03T22:15:30.123456+00:00","organization_id":"` + first.String() + `","roles":["auditor","client"]}}`
	if a.body != want || !strings.HasPrefix(token, "mzs_") || len(token) != 47 || a.header.Get("cache-control") != "no-store" {
		t.Errorf("%s, want %s", a.body, want)
	}
	anna := h.bearer(token, first)
	anna.get(ledgerPath+"/head").want(200, "")
	other := h.person("anna")
	if out := anna.do("DELETE", sessions+"/current", "").want(204, ""); out.body != "" {
		t.Errorf("%q", out.body)
	}
	anna.get(ledgerPath+"/head").want(401, unauthorized)
	anna.do("DELETE", sessions+"/current", "").want(401, unauthorized)
	other.get(ledgerPath+"/head").want(200, "")
	events := h.auditor().get(ledgerPath+"/events?limit=1").want(200, "")
	if events.at("data.0.event") != "revoke" || events.at("data.0.from") != "active" || events.at("data.0.to") != "revoked" {
		t.Errorf("%s", events.body)
	}
	h.restart()
	anna.get(ledgerPath+"/head").want(401, unauthorized)
	other.get(ledgerPath+"/head").want(200, "")
}

func TestSessionIsValidInItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.user("anna", `"auditor"`, "")
	anna := h.person("anna")
	for _, elsewhere := range []string{"", h.seed.Second.Org.String(), uuid.NewString(), "x"} {
		anna.with("x-organization-id", elsewhere).get(ledgerPath+"/head").want(401, unauthorized)
	}
}

// All logins with wrong credentials get the same answer, byte for byte; only a malformed login
// differs.
func TestAllFailedLoginsHaveTheSameResponse(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first := h.seed.First.Org.String()
	h.user("anna", `"client"`, "")
	gone := h.user("gone", `"client"`, "")
	h.admin().do("DELETE", users+"/"+gone.at("data.id"), "").want(200, "")
	h.admin().post("/api/v1/partners", `{"name":"F","login":"far","pass":"nine-Lions-paint","source_addresses":["192.0.2.0/24"]}`).want(201, "")
	idle := h.anyone().with("authorization", "Bearer "+string(h.seed.AdminToken)).post("/api/v1/organizations", `{"name":"Idle"}`).want(201, "").at("data.id")
	idleAdmin := h.admin().with("x-organization-id", idle)
	idleAdmin.post(users, `{"login":"anna","pass":"`+goodPass+`","name":"A","roles":["admin"]}`).want(201, "")
	h.logIn(idle, loginBody("anna", goodPass)).want(201, "")
	h.admin().patch("/api/v1/organizations/"+idle, `{"status":"archived"}`).want(200, "")

	reference := h.logIn(first, loginBody("nobody", goodPass)).want(401, unauthorized)
	for name, a := range map[string]*answer{
		"wrong password":            h.logIn(first, loginBody("anna", goodPass+"x")),
		"login in another case":     h.logIn(first, loginBody("ANNA", goodPass)),
		"deactivated user":          h.logIn(first, loginBody("gone", goodPass)),
		"partner's wrong password":  h.logIn(first, loginBody("demo", "wrong")),
		"partner without password":  h.logIn(h.seed.Second.Org.String(), loginBody("demo", "wrong")),
		"partner from elsewhere":    h.logIn(first, loginBody("far", goodPass)),
		"another organization":      h.logIn(h.seed.Second.Org.String(), loginBody("anna", goodPass)),
		"inactive organization":     h.logIn(idle, loginBody("anna", goodPass)),
		"unknown organization":      h.logIn(uuid.NewString(), loginBody("anna", goodPass)),
		"malformed organization":    h.logIn("x", loginBody("anna", goodPass)),
		"missing organization":      h.logIn("", loginBody("anna", goodPass)),
		"the nil organization":      h.logIn(uuid.Nil.String(), loginBody("anna", goodPass)),
		"a key as a password":       h.logIn(first, loginBody("demo", string(h.seed.First.APIKey))),
		"an admin token beside it":  h.admin().post(sessions, loginBody("anna", "wrong")),
		"a partner's key beside it": h.partner().post(sessions, loginBody("demo", "wrong")),
	} {
		if a.status != 401 || a.body != unauthorized || sameHeaders(a) != sameHeaders(reference) {
			t.Errorf("%s: %d %s %v", name, a.status, a.body, a.header)
		}
	}
}

// From an address that is not admitted, the answers, however many, do not reveal whether a
// password is right. This holds for the partner's own login and for a user who only acts as
// that partner.
func TestRightPasswordFromARefusedAddressLooksWrong(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first := h.seed.First.Org.String()
	far := func(login string) string {
		return h.admin().post("/api/v1/partners", `{"name":"F","login":"`+login+`","pass":"`+goodPass+`","source_addresses":["192.0.2.0/24"]}`).want(201, "").at("data.id")
	}
	number := far("far")
	far("away")
	for _, login := range []string{"cashier", "scribe"} {
		h.admin().post(users, `{"login":"`+login+`","pass":"`+goodPass+`","name":"C","roles":["partner"],"partner_id":`+number+`}`).want(201, "")
	}
	for _, pair := range [][2]string{{"far", "away"}, {"cashier", "scribe"}} {
		for i := range 7 {
			right, wrong := h.logIn(first, loginBody(pair[0], goodPass)), h.logIn(first, loginBody(pair[1], goodPass+"x"))
			if right.status != wrong.status || right.body != wrong.body || sameHeaders(right) != sameHeaders(wrong) {
				t.Errorf("%s, attempt %d: a right password is answered %d %s, a wrong one %d %s", pair[0], i, right.status, right.body, wrong.status, wrong.body)
			}
			if want := 401 + 28*(i/5); right.status != want {
				t.Errorf("%s, attempt %d: %d, want %d", pair[0], i, right.status, want)
			}
		}
	}
	// The lockout does not affect the partner's key, which still works.
	h.admin().patch("/api/v1/partners/"+number, `{"source_addresses":[]}`).want(200, "")
	h.logIn(first, loginBody("far", goodPass)).want(429, "")
}

func TestMalformedLoginIsRefusedByField(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
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
		a := h.logIn(h.seed.First.Org.String(), body).want(422, "")
		var named []string
		for i := range 3 {
			if field := a.at(fmt.Sprintf("errors.%d.field", i)); field != "(absent)" {
				named = append(named, field)
			}
		}
		if fmt.Sprint(named) != fmt.Sprint(fields) {
			t.Errorf("%s: %s, want %v", body, a.body, fields)
		}
	}
	// A login at the bounds is well formed, and is answered like any unknown login.
	h.logIn(h.seed.First.Org.String(), loginBody(strings.Repeat("я", 255), strings.Repeat("p", 256))).want(401, unauthorized)
	h.logIn(h.seed.First.Org.String(), `[]`).want(422, "")
	h.logIn(h.seed.First.Org.String(), `{"login":"a","login":"b","pass":"nine-Lions-paint"}`).want(400, "")
}

func TestSessionExpiresAfterHalfAnHourIdleOr12Hours(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.user("anna", `"auditor"`, "")
	resting, used := h.person("anna"), h.person("anna")
	h.advance(29*60 + 59)
	used.get(ledgerPath+"/head").want(200, "")
	h.advance(1)
	resting.get(ledgerPath+"/head").want(401, unauthorized)
	for range 24 { // every 28 minutes, over 11 hours and 12 minutes
		h.advance(28 * 60)
		used.get(ledgerPath+"/head").want(200, "")
	}
	h.restart() // the last use is known after a restart
	h.advance(18*60 - 1)
	used.get(ledgerPath+"/head").want(200, "")
	h.advance(1)
	used.get(ledgerPath+"/head").want(401, unauthorized)
	h.auditor().get(ledgerPath+"/head").want(200, "") // the sandbox's own sessions never expire
}

func TestChangesThatEndAUsersSessions(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for i, body := range []string{`{"active":false}`, `{"pass":"` + goodPass + ` again"}`, `{"roles":["auditor","client"]}`} {
		login := fmt.Sprint("anna", i)
		path := users + "/" + h.user(login, `"auditor"`, "").at("data.id")
		anna := h.person(login)
		h.admin().patch(path, `{"name":"Other"}`).want(200, "")
		anna.get(ledgerPath+"/head").want(200, "")
		h.admin().patch(path, body).want(200, "")
		anna.get(ledgerPath+"/head").want(401, unauthorized)
	}
	path := users + "/" + h.user("gone", `"auditor"`, "").at("data.id")
	gone := h.person("gone")
	h.admin().do("DELETE", path, "").want(200, "")
	gone.get(ledgerPath+"/head").want(401, unauthorized)
	h.admin().patch(path, `{"active":true}`).want(200, "")
	gone.get(ledgerPath+"/head").want(401, unauthorized)
}

const deactivated = `{"error":"forbidden","message":"the partner is deactivated"}`

// A session of role partner reads what its partner's key reads, and can't write.
func TestPartnerSessionReadsLikeItsKeyAndCannotWrite(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first := h.seed.First.Org
	paid := h.partner().post(transactions, paymentBody(`"amount":"100"`)).want(201, "").at("id")
	neighbour := h.neighbour()
	foreign := neighbour.post(transactions, paymentBody(`"amount":"100"`)).at("id")
	h.user("cashier", `"partner"`, `,"partner_id":1`)
	for who, c := range map[string]caller{
		"the partner itself": h.bearer(h.logIn(first.String(), loginBody("demo", string(h.seed.First.Pass))).want(201, "").at("data.token"), first),
		"a user":             h.person("cashier"),
	} {
		for _, path := range []string{
			transactions + "?env=test", transactions + "/" + paid, "/api/v1/balances",
			ledgerPath + "/accounts?env=test", ledgerPath + "/entries?env=test", ledgerPath + "/accounts/A:bank", ledgerPath + "/head",
		} {
			key, person := h.partner().get(path), c.get(path)
			if person.status != key.status || person.body != key.body {
				t.Errorf("%s at %s: %d %s, the key %d %s", who, path, person.status, person.body, key.status, key.body)
			}
		}
		c.get(transactions+"/aggregate?env=test").want(200, "")
		if a := c.get(transactions + "/" + foreign); a.status != 404 || a.body != c.get(transactions+"/"+uuid.NewString()).body {
			t.Errorf("%s: a neighbour's transaction: %d %s", who, a.status, a.body)
		}
		before := h.events()
		c.post(transactions, paymentBody(`"amount":"1"`)).want(403, "")
		c.do("PUT", transactions+"/"+paid, `{"params":{"type":"refund"}}`).want(403, "")
		c.post(transactions+"/commit/"+paid, `{}`).want(403, "")
		c.get("/api/v1/partners").want(403, "")
		if after := h.events(); after != before {
			t.Errorf("%s: %s events, were %s", who, after, before)
		}
	}
}

func TestSessionsOfADeactivatedPartnerAreForbidden(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first := h.seed.First.Org
	login := loginBody("demo", string(h.seed.First.Pass))
	c := h.bearer(h.logIn(first.String(), login).want(201, "").at("data.token"), first)
	h.user("cashier", `"partner"`, `,"partner_id":1`)
	cashier := h.person("cashier")
	h.admin().patch("/api/v1/partners/1", `{"active":false}`).want(200, "")
	for _, path := range []string{transactions, "/api/v1/balances", ledgerPath + "/accounts"} {
		c.get(path).want(403, deactivated)
		cashier.get(path).want(403, deactivated)
	}
	h.logIn(first.String(), login).want(403, deactivated)
	h.logIn(first.String(), loginBody("cashier", goodPass)).want(403, deactivated)
	h.logIn(first.String(), loginBody("demo", "wrong")).want(401, unauthorized)
	cashier.do("DELETE", sessions+"/current", "").want(204, "") // a session without any rights can be ended
	cashier.get("/api/v1/balances").want(401, unauthorized)
	h.admin().patch("/api/v1/partners/1", `{"active":true}`).want(200, "")
	c.get("/api/v1/balances").want(200, "")
	cashier.get("/api/v1/balances").want(401, unauthorized)
}

// Written by hand: what the roles of a person may read. A live session gets 403, others 401.
func TestEachRoleReachesItsRoutesOnly(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.user("admin", `"admin"`, "")
	h.user("auditor", `"auditor"`, "")
	h.user("client", `"client"`, "")
	h.user("both", `"client","auditor"`, "")
	paid := transactions + "/" + h.partner().post(transactions, paymentBody(`"amount":"1"`)).at("id")
	for login, want := range map[string][4]int{ // the ledger, a transaction, balances, the administration
		"admin":   {200, 200, 403, 403},
		"auditor": {200, 200, 403, 403},
		"client":  {403, 403, 403, 403},
		"both":    {200, 200, 403, 403},
	} {
		c := h.person(login)
		for i, path := range []string{ledgerPath + "/head", paid, "/api/v1/balances", "/api/v1/partners"} {
			if a := c.get(path); a.status != want[i] || a.status == 403 && a.at("error") != "forbidden" {
				t.Errorf("%s at %s: %d %s, want %d", login, path, a.status, a.body, want[i])
			}
		}
		c.post(transactions, paymentBody(`"amount":"1"`)).want(403, "")
		c.do("DELETE", sessions+"/current", "").want(204, "")
		c.post(transactions, paymentBody(`"amount":"1"`)).want(401, unauthorized)
	}
	h.partner().do("DELETE", sessions+"/current", "").want(403, "")
	h.admin().do("DELETE", sessions+"/current", "").want(403, "")
	h.anyone().do("DELETE", sessions+"/current", "").want(401, unauthorized)
}

const lockedOut = `{"error":"rate_limited","message":"too many failed attempts to log in"}`

func TestFiveFailedLoginsAre429UntilTheyExpire(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first := h.seed.First.Org.String()
	h.user("anna", `"client"`, "")
	var answers []string
	for _, login := range []string{"anna", "nobody"} {
		for range 5 {
			h.logIn(first, loginBody(login, "wrong")).want(401, unauthorized)
		}
		a := h.logIn(first, loginBody(login, goodPass)).want(429, lockedOut) // even with the right password
		if a.header.Get("retry-after") != "900" {
			t.Errorf("%s: %v", login, a.header)
		}
		answers = append(answers, sameHeaders(a))
	}
	if answers[0] != answers[1] {
		t.Errorf("it shows whether a login exists: %s and %s", answers[0], answers[1])
	}
	h.user("boris", `"client"`, "")
	h.logIn(first, loginBody("boris", goodPass)).want(201, "")
	h.logIn("", loginBody("anna", goodPass)).want(401, unauthorized) // without an organization it is a different login
	h.advance(14*60 + 59)
	if a := h.logIn(first, loginBody("anna", goodPass)).want(429, lockedOut); a.header.Get("retry-after") != "1" {
		t.Errorf("%v", a.header)
	}
	h.advance(1)
	h.logIn(first, loginBody("anna", goodPass)).want(201, "")
}

func TestConcurrentLoginsGetAtMostFiveGuesses(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first := h.seed.First.Org.String()
	h.user("anna", `"client"`, "")
	for login, want := range map[string][2]int{"anna": {401, 429}, "nobody": {401, 429}} {
		counts := map[int]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				a := h.logIn(first, loginBody(login, "wrong"))
				mu.Lock()
				defer mu.Unlock()
				counts[a.status]++
			})
		}
		all.Wait()
		if counts[want[0]] != 5 || counts[want[1]] != 59 {
			t.Errorf("%s: %v, want 5 guesses", login, counts)
		}
	}
}

func TestLastUseOfAKeyIsListedAfterARestart(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	key := h.admin().post("/api/v1/api_keys", `{"name":"till","partner_id":1}`).want(201, "").at("key")
	use := func() { h.partner().with("x-api-key", key).get("/api/v1/balances").want(200, "") }
	last := func(want string) {
		t.Helper()
		if got := h.admin().get("/api/v1/api_keys").at("data.0.last_used_at"); got != want {
			t.Errorf("last used %s, want %s", got, want)
		}
	}
	last("null")
	use()
	last("2026-09-03T10:15:30.123456+00:00")
	h.restart()
	last("2026-09-03T10:15:30.123456+00:00")
	h.advance(3600)
	use()
	h.restart()
	last("2026-09-03T11:15:30.123456+00:00")
}

// The store contains no token and no password, and neither does the log.
func TestNoTokenOrPasswordIsStored(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.user("anna", `"auditor"`, "")
	token := h.logIn(h.seed.First.Org.String(), loginBody("anna", goodPass)).want(201, "").at("data.token")
	h.logIn(h.seed.First.Org.String(), loginBody("anna", "a wrong one")).want(401, "")
	h.bearer(token, h.seed.First.Org).get(ledgerPath+"/head").want(200, "")
	h.halt()
	h.stop()
	h.wantSecretsAbsent(token, goodPass, "a wrong one")
	for _, secret := range []string{token, goodPass, "a wrong one"} {
		if strings.Contains(h.log.String(), secret) {
			t.Error("a secret was logged")
		}
	}
}

// Logging in does not increase a partner's rate: a session has its own limit.
func TestRateOfAPartnersSessionIsLimited(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(cfg *api.Config) { cfg.RateLimit = 1 })
	first := h.seed.First.Org
	c := h.bearer(h.logIn(first.String(), loginBody("demo", string(h.seed.First.Pass))).want(201, "").at("data.token"), first)
	limited := c.get("/api/v1/balances").want(200, "")
	for n := 0; n < 1_000 && limited.status == 200; n++ { // a slow machine reaches the limit later
		limited = c.get("/api/v1/balances")
	}
	if limited.status != 429 || limited.at("error") != "rate_limited" {
		t.Fatalf("after the burst: %+v", limited)
	}
	h.partner().get("/api/v1/balances").want(200, "")
}

const needsASession = `{"error":"forbidden","message":"this needs a session of the organization"}`

// A caller with only a session's token can find out its organization if there is only one. If
// there are several, the answer is 401.
func TestSessionCanFindTheOnlyOrganization(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.user("anna", `"client","auditor"`, "")
	first := h.seed.First.Org
	anna := h.person("anna")
	want := `{"data":{"organization_id":"` + first.String() + `","roles":["auditor","client"],"expires_at":"2026-09-03T22:15:30.123456+00:00"}}`
	if a := anna.get(sessions+"/current").want(200, ""); a.body != want {
		t.Errorf("%s, want %s", a.body, want)
	}
	h.auditor().get(sessions+"/current").want(200, "")
	alone := anna.with("x-organization-id", "")
	alone.get(sessions+"/current").want(401, unauthorized) // there is another organization now
	h.partner().get(sessions+"/current").want(403, needsASession)
	h.admin().get(sessions+"/current").want(403, needsASession)
	h.anyone().get(sessions+"/current").want(401, unauthorized)
}
