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

	"mizan/api"
	"mizan/ledger"
)

// recordedUpdates records which transactions were reported.
type recordedUpdates struct {
	mu       sync.Mutex
	reported []string
	err      error
}

// ProviderUpdate implements payments.Updates.
func (h *recordedUpdates) ProviderUpdate(org, terminal, id ledger.ID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	h.reported = append(h.reported, fmt.Sprint(org, " ", terminal, " ", id))
	return nil
}

// takeReported returns the reports since the last call.
func (h *recordedUpdates) takeReported() (reported []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	reported, h.reported = h.reported, nil
	return reported
}

const platformSecret = "the platform's secret"

// createConnectedTerminal creates a terminal of the first partner whose provider is another platform.
func (f *fixture) createConnectedTerminal(params string) string {
	f.t.Helper()
	return f.admin().post("/api/v1/terminal", `{"name":"far","partner_id":1,"provider":"utp","type":"payment","env":"test","provider_params":{
		"base_url":"https://platform.example","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"mzk_far"`+params+`}}`).want(201, "").at("data.id")
}

// newUpdatesFixture starts a server that records provider updates, with a connected terminal.
func newUpdatesFixture(t *testing.T) (*fixture, *recordedUpdates, string) {
	t.Helper()
	reported := new(recordedUpdates)
	f := newFixture(t, func(c *api.Config) { c.Updates = reported })
	return f, reported, f.createConnectedTerminal(`,"webhook_secret":"` + platformSecret + `"`)
}

// notice is a provider update, before it is sent.
type notice struct {
	terminal, secret, event, body string
	at                            time.Time
	change                        func(http.Header)
}

func (f *fixture) notice(terminal string) notice {
	event := uuid.NewString()
	return notice{terminal: terminal, secret: platformSecret, event: event, at: f.Clock.Now(), body: envelope(event, uuid.NewString())}
}

func envelope(event, txid string) string {
	return `{"event_id":"` + event + `","timestamp":1,"type":"transaction.charged","data":{"id":"` + uuid.NewString() + `","txid":"` + txid + `","status":"charged"}}`
}

// deliver signs the update and sends it.
func (f *fixture) deliver(n notice) *response {
	f.t.Helper()
	stamp := strconv.FormatInt(n.at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(n.secret))
	_, _ = mac.Write([]byte(stamp + "." + n.body)) // a hash accepts all input
	header := http.Header{}
	header.Set("x-webhook-event-id", n.event)
	header.Set("x-webhook-timestamp", stamp)
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
	h, reported, terminal := newUpdatesFixture(t)
	id, event := uuid.NewString(), uuid.NewString()
	n := h.notice(terminal)
	n.event, n.body = event, envelope(event, id)
	h.deliver(n).want(200, `{"data":{}}`)
	if got, want := fmt.Sprint(reported.takeReported()), "["+h.seed.First.Org.String()+" "+terminal+" "+id+"]"; got != want {
		t.Errorf("reported %s, want %s", got, want)
	}
}

func TestProviderEventIsHandledOnce(t *testing.T) {
	t.Parallel()
	h, reported, terminal := newUpdatesFixture(t)
	n := h.notice(terminal)
	h.deliver(n).want(200, "")
	must(t, h.Clock.Set(h.Clock.Now().Add(4*time.Minute)))
	n.at = h.Clock.Now() // another attempt has its own timestamp
	h.deliver(n).want(200, `{"data":{}}`)
	if got := reported.takeReported(); len(got) != 1 {
		t.Errorf("reported %v", got)
	}
	other := h.createConnectedTerminal(`,"webhook_secret":"` + platformSecret + `"`)
	n.terminal = other // event ids of another terminal are separate
	h.deliver(n).want(200, "")
	if got := reported.takeReported(); len(got) != 1 {
		t.Errorf("reported %v", got)
	}
}

