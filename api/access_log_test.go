package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mizan/api"
	"mizan/api/accesslog"
	"mizan/internal/testkit"
	"mizan/ledger"
)

// accessLine is a line of the access log.
type accessLine struct {
	RequestID    string  `json:"request_id"`
	Method       string  `json:"method"`
	Route        string  `json:"route"`
	Status       int     `json:"status"`
	Milliseconds float64 `json:"ms"`
	Organization *string `json:"organization_id"`
	Partner      *int64  `json:"partner_id"`
	Bytes        int64   `json:"bytes"`
	Time         string  `json:"time"`
	Level        string  `json:"level"`
	Message      string  `json:"msg"`
}

// loggedFixture is a fixture whose server has an access log.
type loggedFixture struct {
	*fixture
	out *testkit.Output
	log *accesslog.Log
}

func newLoggedFixture(t *testing.T, mode accesslog.Mode) *loggedFixture {
	f := &loggedFixture{out: new(testkit.Output)}
	f.log = accesslog.New(accesslog.Options{Mode: mode, JSON: true, Out: f.out})
	f.fixture = newFixture(t, func(c *api.Config) { c.AccessLog = f.log })
	return f
}

// lines stops the server and returns the lines of its access log.
func (f *loggedFixture) lines() (lines []accessLine) {
	f.t.Helper()
	f.stopServer()
	must(f.t, f.log.Close())
	for text := range strings.Lines(f.out.String()) {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		var line accessLine
		if err := decoder.Decode(&line); err != nil || line.Time == "" || line.Level != "INFO" || line.Message != "request" || line.Milliseconds < 0 {
			f.t.Fatalf("%v in %s", err, text)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestEachRequestGetsALineWithoutItsContents(t *testing.T) {
	t.Parallel()
	f := newLoggedFixture(t, accesslog.All)
	org, partner := f.seed.First.Org.String(), f.seed.First.Partner
	created := f.partner().post(transactions, paymentBody(`"amount":"1000","currency":"USD","txid":"canary-of-the-body"`)).want(201, "")
	id := created.at("id")
	wanted := []struct {
		name, route string
		response    *response
		method      string
		org         string
		partner     int64
	}{
		{"a payment", transactions, created, "POST", org, partner},
		{"a read", transactions, f.partner().get(transactions+"?env=test&txid=canary-of-the-query").want(200, ""), "GET", org, partner},
		{"a HEAD", transactions + "/:id", f.partner().do("HEAD", transactions+"/"+id, "").want(200, ""), "HEAD", org, partner},
		{"the administration", "/api/v1/partners", f.admin().get("/api/v1/partners").want(200, ""), "GET", org, 0},
		{"a session", "/api/v1/ledger/trial-balance", f.auditor().get("/api/v1/ledger/trial-balance").want(200, ""), "GET", org, 0},
		{"a wrong key", transactions, f.partner().with("x-api-key", "canary-of-the-key").get(transactions).want(401, ""), "GET", "", 0},
		{"an unknown path", "none", f.anyone().get("/canary-of-the-path").want(404, ""), "GET", "", 0},
		{"an unknown method", "none", f.anyone().do("CANARY", transactions, "").want(405, ""), "other", "", 0},
		{"a health check", "/livez", f.anyone().get("/livez").want(200, ""), "GET", "", 0},
		{"an export, which is a stream", exportPath, f.auditor().get(exportPath+"?format=csv&env=test").want(200, ""), "GET", org, 0},
	}
	byID := make(map[string]accessLine)
	for _, line := range f.lines() {
		byID[line.RequestID] = line
	}
	if len(byID) != len(wanted) {
		t.Errorf("%d lines for %d requests", len(byID), len(wanted))
	}
	for _, c := range wanted {
		line, found := byID[c.response.header.Get("x-request-id")]
		if !found {
			t.Errorf("%s has no line", c.name)
			continue
		}
		if line.Method != c.method || line.Route != c.route || line.Status != c.response.status || line.Bytes != int64(len(c.response.body)) {
			t.Errorf("%s: %+v", c.name, line)
		}
		if (line.Organization == nil) != (c.org == "") || line.Organization != nil && *line.Organization != c.org || (line.Partner == nil) != (c.partner == 0) || line.Partner != nil && *line.Partner != c.partner {
			t.Errorf("%s: %+v, want organization %q and partner %d", c.name, line, c.org, c.partner)
		}
	}
	if strings.Contains(f.out.String(), "canary") {
		t.Errorf("the log has contents of requests:\n%s", f.out.String())
	}
}

// A payer has no API key. But a valid URL of a payer's page identifies the transaction or link that the page shows. So the access
// log's line for such a request names the organization and the partner. The line never contains the token in the URL.
func TestLinesOfPayersPagesHaveTheMerchant(t *testing.T) {
	t.Parallel()
	f := newLoggedFixture(t, accesslog.All)
	org, partner := f.seed.First.Org.String(), f.seed.First.Partner
	link := f.testLink("", `"default":2000`, "fixed").at("data.url")
	transaction := f.partner().post(transactions, `{"params":{"env":"test","type":"payment","amount":"1250","currency":"USD","hosted":true}}`).want(201, "")
	hosted := f.browse(transaction.at("widget_url")).wantPage(200, checkoutTitle)
	action, _ := hosted.form()
	paid := f.send(action, card("4242424242424242")).wantPage(200, "Paid")
	wanted := []struct {
		route    string
		response *response
		method   string
		isKnown  bool
	}{
		{"/pay/:id", hosted, "GET", true},
		{"/pay/:id", f.visit("POST", action, card("4242424242424242")), "POST", true},
		{"/pay/:id", paid, "GET", true},
		{"/pay/:id/receipt", f.visit("GET", paid.receipt(), nil), "GET", true},
		{"/pay/:id/return", f.visit("GET", strings.Replace(action, "?", "/return?", 1), nil), "GET", true},
		{"/pay/:id", f.visit("GET", action+"x", nil), "GET", false},
		{"/pay/l/:id", f.visit("GET", link, nil), "GET", true},
		{"/pay/l/:id", f.visit("POST", link, url.Values{}), "POST", true},
		{"/pay/l/:id/qr.svg", f.anyone().get(strings.TrimPrefix(link, f.base())+"/qr.svg").want(200, ""), "GET", true},
		{"/pay/l/:id", f.visit("GET", f.base()+"/pay/l/"+transaction.at("id"), nil), "GET", false},
	}
	byID := make(map[string]accessLine)
	for _, line := range f.lines() {
		byID[line.RequestID] = line
	}
	for i, c := range wanted {
		line := byID[c.response.header.Get("x-request-id")]
		if line.Route != c.route || line.Method != c.method || line.Status != c.response.status {
			t.Errorf("%d: %+v, want %s %s %d", i, line, c.method, c.route, c.response.status)
		}
		isKnown := line.Organization != nil && *line.Organization == org && line.Partner != nil && *line.Partner == partner
		if isKnown != c.isKnown || !c.isKnown && (line.Organization != nil || line.Partner != nil) {
			t.Errorf("%d: %s %s has the organization %v and the partner %v", i, c.method, c.route, line.Organization, line.Partner)
		}
	}
	if token := action[strings.Index(action, "token=")+len("token="):]; strings.Contains(f.out.String(), token) {
		t.Errorf("the log has a token:\n%s", f.out.String())
	}
}

// The metrics and the access log also get the responses that are sent before a Server exists, and the response to a request
// without TLS, which no Server handles.
func TestResponsesOutsideAServerAreReported(t *testing.T) {
	t.Parallel()
	out, ids := new(testkit.Output), []string{}
	log := accesslog.New(accesslog.Options{Mode: accesslog.All, JSON: true, Out: out})
	var observed []api.Exchange
	cfg := api.Config{
		AccessLog: log, Observe: func(e api.Exchange) { e.Took = 0; observed = append(observed, e) },
		Status: func() api.Status { return api.Status{Core: "starting", DB: api.StatusOK} },
	}
	starting := api.StartingHandler(cfg)
	for _, r := range []*http.Request{
		httptest.NewRequest("GET", "/readyz?canary", nil), httptest.NewRequest("HEAD", "/livez", nil), httptest.NewRequest("CANARY", "/canary", strings.NewReader("canary")),
	} {
		response := httptest.NewRecorder()
		starting.ServeHTTP(response, r)
		ids = append(ids, response.Header().Get("x-request-id"))
	}
	plain, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(api.PlainHTTPResponse(cfg))), nil)
	must(t, err)
	ids = append(ids, plain.Header.Get("x-request-id"))
	must(t, log.Close())
	want := []api.Exchange{
		{Route: "/readyz", Method: "GET", Status: 503}, {Route: "/livez", Method: "HEAD", Status: 200},
		{Route: "none", Method: "other", Status: 503}, {Route: "none", Method: "other", Status: 400},
	}
	lengths := []int64{int64(len(`{"status":"starting"}`)), 0, int64(len(`{"error":"unavailable","message":"the service is starting"}`)), plain.ContentLength}
	if !slices.Equal(observed, want) {
		t.Errorf("the metrics see %+v", observed)
	}
	lines := slices.Collect(strings.Lines(out.String()))
	if len(lines) != len(want) || strings.Contains(out.String(), "canary") {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, e := range want {
		var line accessLine
		must(t, json.Unmarshal([]byte(lines[i]), &line))
		if line.RequestID != ids[i] || line.Route != e.Route || line.Method != e.Method || line.Status != e.Status || line.Bytes != lengths[i] {
			t.Errorf("line %d is %+v, want %+v with %d bytes", i, line, e, lengths[i])
		}
	}
}

func TestOnlyErrorsAreLoggedIfThatIsConfigured(t *testing.T) {
	t.Parallel()
	f := newLoggedFixture(t, accesslog.Errors)
	f.partner().get(transactions).want(200, "")
	f.partner().get(transactions+"/unknown").want(404, "")
	// fasthttp cannot parse this request, so it never reaches a route.
	responses, _ := f.raw("GET /api/v1/health HTTP/1.1\r\nHost\r\n\r\n", 1)
	if len(responses) != 1 || responses[0].status != http.StatusBadRequest {
		t.Fatalf("%d responses", len(responses))
	}
	lines := f.lines()
	if len(lines) != 2 || lines[0].Status != 404 || lines[1].Status != 400 || lines[1].Route != "none" {
		t.Errorf("lines are %+v", lines)
	}
}

// countRefusals starts a server and counts the requests that its limiters refuse. The returned function stops the server and
// returns the number of refused requests for each limiter.
func countRefusals(t *testing.T, changes ...func(*api.Config)) (f *fixture, stop func() map[ledger.Limiter]int) {
	t.Helper()
	var mu sync.Mutex
	refused := make(map[ledger.Limiter]int) // guarded by mu
	f = newFixture(t, append(changes, func(c *api.Config) {
		c.Observe = func(e api.Exchange) {
			if e.Limiter != "" {
				mu.Lock()
				defer mu.Unlock()
				refused[e.Limiter]++
			}
		}
	})...)
	return f, func() map[ledger.Limiter]int {
		f.stopServer()
		return refused
	}
}

// The metrics tell for each refused request which limiter has refused it.
func TestRefusalsAreCountedByTheirBound(t *testing.T) {
	t.Parallel()
	f, stop := countRefusals(t, func(c *api.Config) { c.RateLimit = 1 })
	status := 0
	for range 10 {
		status = f.partner().get(transactions).status
	}
	if status != http.StatusTooManyRequests {
		t.Fatalf("status %d", status)
	}
	for n := range 12 { // twelve failed logins from one address
		f.anyone().with("x-organization-id", f.seed.First.Org.String()).post("/api/v1/sessions", `{"login":"nobody","pass":"wrong-`+strconv.Itoa(n)+`"}`)
	}
	if refused := stop(); refused[ledger.LimitKeyRate] == 0 || refused[ledger.LimitLogins] == 0 || len(refused) != 2 {
		t.Errorf("refused by %v", refused)
	}
}
