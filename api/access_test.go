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

// sameHeaders returns the answer's headers without those that always differ.
func sameHeaders(a *answer) string {
	headers := a.header.Clone()
	headers.Del("date")
	headers.Del("x-request-id")
	return fmt.Sprint(headers)
}

func TestAllUnauthorizedResponsesAreEqual(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first, second := h.seed.First.Org.String(), h.seed.Second.Org.String()
	adminOf := func(path, body string) *answer { return h.admin().post(path, body) }
	revoked := adminOf("/api/v1/api_keys", `{"name":"r","partner_id":1}`).want(201, "")
	h.admin().do("DELETE", "/api/v1/api_keys/"+revoked.at("id"), "").want(200, "")
	expired := adminOf("/api/v1/api_keys", `{"name":"e","partner_id":1,"expires_at":"2026-09-03T10:16:00Z"}`).want(201, "")
	elsewhere := h.admin().post("/api/v1/partners", `{"name":"E","login":"elsewhere","pass":"nine-Lions-paint","source_addresses":["192.0.2.0/24"]}`).want(201, "")
	restricted := adminOf("/api/v1/api_keys", fmt.Sprintf(`{"name":"s","partner_id":%s}`, elsewhere.at("id"))).want(201, "")
	idle := h.anyone().with("authorization", "Bearer "+string(h.seed.AdminToken)).post("/api/v1/organizations", `{"name":"Idle"}`).want(201, "")
	idleAdmin := h.bearer(string(h.seed.AdminToken), uuid.MustParse(idle.at("data.id")))
	member := idleAdmin.post("/api/v1/partners", `{"name":"I","login":"i","pass":"nine-Lions-paint"}`).want(201, "")
	idleKey := idleAdmin.post("/api/v1/api_keys", `{"name":"i","partner_id":`+member.at("id")+`}`).want(201, "")
	idleOwner := h.anyone().with("x-api-key", idleKey.at("key"), "x-organization-id", idle.at("data.id"))
	idleOwner.get(transactions+"/"+uuid.NewString()).want(404, "")
	h.admin().patch("/api/v1/organizations/"+idle.at("data.id"), `{"status":"maintenance"}`).want(200, "")
	h.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":3600}`).want(200, "")

	key := string(h.seed.First.APIKey)
	with := func(key, org string) caller { return h.anyone().with("x-api-key", key, "x-organization-id", org) }
	with(key, first).get(transactions+"/"+uuid.NewString()).want(404, "")
	cases := map[string]caller{
		"nothing":                      h.anyone(),
		"no key":                       with("", first),
		"no organization":              with(key, ""),
		"malformed organization":       with(key, "not-a-uuid"),
		"organization in another form": with(key, strings.ReplaceAll(first, "-", "")),
		"unknown organization":         with(key, uuid.NewString()),
		"the nil organization":         with(key, uuid.Nil.String()),
		"wrong organization":           with(key, second),
		"unknown key":                  with("mzk_unknown", first),
		"long key":                     with(strings.Repeat("k", 4000), first),
		"revoked key":                  with(revoked.at("key"), first),
		"expired key":                  with(expired.at("key"), first),
		"source address":               with(restricted.at("key"), first),
		"inactive organization":        idleOwner,
		"admin token as key":           with(string(h.seed.AdminToken), first),
		"session token as key":         with(string(h.seed.First.SessionToken), first),
		"key as bearer":                h.bearer(key, h.seed.First.Org),
	}
	reference := h.anyone().get(transactions+"/"+uuid.NewString()).want(401, unauthorized)
	h.admin().post(transactions, paymentBody(`"amount":"1"`)).want(401, unauthorized) // it is not a partner, and may only read a partner's data
	for name, c := range cases {
		for _, a := range []*answer{c.get(transactions + "/" + uuid.NewString()), c.post(transactions, paymentBody(`"amount":"1"`))} {
			if a.status != 401 || a.body != unauthorized || sameHeaders(a) != sameHeaders(reference) {
				t.Errorf("%s: %d %s %v", name, a.status, a.body, a.header)
			}
		}
	}
	for name, c := range map[string]caller{
		"other organization's session": h.bearer(string(h.seed.Second.SessionToken), h.seed.First.Org),
		"session without organization": h.session().with("x-organization-id", ""),
		"unknown token":                h.bearer("mzs_unknown", h.seed.First.Org),
		"no token":                     h.anyone().with("x-organization-id", first),
		"another scheme":               h.anyone().with("authorization", "Basic "+string(h.seed.First.SessionToken), "x-organization-id", first),
	} {
		for _, path := range []string{"/api/v1/ledger/accounts", "/api/v1/partners"} {
			if a := c.get(path); a.status != 401 || a.body != unauthorized || sameHeaders(a) != sameHeaders(reference) {
				t.Errorf("%s at %s: %d %s", name, path, a.status, a.body)
			}
		}
	}
	h.partner().get("/api/v1/partners").want(401, unauthorized)
}

func TestRoutesRefuseOtherRolesWithForbidden(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.session().get("/api/v1/partners").want(403, `{"error":"forbidden","message":"this needs the administration token"}`)
	h.auditor().post("/api/v1/partners", `{}`).want(403, "")
	h.admin().get("/api/v1/ledger/accounts").want(403, `{"error":"forbidden","message":"this needs a session of the organization"}`)
	h.partner().get("/api/v1/ledger/head").want(403, `{"error":"forbidden","message":"this needs a session of role auditor or admin"}`)
	for _, may := range []caller{h.session(), h.auditor(), h.partner()} {
		may.get("/api/v1/ledger/accounts").want(200, "")
	}
}

