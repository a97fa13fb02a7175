package api_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mizan/internal/testkit"
)

const streamPath = "/api/v1/notifications/stream"

// eventStream is a stream of notifications that a test reads.
type eventStream struct {
	t      *testing.T
	lines  *bufio.Scanner
	header http.Header
	close  func()
}

// openStream opens a stream as a caller, who must be admitted.
func (c caller) openStream(t *testing.T, query string) *eventStream {
	t.Helper()
	return c.openStreamOver(t, transport, query)
}

// openStreamOver is openStream over a transport.
func (c caller) openStreamOver(t *testing.T, transport http.RoundTripper, query string) *eventStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	request, err := http.NewRequestWithContext(ctx, "GET", c.fixture.base()+streamPath+query, nil)
	must(t, err)
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	response, err := transport.RoundTrip(request)
	must(t, err)
	s := &eventStream{t: t, lines: bufio.NewScanner(response.Body), header: response.Header, close: func() {
		cancel()
		_ = response.Body.Close()
	}}
	t.Cleanup(s.close)
	if response.StatusCode != 200 {
		t.Fatalf("responded %d", response.StatusCode)
	}
	return s
}

// next returns the next event's name and data.
func (s *eventStream) next() (name string, data map[string]any) {
	s.t.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		if text, ok := strings.CutPrefix(line, "event: "); ok {
			name = text
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			must(s.t, json.Unmarshal([]byte(text), &data))
		}
		if line == "" && name != "" {
			return name, data
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
	return "", nil
}

// notification returns the next event, which must be a notification of the type.
func (s *eventStream) notification(wantType string) map[string]any {
	s.t.Helper()
	name, data := s.next()
	if name != "notification" || data["type"] != wantType {
		s.t.Fatalf("event %s %v, want a %s", name, data, wantType)
	}
	return data
}

// wantSignature checks the signature of a notification.
func wantSignature(t *testing.T, n map[string]any, secret string) {
	t.Helper()
	headers := n["headers"].(map[string]any)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(headers["x-webhook-timestamp"].(string) + "." + n["body"].(string)))
	if got := headers["x-webhook-signature"]; got != hex.EncodeToString(mac.Sum(nil)) {
		t.Errorf("%v is not signed with %s", n, secret)
	}
	var envelope map[string]any
	must(t, json.Unmarshal([]byte(n["body"].(string)), &envelope))
	if envelope["event_id"] != n["event_id"] || envelope["type"] != n["type"] || headers["x-webhook-event-id"] != n["event_id"] {
		t.Errorf("the envelope is %v", envelope)
	}
}

func TestStreamHasNotificationsWithoutAnAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before := f.chargedPayment()
	s := f.admin().openStream(t, "")
	if got := s.header.Get("content-type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	name, ready := s.next()
	secret, _ := ready["secret"].(string)
	if name != "ready" || ready["organization_id"] != f.seed.First.Org.String() || !strings.HasPrefix(secret, "whsec_") {
		t.Fatalf("event %s %v", name, ready)
	}
	id := f.chargedPayment()
	f.second().post(transactions, paymentBody(`"amount":"1"`)).want(201, "") // a payment of another organization, which the stream must not have
	n := s.notification("transaction.charged")
	if n["transaction_id"] != id || id == before || n["delivered"] != false || n["signed_with"] != "stream" || n["channel"] != "webhook" {
		t.Errorf("notification %v", n)
	}
	wantSignature(t, n, secret)
	declined := f.partner().post(transactions, strings.Replace(paymentBody(`"amount":"1"`), "4242424242424242", "4000000000000002", 1)).want(201, "").at("id")
	if n := s.notification("transaction.rejected"); n["transaction_id"] != declined {
		t.Errorf("notification %v, want that of %s", n, declined)
	}
	f.wantListed("") // nothing was stored
}

func TestStreamNeverHasTheSecretOfATerminalOrPartner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receiver := f.newWebhookReceiver() // the partner now has an address for notifications, with the secret "whsec"
	s := f.admin().openStream(t, "")
	s.next()
	f.chargedPayment()
	n := s.notification("transaction.charged")
	if n["delivered"] != true || n["signed_with"] != "own" {
		t.Errorf("notification %v", n)
	}
	wantSignature(t, n, "whsec")
	for name := range n {
		if name == "secret" {
			t.Errorf("the notification has a secret: %v", n)
		}
	}
	f.waitForDeliveries()
	if ids, _ := receiver.received(); len(ids) != 1 || ids[0] != n["event_id"] {
		t.Errorf("the receiver got %v, and the stream %v", ids, n["event_id"])
	}
}

// A partner's or terminal's secret signs the stream's notifications even if no notification address is set. The terminal's secret
// takes precedence over the partner's.
func TestStreamIsSignedWithASecretWithoutAnAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.admin().openStream(t, "")
	s.next()
	f.admin().patch("/api/v1/partners/1", `{"secret":"of-partner"}`).want(200, "")
	f.chargedPayment()
	wantSignature(t, s.notification("transaction.charged"), "of-partner")
	f.admin().patch("/api/v1/terminal/"+f.paymentTerminal(), `{"merchant_params":{"secret":"of-terminal"}}`).want(200, "")
	f.chargedPayment()
	wantSignature(t, s.notification("transaction.charged"), "of-terminal")
}

func TestContinuedStreamKeepsItsSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.admin().openStream(t, "")
	_, ready := first.next()
	first.close()
	_, continued := f.admin().openStream(t, "?stream_id="+ready["stream_id"].(string)).next()
	_, other := f.admin().openStream(t, "").next()
	_, foreign := f.bearer(string(f.seed.AdminToken), f.seed.Second.Org).openStream(t, "?stream_id="+ready["stream_id"].(string)).next()
	if continued["secret"] != ready["secret"] || continued["stream_id"] != ready["stream_id"] {
		t.Errorf("continued as %v, want %v", continued, ready)
	}
	if other["secret"] == ready["secret"] || foreign["secret"] == ready["secret"] {
		t.Errorf("another stream has the same secret: %v, %v", other, foreign)
	}
}

func TestStreamsAreBoundedAndFreedWhenTheirCallersGo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var all []*eventStream
	for range 8 {
		s := f.admin().openStream(t, "")
		s.next()
		all = append(all, s)
	}
	f.admin().get(streamPath).want(503, `{"error":"unavailable","message":"8 listeners follow this organization already"}`)
	all[0].close()
	testkit.WaitUntil(t, "a stream is freed", func() bool { return f.Runtime.Listeners.Count(f.seed.First.Org) < 8 })
	f.admin().openStream(t, "").next()
}

func TestStreamHasTestNotifications(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := "/api/v1/terminal/" + f.terminalOf("payment") + "/test-delivery"
	s := f.admin().openStream(t, "")
	_, ready := s.next()
	r := f.admin().post(path, "").want(200, "")
	if r.at("data.delivered") != "false" || r.at("data.status") != "null" || r.at("data.error") != "no notify_url is set, so only streams of notifications got it" {
		t.Errorf("%s", r.body)
	}
	n := s.notification("transaction.test")
	if n["event_id"] != r.at("data.event_id") || n["terminal_id"] != f.terminalOf("payment") || n["transaction_id"] != nil || n["delivered"] != false {
		t.Errorf("notification %v", n)
	}
	wantSignature(t, n, ready["secret"].(string))
}

func TestStreamEndsWithTheServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.admin().openStream(t, "")
	s.next()
	f.stopServer()
	if name, data := s.next(); name != "end" || data["reason"] != "stopping" || data["message"] != "the server is stopping" {
		t.Errorf("event %s %v", name, data)
	}
}

func TestStreamRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().get(streamPath+"?stream_id=x").want(422, `{"errors":[{"code":"invalid","detail":"stream_id must be a UUID","field":"stream_id"}]}`)
	f.anyone().with("authorization", "Bearer "+string(f.seed.AdminToken)).get(streamPath).want(422, "") // refused, because the request names no organization
	if r := f.admin().do("HEAD", streamPath, ""); r.status != 200 || r.header.Get("content-type") != "text/event-stream; charset=utf-8" {
		t.Errorf("HEAD: %d %v", r.status, r.header)
	}
	if n := f.Runtime.Listeners.Total(); n != 0 {
		t.Errorf("%d listeners after refused requests", n)
	}
}

// narrowTransport returns a transport whose connections buffer little of what was not read yet.
func narrowTransport(t *testing.T) http.RoundTripper {
	narrow := plainTransport.Clone()
	narrow.DialContext = (&net.Dialer{Control: func(_, _ string, conn syscall.RawConn) (err error) {
		const bytes = 4 << 10
		if controlErr := conn.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, bytes) }); controlErr != nil {
			return controlErr
		}
		return err
	}}).DialContext
	t.Cleanup(narrow.CloseIdleConnections)
	return narrow
}

// The server ends the stream of a client that reads too slowly, because it keeps only a bounded number of notifications for the
// client. When the client reads again, it gets the notifications that were already sent, and then a message with the reason.
func TestSlowReaderIsCutOffWithAMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.admin().openStreamOver(t, narrowTransport(t), "")
	s.lines.Buffer(nil, 1<<20)
	s.next()
	// Long notifications fill the buffers of the connection quickly. Then the server waits until the client reads, at most
	// web.WriteTimeout. So the client reads a little now and then, much less than is sent, until its stream is found too slow.
	body := paymentBody(`"amount":"1","merchant_meta":{"note":"` + strings.Repeat("x", 20_000) + `"}`)
	sent, read := 0, 0
	for f.notifier.SlowListeners() == 0 && sent < 4_000 {
		var callers sync.WaitGroup
		for range 16 {
			callers.Go(func() { f.partner().post(transactions, body).want(201, "") })
		}
		callers.Wait()
		sent += 16
		s.next()
		read++
	}
	for {
		name, data := s.next()
		if name == "end" {
			if data["reason"] != "too_slow" || !strings.Contains(data["message"].(string), "more than 1024 notifications, or more than 4 MiB of them, waited to be read") {
				t.Errorf("the stream ends with %v", data)
			}
			break
		}
		read++
	}
	if read == 0 || read >= sent {
		t.Errorf("%d notifications of %d payments were read before the end", read, sent)
	}

	testkit.WaitUntil(t, "the listener has left", func() bool { return f.Runtime.Listeners.Total() == 0 })
}
