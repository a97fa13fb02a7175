package utp_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/tracing"
	"mizan/ledger/payment"
)

func TestCreateHasTheFieldsOfTheProtocol(t *testing.T) {
	platform := startPlatform(t, respond(201, theirBody("charged", `"rrn":"123456789012"`)))
	o := platform.submit(platform.payCall())
	if o.Verdict != payment.VerdictCharged || o.RRN != "123456789012" || string(o.Meta) != `{"utp_id":"their-id"}` {
		t.Errorf("the outcome is %v %q %s", o.Verdict, o.RRN, o.Meta)
	}
	got := platform.requests()[0]
	if got.method != "POST" || got.path != "/api/v1/transactions" || got.query != "" {
		t.Errorf("asked %s %s?%s", got.method, got.path, got.query)
	}
	for name, want := range map[string]string{
		"x-api-key": canaryKey, "x-organization-id": "0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5", "content-type": "application/json",
	} {
		if got.header.Get(name) != want {
			t.Errorf("header %s is %q, want %q", name, got.header.Get(name), want)
		}
	}
	var body struct {
		Params struct {
			Type, Amount, Currency, Env, Txid, ReturnURL, FailURL string
			Meta                                                  map[string]string `json:"merchant_meta"`
			Storage                                               map[string]string `json:"money_storage"`
		}
	}
	if err := json.Unmarshal([]byte(got.body), &body); err != nil {
		t.Fatalf("%v: %s", err, got.body)
	}
	p := &body.Params
	if p.Type != "payment" || p.Amount != "1000" || p.Currency != "USD" || p.Env != "test" || p.Txid != reference.String() ||
		p.ReturnURL != "https://ours.example/pay/back?t=1" || p.FailURL != p.ReturnURL || p.Meta["utp_terminal"] != platform.terminals[0].ID.String() {
		t.Errorf("params are %+v", p)
	}
	s := p.Storage
	if s["type"] != "bank_card" || s["cardnumber"] != canaryCard || s["cvv"] != canaryCVV || s["cardholder"] != `O"HARA \ CO` || s["exp_month"] != "9" || s["exp_year"] != "2031" {
		t.Errorf("money_storage has %d keys, and not what the card says", len(s))
	}
}

// The other platform learns which request has caused ours, and to which trace it belongs.
func TestRequestsHaveTheirOrigin(t *testing.T) {
	platform := startPlatform(t, respond(201, theirBody("charged")))
	origin := tracing.Origin{Request: requestID}
	const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	origin.SetTraceparent([]byte(traceparent))
	platform.Submit(tracing.WithOrigin(t.Context(), origin), platform.payCall())
	platform.Submit(t.Context(), platform.payCall())
	requests := platform.requests()
	if h := requests[0].header; h.Get("x-request-id") != requestID.String() || h.Get("traceparent") != traceparent {
		t.Errorf("headers are %v", h)
	}
	if h := requests[1].header; h.Get("x-request-id") != "" || h.Get("traceparent") != "" {
		t.Errorf("headers without an origin are %v", h)
	}
}

func TestCallWithoutAConnectionIsNotSent(t *testing.T) {
	platform := startPlatform(t, respond(201, theirBody("charged")))
	address := platform.server.URL
	for name, base := range map[string]string{
		"a certificate that is not trusted": address,
		"a port that nobody listens at":     closedPort(t),
		"a name without an address":         "https://no-such-platform.invalid",
	} {
		call := platform.payCall()
		call.Terminal = newTerminal(t, base, "")
		o := platform.submit(call)
		if o.Verdict != payment.VerdictNotSent || !o.Unreachable || o.Failure.Detail != "The platform could not be reached." {
			t.Errorf("%s: %v %q, unreachable %v", name, o.Verdict, o.Failure, o.Unreachable)
		}
	}
	if got := platform.requests(); len(got) != 0 {
		t.Errorf("%d requests arrived", len(got))
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "https://" + l.Addr().String()
}

func TestBrokenExchangeIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		answer      func(http.ResponseWriter, receivedRequest, int)
		unreachable bool
	}{
		"the connection is closed":        {func(http.ResponseWriter, receivedRequest, int) { panic(http.ErrAbortHandler) }, true},
		"500":                             {respond(500, `{"error":"internal","message":"boom"}`), true},
		"503":                             {respond(503, `{"error":"unavailable"}`), true},
		"429":                             {respond(429, `{"error":"rate_limited"}`), false},
		"409":                             {respond(409, `{"error":"conflict"}`), false},
		"no JSON":                         {respond(201, `<html>welcome</html>`), false},
		"an empty answer":                 {respond(201, ``), false},
		"a list":                          {respond(201, `[]`), false},
		"a status twice":                  {respond(201, theirBody("charged", `"status":"rejected"`)), false},
		"a status in another case only":   {respond(201, strings.Replace(theirBody("charged"), `"status"`, `"Status"`, 1)), false},
		"a status that is a number":       {respond(201, strings.Replace(theirBody("charged"), `"charged"`, `7`, 1)), false},
		"invalid UTF-8":                   {respond(201, theirBody("charged", "\"x\":\"\xff\"")), false},
		"another transaction":             {respond(201, strings.Replace(theirBody("charged"), reference.String(), requestID.String(), 1)), false},
		"another amount":                  {respond(201, strings.Replace(theirBody("charged"), `"1000"`, `"1001"`, 1)), false},
		"an amount as a number":           {respond(201, strings.Replace(theirBody("charged"), `"1000"`, `1000`, 1)), false},
		"another currency":                {respond(201, strings.Replace(theirBody("charged"), `"USD"`, `"EUR"`, 1)), false},
		"another type":                    {respond(201, strings.Replace(theirBody("charged"), `"payment"`, `"payout"`, 1)), false},
		"an id that is a path":            {respond(201, strings.Replace(theirBody("charged"), `"their-id"`, `"../partners"`, 1)), false},
		"a body beyond its bound":         {respond(201, theirBody("charged", `"x":"`+strings.Repeat("x", 1<<20)+`"`)), true},
		"a redirect":                      {redirectAnswer, false},
		"headers beyond their bound":      {bigHeadersAnswer, true},
		"a body that ends before its end": {shortBodyAnswer, true},
	} {
		platform := startPlatform(t, c.answer)
		o := platform.submit(platform.payCall())
		if o.Verdict != payment.VerdictUnknown || o.Unreachable != c.unreachable {
			t.Errorf("%s: %v, unreachable %v; want unknown, %v\n%s", name, o.Verdict, o.Unreachable, c.unreachable, platform.log)
		}
		if got := platform.requests(); len(got) != 1 {
			t.Errorf("%s: %d requests were sent", name, len(got))
		}
	}
}

