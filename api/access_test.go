package api_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"mizan/api"
)

const unauthorized = `{"error":"unauthorized"}`

// sameHeaders returns a response's headers as text, without the date and the request's ID, in which even equal responses differ.
func sameHeaders(r *response) string {
	headers := r.header.Clone()
	headers.Del("date")
	headers.Del("x-request-id")
	return fmt.Sprint(headers)
}

func TestAllUnauthorizedResponsesAreEqual(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	firstOrg, secondOrg := f.seed.First.Org.String(), f.seed.Second.Org.String()
	postAsAdmin := func(path, body string) *response { return f.admin().post(path, body) }
	revokedKey := postAsAdmin("/api/v1/api_keys", `{"name":"r","partner_id":1}`).want(201, "")
	f.admin().do("DELETE", "/api/v1/api_keys/"+revokedKey.at("id"), "").want(200, "")
	expiredKey := postAsAdmin("/api/v1/api_keys", `{"name":"e","partner_id":1,"expires_at":"2026-09-03T10:16:00Z"}`).want(201, "")
	restrictedPartner := f.admin().post("/api/v1/partners", `{"name":"E","login":"elsewhere","pass":"nine-Lions-paint","source_addresses":["192.0.2.0/24"]}`).want(201, "")
	restrictedKey := postAsAdmin("/api/v1/api_keys", fmt.Sprintf(`{"name":"s","partner_id":%s}`, restrictedPartner.at("id"))).want(201, "")
	idleOrg := f.anyone().with("authorization", "Bearer "+string(f.seed.AdminToken)).post("/api/v1/organizations", `{"name":"Idle"}`).want(201, "")
	idleAdmin := f.bearer(string(f.seed.AdminToken), uuid.MustParse(idleOrg.at("data.id")))
	idlePartner := idleAdmin.post("/api/v1/partners", `{"name":"I","login":"i","pass":"nine-Lions-paint"}`).want(201, "")
	idleKey := idleAdmin.post("/api/v1/api_keys", `{"name":"i","partner_id":`+idlePartner.at("id")+`}`).want(201, "")
	idleCaller := f.anyone().with("x-api-key", idleKey.at("key"), "x-organization-id", idleOrg.at("data.id"))
	idleCaller.get(transactions+"/"+uuid.NewString()).want(404, "")
	f.admin().patch("/api/v1/organizations/"+idleOrg.at("data.id"), `{"status":"maintenance"}`).want(200, "")
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":3600}`).want(200, "")

	key := string(f.seed.First.APIKey)
	withKey := func(key, org string) caller { return f.anyone().with("x-api-key", key, "x-organization-id", org) }
	withKey(key, firstOrg).get(transactions+"/"+uuid.NewString()).want(404, "")
	cases := map[string]caller{
		"no credentials":               f.anyone(),
		"no key":                       withKey("", firstOrg),
		"no organization":              withKey(key, ""),
		"malformed organization":       withKey(key, "not-a-uuid"),
		"organization in another form": withKey(key, strings.ReplaceAll(firstOrg, "-", "")),
		"unknown organization":         withKey(key, uuid.NewString()),
		"the nil organization":         withKey(key, uuid.Nil.String()),
		"wrong organization":           withKey(key, secondOrg),
		"unknown key":                  withKey("mzk_unknown", firstOrg),
		"long key":                     withKey(strings.Repeat("k", 4000), firstOrg),
		"revoked key":                  withKey(revokedKey.at("key"), firstOrg),
		"expired key":                  withKey(expiredKey.at("key"), firstOrg),
		"forbidden source address":     withKey(restrictedKey.at("key"), firstOrg),
		"inactive organization":        idleCaller,
		"admin token as key":           withKey(string(f.seed.AdminToken), firstOrg),
		"session token as key":         withKey(string(f.seed.First.SessionToken), firstOrg),
		"key as bearer":                f.bearer(key, f.seed.First.Org),
	}
	reference := f.anyone().get(transactions+"/"+uuid.NewString()).want(401, unauthorized)
	f.admin().post(transactions, paymentBody(`"amount":"1"`)).want(401, unauthorized) // an operator may read partners' data, but can't create payments
	for name, c := range cases {
		for _, a := range []*response{c.get(transactions + "/" + uuid.NewString()), c.post(transactions, paymentBody(`"amount":"1"`))} {
			if a.status != 401 || a.body != unauthorized || sameHeaders(a) != sameHeaders(reference) {
				t.Errorf("%s: %d %s %v", name, a.status, a.body, a.header)
			}
		}
	}
	for name, c := range map[string]caller{
		"other organization's session": f.bearer(string(f.seed.Second.SessionToken), f.seed.First.Org),
		"session without organization": f.session().with("x-organization-id", ""),
		"unknown token":                f.bearer("mzs_unknown", f.seed.First.Org),
		"no token":                     f.anyone().with("x-organization-id", firstOrg),
		"another scheme":               f.anyone().with("authorization", "Basic "+string(f.seed.First.SessionToken), "x-organization-id", firstOrg),
	} {
		for _, path := range []string{"/api/v1/ledger/accounts", "/api/v1/partners"} {
			if r := c.get(path); r.status != 401 || r.body != unauthorized || sameHeaders(r) != sameHeaders(reference) {
				t.Errorf("%s at %s: %d %s", name, path, r.status, r.body)
			}
		}
	}
	f.partner().get("/api/v1/partners").want(401, unauthorized)
}