func TestEveryBadSignatureHasTheSame401(t *testing.T) {
	t.Parallel()
	h, reported, terminal := newUpdatesFixture(t)
	unsigned := h.createConnectedTerminal("")
	localTerminal := ""
	for _, other := range h.directory.Terminals(h.seed.First.Org, h.seed.First.Partner) {
		if !other.IsRemote() {
			localTerminal = other.ID.String()
		}
	}
	for name, change := range map[string]func(*notice){
		"another secret":           func(n *notice) { n.secret = "another" },
		"no secret":                func(n *notice) { n.secret = "" },
		"a terminal without one":   func(n *notice) { n.terminal, n.secret = unsigned, "" },
		"an unknown terminal":      func(n *notice) { n.terminal = uuid.NewString() },
		"no id of a terminal":      func(n *notice) { n.terminal = "x" },
		"a terminal of a rail":     func(n *notice) { n.terminal = localTerminal },
		"five minutes too old":     func(n *notice) { n.at = n.at.Add(-5*time.Minute - time.Second) },
		"five minutes too new":     func(n *notice) { n.at = n.at.Add(5*time.Minute + time.Second) },
		"no signature":             func(n *notice) { n.change = func(x http.Header) { x.Del("x-webhook-signature") } },
		"no time":                  func(n *notice) { n.change = func(x http.Header) { x.Del("x-webhook-timestamp") } },
		"a time that is none":      func(n *notice) { n.change = func(x http.Header) { x.Set("x-webhook-timestamp", "now") } },
		"no event":                 func(n *notice) { n.change = func(x http.Header) { x.Del("x-webhook-event-id") } },
		"another event":            func(n *notice) { n.event = uuid.NewString() },
		"a signature that is none": func(n *notice) { n.change = func(x http.Header) { x.Set("x-webhook-signature", "zz") } },
		"half a signature": func(n *notice) {
			n.change = func(x http.Header) { x.Set("x-webhook-signature", x.Get("x-webhook-signature")[:32]) }
		},
	} {
		n := h.notice(terminal)
		change(&n)
		if r := h.deliver(n); r.status != 401 || r.body != unauthorized {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	if got := reported.takeReported(); len(got) != 0 {
		t.Errorf("reported %v", got)
	}
}

func TestNotificationTimestampMayDifferByFiveMinutes(t *testing.T) {
	t.Parallel()
	h, reported, terminal := newUpdatesFixture(t)
	for _, skew := range []time.Duration{-4*time.Minute - 59*time.Second, 4*time.Minute + 59*time.Second} {
		n := h.notice(terminal)
		n.at = n.at.Add(skew)
		h.deliver(n).want(200, "")
	}
	if got := reported.takeReported(); len(got) != 2 {
		t.Errorf("reported %v", got)
	}
}

func TestNotificationOfAnUnknownTransactionChangesNothing(t *testing.T) {
	t.Parallel()
	h, reported, terminal := newUpdatesFixture(t)
	for _, data := range []string{`"none"`, `{}`, `{"txid":7}`, `{"txid":"order 5"}`, `null`} {
		n := h.notice(terminal)
		n.body = `{"event_id":"` + n.event + `","data":` + data + `}`
		h.deliver(n).want(200, "")
	}
	if got := reported.takeReported(); len(got) != 0 {
		t.Errorf("reported %v", got)
	}
}

func TestSignedMalformedBodyIsRefused(t *testing.T) {
	t.Parallel()
	h, reported, terminal := newUpdatesFixture(t)
	for body, status := range map[string]int{
		`{"event_id":`:    400,
		`{"a":1,"a":2}`:   400,
		`[]`:              422,
		`{}`:              422,
		`{"event_id":7}`:  422,
		`{"event_id":""}`: 422,
		`{"event_id":"` + strings.Repeat("e", 256) + `"}`: 422,
	} {
		n := h.notice(terminal)
		n.body = body
		h.deliver(n).want(status, "")
	}
	n := h.notice(terminal)
	n.body = `{"event_id":"` + n.event + `","x":"` + strings.Repeat("x", 64<<10) + `"}`
	h.deliver(n).want(413, "")
	if got := reported.takeReported(); len(got) != 0 {
		t.Errorf("reported %v", got)
	}
}

// An update that could not be handled is not acknowledged, and is handled when it is sent
// again.
func TestFailedProviderEventIsHandledWhenSentAgain(t *testing.T) {
	t.Parallel()
	h, reported, terminal := newUpdatesFixture(t)
	reported.err = errors.New("the store does not answer")
	n := h.notice(terminal)
	h.deliver(n).want(500, "")
	reported.err = ledger.Refuse("test", ledger.Unavailable, "busy")
	h.deliver(n).want(503, "")
	reported.err = nil
	h.deliver(n).want(200, "")
	if got := reported.takeReported(); len(got) != 1 {
		t.Errorf("reported %v", got)
	}
}

// A rotated secret is in force immediately.
func TestRotatedSecretIsInForceImmediately(t *testing.T) {
	t.Parallel()
	h, _, terminal := newUpdatesFixture(t)
	old := h.notice(terminal)
	params := `{"provider_params":{"base_url":"https://platform.example","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"•••","webhook_secret":"next"}}`
	h.admin().patch("/api/v1/terminal/"+terminal, params).want(200, "")
	h.deliver(old).want(401, unauthorized)
	next := h.notice(terminal)
	next.secret = "next"
	h.deliver(next).want(200, "")
}
