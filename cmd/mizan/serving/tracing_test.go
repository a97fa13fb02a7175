package serving

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mizan/internal/testkit"
	"mizan/internal/tracing/otlptest"
)

// hookRequest is a notification that a merchant's receiver got.
type hookRequest struct {
	status      string // status of the transaction
	requestID   string // value of the header x-request-id
	traceparent string
}

// hook is a merchant's receiver of notifications.
type hook struct {
	*httptest.Server

	mu       sync.Mutex
	received []hookRequest // guarded by mu
	failing  bool          // guarded by mu: the receiver responds with status 500
}

func startHook(t *testing.T) *hook {
	h := new(hook)
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// ServeHTTP implements http.Handler.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	var envelope struct{ Data struct{ Status string } }
	if err == nil {
		err = json.Unmarshal(content, &envelope)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.received = append(h.received, hookRequest{envelope.Data.Status, r.Header.Get("x-request-id"), r.Header.Get("traceparent")})
	if err != nil || h.failing {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (h *hook) setFailing(failing bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failing = failing
}

// wait waits until n notifications have come, and returns them.
func (h *hook) wait(t *testing.T, n int) (received []hookRequest) {
	t.Helper()
	testkit.WaitUntil(t, fmt.Sprintf("%d notifications have come", n), func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		received = slices.Clone(h.received)
		return len(received) >= n
	})
	return received
}

// notifyAt sets the notification address of the first partner to the receiver's.
func notifyAt(t *testing.T, s *testkit.Server, h *hook) {
	t.Helper()
	answer, err := s.Admin().Do(http.MethodPatch, fmt.Sprintf("/api/v1/partners/%d", s.Sandbox.PartnerID), `{"notify_url":"`+h.URL+`","secret":"whsec-tracing"}`)
	testkit.WantStatus(t, answer, err, http.StatusOK)
}

const (
	traceOfCaller = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanOfCaller  = "00f067aa0ba902b7"
	ofCaller      = "00-" + traceOfCaller + "-" + spanOfCaller + "-01"
)

// A notification has the id of the request that caused it, also in a repeated attempt, and also if the provider reports the
// status later. The process keeps this id only in memory, so after a restart it is not known.
func TestNotificationsHaveTheRequestThatCausedThem(t *testing.T) {
	s, h := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}}), startHook(t)
	notifyAt(t, s, h)
	pay := func(card string, headers ...string) *testkit.Answer {
		t.Helper()
		answer, err := s.Partner().With(headers...).Post("/api/v1/transactions", paymentOf(card, "1000"))
		return testkit.WantStatus(t, answer, err, http.StatusCreated)
	}
	want := func(n int, status string, answer *testkit.Answer, traceparent string) {
		t.Helper()
		requestID := ""
		if answer != nil {
			requestID = answer.Header.Get("x-request-id")
		}
		if got := h.wait(t, n)[n-1]; got != (hookRequest{status, requestID, traceparent}) {
			t.Errorf("notification %d is %+v, want %s of request %s in %q", n, got, status, requestID, traceparent)
		}
	}

	want(1, "charged", pay("4242424242424242", "traceparent", ofCaller), ofCaller)
	want(2, "charged", pay("4242424242424242"), "")
	want(3, "charged", pay("4242424242424242", "traceparent", "malformed"), "")

	h.setFailing(true)
	retried := pay("4242424242424242", "traceparent", ofCaller)
	want(4, "charged", retried, ofCaller)
	advance(t, s, `{"advance_seconds":30}`)
	want(5, "charged", retried, ofCaller)
	h.setFailing(false)
	advance(t, s, `{"advance_seconds":120}`)
	want(6, "charged", retried, ofCaller)

	delayed := pay("4000000000000077", "traceparent", ofCaller)
	advance(t, s, `{"advance_seconds":5}`)
	want(7, "charged", delayed, ofCaller)

	pay("4000000000000077", "traceparent", ofCaller)
	s.Stop()
	s.Restart()
	advance(t, s, `{"advance_seconds":5}`)
	want(8, "charged", nil, "")
}

