package stripe_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/testkit"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// mirror sends each request to the stub, whose answer counts, and a copy to stripe-mock, which says whether Stripe knows its path and
// parameters.
type mirror struct {
	mu    sync.Mutex
	asked map[string]int // by method and path, ids replaced
	wrong []string
}

func (m *mirror) serve(t *testing.T, stub, mock string) string {
	target, err := url.Parse(stub)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		m.check(mock, r, string(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (m *mirror) check(mock string, r *http.Request, body string) {
	request, err := http.NewRequest(r.Method, mock+r.URL.RequestURI(), strings.NewReader(body))
	if err != nil {
		return
	}
	request.Header = r.Header.Clone()
	request.Header.Set("Authorization", "Bearer sk_test_123")
	answer, err := http.DefaultClient.Do(request)
	m.mu.Lock()
	defer m.mu.Unlock()
	parts := strings.Split(r.URL.Path, "/")
	for i, part := range parts {
		if head, _, ok := strings.Cut(part, "_"); ok && len(part) > 20 {
			parts[i] = head
		}
	}
	m.asked[r.Method+" "+strings.Join(parts, "/")]++
	if err != nil {
		m.wrong = append(m.wrong, err.Error())
		return
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != 200 {
		m.wrong = append(m.wrong, r.Method+" "+r.URL.RequestURI()+": "+string(text))
	}
}

// Every request of the adapter has a path, parameters and types that Stripe knows. What stripe-mock answers is not used, because it
// keeps no state.
func TestRequestsAreStripes(t *testing.T) {
	mock := testkit.StartStripeMock(t)
	f := open(t, nil)
	m := &mirror{asked: make(map[string]int)}
	address := m.serve(t, f.stub.URL, mock)
	f.dropTerminals()
	f.addTerminal(directory.PaymentTerminal, params{"api_base": address, "statement_descriptor": "SHOP 7"})

	paid := f.pay(goodCard, 1000)
	f.must(f.Refund(amountCommand(paid.ID, 400)))
	f.renew(paid.ID)
	authenticated := f.pay(challengeCard, 1000)
	f.authenticate(authenticated, true)
	f.must(f.OnReturn(org, authenticated.ID))
	f.closeDispute(authenticated.ID, false)
	pending := f.pay(pendingRefund, 1000)
	f.must(f.Refund(amountCommand(pending.ID, 400)))
	f.advance(time.Hour)

	f.dropTerminals()
	f.addTerminal(directory.PaymentTerminal, params{"api_base": address, "two_phase": true})
	captured, released := f.pay(goodCard, 1000), f.pay(goodCard, 1000)
	f.must(f.Commit(amountCommand(captured.ID, 600)))
	f.must(f.Cancel(command(released.ID)))

	payout := &actors.Call{
		Org: org, Reference: newID(), Operation: actors.PayOut, Terminal: f.terminals[0], Amount: paid.Amount, Asset: usd, Method: "bank_account",
		ChargeState: actors.ChargeState{SubmittedSince: f.Clock.Now(), ChargedAmount: paid.Amount},
	}
	f.submit(payout)
	f.provider.Inquire(t.Context(), &actors.Inquiry{Terminal: payout.Terminal, Reference: payout.Reference, Operation: actors.PayOut, ChargeState: payout.ChargeState})
	f.provider.InquireReport(t.Context(), &actors.Inquiry{
		Terminal: f.terminals[0], Reference: authenticated.ID, Operation: actors.Pay, ChargeState: actors.ChargeState{Meta: f.read(authenticated.ID).RailMeta},
	})
	f.want(captured.ID, payment.Charged, "")

	for _, fault := range m.wrong {
		t.Error(fault)
	}
	for _, call := range []string{
		createsMethod, createsCustomer, createsIntent, "POST /v1/payment_intents/pi/confirm", "POST /v1/payment_intents/pi/capture", "POST /v1/payment_intents/pi/cancel",
		refunds, "GET /v1/payment_intents/pi", listsRefunds, "POST /v1/payouts", "GET /v1/payouts", "GET /v1/disputes", "GET /v1/events",
	} {
		if m.asked[call] == 0 {
			t.Errorf("%s was never sent", call)
		}
	}
}
