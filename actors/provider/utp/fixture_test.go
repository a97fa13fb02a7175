package utp_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/actors/provider/utp"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/internal/testkit"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// Texts that no log line and no verdict may contain.
const (
	canaryKey    = "mzk_canary-of-the-api-key"
	canarySecret = "canary-of-the-webhook-secret"
	canaryCard   = "4242424242424242"
	canaryCVV    = "987"
)

var (
	start     = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)
	reference = uuid.MustParse("5b2f51a4-5f0a-4dd8-9f6d-0d6a8f0f8a01")
	requestID = uuid.MustParse("5b2f51a4-5f0a-4dd8-9f6d-0d6a8f0f8a02")
	usd       = money.Asset{Currency: "USD", Env: money.Test}
)

// receivedRequest is a request that the other platform got.
type receivedRequest struct {
	method, path, query, body, remoteAddress string
	header                                   http.Header
}

// fakePlatform is a simulated other platform, which may respond as our service never would, and the provider that
// calls it.
type fakePlatform struct {
	*utp.Provider
	t         *testing.T
	server    *httptest.Server
	terminals []*directory.Terminal
	clock     *clock.Manual
	log       *testkit.Output

	mu       sync.Mutex
	received []receivedRequest                                     // guarded by mu
	answer   func(w http.ResponseWriter, r receivedRequest, n int) // n: the number of the request, from 1
}

// loggedCVV finds the three digits of the CVV only as a separate value, because an id or a time may contain the
// same digits.
var loggedCVV = regexp.MustCompile(`["=: ]` + canaryCVV + `\b`)

// startPlatform starts a platform that responds as answer does.
func startPlatform(t *testing.T, answer func(w http.ResponseWriter, r receivedRequest, n int)) *fakePlatform {
	t.Helper()
	platform := &fakePlatform{t: t, clock: clock.NewManual(start), log: new(testkit.Output), answer: answer}
	platform.server = httptest.NewTLSServer(http.HandlerFunc(platform.serve))
	platform.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(platform.server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: platform.server.Certificate().Raw})
	platform.terminals = []*directory.Terminal{newTerminal(t, platform.server.URL, string(ca))}
	platform.Provider = utp.New(utp.Options{
		Clock: platform.clock, Log: slog.New(slog.NewTextHandler(platform.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Timeout: time.Minute,
		Terminals: func() []*directory.Terminal { return platform.terminals },
	})
	t.Cleanup(func() {
		if err := platform.Close(); err != nil {
			t.Error(err)
		}
		for _, canary := range []string{canaryKey, canarySecret, canaryCard} {
			if strings.Contains(platform.log.String(), canary) {
				t.Errorf("the log has %q:\n%s", canary, platform.log)
			}
		}
		if loggedCVV.MatchString(platform.log.String()) {
			t.Errorf("the log has the CVV:\n%s", platform.log)
		}
	})
	return platform
}

func (r *fakePlatform) serve(w http.ResponseWriter, httpRequest *http.Request) {
	content, _ := io.ReadAll(httpRequest.Body) // if a part is missing, a check of the body fails
	got := receivedRequest{httpRequest.Method, httpRequest.URL.Path, httpRequest.URL.RawQuery, string(content), httpRequest.RemoteAddr, httpRequest.Header.Clone()}
	r.mu.Lock()
	r.received = append(r.received, got)
	n := len(r.received)
	r.mu.Unlock()
	r.answer(w, got, n)
}

func (r *fakePlatform) requests() []receivedRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.received
}