// The notification about a subscription has the id of the request that caused it. A renewal is caused by no request.
func TestSubscriptionsNotificationsHaveTheirRequest(t *testing.T) {
	s, h := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}}), startHook(t)
	id := testkit.Pay(t, s.Partner(), "initial")
	notifyAt(t, s, h)
	created, err := s.Partner().Post("/api/v1/subscriptions", `{"params":{"initial_payment_id":"`+id+`","amount":"100","period_days":1}}`)
	testkit.WantStatus(t, created, err, http.StatusCreated)
	var subscription struct{ Data struct{ ID string } }
	if err := created.JSON(&subscription); err != nil {
		t.Fatal(err)
	}
	advance(t, s, `{"advance_seconds":86400}`)
	renewed := h.wait(t, 1)
	for _, got := range renewed {
		if got.requestID != "" || got.traceparent != "" {
			t.Errorf("a renewal's notification is %+v", got)
		}
	}
	cancelled, err := s.Partner().With("traceparent", ofCaller).Post("/api/v1/subscriptions/"+subscription.Data.ID+"/cancel", nil)
	testkit.WantStatus(t, cancelled, err, http.StatusOK)
	received := h.wait(t, len(renewed)+1)
	if got := received[len(received)-1]; got.requestID != cancelled.Header.Get("x-request-id") || got.traceparent != ofCaller {
		t.Errorf("the notification is %+v, want request %s", got, cancelled.Header.Get("x-request-id"))
	}
}

// A payer's request does not begin a trace: its effects belong to the trace of the merchant's request.
func TestPayersRequestContinuesTheMerchantsTrace(t *testing.T) {
	s, h := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}}), startHook(t)
	notifyAt(t, s, h)
	body := strings.Replace(paymentOf("", "1000"), `"money_storage":{"type":"bank_card","cardnumber":"","cardholder":"A B","exp_month":"12","exp_year":"2040","cvv":"123"}`, `"hosted":true`, 1)
	created, err := s.Partner().With("traceparent", ofCaller).Post("/api/v1/transactions", body)
	testkit.WantStatus(t, created, err, http.StatusCreated)
	var hosted struct {
		ID string `json:"id"`
	}
	if err := created.JSON(&hosted); err != nil {
		t.Fatal(err)
	}
	continued, err := s.Partner().Post("/api/v1/transactions/continue/"+hosted.ID, `{"money_storage":{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"A B","exp_month":"12","exp_year":"2040","cvv":"123"}}`)
	testkit.WantStatus(t, continued, err, http.StatusOK)
	received := h.wait(t, 1)
	if got := received[len(received)-1]; got.requestID != continued.Header.Get("x-request-id") || got.traceparent != ofCaller {
		t.Errorf("the notification is %+v, want request %s", got, continued.Header.Get("x-request-id"))
	}
}

// A payment has one span for each hop, in the trace that the client's request names.
func TestTracesHaveASpanForEachHop(t *testing.T) {
	receiver, h := otlptest.Start(t), startHook(t)
	s := testkit.Start(t, testkit.Options{Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL, "OTEL_BSP_SCHEDULE_DELAY=50"}})
	notifyAt(t, s, h)
	paid, err := s.Partner().With("traceparent", ofCaller).Post("/api/v1/transactions", paymentOf("4242424242424242", "1000"))
	testkit.WantStatus(t, paid, err, http.StatusCreated)
	notified := h.wait(t, 1)[0]
	find := func(spans []otlptest.Span, name string) (found otlptest.Span) {
		for _, span := range spans {
			if span.Name == name && span.Trace == traceOfCaller {
				found = span
			}
		}
		return found
	}
	isLinked := func(spans []otlptest.Span, to string) bool {
		return slices.ContainsFunc(spans, func(span otlptest.Span) bool { return span.Name == "group sync" && slices.Contains(span.Links, to) })
	}
	const requestName, callName, attemptName = "POST /api/v1/transactions", "simulator payment", "notification webhook"
	spans := receiver.Wait(t, func(spans []otlptest.Span) bool {
		request := find(spans, requestName)
		return request.ID != "" && find(spans, callName).ID != "" && find(spans, attemptName).ID != "" && isLinked(spans, request.ID)
	})
	request, call, attempt := find(spans, requestName), find(spans, callName), find(spans, attemptName)
	requestID := paid.Header.Get("x-request-id")
	if request.Parent != spanOfCaller || request.Attributes["mizan.request_id"] != requestID || request.Attributes["http.response.status_code"] != "201" ||
		request.Attributes["mizan.organization_id"] != s.Sandbox.OrganizationID || request.Attributes["mizan.partner_id"] != "1" {
		t.Errorf("the request's span is %+v", request)
	}
	if call.Parent != request.ID || call.Attributes["mizan.verdict"] != "charged" || call.Attributes["mizan.request_id"] != requestID {
		t.Errorf("the provider call's span is %+v", call)
	}
	if attempt.Parent != request.ID || attempt.Attributes["http.response.status_code"] != "200" || attempt.Attributes["mizan.request_id"] != requestID {
		t.Errorf("the notification's span is %+v", attempt)
	}
	if want := "00-" + traceOfCaller + "-" + attempt.ID + "-01"; notified.traceparent != want || notified.requestID != requestID {
		t.Errorf("the notification has %+v, want traceparent %s", notified, want)
	}
	for _, span := range spans {
		if strings.Contains(span.Name, "livez") || strings.Contains(span.Name, "health") {
			t.Errorf("a health check is recorded: %s", span.Name)
		}
	}
	if code := s.Stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// The span of a group has links to the requests about subscriptions and contracts whose changes the group made durable.
