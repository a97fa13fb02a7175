package api_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/api"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// recordedUpdates accepts updates from providers and records about which transactions they are.
type recordedUpdates struct {
	mu       sync.Mutex
	reported []string
	err      error // the result of every update; nil: updates are accepted
}

// ProviderUpdate implements payments.ProviderUpdates.
func (h *recordedUpdates) ProviderUpdate(org, terminal, id ledger.ID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	h.reported = append(h.reported, fmt.Sprint(org, " ", terminal, " ", id))
	return nil
}

// ProviderNotification implements payments.ProviderUpdates.
func (h *recordedUpdates) ProviderNotification(*directory.Terminal, *actors.Notification, func(string) bool) (string, error) {
	return "", ledger.Refuse("test", ledger.NotFound, "the provider sends no notifications")
}

// takeReported returns the recorded updates since its last call.
func (h *recordedUpdates) takeReported() (reported []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	reported, h.reported = h.reported, nil
	return reported
}

// platformSecret is the secret with which the other platform signs its updates.
const platformSecret = "the platform's secret"

// createConnectedTerminal creates a terminal of the first partner. The terminal's provider is another
// platform; params are further provider_params.
func (f *fixture) createConnectedTerminal(params string) string {
	f.t.Helper()
	return f.admin().post("/api/v1/terminal", `{"name":"far","partner_id":1,"provider":"utp","type":"payment","env":"test","provider_params":{
		"base_url":"https://platform.example","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"mzk_far"`+params+`}}`).want(201, "").at("data.id")
}

// newUpdatesFixture starts a server that records provider updates, with a connected terminal.
func newUpdatesFixture(t *testing.T) (*fixture, *recordedUpdates, string) {
	t.Helper()
	updates := new(recordedUpdates)
	f := newFixture(t, func(c *api.Config) { c.ProviderUpdates = updates })
	return f, updates, f.createConnectedTerminal(`,"webhook_secret":"` + platformSecret + `"`)
}

// providerUpdate is a provider's message about a transaction, before deliver signs and sends it. The function change, if set,
// changes the signed headers.
type providerUpdate struct {
	terminal, secret, event, body string
	at                            time.Time
	change                        func(http.Header)
}

// newProviderUpdate returns an update of the terminal with a correct signature.
func (f *fixture) newProviderUpdate(terminal string) providerUpdate {
	event := uuid.NewString()
	return providerUpdate{terminal: terminal, secret: platformSecret, event: event, at: f.Clock.Now(), body: updateBody(event, uuid.NewString())}
}

// updateBody returns the body of an update about the transaction txid.
func updateBody(event, txid string) string {
	return `{"event_id":"` + event + `","timestamp":1,"type":"transaction.charged","data":{"id":"` + uuid.NewString() + `","txid":"` + txid + `","status":"charged"}}`
}

// deliver signs the update and sends it.
func (f *fixture) deliver(n providerUpdate) *response {
	f.t.Helper()
	timestamp := strconv.FormatInt(n.at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(n.secret))
	_, _ = mac.Write([]byte(timestamp + "." + n.body)) // a hash accepts all input
	header := http.Header{}
	header.Set("x-webhook-event-id", n.event)
	header.Set("x-webhook-timestamp", timestamp)
	header.Set("x-webhook-signature", hex.EncodeToString(mac.Sum(nil)))
	if n.change != nil {
		n.change(header)
	}
	c := f.anyone()
	for name := range header {
		c = c.with(name, header.Get(name))
	}
	return c.post("/api/v1/terminal/"+n.terminal+"/notifications", n.body)
}

func TestSignedNotificationTriggersAnInquiry(t *testing.T) {
	t.Parallel()
	f, updates, terminal := newUpdatesFixture(t)
	id, event := uuid.NewString(), uuid.NewString()
	n := f.newProviderUpdate(terminal)
	n.event, n.body = event, updateBody(event, id)
	f.deliver(n).want(200, `{"data":{}}`)
	if got, want := fmt.Sprint(updates.takeReported()), "["+f.seed.First.Org.String()+" "+terminal+" "+id+"]"; got != want {
		t.Errorf("reported %s, want %s", got, want)
	}
}

func TestProviderEventIsHandledOnce(t *testing.T) {
	t.Parallel()
	f, updates, terminal := newUpdatesFixture(t)
	n := f.newProviderUpdate(terminal)
	f.deliver(n).want(200, "")
	must(t, f.Clock.Set(f.Clock.Now().Add(4*time.Minute)))
	n.at = f.Clock.Now() // another attempt has its own timestamp
	f.deliver(n).want(200, `{"data":{}}`)
	if got := updates.takeReported(); len(got) != 1 {
		t.Errorf("reported %v", got)
	}
	other := f.createConnectedTerminal(`,"webhook_secret":"` + platformSecret + `"`)
	n.terminal = other // each terminal has event ids of its own
	f.deliver(n).want(200, "")
	if got := updates.takeReported(); len(got) != 1 {
		t.Errorf("reported %v", got)
	}
}

