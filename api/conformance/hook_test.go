package conformance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// hook is a merchant's notification address. It is a separate server, which the service calls over
// the network.
type hook struct {
	t      testing.TB
	server *httptest.Server
	mu     sync.Mutex
	answer func(w http.ResponseWriter) // guarded by mu
	seen   []*notification             // guarded by mu
}

// notification is one attempt of a delivery, as the hook received it.
type notification struct {
	t      testing.TB
	header http.Header
	body   string
	parsed struct {
		EventID   string `json:"event_id"`
		Timestamp int64  `json:"timestamp"`
		Type      string `json:"type"`
		Data      struct {
			Type, TxID, ID, Status string
			Error                  string `json:"error_description"`
			Code                   string `json:"error_code"`
		}
	}
}

// newHook starts a hook that acknowledges every notification.
func newHook(t testing.TB) *hook {
	t.Helper()
	h := &hook{t: t}
	h.respond(http.StatusOK)
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		n := &notification{t: t, header: r.Header.Clone(), body: string(body)}
		if err == nil {
			err = json.Unmarshal(body, &n.parsed)
		}
		if err != nil || r.Method != http.MethodPost || r.Header.Get("content-type") != "application/json" {
			t.Errorf("%s %s %q: %v", r.Method, r.Header.Get("content-type"), body, err)
		}
		if err := sandbox.checker.CheckNotification(r.Header, body); err != nil {
			t.Error(err)
		}
		if quoted := quotedCard(string(body)); quoted != "" {
			t.Errorf("a notification has the card number %s", quoted)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.seen = append(h.seen, n)
		h.answer(w)
	}))
	t.Cleanup(h.server.Close)
	return h
}

// respond makes the hook respond with the status from now on.
func (h *hook) respond(status int) {
	h.respondWith(func(w http.ResponseWriter) { w.WriteHeader(status) })
}

// respondWith sets how the hook responds from now on.
func (h *hook) respondWith(answer func(w http.ResponseWriter)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

// merchantParams returns merchant_params with the hook's address and further members, given as name, value pairs.
func (h *hook) merchantParams(more ...any) params {
	return params{"notify_url": h.server.URL + "/hook"}.with(more...)
}

// waitForAll waits until all due deliveries have been attempted, and returns the notifications that have arrived.
func (h *hook) waitForAll() []*notification {
	h.t.Helper()
	advance(h.t, 1)
	return h.received()
}

// received returns the notifications that have arrived so far.
func (h *hook) received() []*notification {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*notification(nil), h.seen...)
}

// wantNotified checks the notifications that have arrived since the last call, given as "status of txid". Only the order
// within one transaction matters.
func (h *hook) wantNotified(want ...string) []*notification {
	h.t.Helper()
	deliveries := h.waitForAll()
	missing := append([]string(nil), want...)
	for _, n := range deliveries {
		text := n.parsed.Data.Status + " of " + n.parsed.Data.TxID
		found := false
		for i, w := range missing {
			if found = w == text; found {
				missing = append(missing[:i], missing[i+1:]...)
				break
			}
		}
		if !found {
			h.t.Errorf("notified, and not expected: %s", text)
		}
	}
	for _, w := range missing {
		h.t.Errorf("not notified: %s", w)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = nil
	return deliveries
}

// newMerchantWithHook returns a merchant and a hook. The merchant has a terminal for payments and one for payouts, both with
// these settings. Both terminals send signed notifications to the hook.
func newMerchantWithHook(t testing.TB, settings string) (*merchant, *hook) {
	t.Helper()
	m, h := newMerchantWithTerminals(t, settings), newHook(t)
	for i := range m.terminals {
		m.notify(i, h.merchantParams("secret", "whsec"))
	}
	return m, h
}

// notify sets the merchant_params of the merchant's terminal with index i.
func (m *merchant) notify(i int, p params) {
	m.t.Helper()
	admin(m.t).patch(v1+"/terminal/"+m.terminals[i], params{"merchant_params": p}).want(200)
}

// addMerchantTerminal gives the merchant a terminal of type merchant, which is only for notifications, in
// env test.
func (m *merchant) addMerchantTerminal(p params) string {
	m.t.Helper()
	return admin(m.t).post(v1+"/terminal", params{
		"name": "notices", "partner_id": json.Number(m.number), "type": "merchant", "env": "test", "merchant_params": p,
	}).want(201).at("data.id")
}

// signed returns the signature of the notification with a secret.
func (n *notification) signed(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(n.header.Get("x-webhook-timestamp") + "." + n.body))
	return hex.EncodeToString(mac.Sum(nil))
}

// hasHeaders checks the values of all headers that begin with x-webhook-.
func (n *notification) hasHeaders(want map[string]string) {
	n.t.Helper()
	for name, values := range n.header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-webhook-") {
			if expected, known := want[name]; !known || len(values) != 1 || values[0] != expected {
				n.t.Errorf("header %s: %v, want %q", name, values, expected)
			}
		}
	}
	for name := range want {
		if n.header.Get(name) == "" {
			n.t.Errorf("there is no header %s", name)
		}
	}
}

// signatureHeaders returns the x-webhook- headers of a notification that is signed with one secret.
func (n *notification) signatureHeaders(secret string) map[string]string {
	return map[string]string{
		"x-webhook-event-id": n.parsed.EventID, "x-webhook-timestamp": strconv.FormatInt(n.parsed.Timestamp, 10), "x-webhook-signature": n.signed(secret),
	}
}

// object returns the JSON object that is a member of the body.
func (n *notification) object(name string) map[string]json.RawMessage {
	n.t.Helper()
	var o map[string]json.RawMessage
	if err := json.Unmarshal([]byte(n.body), &o); err != nil {
		n.t.Fatal(err)
	}
	if name == "" {
		return o
	}
	var inner map[string]json.RawMessage
	if err := json.Unmarshal(o[name], &inner); err != nil {
		n.t.Fatal(err)
	}
	return inner
}