func TestGroupsLinkToRequestsAboutSubscriptionsAndContracts(t *testing.T) {
	receiver := otlptest.Start(t)
	s := testkit.Start(t, testkit.Options{Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL, "OTEL_BSP_SCHEDULE_DELAY=50"}})
	id := testkit.Pay(t, s.Partner(), "initial")
	post := func(client *testkit.Client, path, body string, status int) (id string) {
		t.Helper()
		answer, err := client.Post(path, body)
		testkit.WantStatus(t, answer, err, status)
		var created struct{ Data struct{ ID string } }
		if err := answer.JSON(&created); err != nil {
			t.Fatal(err)
		}
		return created.Data.ID
	}
	subscription := post(s.Partner(), "/api/v1/subscriptions", `{"params":{"initial_payment_id":"`+id+`","amount":"100","period_days":1}}`, http.StatusCreated)
	post(s.Partner(), "/api/v1/subscriptions/"+subscription+"/cancel", "", http.StatusOK)
	contract := post(s.Session(), "/api/v1/pfp/managed-investments", `{"customer_id":"7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01","region":"AE","currency":"AED","capital_amount":"1000",`+
		`"business_type":"trade","profit_sharing_ratio":{"bank":50,"customer":50},"term_months":12}`, http.StatusCreated)
	post(s.Session(), "/api/v1/pfp/managed-investments/"+contract+"/fund", "", http.StatusOK)
	wanted := []string{
		"POST /api/v1/subscriptions", "POST /api/v1/subscriptions/:id/cancel", "POST /api/v1/pfp/managed-investments", "POST /api/v1/pfp/managed-investments/:id/:action",
	}
	receiver.Wait(t, func(spans []otlptest.Span) bool {
		var linked []string
		for _, span := range spans {
			if span.Name == "group sync" {
				linked = append(linked, span.Links...)
			}
		}
		return !slices.ContainsFunc(wanted, func(name string) bool {
			return !slices.ContainsFunc(spans, func(span otlptest.Span) bool { return span.Name == name && slices.Contains(linked, span.ID) })
		})
	})
}

// If the trace collector can't be reached, this delays neither a start nor a stop.
func TestAbsentCollectorHoldsUpNothing(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}})
	testkit.Pay(t, s.Partner(), "one")
	if code := s.Stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestWrongCollectorIsABadConfiguration(t *testing.T) {
	r := testkit.Run(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318"}, "serve", "--sandbox", "--listen", "127.0.0.1:0", "--data", t.TempDir())
	if r.Exit != 2 || !strings.HasPrefix(r.Stderr, "mizan: configuration: OTEL_EXPORTER_OTLP_ENDPOINT ") {
		t.Errorf("exit %d: %s", r.Exit, r.Stderr)
	}
}

// The access log is on stderr, in the configured format. TestSIGHUPChangesTheLogsOrNothing tests the setting --access-log.
func TestAccessLogIsOnStderr(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Flags: []string{"--log-format", "json"}})
	paid, err := s.Partner().Post("/api/v1/transactions", paymentOf("4242424242424242", "1000"))
	testkit.WantStatus(t, paid, err, http.StatusCreated)
	testkit.WaitUntil(t, "the request's line", func() bool {
		return strings.Contains(s.Stderr(), `"request_id":"`+paid.Header.Get("x-request-id")+`","method":"POST","route":"/api/v1/transactions","status":201,`)
	})
	for line := range strings.Lines(s.Stderr()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the line is not JSON: %s", line)
		}
	}
	s.Stop()
	s.Restart("--access-log", "off", "--log-format", "json")
	testkit.Pay(t, s.Partner(), "not logged")
	s.Stop()
	if strings.Contains(s.Stderr(), `"msg":"request"`) {
		t.Errorf("requests are logged:\n%s", s.Stderr())
	}
}