func TestRoutesRefuseOtherRolesWithForbidden(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.session().get("/api/v1/partners").want(403, `{"error":"forbidden","message":"this needs the administration token"}`)
	f.auditor().post("/api/v1/partners", `{}`).want(403, "")
	f.admin().get("/api/v1/ledger/accounts").want(403, `{"error":"forbidden","message":"this needs a session of the organization"}`)
	f.partner().get("/api/v1/ledger/head").want(403, `{"error":"forbidden","message":"this needs a session of role auditor or admin"}`)
	for _, allowed := range []caller{f.session(), f.auditor(), f.partner()} {
		allowed.get("/api/v1/ledger/accounts").want(200, "")
	}
}

func TestDeactivatedPartnerIsForbidden(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().patch("/api/v1/partners/1", `{"active":false}`).want(200, "")
	const body = `{"error":"forbidden","message":"the partner is deactivated"}`
	f.partner().post(transactions, paymentBody(`"amount":"1"`)).want(403, body)
	f.partner().get("/api/v1/ledger/accounts").want(403, body)
	f.second().post(transactions, paymentBody(`"amount":"1"`)).want(201, "")
	f.admin().patch("/api/v1/partners/1", `{"active":true}`).want(200, "")
	f.partner().post(transactions, paymentBody(`"amount":"1"`)).want(201, "")
}

func TestSourceAddressesAreChecked(t *testing.T) {
	t.Parallel()
	trustLoopback := func(cfg *api.Config) { cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }
	behindProxy, withoutProxy := newFixture(t, trustLoopback), newFixture(t)
	for _, f := range []*fixture{behindProxy, withoutProxy} {
		f.admin().patch("/api/v1/partners/1", `{"source_addresses":["203.0.113.0/24"]}`).want(200, "")
	}
	for _, c := range []struct {
		f            *fixture
		forwardedFor string
		status       int
	}{
		{behindProxy, "203.0.113.9", 404},
		{behindProxy, "198.51.100.1, 203.0.113.9", 404},
		{behindProxy, "203.0.113.9, 127.0.0.5", 404},
		{behindProxy, "203.0.113.9, 198.51.100.1", 401}, // what counts is the address that the nearest proxy saw
		{behindProxy, "::ffff:203.0.113.9", 404},
		{behindProxy, "203.0.113.9:49152", 404}, // some proxies add the client's port
		{behindProxy, "198.51.100.1:1, [::ffff:203.0.113.9]:49152, 127.0.0.5:1", 404},
		{behindProxy, "198.51.100.1:49152", 401},
		{behindProxy, "203.0.113.9:garbage", 401},
		{behindProxy, "", 401},
		{behindProxy, "garbage", 401},
		{behindProxy, "203.0.113.9, garbage", 401},
		{withoutProxy, "203.0.113.9", 401}, // no proxy is trusted, so the header is ignored
	} {
		if r := c.f.partner().with("x-forwarded-for", c.forwardedFor).get(transactions + "/" + uuid.NewString()); r.status != c.status {
			t.Errorf("%q: %d, want %d", c.forwardedFor, r.status, c.status)
		}
	}
}