func redirectAnswer(w http.ResponseWriter, r receivedRequest, _ int) {
	w.Header().Set("location", r.path)
	w.WriteHeader(http.StatusTemporaryRedirect)
}

func bigHeadersAnswer(w http.ResponseWriter, _ receivedRequest, _ int) {
	w.Header().Set("x-filler", strings.Repeat("x", 128<<10))
	w.WriteHeader(http.StatusCreated)
}

func shortBodyAnswer(w http.ResponseWriter, _ receivedRequest, _ int) {
	w.Header().Set("content-length", "1000")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte(`{"id":`))
}

func TestATimeOutAfterSendingIsUnknown(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	platform := startPlatform(t, func(http.ResponseWriter, receivedRequest, int) { close(arrived); <-release })
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		<-arrived
		cancel()
	}()
	platform.expectVerdict(platform.Submit(ctx, platform.payCall()), payment.VerdictUnknown, true)
}

func TestRefusalIsRecognisedInEachErrorShape(t *testing.T) {
	const quotedText = "the card " + canaryCard + " is not ours"
	for name, c := range map[string]struct {
		status int
		body   string
		reason string
		code   string
	}{
		"401":                  {401, `{"error":"unauthorized"}`, "The platform refused the credentials.", "unauthorized"},
		"403":                  {403, `{"error":"forbidden","message":"` + quotedText + `"}`, "The platform refused the credentials.", "forbidden"},
		"422, a list":          {422, `{"errors":[{"code":"invalid","detail":"` + quotedText + `"}]}`, "The platform refused the request.", "invalid"},
		"422, a message":       {422, `{"error":"invalid_amount","message":"` + quotedText + `"}`, "The platform refused the request.", "invalid_amount"},
		"422, an error":        {422, `{"error":"wrong params - can't init tx"}`, "The platform refused the request.", `""`},
		"422 without a body":   {422, ``, "The platform refused the request.", `""`},
		"404, no such address": {404, `not found`, "The platform refused the request.", `""`},
	} {
		platform := startPlatform(t, respond(c.status, c.body))
		o := platform.submit(platform.payCall())
		if o.Verdict != payment.VerdictRefused || o.Failure.Detail != c.reason || o.Unreachable {
			t.Errorf("%s: %v %q, unreachable %v", name, o.Verdict, o.Failure, o.Unreachable)
		}
		if !strings.Contains(platform.log.String(), "level=ERROR") || !strings.Contains(platform.log.String(), "code="+c.code) {
			t.Errorf("%s: the operator reads %s", name, platform.log)
		}
	}
}

// A refused inquiry says nothing about the operation, which may have been carried out.
func TestRefusedInquiryIsUnknown(t *testing.T) {
	for _, status := range []int{401, 403, 404, 422, 503} {
		r := startPlatform(t, respond(status, `{"error":"no"}`))
		r.expectVerdict(r.inquire(r.question(actors.Pay, 0)), payment.VerdictUnknown, status == 503)
	}
}

func TestConnectionsAreKeptAndBounded(t *testing.T) {
	const calls, bound = 200, 64
	platform := startPlatform(t, respond(201, theirBody("charged")))
	outcomes := make(chan actors.Outcome, calls)
	for range calls {
		go func() { outcomes <- platform.Submit(t.Context(), platform.payCall()) }()
	}
	for range calls {
		platform.expectVerdict(<-outcomes, payment.VerdictCharged, false)
	}
	connections := make(map[string]bool)
	for _, got := range platform.requests() {
		connections[got.remoteAddress] = true
	}
	if len(connections) > bound {
		t.Errorf("%d calls at once went over %d connections, at most %d", calls, len(connections), bound)
	}
	// The next call may begin just before the previous call's connection is returned to the pool; then it opens a new
	// connection. So some calls may open connections, but not all of them.
	const laterCalls = 50
	laterConnections := make(map[string]bool)
	for range laterCalls {
		platform.expectVerdict(platform.submit(platform.payCall()), payment.VerdictCharged, false)
	}
	for _, got := range platform.requests()[calls:] {
		laterConnections[got.remoteAddress] = true
	}
	if len(laterConnections) == laterCalls {
		t.Error("every call opens a connection of its own")
	}
}