func TestDeactivatedPartnerIsForbidden(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.admin().patch("/api/v1/partners/1", `{"active":false}`).want(200, "")
	const body = `{"error":"forbidden","message":"the partner is deactivated"}`
	h.partner().post(transactions, paymentBody(`"amount":"1"`)).want(403, body)
	h.partner().get("/api/v1/ledger/accounts").want(403, body)
	h.second().post(transactions, paymentBody(`"amount":"1"`)).want(201, "")
	h.admin().patch("/api/v1/partners/1", `{"active":true}`).want(200, "")
	h.partner().post(transactions, paymentBody(`"amount":"1"`)).want(201, "")
}

func TestSourceAddressesAreChecked(t *testing.T) {
	t.Parallel()
	proxied := func(cfg *api.Config) { cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }
	trusting, alone := newFixture(t, proxied), newFixture(t)
	for _, h := range []*fixture{trusting, alone} {
		h.admin().patch("/api/v1/partners/1", `{"source_addresses":["203.0.113.0/24"]}`).want(200, "")
	}
	for _, c := range []struct {
		h       *fixture
		forward string
		status  int
	}{
		{trusting, "203.0.113.9", 404},
		{trusting, "198.51.100.1, 203.0.113.9", 404},
		{trusting, "203.0.113.9, 127.0.0.5", 404},
		{trusting, "203.0.113.9, 198.51.100.1", 401}, // the address that the nearest proxy saw counts
		{trusting, "::ffff:203.0.113.9", 404},
		{trusting, "", 401},
		{trusting, "garbage", 401},
		{trusting, "203.0.113.9, garbage", 401},
		{alone, "203.0.113.9", 401}, // no proxy is trusted, so the header is ignored
	} {
		if a := c.h.partner().with("x-forwarded-for", c.forward).get(transactions + "/" + uuid.NewString()); a.status != c.status {
			t.Errorf("%q: %d, want %d", c.forward, a.status, c.status)
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
	h := newFixture(t, trusting("127.0.0.1/32"))
	const body = `{"error":"forbidden","message":"requests must come over TLS"}`
	h.anyone().get("/api/v1/health").want(403, body)
	h.anyone().with("x-forwarded-proto", "http").get("/api/v1/health").want(403, body)
	h.anyone().with("x-forwarded-proto", "https").get("/api/v1/health").want(200, "")
	h.anyone().with("x-forwarded-proto", "https, http").get("/api/v1/health").want(403, body)
	for _, two := range []string{"https\r\nX-Forwarded-Proto: http", "http\r\nx-forwarded-proto: https", "https\r\nX-Forwarded-Proto: https"} {
		// The client itself has sent one of them to the proxy.
		answers, _ := h.raw("GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Forwarded-Proto: "+two+"\r\n\r\n", 1)
		if len(answers) != 1 {
			t.Fatalf("%q: %d answers", two, len(answers))
		}
		answers[0].want(403, body)
	}
	h = newFixture(t, trusting("192.0.2.0/24"))
	h.anyone().with("x-forwarded-proto", "https").get("/api/v1/health").want(403, body)
}

func TestRateOfAKeyIsLimited(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(cfg *api.Config) { cfg.RateLimit = 1 })
	path := transactions + "/" + uuid.NewString()
	limited := h.partner().get(path).want(404, "")
	for n := 0; n < 1_000 && limited.status == 404; n++ { // a slow machine reaches the limit later
		limited = h.partner().get(path)
	}
	if limited.status != 429 || limited.body != `{"error":"rate_limited","message":"too many requests"}` || limited.header.Get("retry-after") == "" {
		t.Fatalf("after the burst: %+v", limited)
	}
	h.second().get(path).want(404, "")
	h.auditor().get("/api/v1/ledger/accounts").want(200, "")
}

// A command waits while the manual clock is moved. The move itself must not wait, or it would
// wait for itself.
func TestCommandsWaitWhileTheManualClockMoves(t *testing.T) {
	t.Parallel()
	var entered, left atomic.Int64
	h := newFixture(t, func(cfg *api.Config) {
		enter := cfg.Enter
		cfg.Enter = func() func() {
			entered.Add(1)
			leave := enter()
			return func() { leave(); left.Add(1) }
		}
		cfg.Payments = refusing{panic: "broken"}
	})
	for _, c := range []struct {
		answer *answer
		times  int64
	}{
		{h.partner().post(transactions, paymentBody(`"amount":"1"`)).want(500, ""), 1}, // a handler that panics leaves too
		{h.admin().post("/api/v1/partners", `{}`).want(422, ""), 2},
		{h.admin().do("DELETE", "/api/v1/api_keys/"+uuid.NewString(), "").want(404, ""), 3},
		{h.anyone().post(transactions, "{}").want(401, unauthorized), 3},
		{h.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":1}`).want(200, ""), 3},
		{h.auditor().get("/api/v1/ledger/accounts").want(200, ""), 3},
	} {
		if c.answer == nil || entered.Load() < c.times || left.Load() != entered.Load() {
			t.Errorf("entered %d times and left %d, want at least %d", entered.Load(), left.Load(), c.times)
		}
	}
	if entered.Load() != 3 {
		t.Errorf("entered %d times in all", entered.Load())
	}
}
