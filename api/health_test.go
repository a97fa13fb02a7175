package api_test

import (
	"net/netip"
	"testing"

	"mizan/api"
)

// A response 503 to a health check has a Retry-After header. While the disk is nearly full, GET /api/v1/health returns 200,
// because reads are served.
func TestChecksReportEveryState(t *testing.T) {
	t.Parallel()
	const livez = `{"status":"ok"}`
	for _, c := range []struct {
		state         api.Status
		health, ready int
		readyBody     string
	}{
		{api.Status{Core: "ok", DB: "ok"}, 200, 200, `{"status":"ok"}`},
		{api.Status{Core: "starting", DB: "ok"}, 503, 503, `{"status":"starting"}`},
		{api.Status{Core: "stopping", DB: "ok"}, 503, 503, `{"status":"stopping"}`},
		{api.Status{Core: "ok", DB: "low_space"}, 200, 503, `{"status":"low_space"}`},
		{api.Status{Core: "starting", DB: "low_space"}, 503, 503, `{"status":"starting"}`},
	} {
		f := newFixture(t, func(cfg *api.Config) { cfg.Status = func() api.Status { return c.state } })
		retryAfter := map[int]string{200: "", 503: "1"}
		f.anyone().get("/livez").want(200, livez).wantHeader("retry-after", "")
		f.anyone().get("/readyz").want(c.ready, c.readyBody).wantHeader("retry-after", retryAfter[c.ready])
		f.anyone().get("/api/v1/health").want(c.health, "").wantHeader("retry-after", retryAfter[c.health])
	}
}

// A supervisor calls the server directly and not through the proxy, so health checks that disclose only a state are also served
// without TLS.
func TestProbesNeedNoProxy(t *testing.T) {
	t.Parallel()
	for _, proxy := range []string{"127.0.0.1/32", "192.0.2.0/24"} {
		f := newFixture(t, func(cfg *api.Config) {
			cfg.BehindProxy, cfg.TrustedProxies = true, []netip.Prefix{netip.MustParsePrefix(proxy)}
		})
		f.anyone().get("/livez").want(200, "")
		f.anyone().get("/readyz").want(200, "")
		f.anyone().get("/livez/").want(403, "")
		f.anyone().get("/api/v1/health").want(403, "")
	}
}
