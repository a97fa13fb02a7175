package admin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mizan/internal/testkit"
)

// adminServer is a sandbox with a manual clock. The notifications of its first partner go to a receiver that responds with
// status.
type adminServer struct {
	t      *testing.T
	server *testkit.Server
	status atomic.Int64
}

func openAdminServer(t *testing.T) *adminServer {
	t.Helper()
	s := &adminServer{t: t, server: testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})}
	s.status.Store(500)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(s.status.Load())) }))
	t.Cleanup(receiver.Close)
	s.run(0, "partners", "update", "1", "--notify-url", receiver.URL)
	return s
}

// run runs a command, checks its exit code and returns its output.
func (s *adminServer) run(exit int, args ...string) testkit.Result {
	s.t.Helper()
	r := testkit.Run(s.t, nil, slices.Concat([]string{"admin", "--sandbox", s.server.Dir}, args)...)
	if r.Exit != exit {
		s.t.Errorf("%v ended with %d, want %d: %s%s", args, r.Exit, exit, r.Stdout, r.Stderr)
	}
	return r
}

// wantOutput checks that a command succeeds and that its output matches the pattern.
func (s *adminServer) wantOutput(pattern string, args ...string) string {
	s.t.Helper()
	r := s.run(0, args...)
	if !regexp.MustCompile(pattern).MatchString(r.Stdout) {
		s.t.Errorf("%v prints %q, want it to fit %s", args, r.Stdout, pattern)
	}
	return r.Stdout
}

// pay makes a payment and returns its id.
func (s *adminServer) pay() string {
	s.t.Helper()
	answer, err := s.server.Partner().Post("/api/v1/transactions", `{"params":{"type":"payment","amount":"100","currency":"USD","env":"test",`+
		`"returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no","money_storage":`+
		`{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"J","exp_month":"12","exp_year":"2099","cvv":"123"}}}`)
	if err != nil || answer.Status != 201 {
		s.t.Fatalf("%v %+v", err, answer)
	}
	var payment struct{ ID string }
	if err := answer.JSON(&payment); err != nil {
		s.t.Fatal(err)
	}
	return payment.ID
}

// advance moves the server's clock. When advance returns, every delivery that was due has been attempted.
func (s *adminServer) advance(seconds int) {
	s.t.Helper()
	answer, err := s.server.Admin().Do("PUT", "/api/v1/sandbox/clock", fmt.Sprintf(`{"advance_seconds":%d}`, seconds))
	if err != nil || answer.Status != 200 {
		s.t.Fatalf("%v %+v", err, answer)
	}
}

func TestDeliveriesAreListedShownAndReplayed(t *testing.T) {
	t.Parallel()
	server := openAdminServer(t)
	firstPayment := server.pay()
	server.advance(8 * 3600) // the delivery is parked now
	secondPayment := server.pay()
	server.advance(1)
	server.wantOutput(`(?m)^EVENT_ID +TRANSACTION_ID +TERMINAL_ID +CHANNEL +TYPE +STATE +ATTEMPTS +NEXT_AT +BOOKED_AT$`, "deliveries", "list")
	server.wantOutput(`(?m)^\S+ +`+firstPayment+` +\S+ +webhook +transaction.charged +parked +6 +- +20\S+$`, "deliveries", "list", "--state", "parked")
	server.wantOutput(`(?m)^\S+ +`+secondPayment+` +\S+ +webhook +transaction.charged +pending +1 +20\S+ +20\S+$`, "deliveries", "list", "--transaction", secondPayment)
	output := server.wantOutput(`(?s)`+secondPayment+`.*`+firstPayment, "--json", "deliveries", "list", "--limit", "1", "--all")
	eventID := regexp.MustCompile(`"event_id":"([^"]+)"`).FindStringSubmatch(output)[1]
	terminalID := regexp.MustCompile(`"terminal_id":"([^"]+)"`).FindStringSubmatch(output)[1]
	server.wantOutput(`^$`, "--json", "deliveries", "list", "--terminal", terminalID, "--state", "delivered", "--from", "2026-01-01T00:00:00Z", "--to", "2099-01-01T00:00:00Z")
	server.wantOutput(`^$`, "--json", "deliveries", "list", "--to", "2020-01-01T00:00:00Z")
	server.wantOutput(`(?m)^attempts\[0\]\.at +20\S+\nattempts\[0\]\.status +500\nattempts\[0\]\.error +status 500$`, "deliveries", "show", eventID)

	server.status.Store(204)
	server.wantOutput(`(?m)^state +pending$`, "deliveries", "replay", eventID)
	server.wantOutput(`^\{"replayed":1\}\n$`, "--json", "deliveries", "replay-parked", "--terminal", terminalID)
	server.advance(1)
	if n := strings.Count(server.wantOutput(`.`, "--json", "deliveries", "list", "--state", "delivered"), "\n"); n != 2 {
		t.Errorf("%d were delivered", n)
	}
	server.wantOutput(`(?m)^delivered +true$`, "deliveries", "test", terminalID)
	server.status.Store(400)
	result := server.run(1, "deliveries", "test", terminalID)
	if !regexp.MustCompile(`(?m)^delivered +false\nstatus +400\nerror +status 400$`).MatchString(result.Stdout) {
		t.Errorf("it prints %q", result.Stdout)
	}
	if result.Stderr != "mizan: deliveries test: the address has not acknowledged: status 400\n" {
		t.Errorf("it reports %q", result.Stderr)
	}

	server.run(2, "deliveries", "list", "--state", "lost")
	server.run(2, "deliveries", "show", "00000000-0000-4000-8000-000000000000")
	server.run(2, "deliveries", "replay", "x")
	server.run(2, "deliveries", "replay-parked")
	server.run(2, "deliveries", "test", eventID)
}

func TestRepeatedReplayUsesItsKey(t *testing.T) {
	t.Parallel()
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request, earlierRequests int) {
		if earlierRequests == 0 {
			hangUp(t, w)
			return
		}
		_, _ = fmt.Fprint(w, `{"data":{"replayed":3}}`)
	})
	r := s.admin(t, 0, "", "deliveries", "replay-parked", "--terminal", "00000000-0000-4000-8000-000000000000")
	requests := s.requests()
	if len(requests) != 2 || requests[0].Header.Get("Idempotency-Key") == "" || requests[0].Header.Get("Idempotency-Key") != requests[1].Header.Get("Idempotency-Key") || r.Stdout != "replayed  3\n" {
		t.Errorf("%d requests, printed %q", len(requests), r.Stdout)
	}
}