func TestEveryBadSignatureHasTheSame401(t *testing.T) {
	t.Parallel()
	f, updates, terminal := newUpdatesFixture(t)
	terminalWithoutSecret := f.createConnectedTerminal("")
	localTerminal := ""
	for _, other := range f.directory.Terminals(f.seed.First.Org, f.seed.First.Partner) {
		if !other.IsRemote() {
			localTerminal = other.ID.String()
		}
	}
	for name, change := range map[string]func(*providerUpdate){
		"another secret":                      func(n *providerUpdate) { n.secret = "another" },
		"no secret":                           func(n *providerUpdate) { n.secret = "" },
		"a terminal without a secret":         func(n *providerUpdate) { n.terminal, n.secret = terminalWithoutSecret, "" },
		"an unknown terminal":                 func(n *providerUpdate) { n.terminal = uuid.NewString() },
		"a terminal id that is no UUID":       func(n *providerUpdate) { n.terminal = "x" },
		"a terminal of this platform":         func(n *providerUpdate) { n.terminal = localTerminal },
		"five minutes too old":                func(n *providerUpdate) { n.at = n.at.Add(-5*time.Minute - time.Second) },
		"five minutes too new":                func(n *providerUpdate) { n.at = n.at.Add(5*time.Minute + time.Second) },
		"no signature":                        func(n *providerUpdate) { n.change = func(x http.Header) { x.Del("x-webhook-signature") } },
		"no timestamp":                        func(n *providerUpdate) { n.change = func(x http.Header) { x.Del("x-webhook-timestamp") } },
		"a timestamp that is no number":       func(n *providerUpdate) { n.change = func(x http.Header) { x.Set("x-webhook-timestamp", "now") } },
		"no event id":                         func(n *providerUpdate) { n.change = func(x http.Header) { x.Del("x-webhook-event-id") } },
		"another event id":                    func(n *providerUpdate) { n.event = uuid.NewString() },
		"a signature that is not hexadecimal": func(n *providerUpdate) { n.change = func(x http.Header) { x.Set("x-webhook-signature", "zz") } },
		"half a signature": func(n *providerUpdate) {
			n.change = func(x http.Header) { x.Set("x-webhook-signature", x.Get("x-webhook-signature")[:32]) }
		},
	} {
		n := f.newProviderUpdate(terminal)
		change(&n)
		if r := f.deliver(n); r.status != 401 || r.body != unauthorized {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	if got := updates.takeReported(); len(got) != 0 {
		t.Errorf("reported %v", got)
	}
}

func TestNotificationTimestampMayDifferByFiveMinutes(t *testing.T) {
	t.Parallel()
	f, updates, terminal := newUpdatesFixture(t)
	for _, skew := range []time.Duration{-4*time.Minute - 59*time.Second, 4*time.Minute + 59*time.Second} {
		n := f.newProviderUpdate(terminal)
		n.at = n.at.Add(skew)
		f.deliver(n).want(200, "")
	}
	if got := updates.takeReported(); len(got) != 2 {
		t.Errorf("reported %v", got)
	}
}

func TestNotificationOfAnUnknownTransactionChangesNothing(t *testing.T) {
	t.Parallel()
	f, updates, terminal := newUpdatesFixture(t)
	for _, data := range []string{`"none"`, `{}`, `{"txid":7}`, `{"txid":"order 5"}`, `null`} {
		n := f.newProviderUpdate(terminal)
		n.body = `{"event_id":"` + n.event + `","data":` + data + `}`
		f.deliver(n).want(200, "")
	}
	if got := updates.takeReported(); len(got) != 0 {
		t.Errorf("reported %v", got)
	}
}

func TestSignedMalformedBodyIsRefused(t *testing.T) {
	t.Parallel()
	f, updates, terminal := newUpdatesFixture(t)
	for body, status := range map[string]int{
		`{"event_id":`:    400,
		`{"a":1,"a":2}`:   400,
		`[]`:              422,
		`{}`:              422,
		`{"event_id":7}`:  422,
		`{"event_id":""}`: 422,
		`{"event_id":"` + strings.Repeat("e", 256) + `"}`: 422,
	} {
		n := f.newProviderUpdate(terminal)
		n.body = body
		f.deliver(n).want(status, "")
	}
	n := f.newProviderUpdate(terminal)
	n.body = `{"event_id":"` + n.event + `","x":"` + strings.Repeat("x", 64<<10) + `"}`
	f.deliver(n).want(413, "")
	if got := updates.takeReported(); len(got) != 0 {
		t.Errorf("reported %v", got)
	}
}

// An update that could not be handled is not acknowledged. It is handled when it is sent again.
func TestFailedProviderEventIsHandledWhenSentAgain(t *testing.T) {
	t.Parallel()
	f, updates, terminal := newUpdatesFixture(t)
	updates.err = errors.New("the store does not answer")
	n := f.newProviderUpdate(terminal)
	f.deliver(n).want(500, "")
	updates.err = ledger.Refuse("test", ledger.Unavailable, "busy")
	f.deliver(n).want(503, "")
	updates.err = nil
	f.deliver(n).want(200, "")
	if got := updates.takeReported(); len(got) != 1 {
		t.Errorf("reported %v", got)
	}
}

func TestRotatedSecretIsInForceImmediately(t *testing.T) {
	t.Parallel()
	f, _, terminal := newUpdatesFixture(t)
	old := f.newProviderUpdate(terminal)
	params := `{"provider_params":{"base_url":"https://platform.example","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"•••","webhook_secret":"next"}}`
	f.admin().patch("/api/v1/terminal/"+terminal, params).want(200, "")
	f.deliver(old).want(401, unauthorized)
	next := f.newProviderUpdate(terminal)
	next.secret = "next"
	f.deliver(next).want(200, "")
}