func TestRequestsThatReachedAProxyWithoutTLSAreRefused(t *testing.T) {
	t.Parallel()
	trusting := func(prefix string) func(*api.Config) {
		return func(cfg *api.Config) {
			cfg.BehindProxy, cfg.TrustedProxies = true, []netip.Prefix{netip.MustParsePrefix(prefix)}
		}
	}
	f := newFixture(t, trusting("127.0.0.1/32"))
	const body = `{"error":"forbidden","message":"requests must come over TLS"}`
	f.anyone().get("/api/v1/health").want(403, body)
	f.anyone().with("x-forwarded-proto", "http").get("/api/v1/health").want(403, body)
	f.anyone().with("x-forwarded-proto", "https").get("/api/v1/health").want(200, "")
	f.anyone().with("x-forwarded-proto", "https, http").get("/api/v1/health").want(403, body)
	for _, twoValues := range []string{"https\r\nX-Forwarded-Proto: http", "http\r\nx-forwarded-proto: https", "https\r\nX-Forwarded-Proto: https"} {
		// Two headers reach the server: the client sent one of them to the proxy itself.
		responses, _ := f.raw("GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Forwarded-Proto: "+twoValues+"\r\n\r\n", 1)
		if len(responses) != 1 {
			t.Fatalf("%q: %d responses", twoValues, len(responses))
		}
		responses[0].want(403, body)
	}
	f = newFixture(t, trusting("192.0.2.0/24"))
	f.anyone().with("x-forwarded-proto", "https").get("/api/v1/health").want(403, body)
}

func TestRateOfAKeyIsLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *api.Config) { cfg.RateLimit = 1 })
	path := transactions + "/" + uuid.NewString()
	r := f.partner().get(path).want(404, "")
	for n := 0; n < 1_000 && r.status == 404; n++ { // a slow machine reaches the limit later
		r = f.partner().get(path)
	}
	if r.status != 429 || r.body != `{"error":"rate_limited","message":"too many requests"}` || r.header.Get("retry-after") == "" {
		t.Fatalf("after the burst: %+v", r)
	}
	f.second().get(path).want(404, "")
	f.auditor().get("/api/v1/ledger/accounts").want(200, "")
}

// A command waits in Config.BeginCommand while the manual clock is moved. The request that moves the clock must not call
// BeginCommand, or it would wait for itself.
func TestCommandsWaitWhileTheManualClockMoves(t *testing.T) {
	t.Parallel()
	var entered, finished atomic.Int64
	f := newFixture(t, func(cfg *api.Config) {
		enter := cfg.BeginCommand
		cfg.BeginCommand = func() func() {
			entered.Add(1)
			leave := enter()
			return func() { leave(); finished.Add(1) }
		}
		cfg.Payments = failingPayments{panic: "broken"}
	})
	for _, c := range []struct {
		response    *response
		wantEntered int64
	}{
		{f.partner().post(transactions, paymentBody(`"amount":"1"`)).want(500, ""), 1}, // the command ends even if its handler panics
		{f.admin().post("/api/v1/partners", `{}`).want(422, ""), 2},
		{f.admin().do("DELETE", "/api/v1/api_keys/"+uuid.NewString(), "").want(404, ""), 3},
		{f.anyone().post(transactions, "{}").want(401, unauthorized), 3},
		{f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":1}`).want(200, ""), 3},
		{f.auditor().get("/api/v1/ledger/accounts").want(200, ""), 3},
	} {
		if c.response == nil || entered.Load() < c.wantEntered || finished.Load() != entered.Load() {
			t.Errorf("entered %d times and left %d, want at least %d", entered.Load(), finished.Load(), c.wantEntered)
		}
	}
	if entered.Load() != 3 {
		t.Errorf("entered %d times in all", entered.Load())
	}
}