// newTerminal returns a terminal that is connected to the other platform at an address.
func newTerminal(t *testing.T, address, ca string) *directory.Terminal {
	t.Helper()
	params, err := json.Marshal(map[string]string{
		"base_url": address, "organization_id": "0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5", "api_key": canaryKey, "webhook_secret": canarySecret, "ca_pem": ca,
	})
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := directory.NewTerminal(directory.Terminal{
		ID: uuid.New(), Org: uuid.New(), Partner: 1, Name: "another platform", Provider: utp.Name, Type: directory.PaymentTerminal,
		Env: money.Test, ProviderParams: params, Active: true,
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// payCall returns a call that charges 1000 on the terminal.
func (r *fakePlatform) payCall() *actors.Call {
	return &actors.Call{
		Org: r.terminals[0].Org, Reference: reference, Operation: actors.Pay, Terminal: r.terminals[0], Amount: money.FromUint64(1000), Asset: usd,
		Method: "bank_card", ReturnURL: func() string { return "https://ours.example/pay/back?t=1" },
		Card: &secret.Card{
			Number: []byte(canaryCard), Holder: []byte(`O"HARA \ CO`), ExpMonth: []byte("9"), ExpYear: []byte("2031"), CVV: []byte(canaryCVV),
		},
		ChargeState: actors.ChargeState{SubmittedSince: start, ChargedAmount: money.FromUint64(1000)},
	}
}

// followUpCall returns a call about the charge, whose id on the other platform is known.
func (r *fakePlatform) followUpCall(operation actors.Operation, amount uint64) *actors.Call {
	call := r.payCall()
	call.Operation, call.Request, call.Amount, call.Card, call.ReturnURL = operation, requestID, money.FromUint64(amount), nil, nil
	call.Meta = []byte(`{"utp_id":"their-id"}`)
	return call
}

// question returns an inquiry about the charge, whose id on the other platform is known.
func (r *fakePlatform) question(operation actors.Operation, amount uint64) *actors.Inquiry {
	call := r.followUpCall(operation, amount)
	return &actors.Inquiry{
		Terminal: call.Terminal, Reference: call.Reference, Operation: operation, Request: call.Request, Amount: call.Amount, ChargeState: call.ChargeState,
	}
}

// theirBody returns the other platform's transaction for our charge, in a status and with more members.
func theirBody(status string, members ...string) string {
	return fmt.Sprintf(`{"id":"their-id","txid":%q,"type":"payment","status":%q,"amount":"1000","currency":"USD","scale":2,"new_field":{"a":[1]}%s}`,
		reference.String(), status, strings.Join(append([]string{""}, members...), ","))
}

// respond answers every request with a status and a body.
func respond(status int, body string) func(http.ResponseWriter, receivedRequest, int) {
	return func(w http.ResponseWriter, _ receivedRequest, _ int) {
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// submit makes a call as the pool of provider calls does, with a deadline that a test never reaches.
func (r *fakePlatform) submit(call *actors.Call) actors.Outcome {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	return r.wantNoSecrets(r.Submit(ctx, call))
}

func (r *fakePlatform) inquire(q *actors.Inquiry) actors.Outcome {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	return r.wantNoSecrets(r.Inquire(ctx, q))
}

// pointerAddresses are pointers as %+v prints them, which may contain the digits of a CVV by chance.
var pointerAddresses = regexp.MustCompile(`0x[0-9a-f]+`)

// wantNoSecrets checks that an outcome contains nothing secret.
func (r *fakePlatform) wantNoSecrets(o actors.Outcome) actors.Outcome {
	r.t.Helper()
	shown := pointerAddresses.ReplaceAllString(fmt.Sprintf("%+v %s %+v", o, o.Meta, o.Action), "")
	for _, canary := range []string{canaryKey, canarySecret, canaryCard, canaryCVV} {
		if strings.Contains(shown, canary) {
			r.t.Errorf("the outcome has %q: %s", canary, shown)
		}
	}
	return o
}

// expectVerdict checks an outcome's verdict, and whether the outcome counts as a failure for the circuit breaker.
func (r *fakePlatform) expectVerdict(o actors.Outcome, verdict payment.Verdict, unreachable bool) {
	r.t.Helper()
	if o.Verdict != verdict || o.Unreachable != unreachable {
		r.t.Errorf("the verdict is %v %q, unreachable %v; want %v, %v\n%s", o.Verdict, o.Failure, o.Unreachable, verdict, unreachable, r.log)
	}
}
